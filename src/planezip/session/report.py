"""What a session did, as numbers and as text."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.nn.parameter import is_lazy

from planezip.execution.copies import Copier
from planezip.execution.pool import Pool
from planezip.session.planning import Limits
from planezip.session.sequences import Sequences
from planezip.units import counted, format_bytes


@dataclass(frozen=True)
class SessionReport:
    """The state of a session.

    Attributes:
        budget_bytes: limit on activation memory; None while nothing is planned.
        plain_peak_bytes: activation memory that training takes without eviction.
        planned_peak_bytes: what the plan needs.
        measured_peak_bytes: what the first pass of the plan took, replays included.
        predicted_s: forward and backward by the plan.
        measured_s: the same as it was lately, the median; None before a pass that only ran.
        actions: action -> (saved values, bytes).
        outside_bytes: parameters and buffers, which the budget does not count; their gradients and
            the optimizer's state come on top.
        pool_used_bytes, pool_peak_bytes, spilled_bytes: compressed activations on the host.
        ratio: raw over compressed bytes of all copies so far.
        passes: forward passes so far that were profiled, followed a plan to the end, or left it.
        sequences: sequences of operators that have a plan.
    """

    budget_bytes: int | None
    plain_peak_bytes: int | None
    planned_peak_bytes: int | None
    measured_peak_bytes: int | None
    predicted_s: float | None
    measured_s: float | None
    actions: dict[str, tuple[int, int]]
    outside_bytes: int
    pool_used_bytes: int
    pool_peak_bytes: int
    spilled_bytes: int
    ratio: float
    passes: dict[str, int]
    sequences: int

    def __str__(self) -> str:
        passes = ", ".join(f"{count} {kind}" for kind, count in sorted(self.passes.items()))
        lines = [f"passes      {passes or 'none'}"]
        if self.plain_peak_bytes is None and self.budget_bytes is not None:
            size = _size(self.budget_bytes)
            lines.append(f"budget      {size} of activation memory, no plan yet")
        elif self.budget_bytes is not None:
            lines += [
                f"budget      {_size(self.budget_bytes)} of {_size(self.plain_peak_bytes)} "
                "activation memory without eviction",
                f"peak        {_size(self.planned_peak_bytes)} planned, "
                f"{_size(self.measured_peak_bytes)} measured",
                f"time        forward and backward {_time(self.predicted_s)} predicted, "
                f"{_time(self.measured_s)} measured",
            ]
            lines += [
                f"{action:<11} {counted(count, 'saved activation')}, {_size(size)}"
                for action, (count, size) in self.actions.items()
                if count
            ]
        lines += [
            f"pool        {_size(self.pool_peak_bytes)} on the host at most, compressed "
            f"{self.ratio:.2f} times; {_size(self.spilled_bytes)} spilled",
            f"outside     {_size(self.outside_bytes)} of parameters and buffers, their gradients, "
            "the optimizer's state",
        ]
        return "\n".join(lines)


def _size(count: int | None) -> str:
    return "not yet" if count is None else format_bytes(count)


def _time(seconds: float | None) -> str:
    return "not yet" if seconds is None else f"{seconds:.3g} s"


def report_of(
    model: torch.nn.Module,
    limits: Limits,
    sequences: Sequences,
    pool: Pool,
    copier: Copier,
    passes: Mapping[str, int],
) -> SessionReport:
    """The report of a session from its parts."""
    latest = sequences.known[0] if sequences.known else None
    schedule = latest.schedule if latest else None
    tensors = [t for t in (*model.parameters(), *model.buffers()) if not is_lazy(t)]
    outside = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors}
    plain_bytes = schedule.plain_peak_bytes if schedule else None
    return SessionReport(
        budget_bytes=limits.budget_bytes if plain_bytes is None else limits.budget(plain_bytes),
        plain_peak_bytes=plain_bytes,
        planned_peak_bytes=schedule.planned_peak_bytes if schedule else None,
        measured_peak_bytes=latest.measured.peak_bytes if latest and latest.measured else None,
        predicted_s=schedule.plan.predicted_s if schedule else None,
        measured_s=latest.step_s if latest else None,
        actions=schedule.actions_by_size() if schedule else {},
        outside_bytes=sum(outside.values()),
        pool_used_bytes=pool.used_bytes,
        pool_peak_bytes=pool.peak_bytes,
        spilled_bytes=pool.spilled_bytes,
        ratio=copier.out.ratio,
        passes=dict(passes),
        sequences=len(sequences.known),
    )
