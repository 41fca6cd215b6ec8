"""A training iteration as data: operators and the storages that they read and write (paper IV)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec
import xxhash

Phase = Literal["forward", "backward", "optimizer"]
Kind = Literal[
    "activation",  # produced in the iteration: saved activations, temporaries, activation gradients
    "input",  # the batch: exists before the first operator, can be kept or swapped, never replayed
    "parameter",
    "buffer",
    "parameter_gradient",
    "optimizer_state",
]
Precision = Literal["fp32", "bf16"]

BUDGETED_KINDS: frozenset[str] = frozenset({"activation", "input"})
FP32_DTYPES = frozenset({"float32"})
HALF_DTYPES = frozenset({"bfloat16", "float16"})


def bytes_at(size_bytes: int, dtype: str, final: bool, precision: Precision) -> int:
    """Size of what was traced as `size_bytes`; only FP32 that is not final halves, in BF16."""
    halves = precision == "bf16" and dtype in FP32_DTYPES and not final
    return size_bytes // 2 if halves else size_bytes


@dataclass(frozen=True, slots=True)
class Storage:
    """One storage of the traced iteration.

    Attributes:
        id: its index in Trace.storages.
        kind: what it holds.
        dtype: torch name of the element type that it was first seen with, e.g. "float32".
        bytes: size as traced.
        producer: index of the operator that wrote it first, -1 if it existed before.
        slot: which output of that operator it is (0 for a single output).
        final: it was traced in mixed precision, where FP32 is meant: no precision changes it.
        evictable: a plan may take it away; False if the program itself holds it throughout.
    """

    id: int
    kind: Kind
    dtype: str
    bytes: int
    producer: int
    slot: int
    final: bool = False
    evictable: bool = True

    def bytes_at(self, precision: Precision) -> int:
        """Size when FP32 tensors are held at `precision` (the paper's platform B is BF16)."""
        return bytes_at(self.bytes, self.dtype, self.final, precision)


@dataclass(frozen=True, slots=True)
class Op:
    """One ATen operator.

    Attributes:
        index: its position in Trace.ops.
        name: e.g. "aten.convolution.default".
        phase: the pass that ran it.
        flops: floating-point operations of matrix products and convolutions, else 0.
        fp32_bytes: bytes of FP32 elements read and written (an element both read and written
            counts twice) that halve when the model runs in BF16; 0 if it was traced in mixed
            precision.
        other_bytes: bytes of all other elements read and written.
        reads: ids of the storages read, without repetition.
        writes: ids of the storages written, without repetition, in output-slot order. An
            in-place operator has a storage in both reads and writes.
        random: it draws from a random generator.
        repeatable: it computes the same bits when it runs again, and changes nothing else.
        measured_s: its measured duration in seconds, None where durations are modelled.

    An operator that writes nothing is a view: it moves no data and costs no time.
    """

    index: int
    name: str
    phase: Phase
    flops: int
    fp32_bytes: int
    other_bytes: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    random: bool = False
    repeatable: bool = True
    measured_s: float | None = None

    @property
    def is_view(self) -> bool:
        return not self.writes

    def bytes_at(self, precision: Precision) -> int:
        """Bytes read and written when FP32 tensors are held at `precision`."""
        fp32 = self.fp32_bytes // 2 if precision == "bf16" else self.fp32_bytes
        return fp32 + self.other_bytes


@dataclass(frozen=True)
class Trace:
    """One training iteration: forward, backward and optimizer step, in execution order.

    Attributes:
        model: name of the workload.
        batch: items in the batch.
        parameters: number of trainable parameters.
        ops: every operator, views included.
        storages: every storage; ids are indices.
        saved_by_hooks: ids of the storages that torch's saved-tensor hooks saw, parameters and
            buffers left out, ascending.
        versions: versions of the libraries that made the trace.
    """

    model: str
    batch: int
    parameters: int
    ops: tuple[Op, ...]
    storages: tuple[Storage, ...]
    saved_by_hooks: tuple[int, ...] = ()
    versions: dict[str, str] | None = None

    @cached_property
    def forward_end(self) -> int:
        """Index of the first operator after the forward pass."""
        return next((op.index for op in self.ops if op.phase != "forward"), len(self.ops))

    @cached_property
    def saved(self) -> tuple[int, ...]:
        """Ids of the saved activations: produced in forward (or the batch), read in backward.

        A view reads no contents, so it does not make what it looks at a saved activation.
        """
        read = {s for op in self.ops if op.phase == "backward" and not op.is_view for s in op.reads}
        return tuple(
            s.id
            for s in self.storages
            if s.id in read and s.kind in BUDGETED_KINDS and s.producer < self.forward_end
        )

    @cached_property
    def saved_bytes(self) -> int:
        """Bytes of all saved activations as traced."""
        return sum(self.storages[s].bytes for s in self.saved)

    @cached_property
    def signature(self) -> str:
        """Hash of the operator sequence: equal for iterations that one plan fits.

        Covers every operator's name, pass, work and operands and every storage's kind, element type
        and size: all that a plan depends on. Shapes count by the sizes and the work that they mean.
        """
        return xxhash.xxh3_128_hexdigest(msgspec.json.encode((self.ops, self.storages)))
