"""Table III: saved activations of the five models by producing operator, in BF16."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records import TensorCapture, Trace
from planezip.records.measurements import PAPER_MODELS, Measurements
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import ENCODERS
from planezip.report.producers import categories, category, encoder_blocks
from planezip.report.published import paper
from planezip.report.ratios import ratio_of


@dataclass(frozen=True, slots=True)
class ProducerOverModels:
    """One row of Table III.

    Attributes:
        share_min_pct, share_max_pct: range of its share of what a model saves at its training batch
            in FP32 (Table I's bytes), over the models where it occurs.
        zvc, bx, planezip: ratios over all models, weighted by captured bytes.
        top_encoder: what the planezip codec chose most often, and in which share of the blocks.
    """

    producer: str
    share_min_pct: float
    share_max_pct: float
    zvc: float
    bx: float
    planezip: float
    top_encoder: str
    top_encoder_pct: float


def _rows(measured: Measurements) -> list[ProducerOverModels]:
    tensors: dict[str, list[TensorCapture]] = {}
    shares: dict[str, list[float]] = {}
    for capture in measured.captures(PAPER_MODELS):
        for tensor in capture.iterations[0]:
            tensors.setdefault(category(tensor), []).append(tensor)
        for producer, share in _shares(measured.trace(capture.model)).items():
            shares.setdefault(producer, []).append(share)
    rows = [_row(producer, ts, shares.get(producer, [0.0])) for producer, ts in tensors.items()]
    return sorted(rows, key=lambda row: -row.share_max_pct)


def _shares(trace: Trace) -> dict[str, float]:
    saved: Counter[str] = Counter()
    for storage, producer in categories(trace).items():
        saved[producer] += trace.storages[storage].bytes
    total = trace.saved_bytes or 1  # of tensors without elements, every share is 0
    return {producer: 100 * size / total for producer, size in saved.items()}


def _row(producer: str, tensors: list[TensorCapture], shares: list[float]) -> ProducerOverModels:
    encoder, encoder_pct = _top(encoder_blocks(tensors, "bf16"))
    zvc, bx, planezip = (ratio_of(tensors, "bf16", codec) for codec in ("zvc", "bx", "planezip"))
    return ProducerOverModels(
        producer, min(shares), max(shares), zvc, bx, planezip, encoder, encoder_pct
    )


def _top(blocks: Counter[str]) -> tuple[str, float]:
    if not blocks.total():
        return "raw", 0.0
    encoder, count = blocks.most_common(1)[0]
    return encoder, 100 * count / blocks.total()


def _grid(rows: Sequence[ProducerOverModels]) -> Grid:
    return Grid(
        "Saved activations of the five models by producing operator, BF16",
        ("producer", "share %", "paper", "ZVC", "paper", "BX", "paper", "PlaneZip", "paper",
         "top encoder", "paper"),
        [_line(row) for row in rows],
        note="Ratios are weighted by bytes over all five models.",
    )  # fmt: skip


def _line(row: ProducerOverModels) -> list[str]:
    theirs = paper().producers.get(row.producer)
    ends = dict.fromkeys(f"{pct:.0f}" for pct in (row.share_min_pct, row.share_max_pct))
    line = [row.producer, "–".join(ends)]
    line.append(theirs.share if theirs else "–")
    for name in ("zvc", "bx", "planezip"):
        line += [number(getattr(row, name)), number(getattr(theirs, name, None))]
    line.append(f"{ENCODERS[row.top_encoder]} ({row.top_encoder_pct:.0f}%)")
    return [*line, theirs.top if theirs else "–"]


TABLE3 = Artefact(
    "table3", "Table III, saved activations by producing operator", ProducerOverModels, _rows, _grid
)
