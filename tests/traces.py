"""Traces built by hand or at random, on a platform whose arithmetic a person can follow."""

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from planezip.records import Op, Platform, Storage, Trace

# One byte takes one second on each link, an operator takes as many seconds as it has flops.
UNIT = Platform(
    name="unit",
    gpu="none",
    precision="fp32",
    peak_flops_per_s=1.0,
    math_efficiency=1.0,
    memory_bytes_per_s=1.0,
    memory_efficiency=1.0,
    d2h_bytes_per_s=1.0,
    h2d_bytes_per_s=1.0,
    engine_bytes_per_s=1000.0,
    launch_s=0.0,
    copy_setup_s=0.0,
)


class TraceBuilder:
    """Appends operators; storages get the ids 0, 1, 2, ... in order of creation."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.storages: list[Storage] = []

    def existing(self, kind: str, size: int) -> int:
        """A storage that is there before the iteration."""
        self.storages.append(Storage(len(self.storages), kind, "uint8", size, -1, 0))
        return len(self.storages) - 1

    def op(self, phase: str, seconds: int, reads=(), new=(), in_place=(), over=(), name="toy.op"):
        """An operator that reads storages, writes some in place or over, and makes `new` ones.

        `new` holds sizes. Only what is written over is not read.
        """
        index = len(self.ops)
        made = []
        for slot, size in enumerate(new):
            self.storages.append(
                Storage(len(self.storages), "activation", "uint8", size, index, slot)
            )
            made.append(len(self.storages) - 1)
        read = tuple(dict.fromkeys((*reads, *in_place)))
        writes = (*in_place, *over, *made)
        self.ops.append(Op(index, name, phase, seconds, 0, 0, read, writes))
        return made[0] if len(made) == 1 else tuple(made)

    def view(self, phase: str, reads) -> None:
        self.ops.append(Op(len(self.ops), "toy.view", phase, 0, 0, 0, tuple(reads), ()))

    def build(self) -> Trace:
        return Trace("toy", 1, 0, tuple(self.ops), tuple(self.storages))


def chain_trace(sizes: Sequence[int], seconds: Sequence[int] | int, backward_s: int = 1) -> Trace:
    """A chain of saved storages 1, 2, 3, ...; backward reads them from the last to the first."""
    b = TraceBuilder()
    previous = b.existing("input", 1)
    made = []
    each = [seconds] * len(sizes) if isinstance(seconds, int) else seconds
    for size, s in zip(sizes, each, strict=True):
        previous = b.op("forward", s, [previous], new=[size])
        made.append(previous)
    g = b.op("backward", backward_s, [made[-1]], new=[1])
    for storage in reversed(made[:-1]):
        g = b.op("backward", backward_s, [g, storage], new=[1])
    return b.build()


def random_trace(random: Random) -> Trace:
    """A training iteration with branches, in-place operators, clones, temporaries and views."""
    b = TraceBuilder()
    batch = b.existing("input", random.randint(0, 20))
    weight = b.existing("parameter", 5)
    live = [batch]
    calls: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for _ in range(random.randint(2, 30)):
        # Mostly the latest storages, as in a network, now and then an old one.
        near = live if random.random() < 0.1 else live[-3:]
        reads = random.sample(near, random.randint(1, min(3, len(near))))
        own = [s for s in reads if s != batch or random.random() < 0.05]
        seconds = random.randint(0, 9)
        if own and random.random() < 0.3:
            b.op("forward", seconds, [*reads, weight], in_place=own[:1])
            calls.append((tuple(reads), (own[0],)))
        elif own and random.random() < 0.1:
            others = [s for s in reads if s != own[0]]
            b.op("forward", seconds, [*others, weight], over=own[:1])
            calls.append((tuple(others), (own[0],)))
        else:
            sizes = [random.randint(0, 30) for _ in range(random.randint(1, 2))]
            made = b.op("forward", seconds, [*reads, weight], new=sizes)
            made = made if isinstance(made, tuple) else (made,)
            live += made
            calls.append((tuple(reads), made))
        if random.random() < 0.2:
            b.view("forward", [live[-1]])
    gradient = b.op("backward", 1, [live[-1]], new=[5])
    for reads, made in reversed(calls):
        saved = [s for s in {*reads, *made} if random.random() < 0.6]
        gradient = b.op("backward", random.randint(0, 9), [gradient, *saved], new=[5])
    b.op("optimizer", 1, [gradient], in_place=[weight])
    return b.build()


def traces() -> st.SearchStrategy[Trace]:
    """Random traces for hypothesis; a failing one is given by its seed."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_trace(Random(seed)))
