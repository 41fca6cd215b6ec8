"""Traces and captures of the workloads as files, from which tables and figures are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeVar

from planezip.errors import InputError
from planezip.records.capture import Capture
from planezip.records.store import load
from planezip.records.trace import Trace

Record = TypeVar("Record", Trace, Capture)
Weights = Literal["trained", "random", "autocast"]

PAPER_MODELS = ("resnet50", "densenet121", "efficientnet_b0", "vit_base_patch16_224", "gpt2")
"""The five workloads of Table I, in its order."""
OTHER_MODELS = ("gpt2_fused", "llama")
"""Workloads beyond the paper, reported beside the five and never in their means."""
AUTOCAST_MODELS = ("vit_base_patch16_224", "gpt2")
"""Captured under real BF16 autocast too, to measure what converting FP32 tensors changes."""
LENGTH_MODELS = ("gpt2",)
"""Those that are traced at several lengths of their sequences."""
LENGTHS = (256, 512, 768, 896, 1024)
"""Tokens of a sequence; the longest is that of `trace`."""


@dataclass(frozen=True, slots=True)
class Measurements:
    """What was measured once: `<model>/<name>.json.gz` in a folder.

    The names: `trace`, the training iteration at the paper's batch; `trained`, a capture of three
    iterations after a warm-up; `random`, one at random initialisation; for some models `autocast`,
    like `trained` but under real BF16 autocast, and `trace_autocast`, the training iteration under
    it; and `trace_256` and others for other lengths of a language model's sequences.
    """

    folder: Path

    def path(self, model: str, name: str) -> Path:
        return self.folder / model / f"{name}.json.gz"

    def models(self) -> tuple[str, ...]:
        """Models that have a trace: those of the paper in its order, then all others."""
        known = (*PAPER_MODELS, *OTHER_MODELS)
        found = {path.parent.name for path in self.folder.glob("*/trace.json.gz")}
        return (*(m for m in known if m in found), *sorted(found - set(known)))

    def trace(self, model: str, name: str = "trace") -> Trace:
        """InputError if there is none, or one of another model."""
        return _of(model, self.path(model, name), Trace)

    def traces_by_length(self, model: str) -> dict[int, Trace]:
        """Tokens of a sequence -> trace, ascending; empty unless there are several."""
        names = {n: "trace" if n == max(LENGTHS) else f"trace_{n}" for n in LENGTHS}
        paths = {n: self.path(model, name) for n, name in names.items()}
        found = {n: self.trace(model, names[n]) for n, path in paths.items() if path.exists()}
        return found if model in LENGTH_MODELS and len(found) > 1 else {}

    def capture(self, model: str, weights: Weights = "trained") -> Capture | None:
        """None if this model was not captured with these weights; InputError if another was."""
        path = self.path(model, weights)
        return _of(model, path, Capture) if path.exists() else None

    def captures(self, models: Sequence[str], weights: Weights = "trained") -> list[Capture]:
        """Captures of those of the models that have one."""
        return [c for model in models if (c := self.capture(model, weights))]


def _of(model: str, path: Path, kind: type[Record]) -> Record:
    record = load(path, kind)
    if record.model != model:
        raise InputError(f"{path} is of {record.model}, not of {model}; remove or replace it")
    return record


def shipped() -> Measurements:
    """The measurements that this package carries."""
    return Measurements(Path(str(files("planezip") / "measurements")))


def measurements_in(folder: Path | None) -> Measurements:
    """Those of a folder, or the package's own; InputError if there are none."""
    found = Measurements(folder) if folder else shipped()
    if not found.models():
        raise InputError(
            f"no <model>/trace.json.gz in {found.folder}; make some with `planezip measure`"
        )
    return found
