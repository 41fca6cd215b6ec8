"""How codecs, policies and precisions are called and coloured wherever people read them."""

from planezip.records import Platform, Precision
from planezip.report.published import paper

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
}
PRECISIONS: dict[Precision, str] = {"bf16": "BF16", "fp32": "FP32"}
ENCODERS = {"raw": "raw", "zvc": "ZVC", "dbx": "DBX", "bx": "BX", "zbx": "ZBX"}


def model_title(model: str) -> str:
    """What the paper calls a model, or the model's own name."""
    published = paper().models.get(model)
    return published.title if published else model


def platform_title(platform: Platform) -> str:
    """A platform with what distinguishes it."""
    return f"Platform {platform.name}: {platform.gpu}, {PRECISIONS[platform.precision]}"
