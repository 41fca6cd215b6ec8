"""Compression ratios learned over operator sequences, for tensors seen before and new ones."""

from collections.abc import Mapping

from planezip.records import Precision, Trace

_Output = tuple[str, int]  # name of an operator, output slot


class LearnedRatios:
    """The last measured ratio of a tensor, its operator, or everything; one before any.

    The paper's signature, position of the producing operator and output slot (III-B), means
    something only within an operator sequence. A tensor that was never measured in its sequence
    takes the ratio that such outputs of its operator, in the same slot, had together when they were
    measured last, in whatever sequence; if there were none, that of everything measured last.
    """

    def __init__(self, precision: Precision) -> None:
        self._precision: Precision = precision
        self._tensors: dict[str, dict[int, float]] = {}
        self._operators: dict[_Output, float] = {}
        self._all = 1.0

    def update(self, trace: Trace, ratios: Mapping[int, float]) -> None:
        """Record what an iteration of the sequence measured: storage -> ratio."""
        self._tensors.setdefault(trace.signature, {}).update(ratios)
        outputs = _outputs(trace)
        raw: dict[_Output, float] = {}
        wire: dict[_Output, float] = {}
        for s, ratio in ratios.items():
            size = trace.storages[s].bytes_at(self._precision)
            raw[outputs[s]] = raw.get(outputs[s], 0.0) + size
            wire[outputs[s]] = wire.get(outputs[s], 0.0) + size / ratio
        self._operators |= {output: raw[output] / wire[output] for output in raw if wire[output]}
        if sum(wire.values()):
            self._all = sum(raw.values()) / sum(wire.values())

    def predict(self, trace: Trace) -> dict[int, float]:
        """Ratio of every saved activation of a sequence."""
        own, outputs = self._tensors.get(trace.signature, {}), _outputs(trace)
        return {s: own.get(s, self._operators.get(outputs[s], self._all)) for s in trace.saved}


def _outputs(trace: Trace) -> dict[int, _Output]:
    """Storage -> the last forward operator that wrote it ("input": the batch) and its slot."""
    names = dict.fromkeys(range(len(trace.storages)), "input")
    for op in trace.ops[: trace.forward_end]:
        names.update(dict.fromkeys(op.writes, op.name))
    return {s.id: (names[s.id], s.slot) for s in trace.storages}
