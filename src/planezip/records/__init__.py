"""Frozen records that pass between the layers, with JSON in and out."""

from planezip.records.capture import Capture, TensorCapture, WireSizes
from planezip.records.costs import (
    activation_bytes_over_time,
    compressed_bytes,
    iteration_seconds,
    op_seconds,
    peak_activation_bytes,
)
from planezip.records.files import write_atomically, write_together
from planezip.records.online import Departure, OnlineIteration, Return
from planezip.records.plan import Action, Plan, Step, Swap
from planezip.records.platform import PAPER_PLATFORMS, Platform, platform, platforms
from planezip.records.store import file_bytes, from_json, load, read_json, save, to_json
from planezip.records.timeline import Event, Timeline
from planezip.records.trace import Kind, Op, Phase, Precision, Storage, Trace
from planezip.records.validation import fits

__all__ = [
    "PAPER_PLATFORMS",
    "Action",
    "Capture",
    "Departure",
    "Event",
    "Kind",
    "OnlineIteration",
    "Op",
    "Phase",
    "Plan",
    "Platform",
    "Precision",
    "Return",
    "Step",
    "Storage",
    "Swap",
    "TensorCapture",
    "Timeline",
    "Trace",
    "WireSizes",
    "activation_bytes_over_time",
    "compressed_bytes",
    "file_bytes",
    "fits",
    "from_json",
    "iteration_seconds",
    "load",
    "op_seconds",
    "peak_activation_bytes",
    "platform",
    "platforms",
    "read_json",
    "save",
    "to_json",
    "write_atomically",
    "write_together",
]
