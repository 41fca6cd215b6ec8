"""Figure 3: ratio of all saved activations per model and codec; and the 32-bit ablation (V-A)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from planezip.records import Precision
from planezip.records.capture import CODECS, SYMBOL32
from planezip.records.measurements import PAPER_MODELS, Measurements
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import CODECS as CODEC_TITLES
from planezip.report.names import MIXED, PRECISIONS, model_title
from planezip.report.published import GEOMEAN, paper
from planezip.report.ratios import Ratio, mixed_models, ratios


def _all_ratios(measured: Measurements) -> list[Ratio]:
    """Every model's ratios, and the geometric means over the five models of the paper."""
    by_model = {m: ratios(c) for m in measured.models() if (c := measured.capture(m))}
    rows = [row for model_rows in by_model.values() for row in model_rows]
    groups: dict[tuple[Precision, str], list[float]] = {}
    for row in rows:
        if row.model in PAPER_MODELS:
            groups.setdefault((row.precision, row.codec), []).append(row.ratio)
    five = [(key, values) for key, values in groups.items() if len(values) == len(PAPER_MODELS)]
    means = [Ratio(GEOMEAN, p, codec, geometric_mean(values)) for (p, codec), values in five]
    return rows + means


def _rows(measured: Measurements) -> list[Ratio]:
    return [row for row in _all_ratios(measured) if row.codec in CODECS]


def _plot(rows: Sequence[Ratio]) -> dict[str, bytes]:
    from planezip.report.figures import model_ratio_figure

    return model_ratio_figure(rows)


def _grid(rows: Sequence[Ratio]) -> Grid:
    found = {(r.model, r.precision, r.codec): r.ratio for r in rows}
    models = list(dict.fromkeys(r.model for r in rows))
    mixed, lines = mixed_models(rows), []
    for model in models:
        theirs = paper().ratios(model, "trained")
        shown: dict[Precision, str] = {"bf16": MIXED} if model in mixed else PRECISIONS
        for precision, title in shown.items():
            ours = [number(found.get((model, precision, codec))) for codec in CODECS]
            lines.append([model_title(model), title, *ours, number(theirs.get(precision))])
    return Grid(
        "Compression ratio of all saved activations",
        ("model", "precision", *(CODEC_TITLES[codec] for codec in CODECS), "paper"),
        lines,
        words=2,
        note="Bytes in over bytes out; tags, headers and padding count. "
        "Mixed: every tensor in the type that it has.",
    )


@dataclass(frozen=True, slots=True)
class SymbolWidth:
    """PlaneZip on BF16 activations at 16-bit and at 32-bit symbols."""

    model: str
    ratio_16bit: float
    ratio_32bit: float


def _symbol_rows(measured: Measurements) -> list[SymbolWidth]:
    found = {(r.model, r.codec): r.ratio for r in _all_ratios(measured) if r.precision == "bf16"}
    models = dict.fromkeys(model for model, _ in found)
    return [SymbolWidth(m, found[m, "planezip"], found[m, SYMBOL32]) for m in models]


def _symbol_grid(rows: Sequence[SymbolWidth]) -> Grid:
    theirs = {GEOMEAN: paper().geomean_ratio_32bit}
    return Grid(
        "BF16 ratio of PlaneZip by width of its symbols",
        ("model", "16 bits", "32 bits", "paper"),
        [
            (
                model_title(r.model),
                number(r.ratio_16bit),
                number(r.ratio_32bit),
                number(theirs.get(r.model)),
            )
            for r in rows
        ],
    )


FIG3 = Artefact("fig3", "Figure 3, ratio per model and codec", Ratio, _rows, _grid, _plot)
SYMBOLS = Artefact(
    "symbols", "Section V-A, 32-bit symbols", SymbolWidth, _symbol_rows, _symbol_grid
)
