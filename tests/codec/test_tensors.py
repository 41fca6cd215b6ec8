"""CPU torch tensors of any dtype, shape and strides come back; others are refused clearly."""

import gc
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

import planezip
from planezip import InputError
from planezip.codec import CODECS, adapter, describe, measure

KNOWN = {d for d in vars(torch).values() if isinstance(d, torch.dtype) and "q" not in str(d)}
SUB_BYTE = {d for d in KNOWN if re.fullmatch(r"torch\.u?int[1-7]", str(d))}
DTYPES = sorted(KNOWN - SUB_BYTE, key=str)


def raw(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""


def check(original: torch.Tensor, **options) -> None:
    before = raw(original)
    restored = planezip.decompress(planezip.compress(original, **options))
    assert raw(original) == before
    assert type(restored) is torch.Tensor
    assert restored.dtype == original.dtype
    assert restored.shape == original.shape
    assert restored.is_contiguous()
    assert raw(restored) == before


def some_tensor(dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some dtypes are experimental
        tensor = torch.empty(shape, dtype=dtype)
    if tensor.numel():
        flat = tensor.reshape(-1).view(torch.uint8)
        flat.copy_(torch.arange(flat.numel()).mul(37) % 7)
    return tensor


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_dtype(dtype):
    for shape in ((), (0,), (3, 0, 2), (5,), (4, 9, 3)):
        check(some_tensor(dtype, shape))


@pytest.mark.parametrize("dtype", sorted(SUB_BYTE, key=str), ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_dtype_of_less_than_a_byte_is_refused_by_name(dtype):
    with pytest.raises(InputError, match=str(dtype)):
        planezip.compress(torch.empty(8, dtype=dtype))


def test_the_element_types_above_are_all_there_are():
    """Names that a release of torch has today; a set that were empty would test nothing."""
    names = {str(dtype).removeprefix("torch.") for dtype in DTYPES}
    assert names >= {
        "bool",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "int8",
        "int16",
        "int32",
        "int64",
    }
    assert names >= {"bfloat16", "float16", "float32", "float64", "float4_e2m1fn_x2"}
    assert names >= {"complex32", "complex64", "complex128", "float8_e8m0fnu"}
    assert names >= {f"float8_{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")}
    assert {str(dtype).removeprefix("torch.") for dtype in SUB_BYTE} >= {"uint4", "int4", "uint1"}


QUANTIZED = [torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4]


@pytest.mark.parametrize("dtype", QUANTIZED, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_quantized_dtype_is_refused(dtype):
    scales, zeros = torch.ones(1), torch.zeros(1)
    tensor = (
        torch.quantize_per_channel(torch.ones(1, 8), scales, zeros, 0, dtype)
        if "x" in str(dtype)
        else torch.quantize_per_tensor(torch.ones(8), 0.1, 0, dtype)
    )
    with pytest.raises(InputError, match="quantized"):
        planezip.compress(tensor)


def test_a_tensor_that_was_compressed_can_be_resized_as_before():
    for original in (torch.ones(5), torch.ones(5).bfloat16()):
        planezip.compress(original)
        original.untyped_storage().resize_(0)
        original.untyped_storage().resize_(100)
        assert original.untyped_storage().nbytes() == 100


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("symbol_bits", [16, 32])
def test_every_codec_on_bf16(codec, symbol_bits, activations):
    for output in activations.values():
        check(torch.from_numpy(output).bfloat16(), codec=codec, symbol_bits=symbol_bits)


STRIDED = {
    "transposed": lambda x: x.transpose(0, 2),
    "channels last": lambda x: x[None].to(memory_format=torch.channels_last),
    "sliced": lambda x: x[1::2, :, ::3],
    "expanded": lambda x: x[:, :1].expand(-1, 6, -1),
    "offset": lambda x: x[1:],
    "parameter": torch.nn.Parameter,
    "conjugate": lambda x: torch.complex(x, x).conj(),
    "negated view": lambda x: torch.complex(x, x).conj().imag,
}


@pytest.mark.parametrize("name", STRIDED)
def test_any_strides(name):
    check(STRIDED[name](torch.randn(4, 6, 7, generator=torch.Generator().manual_seed(0))))


def test_nan_payloads_and_negative_zero_of_bf16_keep_their_bits():
    special = torch.tensor([0, -0x8000, 1, 0x7F80, 0x7F81, -1, 0x7FC0, -0x7F], dtype=torch.int16)
    for repeats in (1, 8, 100):
        check(special.repeat(repeats).view(torch.bfloat16))


def test_default_symbol_width_follows_the_element_type():
    for dtype in (torch.bfloat16, torch.float16):
        assert describe(planezip.compress(torch.zeros(3, dtype=dtype))).symbol_bits == 16
    for dtype in (torch.float32, torch.int16, torch.int64, torch.bool, torch.float8_e5m2):
        assert describe(planezip.compress(torch.zeros(3, dtype=dtype))).symbol_bits == 32


def test_a_tensor_and_its_array_have_the_same_chunks():
    tensor = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    assert planezip.compressed_size(tensor) == planezip.compressed_size(tensor.numpy())
    assert measure(tensor) == measure(tensor.numpy())


def test_decompress_into_a_tensor():
    original = torch.arange(60).bfloat16().reshape(3, 20)
    stream = planezip.compress(original)
    out = torch.empty_like(original)
    assert planezip.decompress(stream, out=out) is out
    assert torch.equal(out, original)


def _fake(dtype: torch.dtype = torch.float32, *shape: int) -> torch.Tensor:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(shape or 3, dtype=dtype)


def test_the_memory_of_a_tensor_lives_while_it_is_read():
    for make in (torch.ones, lambda size: torch.ones(size, size).T):
        tensor = make(300)
        values = raw(tensor)
        flat, _ = adapter.flatten(tensor)
        del tensor
        gc.collect()
        torch.zeros(300), torch.zeros(300, 300)  # would take the place
        assert flat.tobytes() == values


def test_the_default_device_plays_no_part():
    original = torch.arange(60).bfloat16().reshape(3, 20)
    for x in (original, original.T, original[:0], original.repeat(1, 40_000)):
        with torch.device("meta"):
            restored = planezip.decompress(planezip.compress(x))
        assert restored.device.type == "cpu"
        assert torch.equal(restored, x)


BAD_OUT = {
    "dtype": lambda: torch.empty(3, 20, dtype=torch.float16),
    "shape": lambda: torch.empty(60, dtype=torch.bfloat16),
    "strides": lambda: torch.empty(20, 3, dtype=torch.bfloat16).T,
    "grad": lambda: torch.empty(3, 20, dtype=torch.bfloat16, requires_grad=True),
    "device": lambda: torch.empty(3, 20, dtype=torch.bfloat16, device="meta"),
    "kind": lambda: np.empty((3, 20), np.float16),
    "memory": lambda: _fake(torch.bfloat16, 3, 20),
    "no elements": lambda: torch._efficientzerotensor((3, 20), dtype=torch.bfloat16),
}


@pytest.mark.parametrize("why", BAD_OUT)
def test_a_tensor_that_cannot_be_decompressed_into_is_refused(why):
    stream = planezip.compress(torch.arange(60).bfloat16().reshape(3, 20))
    with pytest.raises(InputError, match=r"^out must be"):
        planezip.decompress(stream, out=BAD_OUT[why]())


def shrunk(view=lambda tensor: tensor, size_bytes: int = 399) -> torch.Tensor:
    """A view of a hundred floats whose storage has too few bytes left."""
    tensor = view(torch.zeros(100))
    tensor.untyped_storage().resize_(size_bytes)
    return tensor


SHRUNK = {
    "by a byte": shrunk,
    "far": lambda: shrunk(size_bytes=16),
    "before it": lambda: shrunk(lambda t: t[50:], 100),
    "behind an offset": lambda: shrunk(lambda t: t[50:]),
    "strided": lambda: shrunk(lambda t: t[9::9]),
    "transposed": lambda: shrunk(lambda t: t.view(10, 10).T),
    "expanded": lambda: shrunk(lambda t: t[99:].expand(5)),
    "conjugated": lambda: shrunk(lambda t: t.view(torch.complex64).conj()),
}


@pytest.mark.parametrize("why", SHRUNK)
def test_a_tensor_whose_storage_has_shrunk_below_it_is_never_read(why):
    for call in (planezip.compress, planezip.compressed_size, measure):
        with pytest.raises(InputError, match=r"storage has .* bytes and ends before its elements"):
            call(SHRUNK[why]())


@pytest.mark.parametrize("why", ["by a byte", "far", "before it", "behind an offset"])
def test_a_tensor_whose_storage_has_shrunk_below_it_is_never_written(why):
    stream = planezip.compress(torch.zeros_like(SHRUNK[why]()))
    large = planezip.compress(torch.zeros(500_000))
    out = torch.zeros(500_000)
    out.untyped_storage().resize_(16)
    for call in (
        lambda: planezip.decompress(stream, out=SHRUNK[why]()),
        lambda: planezip.decompress(large, out=out),
        lambda: planezip.compress(b"abc", out=out),
    ):
        with pytest.raises(InputError, match=r"storage has .* bytes and ends before its elements"):
            call()


def test_what_the_storage_still_holds_is_read_and_written():
    tensor = torch.arange(100.0)
    tensor.untyped_storage().resize_(200)
    for view in (tensor[:50], tensor[1:50:3], tensor[10:50].view(4, 10).T, tensor[60:60]):
        assert torch.equal(planezip.decompress(planezip.compress(view)), view)
    part = torch.ones(40)
    planezip.decompress(planezip.compress(part), out=tensor[10:50])
    assert torch.equal(tensor[10:50], part)


REFUSED = {
    "sparse": lambda: torch.eye(3).to_sparse(),
    "meta": lambda: torch.empty(3, device="meta"),
    "FakeTensor": _fake,
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "no memory": lambda: torch._efficientzerotensor((3,)),
    "invalid python storage": lambda: torch._efficientzerotensor((3,))[1:],
    "so many dimensions": lambda: torch.empty([1] * 65),
    "so large ones": lambda: torch.empty(0, 1 << 61),
}


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tensors_without_plain_cpu_memory_are_refused_by_name(why):
    with pytest.raises(InputError, match=why):
        planezip.compress(REFUSED[why]())


def test_the_codec_does_not_import_torch():
    script = (
        "import sys, numpy, planezip.codec as c; c.decompress(c.compress(numpy.ones(3)));"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("size", [(1 << 21) - 3, (1 << 21) + 3])
def test_large_tensors_are_aligned_and_own_their_memory(size):
    original = torch.arange(size).to(torch.bfloat16)
    restored = planezip.decompress(planezip.compress(original))
    assert restored.data_ptr() % 64 == 0
    assert restored.untyped_storage().nbytes() >= restored.nbytes
    restored.add_(1)
    assert torch.equal(restored, original + 1)
    check(original.reshape(-1, 1).T)
