"""Compression ratios learned over operator sequences, for tensors seen before and new ones."""

from collections.abc import Mapping

from planezip.records import Precision, Trace


class LearnedRatios:
    """The last measured ratio of a tensor, its operator, or everything; one before any.

    The paper's signature, position of the producing operator and output slot (III-B), means
    something only within an operator sequence. A tensor that was never measured in its sequence
    takes the ratio that the outputs of its operator had together when such were measured last, in
    whatever sequence; if there were none, that of everything measured last.
    """

    def __init__(self, precision: Precision) -> None:
        self._precision: Precision = precision
        self._tensors: dict[str, dict[int, float]] = {}
        self._operators: dict[str, float] = {}
        self._all = 1.0

    def update(self, trace: Trace, ratios: Mapping[int, float]) -> None:
        """Record what an iteration of the sequence measured: storage -> ratio."""
        self._tensors.setdefault(trace.signature, {}).update(ratios)
        writers = _writers(trace)
        raw: dict[str, float] = {}
        wire: dict[str, float] = {}
        for s, ratio in ratios.items():
            size = trace.storages[s].bytes_at(self._precision)
            raw[writers[s]] = raw.get(writers[s], 0.0) + size
            wire[writers[s]] = wire.get(writers[s], 0.0) + size / ratio
        self._operators |= {name: raw[name] / wire[name] for name in raw if wire[name]}
        if sum(wire.values()):
            self._all = sum(raw.values()) / sum(wire.values())

    def predict(self, trace: Trace) -> dict[int, float]:
        """Ratio of every saved activation of a sequence."""
        own, writers = self._tensors.get(trace.signature, {}), _writers(trace)
        return {s: own.get(s, self._operators.get(writers[s], self._all)) for s in trace.saved}


def _writers(trace: Trace) -> dict[int, str]:
    """Storage -> name of the last forward operator that wrote it; "input" for the batch."""
    names = dict.fromkeys(range(len(trace.storages)), "input")
    for op in trace.ops[: trace.forward_end]:
        names.update(dict.fromkeys(op.writes, op.name))
    return names
