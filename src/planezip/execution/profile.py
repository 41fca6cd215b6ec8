"""What a profiled iteration did and when, as a trace that planners understand.

A trace says what each operator reads and writes. In a running program memory also depends on who
holds a tensor for how long: a local variable of the model, a node of the autograd graph. Markers
say it in the trace's own terms: operators that take no time and read a storage where its memory was
still held (`planezip::held`) or where backward took it out (`planezip::unpack`), and write nothing
of any size. No replay ever needs one.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from planezip.execution.recorder import Recorder
from planezip.execution.sequence import Pack
from planezip.execution.tape import Tape, Value
from planezip.records import Kind, Op, Phase, Storage, Trace

HELD, UNPACK = "planezip::held", "planezip::unpack"
BETWEEN = "planezip::between"
"""Stands for all the time of a pass that its operators did not take."""


class Moment(NamedTuple):
    """Something that happened to a storage before operator number `position`."""

    kind: Literal["death", "unpack"]
    position: int
    storage: int


@dataclass
class Profile:
    """What was seen in one iteration.

    Attributes:
        seconds: duration of every operator.
        forward_end: number of operators of the forward pass; more follow, from backward.
        moments: deaths of storages and unpacks, in order.
        packs: what autograd saved, in order.
        fixed: storages that no plan may evict.
        held: storages of saved values that the program itself still held after the forward pass.
        ratios: storage -> compression ratio.
        gradients: storages that hold gradients of parameters.
        forward_s, backward_s: what both passes took.
    """

    tape: Tape
    seconds: list[float] = field(default_factory=list)
    forward_end: int = 0
    moments: list[Moment] = field(default_factory=list)
    packs: list[Pack] = field(default_factory=list)
    fixed: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    ratios: dict[int, float] = field(default_factory=dict)
    gradients: set[int] = field(default_factory=set)
    forward_s: float = 0.0
    backward_s: float = 0.0

    def finish(self, recorder: Recorder) -> None:
        """Backward is over: note what is still held.

        The profile lets go of the tensors from before the forward pass.
        """
        end = len(self.tape.ops)
        self.moments += [Moment("death", end, number) for number in recorder.table.alive()]
        for value in self.tape.values:
            value.original = None

    def take_shorter_times(self, other: "Profile") -> None:
        """Let operators and passes take no longer than they did in another iteration like this."""
        between = {p: min(self.between_s(p), other.between_s(p)) for p in ("forward", "backward")}
        if len(self.seconds) == len(other.seconds):
            self.seconds = list(map(min, self.seconds, other.seconds))
        end = self.forward_end
        self.forward_s = sum(self.seconds[:end]) + between["forward"]
        self.backward_s = sum(self.seconds[end:]) + between["backward"]

    def between_s(self, phase: Phase) -> float:
        """Seconds of a pass that no operator took."""
        end = self.forward_end
        if phase == "forward":
            return max(0.0, self.forward_s - sum(self.seconds[:end]))
        return max(0.0, self.backward_s - sum(self.seconds[end:]))


class TraceBuilder:
    """Turns a profile into a trace.

    Args:
        recompute: whether any operator may be said to be repeatable.

    Attributes:
        marker_of_unpack: index in Trace.ops of the marker of every unpack, in order.
        op_of: index in Trace.ops of every operator on the tape.
    """

    def __init__(self, profile: Profile, model: str, recompute: bool = True) -> None:
        self._profile, self._model, self._recompute = profile, model, recompute
        self._values = profile.tape.values
        self._ops: list[Op] = []
        self._storages: list[Storage] = []
        self.marker_of_unpack: list[int] = []
        self.op_of: list[int] = []

    def build(self) -> Trace:
        """The trace; storages have the numbers that the recorder gave them, markers' follow."""
        self._storages = self._real_storages()
        moments = iter([*self._profile.moments, Moment("death", len(self._profile.seconds), -1)])
        moment = next(moments)
        touched: dict[int, int] = {}
        self._between("forward")
        for index in range(len(self._profile.seconds)):
            while moment.position <= index and moment.storage >= 0:
                self._mark(moment, index, touched)
                moment = next(moments)
            self._operator(index, touched)
        while moment.storage >= 0:
            self._mark(moment, len(self._profile.seconds), touched)
            moment = next(moments)
        self._between("backward")
        return Trace(
            model=self._model,
            batch=1,
            parameters=0,
            ops=tuple(self._ops),
            storages=tuple(self._storages),
        )

    def _real_storages(self) -> list[Storage]:
        first: dict[int, Value] = {}
        for value in self._values:
            first.setdefault(value.storage, value)
        evictable = {self._values[pack.value].storage for pack in self._profile.packs}
        evictable -= self._profile.fixed | self._profile.held
        return [
            Storage(
                id=number,
                kind=self._kind(first[number]),
                dtype="uint8",
                bytes=first[number].nbytes,
                producer=first[number].producer,
                slot=0,
                evictable=number in evictable,
            )
            for number in range(len(first))
        ]

    def _kind(self, first: Value) -> Kind:
        if first.storage in self._profile.gradients:
            return "parameter_gradient"
        return "buffer" if first.external else "activation"

    def _phase(self, index: int) -> Phase:
        return "forward" if index < self._profile.forward_end else "backward"

    def _operator(self, index: int, touched: dict[int, int]) -> None:
        op = self._profile.tape.ops[index]
        made = [self._values[v] for v in op.made]
        reads = tuple(dict.fromkeys(self._values[v].storage for v in op.reads))
        writes = tuple(dict.fromkeys(v.storage for v in made))
        touched.update(dict.fromkeys((*reads, *writes), index))
        sound = not any(self._values[v].external and self._values[v].superseded for v in op.reads)
        self.op_of.append(len(self._ops))
        self._ops.append(
            Op(
                index=len(self._ops),
                name=str(op.func),
                phase=self._phase(index),
                flops=0,
                fp32_bytes=0,
                other_bytes=0,
                reads=reads,
                writes=writes,
                random=op.generator_state is not None,
                repeatable=self._recompute and sound and all(v.repeatable for v in made),
                measured_s=self._profile.seconds[index],
            )
        )

    def _mark(self, moment: Moment, index: int, touched: dict[int, int]) -> None:
        if moment.kind == "unpack":
            self.marker_of_unpack.append(len(self._ops))
        elif touched.get(moment.storage) in (None, index - 1):
            return  # its last operator has just held it
        touched[moment.storage] = index
        unpacked = moment.kind == "unpack"
        phase = self._phase(index if unpacked else index - 1)
        if unpacked or self._ops[-1].phase == "backward":
            phase = "backward"
        self._marker(UNPACK if unpacked else HELD, phase, (moment.storage,))

    def _between(self, phase: Phase) -> None:
        self._marker(BETWEEN, phase, (), self._profile.between_s(phase))

    def _marker(
        self, name: str, phase: Phase, reads: tuple[int, ...], seconds: float = 0.0
    ) -> None:
        """A pseudo operator, which makes nothing of any size."""
        index, nothing = len(self._ops), len(self._storages)
        self._storages.append(Storage(nothing, "activation", "uint8", 0, index, 0))
        self._ops.append(
            Op(
                index=index,
                name=name,
                phase=phase,
                flops=0,
                fp32_bytes=0,
                other_bytes=0,
                reads=reads,
                writes=(nothing,),
                measured_s=seconds,
            )
        )
