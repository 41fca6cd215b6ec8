"""A small training iteration and its capture, built by hand, for the report and the commands."""

from dataclasses import replace

from planezip.records import Capture, Op, Storage, TensorCapture, Trace, WireSizes

LAYERS = 6
CODEC_RATIOS = {"bdi": 1.05, "zvc": 1.3, "bpc": 1.4, "bx": 1.5, "zbx": 1.7, "planezip": 1.8}


class _Builder:
    """Appends operators and the storages that they write."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.storages: list[Storage] = []

    def store(self, kind: str, size: int, slot: int = 0, producer: int = -1) -> int:
        self.storages.append(Storage(len(self.storages), kind, "float32", size, producer, slot))
        return len(self.storages) - 1

    def op(self, name: str, phase: str, reads: tuple[int, ...], writes: tuple, flops: int = 0):
        """`writes` holds (kind, bytes) for new storages and ids for those written in place."""
        index = len(self.ops)
        ids = tuple(
            w if isinstance(w, int) else self.store(*w, slot=slot, producer=index)
            for slot, w in enumerate(writes)
        )
        moved = sum(self.storages[s].bytes for s in (*reads, *ids))
        self.ops.append(Op(index, f"aten.{name}.default", phase, flops, moved, 0, reads, ids))
        return ids


def build_trace(layers: int = LAYERS, size: int = 4_000_000) -> Trace:
    """`layers` times convolution and ReLU, a loss, their gradients and an optimizer step."""
    b = _Builder()
    outputs, relus = [b.store("input", size)], []
    weights = [b.store("parameter", 40_000) for _ in range(layers)]
    for w in weights:
        (y,) = b.op("convolution", "forward", (outputs[-1], w), (("activation", size),), 10**10)
        (z,) = b.op("relu", "forward", (y,), (("activation", size),))
        outputs.append(z)
        relus.append(z)
    (loss,) = b.op("mean", "forward", (outputs[-1],), (("activation", 4),))
    (gradient,) = b.op("expand", "backward", (loss,), (("activation", size),))
    gradients = []
    for i in reversed(range(layers)):
        (masked,) = b.op(
            "threshold_backward", "backward", (gradient, relus[i]), (("activation", size),)
        )
        gradient, weight_gradient = b.op(
            "convolution_backward",
            "backward",
            (masked, outputs[i], weights[i]),
            (("activation", size), ("parameter_gradient", 40_000)),
            2 * 10**10,
        )
        gradients.append((weights[i], weight_gradient))
    for w, g in gradients:
        b.op("add_", "optimizer", (w, g), (w,))
    trace = Trace("toynet", 4, layers * 10_000, tuple(b.ops), tuple(b.storages))
    return replace(trace, saved_by_hooks=trace.saved, versions={"torch": "2.0"})


def build_capture(trace: Trace, scale: float = 1.0) -> Capture:
    """Three iterations whose ratios drift a little; tensors of a layer compress alike."""

    def tensor(storage: int, iteration: int) -> TensorCapture:
        s = trace.storages[storage]
        sizes = {}
        for precision in ("bf16", "fp32"):
            raw = s.bytes_at(precision)
            lift = scale * (1 + 0.01 * iteration + 0.02 * (storage % 5))
            wire = {c: round(raw / (1 + (r - 1) * lift)) for c, r in CODEC_RATIOS.items()}
            sizes[precision] = WireSizes(
                raw, wire, {"zbx": raw // 256, "bx": raw // 512}, round(raw / 1.6)
            )
        name = trace.ops[s.producer].name if s.producer >= 0 else "input"
        return TensorCapture(s.producer, name, s.slot, s.dtype, s.bytes, 1, sizes)

    return Capture(
        model=trace.model,
        batch=trace.batch,
        weights="random + 2 warm-up steps",
        data="2 photographs",
        iterations=tuple(tuple(tensor(s, i) for s in trace.saved) for i in range(3)),
        losses=(7.0, 6.9, 6.8),
        op_names=tuple(op.name for op in trace.ops),
        versions={"torch": "2.0"},
        notes=("pretrained weights were asked for and could not be reached",),
    )
