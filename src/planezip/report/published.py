"""The paper's own figures, to stand beside ours."""

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import msgspec

from planezip.records import Precision

GEOMEAN = "geomean"
"""Name of the geometric mean over the five models where a model's name stands."""


@dataclass(frozen=True, slots=True)
class PaperModel:
    """One model's row of Tables I and IV and its bars of figure 3."""

    title: str
    params_millions: float
    saved_tensors: int
    saved_gb: float
    ops: int
    ratio_bf16: float
    ratio_fp32: float
    ratio_per_iteration: tuple[float, ...]
    tensor_error_pct: float
    op_type_error_pct: float
    global_error_pct: float
    ratio_random_bf16: float | None = None
    items_per_s_B: float | None = None


@dataclass(frozen=True, slots=True)
class PaperProducer:
    """One row of Table III.

    Attributes:
        share: range of the saved bytes, in percent.
        zvc, bx, planezip: BF16 ratios over all models.
        top, top_pct: the encoder chosen most often, and in which share of the blocks.
    """

    share: str
    zvc: float
    bx: float
    planezip: float
    top: str
    top_pct: float


@dataclass(frozen=True, slots=True)
class PaperRatios:
    """Ratios of one category in one model, where the text gives them (V-A)."""

    zvc: float
    planezip: float


@dataclass(frozen=True, slots=True)
class PaperCosts:
    """Figure 1 on one platform: swap over recomputation, and what the link can move.

    Attributes:
        movable_pct: range over the five models without compression.
        movable_factor: codec -> mean factor on it.
    """

    share_bytes_swap_slower_pct: float
    median_ratio: float
    movable_pct: str
    movable_factor: dict[str, float]


@dataclass(frozen=True, slots=True)
class PaperHardware:
    """The engine of Section III-D."""

    lanes: int
    ghz: float
    gbps_per_direction: float
    area_mm2: float
    share_of_die_pct: float


@dataclass(frozen=True, slots=True)
class Paper:
    """Everything that paper.toml holds.

    Attributes:
        models: by workload name.
        producers: by the category's name in Table III.
        geomean_ratio_bf16, geomean_ratio_fp32, geomean_ratio_32bit: PlaneZip's mean over the five
            models, the last one in BF16 with 32-bit symbols.
        mean_overhead_pct: platform -> budget in percent -> policy -> mean over the five models.
        producers_in: model -> category -> ratios that differ from the table's.
        figure1: by platform.
        hardware: the engine that the paper estimates.
        figure5: platform -> variant -> mean overhead at a budget of 30 %.
        claims: claim -> platform or "both" -> a number that only the text gives.
        figure6a, figure6b: GB/s -> policy -> mean overhead at 50 % on platform B.
    """

    geomean_ratio_bf16: float
    geomean_ratio_fp32: float
    geomean_ratio_32bit: float
    models: dict[str, PaperModel]
    producers: dict[str, PaperProducer]
    mean_overhead_pct: dict[str, dict[str, dict[str, float]]]
    producers_in: dict[str, dict[str, PaperRatios]]
    figure1: dict[str, PaperCosts]
    hardware: PaperHardware
    claims: dict[str, dict[str, float]]
    figure5: dict[str, dict[str, float]]
    figure6a: dict[str, dict[str, float]]
    figure6b: dict[str, dict[str, float]]

    def producer_in(self, model: str, producer: str) -> PaperProducer | None:
        """Ratios of a category in one model: its own where the text gives them, else the table's.

        None where the paper has no such category.
        """
        row = self.producers.get(producer)
        own = self.producers_in.get(model, {}).get(producer)
        if row is None or own is None:
            return row
        return replace(row, zvc=own.zvc, planezip=own.planezip)

    def ratios(self, model: str, weights: str) -> dict[Precision, float]:
        """Ratio of PlaneZip by precision, as far as the paper has the model.

        Args:
            weights: as in Capture; "random" has ratios of its own, all others count as trained.
        """
        if model == GEOMEAN:
            return {"bf16": self.geomean_ratio_bf16, "fp32": self.geomean_ratio_fp32}
        published = self.models.get(model)
        if published is None:
            return {}
        if weights == "random":
            random = published.ratio_random_bf16
            return {} if random is None else {"bf16": random}
        return {"bf16": published.ratio_bf16, "fp32": published.ratio_fp32}

    def overhead_pct(self, platform: str, budget_pct: float, policy: str) -> float | None:
        """Mean overhead of a policy, None where the paper gives no number."""
        by_budget = self.mean_overhead_pct.get(platform, {})
        return by_budget.get(f"{budget_pct:g}", {}).get(policy)


@cache
def paper() -> Paper:
    """The paper's figures."""
    text = (files("planezip.report") / "paper.toml").read_text()
    return msgspec.convert(tomllib.loads(text), Paper)
