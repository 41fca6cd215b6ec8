"""What a report is about, in words."""

from planezip.records.align import align
from planezip.report.contents import Contents
from planezip.report.machine import this_machine
from planezip.report.names import model_title
from planezip.units import counted

_SAID = {
    "planezip": "with PlaneZip",
    "bw": "with the same planner and no compression",
    "recomp": "with recomputation alone",
}


def headline(c: Contents) -> str:
    """The report's finding in two sentences, from its own rows."""
    ratio = next(
        (r.ratio for r in c.ratios if r.codec == "planezip" and r.precision == "bf16"), None
    )
    sentences = [f"Saved activations compress by {ratio:.2f}× in BF16."] if ratio else []
    budgets = sorted({row.budget_pct for row in c.rows}, key=lambda b: (abs(b - 50), b))
    if said := [text for policy in _SAID if (text := _overheads(c, policy, budgets[:1]))]:
        where = " and ".join(f"on platform {p.name}" for p in c.platforms)
        sentences.append(
            f"In {budgets[0]:g}% of the activation memory, training {where} takes "
            f"{'; '.join(said)}."
        )
    return " ".join(sentences)


def _overheads(c: Contents, policy: str, budget: list[float]) -> str:
    """E.g. "3.1% and 7.5% longer with PlaneZip"; empty unless there is a plan everywhere."""
    found = [r.overhead_pct for r in c.rows if r.policy == policy and r.budget_pct in budget]
    if not found or None in found:
        return ""
    return " and ".join(f"{x:.1f}%" for x in found) + f" longer {_SAID[policy]}"


def facts(c: Contents) -> list[tuple[str, str]]:
    """Where the figures come from: model, weights, data, versions, machine."""
    machine = this_machine()
    told = [("model", f"{model_title(c.summary.model)}, planned for a batch of {c.summary.batch}")]
    if c.capture:
        captured = counted(len(c.capture.iterations), "iteration")
        losses = ", ".join(f"{loss:.3f}" for loss in c.capture.losses)
        told += [
            ("weights", c.capture.weights),
            ("data", c.capture.data),
            ("captured", f"{captured} at batch {c.capture.batch}"),
            ("training loss", losses),
            (
                "not captured",
                f"{100 * align(c.capture, c.trace).unmatched_share:.1f}% of the bytes",
            ),
        ]
    else:
        said = "Table III of the paper" if c.paper_ratios else "none: no capture was given"
        told.append(("ratios", said))
    versions = {**(c.trace.versions or {}), **(c.capture.versions if c.capture else {})}
    told += [
        ("versions", ", ".join(f"{name} {v}" for name, v in sorted(versions.items()))),
        ("machine", str(machine)),
        ("system", f"{machine.system}, Python {machine.python}"),
    ]
    return told
