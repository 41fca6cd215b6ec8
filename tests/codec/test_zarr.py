"""The codec in numcodecs and in Zarr arrays, found through its entry points."""

import json
from importlib.metadata import entry_points

import numcodecs
import numpy as np
import pytest
import zarr

from planezip import CorruptStreamError, InputError
from planezip.codec import describe
from planezip.codec.numcodec import PlaneZip
from planezip.codec.zarr_codec import PlaneZipCodec

ARRAYS = {
    "float16": np.linspace(-2, 2, 3000, dtype="<f2").reshape(50, 60),
    "float32": np.arange(3000, dtype="<f4").reshape(50, 60),
    "big-endian": np.arange(3000, dtype=">i4").reshape(50, 60),
    "Fortran order": np.asfortranarray(np.arange(3000.0).reshape(50, 60)),
    "bool": np.arange(3000).reshape(50, 60) % 3 == 0,
    "datetime": np.arange(3000).reshape(50, 60).astype("M8[s]"),
    "empty": np.empty((0, 60), np.float32),
}


def test_the_entry_points_lead_to_the_codecs():
    for group, kind in (("numcodecs.codecs", PlaneZip), ("zarr.codecs", PlaneZipCodec)):
        (point,) = entry_points(group=group, name="planezip")
        assert point.load() is kind


@pytest.mark.parametrize("name", ARRAYS)
def test_numcodecs_restores_any_buffer(name):
    array = ARRAYS[name]
    codec = numcodecs.get_codec({"id": "planezip", "codec": "planezip"})
    assert numcodecs.get_codec(codec.get_config()) == codec
    stream = codec.encode(array)
    memory = array.tobytes(order="A")
    assert bytes(codec.decode(stream)) == memory
    out = np.empty_like(array)
    assert codec.decode(stream, out=out) is out
    assert out.tobytes(order="A") == memory
    assert describe(stream).symbol_bits == (16 if name == "float16" else 32)


def test_numcodecs_refuses_what_does_not_fit():
    stream = PlaneZip().encode(b"abc" * 50)
    with pytest.raises(InputError, match="150 bytes"):
        PlaneZip().decode(stream, out=bytearray(149))
    with pytest.raises(CorruptStreamError):
        PlaneZip().decode(stream[:-1])
    with pytest.raises(InputError, match="unknown codec"):
        PlaneZip("zip")


def test_a_width_that_is_an_integer_of_numpy_can_be_written_into_metadata():
    width = np.int64(16)
    for codec, plain in (
        (PlaneZip(symbol_bits=width).get_config(), PlaneZip(symbol_bits=16).get_config()),
        (PlaneZipCodec(symbol_bits=width).to_dict(), PlaneZipCodec(symbol_bits=16).to_dict()),
    ):
        assert json.dumps(codec) == json.dumps(plain)
    with pytest.raises(InputError, match="symbol_bits is 0"):
        PlaneZip(symbol_bits=0)


@pytest.mark.parametrize("name", [n for n in ARRAYS if n != "empty"])
@pytest.mark.parametrize("symbol_bits", [None, 16])
def test_zarr_3_arrays_come_back(tmp_path, name, symbol_bits):
    array = ARRAYS[name]
    stored = zarr.create_array(
        tmp_path / "a.zarr",
        data=array,
        chunks=(20, 25),
        compressors=PlaneZipCodec(symbol_bits=symbol_bits),
    )
    assert stored.metadata.zarr_format == 3
    back = zarr.open_array(tmp_path / "a.zarr", mode="r")
    stored_type = array.astype(back.dtype)  # Zarr keeps the byte order elsewhere
    assert back[:].tobytes() == stored_type.tobytes()
    assert back[7:31, 40].tobytes() == stored_type[7:31, 40].tobytes()
    chunk = (tmp_path / "a.zarr" / "c" / "0" / "0").read_bytes()
    wanted = symbol_bits or (16 if name == "float16" else 32)
    assert describe(chunk).symbol_bits == wanted


@pytest.mark.parametrize("name", [n for n in ARRAYS if n != "empty"])
def test_zarr_2_arrays_come_back(tmp_path, name):
    array = ARRAYS[name]
    zarr.create_array(
        tmp_path / "a.zarr", data=array, chunks=(20, 25), zarr_format=2, compressors=PlaneZip()
    )
    back = zarr.open_array(tmp_path / "a.zarr", mode="r")
    assert back[:].tobytes() == array.tobytes()


def test_a_damaged_chunk_is_noticed(tmp_path):
    array = ARRAYS["float32"]
    zarr.create_array(tmp_path / "a.zarr", data=array, chunks=(50, 60), compressors=PlaneZipCodec())
    chunk = tmp_path / "a.zarr" / "c" / "0" / "0"
    damaged = bytearray(chunk.read_bytes())
    damaged[-9] ^= 2
    chunk.write_bytes(damaged)
    with pytest.raises(CorruptStreamError):
        zarr.open_array(tmp_path / "a.zarr", mode="r")[:]
