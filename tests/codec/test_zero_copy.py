"""Contiguous contents are read where they are; nothing that is compressed is ever written."""

import array
import mmap
import sys

import numpy as np
import pytest
import torch

import planezip
from planezip import InputError
from planezip.codec import adapter


class OtherLibrary:
    """An array of another library, which offers DLPack alone."""

    def __init__(self, array: np.ndarray | torch.Tensor) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def address(memory: object) -> int:
    return np.frombuffer(memory, np.uint8).ctypes.data


def _mapped(tmp_path) -> mmap.mmap:
    (tmp_path / "data").write_bytes(bytes(range(256)) * 4)
    with (tmp_path / "data").open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


KINDS = {
    "array": lambda _: np.arange(99.0),
    "read-only array": lambda _: np.frombuffer(bytes(99), np.int8),
    "unaligned array": lambda _: np.frombuffer(bytes(41), np.float32, offset=1),
    "tensor": lambda _: torch.arange(99),
    "bf16 tensor": lambda _: torch.arange(99).bfloat16(),
    "float8 tensor": lambda _: torch.ones(99).to(torch.float8_e4m3fn),
    "bytes": lambda _: bytes(range(99)),
    "bytearray": lambda _: bytearray(99),
    "memoryview": lambda _: memoryview(bytes(99))[3:],
    "array.array": lambda _: array.array("f", range(99)),
    "mmap": _mapped,
    "numpy.memmap": lambda path: np.memmap(path / "m", np.float32, "w+", shape=(5, 7)),
    "DLPack": lambda _: OtherLibrary(np.arange(99.0)),
}


def start(x: object) -> int:
    if isinstance(x, torch.Tensor):
        return x.data_ptr()
    if isinstance(x, OtherLibrary):
        return x.array.ctypes.data
    return address(x)


@pytest.mark.parametrize("kind", KINDS)
def test_contiguous_contents_are_not_copied(kind, tmp_path):
    x = KINDS[kind](tmp_path)
    flat, _ = adapter.flatten(x)
    assert flat.ctypes.data == start(x)
    restored = planezip.decompress(planezip.compress(x))
    assert adapter.flatten(restored)[0].tobytes() == flat.tobytes()


def test_results_of_dlpack_are_arrays():
    restored = planezip.decompress(planezip.compress(OtherLibrary(np.arange(6).reshape(2, 3).T)))
    assert np.array_equal(restored, np.arange(6).reshape(2, 3).T)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_dlpack_elements_that_numpy_does_not_know_become_tensors(dtype):
    tensor = torch.arange(60).to(dtype).reshape(3, 20)
    flat, _ = adapter.flatten(OtherLibrary(tensor))
    assert flat.ctypes.data == tensor.data_ptr()
    restored = planezip.decompress(planezip.compress(OtherLibrary(tensor)))
    assert restored.dtype == dtype
    assert torch.equal(restored.view(torch.uint8), tensor.view(torch.uint8))


def test_dlpack_elements_that_nobody_knows_are_refused_by_name(monkeypatch):
    source = OtherLibrary(torch.ones(3).bfloat16())
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(
        InputError, match=r"^cannot compress a OtherLibrary: .*import torch"
    ) as said:
        planezip.compress(source)
    assert "\n" not in str(said.value)


class Elsewhere:
    def __dlpack__(self, **_: object) -> object:
        raise BufferError("the memory is on a device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def test_dlpack_memory_out_of_reach_is_refused_by_name():
    with pytest.raises(InputError, match="cannot compress a Elsewhere"):
        planezip.compress(Elsewhere())


def test_contents_in_read_only_memory_are_compressed_there():
    """A single write to the input would end the process."""
    with mmap.mmap(-1, 1 << 16, prot=mmap.PROT_READ) as memory:
        for codec in planezip.codec.CODECS:
            for length in (1 << 16, 12_345, 1):
                contents = memoryview(memory)[:length]
                assert planezip.decompress(planezip.compress(contents, codec)) == bytes(length)
                contents.release()


def test_large_strided_contents_are_gathered_in_pieces(monkeypatch):
    monkeypatch.setattr(adapter, "SLICE_BYTES", 1000)
    grid = np.arange(30_000).reshape(100, 300)
    for view in (
        grid.T,
        grid[::-1, ::7],
        np.broadcast_to(grid[0], (40, 300)),
        grid.T.astype(">f4"),
    ):
        restored = planezip.decompress(planezip.compress(view))
        assert restored.dtype == view.dtype
        assert restored.tobytes() == view.tobytes()
    text = np.array([["ab", "c"], ["", "def"]]).T.repeat(300, 0)[::2]
    assert planezip.decompress(planezip.compress(text)).tobytes() == text.tobytes()
