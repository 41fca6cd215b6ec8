"""Measures the workloads: a trace and captures of each, as files that are not made twice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from planezip.cli.output import say
from planezip.cli.training import CaptureOptions, capture_model, trace_model
from planezip.errors import InputError
from planezip.records import Capture, save
from planezip.records.measurements import (
    AUTOCAST_MODELS,
    LENGTH_MODELS,
    LENGTHS,
    Measurements,
    Weights,
)
from planezip.workloads import weights_after, workload

_ANOTHER = "remove it to measure it again, or write to another folder"


@dataclass(frozen=True)
class Measuring:
    """What to measure, and how.

    Attributes:
        folder: of the measurements.
        models: names of workloads.
        sources: what to train on, "images" and "text": None for what an installed package ships.
        warmup_steps: before the captures of trained weights.
    """

    folder: Path
    models: Sequence[str]
    sources: dict[str, Path | None]
    warmup_steps: int

    def check(self) -> None:
        """Read the data and what is there already, before hours are spent.

        Raises:
            InputError: a name is no workload's; data is given that none of the models trains on,
                or cannot be read; or a file in the folder is damaged or was measured otherwise.
        """
        needed = {workload(name).source for name in self.models}
        for source, path in self.sources.items():
            if path is not None and source not in needed:
                raise InputError(
                    f"none of the models to measure trains on {path}; leave out --{source}"
                )
        data = {name: self._data(name) for name in self.models}
        for name in self.models:
            for part in self._parts(name):
                if self._measured.path(name, part).exists():
                    self._check_part(name, part, data[name])

    def run(self) -> Iterator[Path]:
        """Make what is missing; yields the files made."""
        for name in self.models:
            for part, make in self._parts(name).items():
                path = self._measured.path(name, part)
                if path.exists():
                    say(f"{path} is there already; remove it to measure it again")
                else:
                    save(path, make())
                    yield path

    @property
    def _measured(self) -> Measurements:
        return Measurements(self.folder)

    def _data(self, name: str) -> str:
        """What the data of a model is called, once a batch of it could be made."""
        chosen = workload(name)
        data = chosen.data(self.sources[chosen.source], CaptureOptions().seed)
        data.batch(0, 1)
        return data.description

    def _check_part(self, name: str, part: str, data: str) -> None:
        path = self._measured.path(name, part)
        if part.startswith("trace"):
            found, wanted = self._measured.trace(name, part).batch, workload(name).batch
            if found != wanted:
                raise InputError(f"{path} is of batch {found}, not {wanted}; {_ANOTHER}")
            return
        capture = cast(Capture, self._measured.capture(name, cast(Weights, part)))
        steps = 0 if part == "random" else self.warmup_steps
        for what, is_there, wanted_there in (
            ("weights", capture.weights, weights_after(steps)),
            ("data", capture.data, data),
            ("batch", capture.batch, workload(name).capture_batch),
            ("iterations", len(capture.iterations), CaptureOptions().iterations),
        ):
            if is_there != wanted_there:
                raise InputError(
                    f"{path} was measured with {what}: {is_there}, not {wanted_there}; {_ANOTHER}"
                )

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
            parts["trace_autocast"] = partial(trace_model, name, autocast=True)
            autocast = self._options(name, self.warmup_steps, autocast=True)
            parts["autocast"] = lambda: capture_model(name, autocast)
        return parts

    def _options(self, name: str, warmup_steps: int, autocast: bool = False) -> CaptureOptions:
        source = self.sources[workload(name).source]
        return CaptureOptions(source=source, warmup_steps=warmup_steps, autocast=autocast)
