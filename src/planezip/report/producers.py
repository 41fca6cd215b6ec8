"""Compression ratio by the operator that produced a tensor's content (paper Table III)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from planezip.records import Capture, Precision, TensorCapture, Trace
from planezip.records.capture import SYMBOL32
from planezip.report.ratios import CODECS, PRECISIONS, ratio_of

INPUT, OTHER, INDICES = "Input batch", "Other", "Indices"
_BY_OPERATOR = {
    "Conv output": "convolution",
    "ReLU output": "relu relu_ threshold hardtanh hardtanh_ clamp_min clamp_min_",
    "Elementwise": "add add_ sub sub_ mul mul_ div div_ pow neg exp tanh sigmoid sigmoid_ silu "
    "silu_ gelu hardswish hardswish_ hardsigmoid where masked_fill masked_fill_ rsub",
    "Norm in/out": "native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional "
    "_batch_norm_with_update cudnn_batch_norm native_layer_norm native_group_norm",
    "Linear output": "mm addmm bmm baddbmm linear",
    "Softmax": "_softmax",
    "Log-softmax": "_log_softmax nll_loss_forward",
    "Copy/concat": "cat stack clone copy_ _to_copy constant_pad_nd slice_scatter _unsafe_view",
    "Pooling output": "max_pool2d_with_indices avg_pool2d _adaptive_avg_pool2d mean",
}
_CATEGORY = {name: category for category, names in _BY_OPERATOR.items() for name in names.split()}


def category(tensor: TensorCapture) -> str:
    """Table III's name for the kind of operator that last wrote a tensor."""
    return category_of(tensor.op_name, tensor.dtype, tensor.slot)


def category_of(op_name: str, dtype: str, slot: int) -> str:
    """Table III's name for output `slot` of an operator ("input": the batch)."""
    if dtype in ("int64", "int32"):
        return INDICES
    if op_name == "input":
        return INPUT
    name = op_name.split(".")[1]
    if name in ("native_dropout", "_fused_dropout"):
        return "Dropout mask" if slot else "Dropout output"
    return _CATEGORY.get(name, OTHER)


def categories(trace: Trace) -> dict[int, str]:
    """Table III's names for what a training iteration saves, by storage id."""
    writer = {s: op.name for op in trace.ops[: trace.forward_end] for s in op.writes}
    saved = (trace.storages[s] for s in trace.saved)
    return {s.id: category_of(writer.get(s.id, "input"), s.dtype, s.slot) for s in saved}


@dataclass(frozen=True, slots=True)
class Producer:
    """One row of Table III.

    Attributes:
        share_pct: share of the saved bytes.
        bdi, zvc, bpc, bx, zbx, planezip: byte-weighted ratios.
        top_encoder: what the planezip codec chose most often, with its share of the blocks.
    """

    model: str
    precision: Precision
    producer: str
    share_pct: float
    bdi: float
    zvc: float
    bpc: float
    bx: float
    zbx: float
    planezip: float
    top_encoder: str
    top_share_pct: float


def producers(capture: Capture, iteration: int = 0) -> list[Producer]:
    """A row for every category that occurs, by falling share, at both precisions."""
    rows = []
    for precision in PRECISIONS:
        groups: dict[str, list[TensorCapture]] = {}
        for tensor in capture.iterations[iteration]:
            groups.setdefault(category(tensor), []).append(tensor)
        total = sum(t.bytes_at(precision) for t in capture.iterations[iteration])
        found = [_row(capture.model, precision, n, ts, total) for n, ts in groups.items()]
        rows += sorted(found, key=lambda row: -row.share_pct)
    return rows


def _row(
    model: str, precision: Precision, name: str, tensors: list[TensorCapture], total_bytes: int
) -> Producer:
    share = sum(t.bytes_at(precision) for t in tensors) / total_bytes if total_bytes else 0.0
    blocks = encoder_blocks(tensors, precision)
    top, count = max(blocks.items(), key=lambda item: item[1], default=("raw", 0))
    return Producer(
        model,
        precision,
        name,
        100 * share,
        top_encoder=top,
        top_share_pct=100 * count / max(1, sum(blocks.values())),
        **{codec: ratio_of(tensors, precision, codec) for codec in CODECS if codec != SYMBOL32},
    )


def encoder_blocks(tensors: Iterable[TensorCapture], precision: Precision) -> Counter[str]:
    """Blocks by encoder; a sampled tensor's blocks stand for all of them."""
    blocks: Counter[str] = Counter()
    for tensor in tensors:
        for encoder, count in tensor.sizes[precision].encoder_blocks.items():
            blocks[encoder] += count * tensor.chunk_stride
    return blocks
