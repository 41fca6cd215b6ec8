"""What the report's tables say: our figures with the paper's beside them."""

from collections.abc import Sequence

from planezip.planning.predictor import Signature
from planezip.records import Capture, Platform, Precision, Trace
from planezip.report.grid import Grid, number
from planezip.report.names import CODECS, ENCODERS, POLICIES, PRECISIONS, model_title
from planezip.report.predictability import Stability, error_pct
from planezip.report.producers import Producer
from planezip.report.published import paper
from planezip.report.ratios import Ratio, mixed_models
from planezip.report.rows import Row
from planezip.report.summary import speeds, summarise
from planezip.units import GB, byte_unit


def trace_grid(trace: Trace) -> Grid:
    """The workload beside Table I of the paper, with its modelled speed.

    Units are those of the paper's table where it has the workload, else such that no size reads 0.
    """
    summary = summarise(trace)
    published = paper().models.get(trace.model)
    held = "mixed precision" if any(trace.storages[s].final for s in trace.saved) else "FP32"
    factor, unit = (GB, "GB") if published else byte_unit(trace.saved_bytes)
    rows = [
        ("parameters, millions", summary.params_millions, "params_millions", 1)
        if published or trace.parameters >= 1_000_000
        else ("parameters", trace.parameters, "params_millions", 0),
        ("saved activations", summary.saved_tensors, "saved_tensors", 0),
        (f"their size in {held}, {unit}", trace.saved_bytes / factor, "saved_gb", int(factor > 1)),
        ("operators", summary.ops, "ops", 0),
    ]
    rows += [
        (f"modelled items/s on {s.platform}", s.items_per_s, f"items_per_s_{s.platform}", 0)
        for s in speeds(trace)
    ]
    return Grid(
        f"{model_title(trace.model)}, training iteration at batch {trace.batch}",
        ("", "here", "paper"),
        [
            (label, number(ours, digits), number(getattr(published, field, None), digits))
            for label, ours, field, digits in rows
        ],
    )


def ratio_grid(rows: Sequence[Ratio], weights: str) -> Grid:
    """Ratio of every codec at both precisions; `weights` as in Capture."""
    theirs = paper().ratios(rows[0].model, weights) if rows else {}
    codecs = list(dict.fromkeys(row.codec for row in rows))
    found = {(row.codec, row.precision): row.ratio for row in rows}
    lines = []
    for codec in codecs:
        line = [CODECS[codec]]
        for precision in PRECISIONS:
            line.append(number(found.get((codec, precision))))
            line.append(number(theirs.get(precision)) if codec == "planezip" else "")
        lines.append(line)
    headers = [h for p in PRECISIONS.values() for h in (p, "paper")]
    told = "random" if weights == "random" else "trained"
    note = "Bytes in over bytes out; tags, headers and padding count."
    note += f" The paper's are of {told} weights." if theirs else ""
    if mixed_models(rows):
        note += " Mixed precision: both are of every tensor in the type that it has."
    return Grid(
        f"Compression ratio of all saved activations, weights: {weights}",
        ("codec", *headers),
        lines,
        strong=codecs.index("planezip") if "planezip" in codecs else -1,
        note=note,
    )


def producer_grid(rows: Sequence[Producer], precision: Precision) -> Grid:
    """Ratios by producing operator; the paper's are of all its models in BF16."""
    lines = []
    for row in (r for r in rows if r.precision == precision):
        published = paper().producers.get(row.producer) if precision == "bf16" else None
        line = [row.producer, number(row.share_pct, 1)]
        for codec in ("zvc", "bx", "planezip"):
            line += [number(getattr(row, codec))]
            line += [number(getattr(published, codec, None))] if precision == "bf16" else []
        lines.append([*line, f"{ENCODERS[row.top_encoder]} ({row.top_share_pct:.0f}%)"])
    names = ("ZVC", "BX", "PlaneZip")
    beside = ("paper",) if precision == "bf16" else ()
    return Grid(
        f"Saved activations by producing operator, {PRECISIONS[precision]}",
        ("producer", "share %", *(h for name in names for h in (name, *beside)), "top encoder"),
        lines,
        note="The paper's ratios are over all five models." if beside else "",
    )


def stability_grid(rows: Sequence[Stability]) -> Grid:
    """Ratio and loss of consecutive iterations; the paper's are BF16."""
    by_precision = {p: [row for row in rows if row.precision == p] for p in PRECISIONS}
    published = paper().models.get(rows[0].model) if rows else None
    theirs = published.ratio_per_iteration if published else ()
    return Grid(
        "Compression ratio of consecutive iterations",
        ("iteration", "loss", "BF16", "paper", "FP32"),
        [
            (
                str(bf16.iteration),
                number(bf16.loss),
                number(bf16.ratio, 3),
                number(theirs[i] if i < len(theirs) else None),
                number(fp32.ratio, 3),
            )
            for i, (bf16, fp32) in enumerate(zip(*by_precision.values(), strict=True))
        ],
    )


def error_grid(capture: Capture) -> Grid:
    """Wire-size error of the last-iteration predictor by signature."""
    published = paper().models.get(capture.model)
    kinds: dict[Signature, str] = {
        "tensor": "per tensor",
        "optype": "per operator type",
        "global": "one for all",
    }
    fields = {"tensor": "tensor_error_pct", "optype": "op_type_error_pct"}
    return Grid(
        "Wire-size error of predicting from the iteration before, %",
        ("signature", "BF16", "paper", "FP32"),
        [
            (
                label,
                number(error_pct(capture, "bf16", kind), 2),
                number(getattr(published, fields.get(kind, "global_error_pct"), None), 1),
                number(error_pct(capture, "fp32", kind), 2),
            )
            for kind, label in kinds.items()
        ],
        strong=0,
    )


def overhead_grid(rows: Sequence[Row], platform: Platform) -> Grid:
    """Overhead of every policy at every budget on one platform."""
    mine = {(r.policy, r.budget_pct): r for r in rows if r.platform == platform.name}
    budgets = sorted({budget for _, budget in mine}, reverse=True)
    policies = [p for p in POLICIES if any(policy == p for policy, _ in mine)]
    beside = [b for b in budgets if paper().overhead_pct(platform.name, b, "planezip") is not None]
    lines = []
    for policy in policies:
        ours = [number(mine[policy, b].overhead_pct, 1, "no plan") for b in budgets]
        theirs = [number(paper().overhead_pct(platform.name, b, policy), 1) for b in beside]
        lines.append((POLICIES[policy], *ours, *theirs))
    return Grid(
        f"Overhead over unlimited memory in %, platform {platform.name} "
        f"({platform.gpu}, {PRECISIONS[platform.precision]})",
        ("policy", *(f"{b:g}%" for b in budgets), *(f"paper {b:g}%" for b in beside)),
        lines,
        strong=policies.index("planezip") if "planezip" in policies else -1,
        note="The paper's figures are means over its five models." if beside else "",
    )


def cost_grid(
    rows: Sequence[Row], platform: Platform, budget_pct: float, strong: str = "planezip"
) -> Grid:
    """What the overhead of every policy at one budget is made of, and the plan that was kept.

    `strong` is the policy to stress.
    """
    mine = [r for r in rows if r.platform == platform.name and r.budget_pct == budget_pct]
    factor, unit = byte_unit(max((r.swapped_bytes or 0 for r in mine), default=0))
    return Grid(
        f"Where the time goes at {budget_pct:g}%, platform {platform.name}",
        (
            "policy",
            "kept plan",
            "overhead, %",
            "recomputation, ms",
            "stalls, ms",
            f"swapped, {unit}",
        ),
        [
            (
                POLICIES[r.policy],
                r.kept_plan,
                number(r.overhead_pct, 1),
                number(r.recompute_s and r.recompute_s * 1e3),
                number(r.stall_s and r.stall_s * 1e3),
                number(r.swapped_bytes and r.swapped_bytes / factor),
            )
            for r in mine
        ],
        words=2,
        strong=next((i for i, r in enumerate(mine) if r.policy == strong), -1),
    )
