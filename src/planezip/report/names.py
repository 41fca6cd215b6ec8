"""How codecs, policies and precisions are called and coloured wherever people read them."""

from planezip.records import Platform, Precision
from planezip.report.published import GEOMEAN, paper

CODECS = {
    "bdi": "BDI",
    "zvc": "ZVC",
    "bpc": "BPC",
    "bx": "BX",
    "zbx": "ZBX",
    "planezip": "PlaneZip",
    "planezip-w32": "PlaneZip, 32-bit symbols",
}
POLICIES = {
    "recomp": "RECOMP",
    "swap": "SWAP",
    "dte": "DTE",
    "bw": "BW",
    "bw+zvc": "BW+ZVC",
    "planezip": "PlaneZip",
    "planezip+in-place": "PlaneZip, in place",
    "planezip+": "PlaneZip+",
}
VARIANTS = {
    **POLICIES,
    "dte+codec": "DTE + compression",
    "bw+codec": "BW + codec, unaware plan",
    "planezip-w32": "PlaneZip, 32-bit symbols",
    "planezip-optype": "PlaneZip, op-type predictor",
    "planezip-oracle": "PlaneZip, oracle ratios",
}
"""The policies and those of the ablation (figure 5)."""
DYNAMIC_POLICIES = {
    "planned": "PlaneZip, a plan per sequence",
    "planned-bw": "BW, a plan per sequence",
    "longest": "PlaneZip, the longest sequence's plan",
    "online": "online, Eq. 1 compressed",
    "online-raw": "online, Eq. 1",
    "online-recompute": "online, recompute only",
}
"""For operator sequences that change."""
_BEYOND_THE_PAPER = {"gpt2_fused": "GPT-2, fused attention", "llama": "Llama-style decoder"}
PRECISIONS: dict[Precision, str] = {"bf16": "BF16", "fp32": "FP32"}
MIXED = "mixed"
ENCODERS = {"raw": "raw", "zvc": "ZVC", "dbx": "DBX", "bx": "BX", "zbx": "ZBX"}


def model_title(model: str) -> str:
    """What the paper calls a model, or the model's own name."""
    if model == GEOMEAN:
        return "geometric mean of the five"
    published = paper().models.get(model)
    return published.title if published else _BEYOND_THE_PAPER.get(model, model)


def platform_title(platform: Platform) -> str:
    """A platform with what distinguishes it."""
    return f"Platform {platform.name}: {platform.gpu}, {PRECISIONS[platform.precision]}"


BOUND_CLASS = (
    "It holds for plans that take an activation away at most once, between its uses in forward and "
    "those in backward, and compress in place only if the policy does (docs/bound.md), not for "
    "eviction decided online."
)
