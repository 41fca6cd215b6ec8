"""Floating-point operations of matrix products and convolutions; a multiply-add counts as two."""

import math
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils.flop_counter import flop_registry

_aten = torch.ops.aten


def flops(
    func: OpOverload[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
) -> int:
    """Operations of one call; 0 for operators that are neither products nor convolutions.

    Torch's own formulas serve for matrix products, attention and forward convolutions; attention
    counts whole, masked or not, and fused attention on a CPU like that on a GPU. Its formula for
    the backward pass of a convolution ignores groups, which would make a depthwise one as
    expensive as a dense one, so there is another one here; and it has none for vectors.
    """
    packet = func.overloadpacket
    if packet is _aten.convolution_backward:
        return _convolution_backward(args)
    packet = _AS_ON_GPU.get(packet, packet)
    if packet in _VECTOR_PRODUCTS:
        left, right = args[_VECTOR_PRODUCTS[packet] :][:2]
        return 2 * int(math.prod(left.shape) * math.prod(right.shape[1:]))
    if func.namespace == "aten" and packet not in flop_registry:
        # An in-place product such as addmm_ costs what its functional form does.
        packet = getattr(_aten, func._schema.name.removeprefix("aten::").rstrip("_"), packet)
    formula = flop_registry.get(packet)
    return int(formula(*args, **kwargs, out_val=out)) if formula else 0


# Kernel of the CPU -> kernel of a GPU that takes the same leading arguments.
_AS_ON_GPU = {
    _aten._scaled_dot_product_flash_attention_for_cpu: _aten._scaled_dot_product_flash_attention,
    _aten._scaled_dot_product_flash_attention_for_cpu_backward: (
        _aten._scaled_dot_product_flash_attention_backward
    ),
}
# Products with vectors -> position of their first factor.
_VECTOR_PRODUCTS = {_aten.mv: 0, _aten.dot: 0, _aten.vdot: 0, _aten.addmv: 1, _aten.addmv_: 1}


def _convolution_backward(args: tuple[Any, ...]) -> int:
    """As many operations as forward for each of the two gradients (input, weight) asked for.

    In the forward pass every element of the output (of the input, if transposed) meets
    weight.shape[1:] elements of the other side: the channels of its group times the taps of the
    kernel. Either gradient goes through the same pairs once more. The bias gradient is a sum.
    """
    grad_output, x, weight = args[:3]
    transposed, output_mask = args[7], args[10]
    pairs = (x if transposed else grad_output).numel() * math.prod(weight.shape[1:])
    return int(2 * pairs * (output_mask[0] + output_mask[1]))
