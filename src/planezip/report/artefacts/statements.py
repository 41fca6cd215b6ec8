"""Numbers of the paper's text (Sections V-A, V-C and V-D), and how they are computed here."""

from collections.abc import Callable
from dataclasses import dataclass

from planezip.report.artefacts.claim_numbers import Numbers

_SINGLE = ("bdi", "zvc", "bpc", "bx", "zbx")


def _removed(n: Numbers, name: str) -> float:
    ours, theirs = (n.mean(name, 50.0, p) for p in ("planezip", "bw"))
    return 100 * (1 - ours / theirs)


def _more_swapped(n: Numbers, name: str) -> float:
    ours, theirs = (n.total(name, p, lambda r: r.swapped_bytes) for p in ("planezip", "bw"))
    return ours / theirs


def _less_recomputed(n: Numbers, name: str) -> float:
    ours, theirs = (n.total(name, p, lambda r: r.recompute_s) for p in ("planezip", "bw"))
    return 100 * (1 - ours / theirs)


def _best_single(n: Numbers, name: str) -> float:
    best: float = max(n.geomean[codec] for codec in _SINGLE)
    return best


@dataclass(frozen=True, slots=True)
class Statement:
    """What a claim says, to how many digits, and how it is computed here for a platform."""

    section: str
    said: str
    digits: int
    compute: Callable[[Numbers, str], float]


def _of(model: str, budget: float, policy: str) -> Callable[[Numbers, str], float]:
    return lambda n, name: n.overhead(model, name, budget, policy)


STATEMENTS = {
    "zvc_ratio": Statement("V-A", "ZVC, BF16, mean ratio", 2, lambda n, _: n.geomean["zvc"]),
    "bpc_ratio": Statement("V-A", "BPC, BF16, mean ratio", 2, lambda n, _: n.geomean["bpc"]),
    "best_single_ratio": Statement("V-A", "no single encoding exceeds", 2, _best_single),
    "choice_gain_pct": Statement(
        "V-A", "choosing per block adds over the best of them, %", 0,
        lambda n, name: 100 * (n.geomean["planezip"] / _best_single(n, name) - 1),
    ),
    "removed_pct": Statement("V-C", "of BW's overhead PlaneZip removes at 50 %, %", 0, _removed),
    "near_planezip_pct": Statement(
        "V-C", "PlaneZip is within 5 % of full speed down to a budget of, %", 0,
        lambda n, name: n.near_full_speed(name, "planezip"),
    ),
    "near_bw_pct": Statement("V-C", "BW is, %", 0, lambda n, name: n.near_full_speed(name, "bw")),
    "near_dte_pct": Statement(
        "V-C", "DTE is, %", 0, lambda n, name: n.near_full_speed(name, "dte")
    ),
    "gpt2_bw_pct": Statement("V-C", "GPT-2 at 30 %, BW, %", 0, _of("gpt2", 30.0, "bw")),
    "gpt2_planezip_pct": Statement(
        "V-C", "GPT-2 at 30 %, PlaneZip, %", 0, _of("gpt2", 30.0, "planezip")
    ),
    "densenet_bw_pct": Statement(
        "V-C", "DenseNet-121 at 50 %, BW, %", 0, _of("densenet121", 50.0, "bw")
    ),
    "densenet_planezip_pct": Statement(
        "V-C", "DenseNet-121 at 50 %, PlaneZip, %", 0, _of("densenet121", 50.0, "planezip")
    ),
    "efficientnet_gain_points": Statement(
        "V-C", "EfficientNet-B0 gains over BW at 50 %, points", 1,
        lambda n, name: n.overhead("efficientnet_b0", name, 50.0, "bw")
        - n.overhead("efficientnet_b0", name, 50.0, "planezip"),
    ),
    "vit_bw_pct": Statement(
        "V-C", "ViT-B/16 at 50 %, BW, %", 1, _of("vit_base_patch16_224", 50.0, "bw")
    ),
    "aware_plans": Statement(
        "V-D", "of 70 plans are made with compressed sizes", 0, lambda n, _: n.aware()
    ),
    "swapped_factor": Statement("V-D", "PlaneZip over BW at 30 %, bytes swapped", 1, _more_swapped),
    "recomputed_less_pct": Statement(
        "V-D", "PlaneZip recomputes less than BW at 30 %, %", 0, _less_recomputed
    ),
    "stall_pct": Statement(
        "V-D", "PlaneZip's longest stalls at 30 %, % of the iteration", 1,
        lambda n, name: n.largest_stall_pct(name),
    ),
}  # fmt: skip
"""Claim -> what it says; the paper's values are in paper.toml."""
