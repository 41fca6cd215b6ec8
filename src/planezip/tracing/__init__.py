"""Recording what a training iteration does and what its saved activations hold (paper IV)."""

from planezip.tracing.capture import capture_steps
from planezip.tracing.contents import PlaneZipCodec
from planezip.tracing.recorder import Recorder
from planezip.tracing.step import TracedStep, library_versions, trace_step

__all__ = [
    "PlaneZipCodec",
    "Recorder",
    "TracedStep",
    "capture_steps",
    "library_versions",
    "trace_step",
]
