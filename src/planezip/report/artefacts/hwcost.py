"""Section III-D: what the engine costs in silicon."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.published import paper
from planezip.report.study import Study

LANES = (2, 4, 6, 8)
CLOCKS_GHZ = (0.8, 1.0, 1.5)
BPC_MM2 = 0.048  # BPC's compressor at 40 nm
LANE_TO_BPC = 3  # estimate: BX and ZBX encoders, compaction network, comparison of sizes
DENSITY_40_TO_7_NM = 16
BYTES_A_BLOCK, CYCLES_A_BLOCK = 128, 4
DIE_MM2 = 826  # A100


@dataclass(frozen=True, slots=True)
class HardwareCost:
    """An engine of so many lanes, half of which compress and half decompress.

    Attributes:
        area_mm2: of all lanes at 7 nm.
        share_of_die_pct: of an A100.
    """

    lanes: int
    ghz: float
    gbps_per_direction: float
    area_mm2: float
    share_of_die_pct: float


def _rows(study: Study) -> list[HardwareCost]:
    return [_cost(lanes, ghz) for lanes in LANES for ghz in CLOCKS_GHZ]


def _cost(lanes: int, ghz: float) -> HardwareCost:
    area_mm2 = lanes * LANE_TO_BPC * BPC_MM2 / DENSITY_40_TO_7_NM
    gbps = lanes / 2 * ghz * BYTES_A_BLOCK / CYCLES_A_BLOCK
    return HardwareCost(lanes, ghz, gbps, area_mm2, 100 * area_mm2 / DIE_MM2)


def _grid(rows: Sequence[HardwareCost]) -> Grid:
    return Grid(
        "Engine: throughput and estimated area at 7 nm",
        ("lanes", "GHz", "GB/s a direction", "paper", "mm²", "paper", "% of an A100", "paper"),
        [(str(r.lanes), number(r.ghz, 1), *_beside(r)) for r in rows],
        strong=next((i for i, r in enumerate(rows) if _is_the_papers(r)), -1),
        note="Half of the lanes compress, half decompress.",
    )


def _is_the_papers(r: HardwareCost) -> bool:
    return (r.lanes, r.ghz) == (paper().hardware.lanes, paper().hardware.ghz)


def _beside(r: HardwareCost) -> Iterator[str]:
    theirs = paper().hardware if _is_the_papers(r) else None
    for name, digits in (("gbps_per_direction", 1), ("area_mm2", 3), ("share_of_die_pct", 4)):
        yield number(getattr(r, name), digits)
        yield number(getattr(theirs, name, None), min(digits, 3))


HWCOST = Artefact("hwcost", "Section III-D, hardware cost", HardwareCost, _rows, _grid)
