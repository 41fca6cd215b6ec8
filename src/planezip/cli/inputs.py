"""Arguments that several commands take: traces, captures, plans and budgets."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from planezip.errors import InputError, PlanCheckError, PlaneZipError
from planezip.records import Capture, Plan, Trace, fits, load, platform
from planezip.units import MOST_BYTES, parse_bytes

if TYPE_CHECKING:
    from planezip.report.sources import PaperTable


def read_trace(source: str) -> Trace:
    """The trace in a file, or, if `source` is a model's name, a new one at its training batch."""
    if not (os.path.isfile(source) or set(source) & set("./\\")):
        from planezip.cli.training import trace_model

        return trace_model(source)
    return load(source, Trace)


def read_capture(source: Path, trace: Trace) -> Capture:
    """A capture of the trace's model."""
    capture = load(source, Capture)
    if capture.model != trace.model:
        raise InputError(f"{source} is of {capture.model}, not of {trace.model}")
    return capture


def read_source(
    capture_file: Path | None, ratios: str | None, trace: Trace
) -> "Capture | PaperTable | None":
    """Where ratios come from: a capture, the paper's Table III, or nowhere."""
    if ratios is None:
        return read_capture(capture_file, trace) if capture_file else None
    if capture_file is not None:
        raise InputError("--capture and --ratios paper are two sources of ratios; give one")
    from planezip.report.sources import PaperTable

    return PaperTable()


def read_plan(source: Path, trace: Trace) -> Plan:
    """A plan that the independent checker lets pass for the trace.

    Raises:
        InputError: names the file, and what is wrong with it or with the plan.
    """
    from planezip.planning import check_plan
    from planezip.report.variants import variant

    plan = load(source, Plan)
    try:
        on = platform(plan.platform)
        variant(plan.policy)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    try:
        if not fits(plan, trace):
            raise PlanCheckError("it names what the trace does not have")
        check_plan(trace, on, plan)
    except PlanCheckError as error:
        raise unusable_plan(source, error) from None
    return plan


def unusable_plan(source: Path, error: PlaneZipError) -> InputError:
    """What to tell of a plan that breaks a rule; the planners make none that does."""
    return InputError(
        f"{source} was made for another trace, or was changed since: {error}; "
        "make a new one with `planezip plan`"
    )


def refuse_to_share(outputs: Mapping[str, Path | None], *inputs: str | Path | None) -> None:
    """InputError if a file is written twice, or written and read; devices may be."""
    taken = {os.path.realpath(path) for path in inputs if path}
    for option, path in outputs.items():
        if path is None or (os.path.exists(path) and not os.path.isfile(path)):
            continue
        if os.path.realpath(path) in taken:
            raise InputError(
                f"{option} {path} is also another file of this command; name a new one"
            )
        taken.add(os.path.realpath(path))


def parse_budget(text: str, peak_bytes: int) -> int:
    """Bytes of a budget such as "50%" (of the peak without eviction), "5.5GB" or "4096"."""
    hint = "write for example 50% or 5.5GB"
    share = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if share:
        count = peak_bytes * float(share.group(1)) / 100
        if count > MOST_BYTES:
            raise InputError(f"{text!r} is larger than any budget can be; {hint}")
        return int(count)
    try:
        return parse_bytes(text)
    except InputError:
        raise InputError(f"{text!r} is not a budget below 2^63 bytes; {hint}") from None
