"""What the readings of Table IV's signatures do, and which tensors carry the errors.

    python paper/signatures.py [--out FOLDER]

writes signatures.csv from the captures that the package carries: wire-size errors of PlaneZip in
BF16, with one thing changed at a time, and signature_shares.csv: what each producer contributes.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean

from common import arguments

from planezip.planning.predictor import signature_key
from planezip.records import TensorCapture
from planezip.records.measurements import PAPER_MODELS, shipped
from planezip.report.csvs import write_csv
from planezip.report.predictability import SIGNATURES
from planezip.report.producers import category
from planezip.report.published import paper

Tensors = Sequence[TensorCapture]
Key = Callable[[TensorCapture], Hashable]
Entry = Callable[[Tensors], float]
WEIGHTS = ("trained", "random")


@dataclass(frozen=True, slots=True)
class Reading:
    """Error of one signature in one reading; `paper_pct` is Table IV's, of trained weights."""

    model: str
    weights: str
    signature: str
    reading: str
    error_pct: float
    paper_pct: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one producer adds to the error of a signature as Table IV has it here.

    Attributes:
        tensors, ratio, ratio_p10, ratio_p90: of the first iteration, all together, and the tensors
            that a tenth of them compress less and more than.
        wire_pct: its share of the wire bytes.
        error_pct: its absolute errors over all wire bytes.
        own_error_pct: its absolute errors over its own wire bytes.
    """

    model: str
    weights: str
    signature: str
    producer: str
    tensors: int
    ratio: float
    ratio_p10: float
    ratio_p90: float
    wire_pct: float
    error_pct: float
    own_error_pct: float


def raw(tensor: TensorCapture) -> int:
    return tensor.bytes_at("bf16")


def wire(tensor: TensorCapture) -> float:
    return tensor.wire_bytes("bf16", "planezip")


def pooled(tensors: Tensors) -> float:
    """Bytes of all over wire bytes of all."""
    return sum(map(raw, tensors)) / sum(map(wire, tensors))


def unweighted(tensors: Tensors) -> float:
    return mean(raw(t) / wire(t) for t in tensors)


def last(tensors: Tensors) -> float:
    """What is left where every measurement overwrites the one before."""
    return raw(tensors[-1]) / wire(tensors[-1])


def errors(
    iterations: Sequence[Tensors], key: Key, entry: Entry
) -> Iterator[tuple[str, float, float]]:
    """Producer, absolute error and wire bytes of every tensor whose predecessor is known."""
    for before, now in pairwise(iterations):
        groups: dict[Hashable, list[TensorCapture]] = defaultdict(list)
        for tensor in before:
            groups[key(tensor)].append(tensor)
        table = {k: entry(members) for k, members in groups.items()}
        for tensor in now:
            yield (
                category(tensor),
                abs(raw(tensor) / table[key(tensor)] - wire(tensor)),
                wire(tensor),
            )


def error_pct(iterations: Sequence[Tensors], key: Key, entry: Entry = pooled) -> float:
    found = list(errors(iterations, key, entry))
    return 100 * sum(e for _, e, _ in found) / sum(w for _, _, w in found)


def best_constant(iterations: Sequence[Tensors]) -> float:
    """The least error of any one ratio in hundredths, found by trying them."""
    ratios = (1 + i / 100 for i in range(300))
    return min(error_pct(iterations, lambda t: "", lambda _, r=r: r) for r in ratios)


def only(iterations: Sequence[Tensors], keep: Callable[[TensorCapture], bool]) -> list[Tensors]:
    return [[t for t in tensors if keep(t)] for tensors in iterations]


def as_published(model: str, tensor: TensorCapture) -> TensorCapture:
    """The tensor with its producer's ratio in Table III, where there is one."""
    row = paper().producer_in(model, category(tensor))
    if row is None:
        return tensor
    sizes = tensor.sizes["bf16"]
    published = replace(sizes, wire_bytes={"planezip": round(sizes.raw_bytes / row.planezip)})
    return replace(tensor, sizes={"bf16": published})


def readings(model: str, iterations: Sequence[Tensors]) -> Iterator[tuple[str, str, float]]:
    """Signature, reading and error; the first reading of each is the one that Table IV has here."""
    yield "tensor", "position and slot", error_pct(iterations, lambda t: (t.op, t.slot))
    named: Key = lambda t: (t.op_name, t.slot)  # noqa: E731
    yield "optype", "name and slot", error_pct(iterations, named)
    yield "optype", "name alone", error_pct(iterations, lambda t: t.op_name)
    yield "optype", "Table III's producers", error_pct(iterations, category)
    yield "optype", "name and slot, mean of ratios", error_pct(iterations, named, unweighted)
    yield "optype", "name and slot, last ratio", error_pct(iterations, named, last)
    everything: Key = lambda t: ""  # noqa: E731
    yield "global", "bytes of all", error_pct(iterations, everything)
    yield "global", "mean of ratios", error_pct(iterations, everything, unweighted)
    yield "global", "best constant", best_constant(iterations)
    floats = only(iterations, lambda t: t.dtype == "float32")
    yield "global", "floating point alone", error_pct(floats, everything)
    others = only(iterations, lambda t: category(t) != "Softmax")
    yield "global", "without softmax", error_pct(others, everything)
    theirs = [[as_published(model, t) for t in tensors] for tensors in iterations]
    yield "global", "Table III's ratios", error_pct(theirs, everything)
    yield "optype", "name alone, Table III's ratios", error_pct(theirs, lambda t: t.op_name)


def contributions(model: str, weights: str) -> Iterator[Contribution]:
    iterations = shipped().capture(model, weights).iterations
    for signature in SIGNATURES:
        found = list(errors(iterations, lambda t, s=signature: signature_key(t, s), pooled))
        total = sum(w for _, _, w in found)
        for producer in sorted({p for p, _, _ in found}):
            error = sum(e for p, e, _ in found if p == producer)
            size = sum(w for p, _, w in found if p == producer)
            mine = [t for t in iterations[0] if category(t) == producer]
            spread = sorted(raw(t) / wire(t) for t in mine)
            tenth = len(mine) // 10
            yield Contribution(
                model,
                weights,
                signature,
                producer,
                len(mine),
                pooled(mine),
                spread[tenth],
                spread[-1 - tenth],
                100 * size / total,
                100 * error / total,
                100 * error / size,
            )


ROW = Reading


def table() -> Iterator[Reading]:
    for model in PAPER_MODELS:
        theirs = paper().models[model]
        published = {
            "tensor": theirs.tensor_error_pct,
            "optype": theirs.op_type_error_pct,
            "global": theirs.global_error_pct,
        }
        for weights in WEIGHTS:
            capture = shipped().capture(model, weights)
            for signature, reading, error in readings(model, capture.iterations):
                yield Reading(model, weights, signature, reading, error, published[signature])


def main() -> None:
    folder = arguments(__doc__).parse_args().out
    made = list(table())
    write_csv(folder / "signatures.csv", ROW, made)
    for row in made:
        print(f"{row.model:21}{row.weights:8}{row.signature:7}{row.reading:30}"
              f"{row.error_pct:6.1f}{row.paper_pct:6.1f}")  # fmt: skip
    parts = [
        part
        for model in PAPER_MODELS
        for weights in WEIGHTS
        for part in contributions(model, weights)
    ]
    write_csv(folder / "signature_shares.csv", Contribution, parts)


if __name__ == "__main__":
    main()
