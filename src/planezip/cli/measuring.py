"""Measures the workloads: a trace and captures of each, as files that are not made twice."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from planezip.cli.output import say
from planezip.cli.training import CaptureOptions, capture_model, trace_model
from planezip.records import save
from planezip.records.measurements import LENGTH_MODELS, LENGTHS, Measurements, Weights
from planezip.report.machine import this_machine
from planezip.workloads import workload

AUTOCAST_MODELS = ("vit_base_patch16_224", "gpt2")
"""Captured under real BF16 autocast too, to measure what converting FP32 tensors changes."""


@dataclass(frozen=True)
class Measuring:
    """How to measure.

    Attributes:
        folder: of the measurements.
        images, text: what to train on, None for what an installed package ships.
        warmup_steps: before the captures of trained weights.
    """

    folder: Path
    images: Path | None
    text: Path | None
    warmup_steps: int

    def model(self, name: str) -> Iterator[Path]:
        """Make what is missing of one model; yields the files made."""
        measured = Measurements(self.folder)
        for part, make in self._parts(name).items():
            path = measured.path(name, part)
            if path.exists():
                self._check(measured, name, part)
                say(f"{path} is there already; remove it to measure it again")
            else:
                save(path, make())
                save(self.folder / "machine.json", this_machine())
                yield path

    @staticmethod
    def _check(measured: Measurements, name: str, part: str) -> None:
        """InputError if what is there is damaged or of another model."""
        if part.startswith("trace"):
            measured.trace(name, part)
        else:
            measured.capture(name, cast(Weights, part))

    def _parts(self, name: str) -> dict[str, Callable[[], Any]]:
        random, trained = self._options(name, 0), self._options(name, self.warmup_steps)
        parts: dict[str, Callable[[], Any]] = {"trace": lambda: trace_model(name)}
        if name in LENGTH_MODELS:
            for tokens in LENGTHS[:-1]:
                parts[f"trace_{tokens}"] = partial(trace_model, name, tokens=tokens)
        parts |= {
            "random": lambda: capture_model(name, random),
            "trained": lambda: capture_model(name, trained),
        }
        if name in AUTOCAST_MODELS:
            autocast = self._options(name, self.warmup_steps, autocast=True)
            parts["autocast"] = lambda: capture_model(name, autocast)
        return parts

    def _options(self, name: str, warmup_steps: int, autocast: bool = False) -> CaptureOptions:
        source = {"images": self.images, "text": self.text}[workload(name).source]
        return CaptureOptions(source=source, warmup_steps=warmup_steps, autocast=autocast)
