"""The policies, and the changed ones of the paper's ablation (figure 5)."""

from dataclasses import dataclass

from planezip.errors import InputError
from planezip.planning import POLICIES, Policy
from planezip.planning.predictor import Signature
from planezip.records.capture import SYMBOL32


@dataclass(frozen=True, slots=True)
class Variant:
    """A policy with the ratios that it plans and transfers with.

    Attributes:
        codec: what compresses the transfers; `policy.codec` is what the plan believes in.
        signature: what the predictor's table is keyed by.
        planned_iteration: captured iteration to plan with; transfers take iteration 1.
        captured: whether it means something only with a capture's ratios.
    """

    name: str
    policy: Policy
    codec: str | None
    signature: Signature = "tensor"
    planned_iteration: int = 0
    captured: bool = False


def _variant(policy: str, suffix: str, codec: str | None, **changes: object) -> Variant:
    base = POLICIES[policy]
    named = Policy(f"{policy}{suffix}", codec, base.recipes)
    return Variant(named.name, named, codec, **changes)  # type: ignore[arg-type]


VARIANTS = {
    v.name: v
    for v in (
        *(Variant(p.name, p, p.codec) for p in POLICIES.values()),
        _variant("dte", "+codec", "planezip"),
        Variant("bw+codec", POLICIES["bw"], "planezip"),
        _variant("planezip", "-w32", SYMBOL32, captured=True),
        _variant("planezip", "-optype", "planezip", signature="optype", captured=True),
        _variant("planezip", "-oracle", "planezip", planned_iteration=1, captured=True),
    )
}
ABLATION = (
    "dte",
    "dte+codec",
    "bw",
    "bw+codec",
    "bw+zvc",
    "planezip-w32",
    "planezip-optype",
    "planezip",
    "planezip-oracle",
)
"""Figure 5, in its order."""


def variant(name: str) -> Variant:
    """The variant called `name`; InputError names those that exist."""
    try:
        return VARIANTS[name]
    except KeyError:
        raise InputError(f"unknown policy {name!r}; choose one of {', '.join(VARIANTS)}") from None
