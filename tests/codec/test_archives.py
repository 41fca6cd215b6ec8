"""Archives restore tensors, shapes, types and metadata, or say what is damaged."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError, TensorSpec, deserialize, safe_open, serialize_file
from safetensors.torch import load_file, save_file

from archiving import pack, sealed, silent, unpack
from planezip import CorruptStreamError, InputError
from planezip.codec import describe
from planezip.codec.archives import STREAM, safetensors_file
from planezip.codec.archives.region import opened
from planezip.codec.archives.settings import Settings
from planezip.codec.format import CODECS


def raw(tensor: torch.Tensor) -> bytes:
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


@pytest.fixture
def model(tmp_path) -> Path:
    generator = torch.Generator().manual_seed(0)
    tensors = {
        "dense": torch.randn(37, 21, generator=generator).bfloat16(),
        "relu": torch.randn(4, 5, 6, generator=generator).relu(),
        "scalar": torch.tensor(7, dtype=torch.int64),
        "empty": torch.empty(3, 0),
        "odd \u00e9\n[name]": torch.ones(3, dtype=torch.bool),
    }
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt", "é": '{"x": 1}'})
    return tmp_path / "model.safetensors"


def test_a_model_comes_back_tensor_by_tensor(model):
    back = unpack(pack(model))
    before, after = load_file(model), load_file(back)
    assert list(before) == list(after)
    for name, tensor in before.items():
        assert after[name].dtype == tensor.dtype
        assert after[name].shape == tensor.shape
        assert raw(after[name]) == raw(tensor)
    with safe_open(back, "pt") as file:
        assert file.metadata() == {"format": "pt", "é": '{"x": 1}'}


def test_an_archive_is_a_safetensors_file_that_the_library_reads(model):
    with safe_open(pack(model), "np") as file:
        metadata = file.metadata()
        streams = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert metadata.pop("é") == '{"x": 1}'
    entries = json.loads(metadata["planezip"])["tensors"]
    assert entries["dense"]["dtype"] == "BF16"
    assert entries["dense"]["shape"] == [37, 21]
    for name, stream in streams.items():
        assert stream.dtype == np.uint8
        assert describe(stream).byte_length == len(raw(load_file(model)[name]))
    assert describe(streams["dense"]).symbol_bits == 16
    assert describe(streams["relu"]).symbol_bits == 32


@pytest.mark.parametrize("dtype", safetensors_file.DTYPES)
def test_every_element_type_of_safetensors(tmp_path, dtype):
    name, bits = safetensors_file.DTYPES[dtype]
    data = np.arange(24 * bits // 8, dtype=np.uint8) % 2
    shape = [2, 3, 2] if dtype == "F4" else [2, 3, 4]  # the library counts pairs of 4-bit elements
    spec = TensorSpec(dtype=name, shape=shape, data_ptr=data.ctypes.data, data_len=data.nbytes)
    serialize_file({"x": spec}, tmp_path / "x.safetensors")
    back = unpack(pack(tmp_path / "x.safetensors"))
    assert back.read_bytes() == (tmp_path / "x.safetensors").read_bytes()


def test_every_element_type_of_the_library_is_known():
    with pytest.raises(Exception, match="Supported dtypes: ") as caught:
        TensorSpec(dtype="none", shape=[], data_ptr=0, data_len=0)
    supported = str(caught.value).partition("Supported dtypes: ")[2].split(", ")
    assert {name for name, _ in safetensors_file.DTYPES.values()} == set(supported)


@pytest.mark.parametrize("codec", CODECS)
def test_settings_reach_the_streams(model, codec):
    packed = pack(model, codec=codec, symbol_bits=16, threads=1)
    for stream in load_file(packed).values():
        info = describe(stream.numpy())
        assert (info.codec, info.symbol_bits) == (codec, 16)
    assert load_file(unpack(packed)).keys() == load_file(model).keys()


def test_archives_of_archives_are_refused(model):
    packed = pack(model)
    with pytest.raises(InputError, match="archive already"):
        pack(packed)


def test_bit_flips_of_an_archive_are_noticed_or_harmless(tmp_path):
    """Harmless is what leaves every tensor as it was: white space and names in the header."""
    save_file({"x": torch.arange(9).bfloat16(), "y": torch.ones(2)}, tmp_path / "m.safetensors")
    packed = pack(tmp_path / "m.safetensors")
    whole = packed.read_bytes()
    values = sorted(raw(t) for t in load_file(tmp_path / "m.safetensors").values())
    noticed = 0
    for bit in range(0, 8 * len(whole), 3):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        packed.write_bytes(damaged)
        try:
            back = unpack(packed)
        except (CorruptStreamError, InputError):
            noticed += 1
            continue
        restored = load_file(back)
        assert sorted(raw(t) for t in restored.values()) == values, bit
    assert noticed > 2 * len(whole)


def test_every_truncation_of_an_archive_is_noticed(model):
    packed = pack(model)
    whole = packed.read_bytes()
    for length in range(0, len(whole), 7):
        packed.write_bytes(whole[:length])
        with pytest.raises(CorruptStreamError):
            unpack(packed)


def taken_apart(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    with safe_open(path, "pt") as file:
        return load_file(path), file.metadata()


def forge(path: Path, **changes: object) -> None:
    """Change what the manifest says of the tensor "relu", and its hash."""
    tensors, metadata = taken_apart(path)
    manifest = json.loads(metadata.pop("planezip"))
    manifest["tensors"]["relu"] |= changes
    manifest = sealed(manifest, metadata)
    save_file(tensors, path, metadata | {"planezip": json.dumps(manifest)})


LIES = {
    "another hash": {"xxh3_64": "0" * 16},
    "no hash": {"xxh3_64": ""},
    "another shape": {"shape": [4, 5, 7]},
    "negative shape": {"shape": [-4, -5, 6]},
    "huge shape": {"shape": [1 << 62, 1 << 62]},
    "another type": {"dtype": "F64"},
    "unknown type": {"dtype": "F31"},
    "no type": {"dtype": ""},
    "a number as type": {"dtype": 32},
    "unknown field": {"offset": 1},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_is_refused(model, lie):
    packed = pack(model)
    forge(packed, **LIES[lie])
    with pytest.raises(CorruptStreamError):
        unpack(packed)


def test_a_manifest_of_other_tensors_is_refused(model):
    packed = pack(model)
    tensors, metadata = taken_apart(packed)
    del tensors["relu"]
    save_file(tensors, packed, metadata)
    with pytest.raises(CorruptStreamError, match="same names"):
        unpack(packed)
    save_file(tensors, packed)
    with pytest.raises(CorruptStreamError, match="no PlaneZip archive"):
        unpack(packed)


HEADERS = {
    "empty": b"",
    "short": b"\x08\0\0\0",
    "header beyond the end": (1 << 40).to_bytes(8, "little") + b"{}",
    "not JSON": (4).to_bytes(8, "little") + b"{{{{",
    "not UTF-8": (4).to_bytes(8, "little") + b'"\xff"}',
    "a list": (2).to_bytes(8, "little") + b"[]",
}
ENTRIES = {
    "offsets beyond the end": {"dtype": "U8", "shape": [5], "data_offsets": [0, 5]},
    "offsets backwards": {"dtype": "U8", "shape": [0], "data_offsets": [2, 1]},
    "negative offsets": {"dtype": "U8", "shape": [1], "data_offsets": [-1, 0]},
    "size unlike the shape": {"dtype": "U8", "shape": [3], "data_offsets": [0, 2]},
    "half a byte": {"dtype": "F4", "shape": [3], "data_offsets": [0, 1]},
    "negative sizes": {"dtype": "U8", "shape": [-1, -2], "data_offsets": [0, 2]},
    "unknown type": {"dtype": "U9", "shape": [2], "data_offsets": [0, 2]},
    "no shape": {"dtype": "U8", "data_offsets": [0, 2]},
}


@pytest.mark.parametrize("name", [*HEADERS, *ENTRIES])
def test_files_that_are_no_safetensors_are_refused(tmp_path, name):
    content = HEADERS.get(name)
    if content is None:
        header = json.dumps({"x": ENTRIES[name]}).encode()
        content = len(header).to_bytes(8, "little") + header + b"ab"
    (tmp_path / "x.safetensors").write_bytes(content)
    for convert in (pack, unpack):
        with pytest.raises(CorruptStreamError):
            convert(tmp_path / "x.safetensors")


def u8(begin: int, end: int) -> str:
    return json.dumps({"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end]})


def of_header(header: str, size: int) -> bytes:
    """A file of that header and so many bytes behind it."""
    return len(header.encode()).to_bytes(8, "little") + header.encode() + bytes(size)


REFUSED_BY_THE_LIBRARY = {
    "a tensor twice": (f'{{"x": {u8(0, 4)}, "x": {u8(4, 8)}}}', 8, "'x' twice"),
    "metadata twice": ('{"__metadata__": {}, "__metadata__": {}}', 0, "'__metadata__' twice"),
    "a field twice": (f'{{"x": {{"dtype": "U8", {u8(0, 4)[1:]}}}', 4, "'dtype' twice"),
    "bytes behind the last": (f'{{"x": {u8(0, 4)}}}', 7, "3 bytes behind"),
    "bytes of no tensors": ("{}", 2, "2 bytes behind"),
    "an overlap": (f'{{"x": {u8(0, 4)}, "y": {u8(2, 6)}}}', 6, "'y' overlaps"),
    "shared bytes": (f'{{"x": {u8(0, 4)}, "y": {u8(0, 4)}}}', 4, "'y' overlaps"),
    "a hole": (f'{{"x": {u8(0, 4)}, "y": {u8(6, 8)}}}', 8, "'y' has a hole"),
    "a hole at the start": (f'{{"x": {u8(2, 4)}}}', 4, "'x' has a hole"),
    "nothing amid a tensor": (f'{{"x": {u8(0, 4)}, "y": {u8(2, 2)}}}', 4, "'y' overlaps"),
}


@pytest.mark.parametrize("name", REFUSED_BY_THE_LIBRARY)
def test_files_that_the_library_refuses_are_refused(tmp_path, name):
    header, size, message = REFUSED_BY_THE_LIBRARY[name]
    content = of_header(header, size)
    with pytest.raises(SafetensorError):
        deserialize(content)
    (tmp_path / "x.safetensors").write_bytes(content)
    for convert in (pack, unpack):
        with pytest.raises(CorruptStreamError, match=message):
            convert(tmp_path / "x.safetensors")


@pytest.mark.parametrize("header", ['{"x": ' + u8(0, 4) + ', "x": ' + u8(0, 4) + "}", "[" * 9999])
def test_headers_that_the_format_forbids_are_refused(tmp_path, header):
    (tmp_path / "x.safetensors").write_bytes(of_header(header, 4))
    with pytest.raises(CorruptStreamError, match="not a safetensors file"):
        pack(tmp_path / "x.safetensors")


def test_tensors_in_any_order_and_empty_ones_between_are_read(tmp_path):
    entries = {"z": (4, 9), "none": (4, 4), "a": (0, 4), "first": (0, 0), "last": (9, 9)}
    header = ", ".join(f'"{name}": {u8(*offsets)}' for name, offsets in entries.items())
    content = of_header(f"{{{header}}}", 9)
    assert {name for name, _ in deserialize(content)} == set(entries)
    (tmp_path / "x").write_bytes(content)
    with opened(tmp_path / "x") as file:
        tensors, _ = safetensors_file.parse(file)
    sizes = {name: tensor.data.nbytes for name, tensor in tensors.items()}
    assert sizes == {name: end - begin for name, (begin, end) in entries.items()}


ARRAYS = {
    "float16": np.linspace(0, 1, 300, dtype=np.float16).reshape(3, 100),
    "Fortran order": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "big-endian": np.arange(9, dtype=">i4"),
    "scalar": np.array(3 + 4j),
    "empty": np.empty((0, 7), "U3"),
    "records": np.zeros(4, [("a", "i4"), ("b", "f8")]),
    "objects": np.array([None, {"a": 1}], object),
}


def same_array(one: np.ndarray, other: np.ndarray) -> None:
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    assert one.flags.f_contiguous == other.flags.f_contiguous
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_files_come_back_array_by_array(tmp_path, save):
    save(tmp_path / "all.npz", **ARRAYS)
    with zipfile.ZipFile(tmp_path / "all.npz", "a") as zipped:
        zipped.writestr("note.txt", "not an array")
    packed = pack(tmp_path / "all.npz")
    back = unpack(packed)
    with np.load(back, allow_pickle=True) as restored, np.load(packed) as streams:
        for name, array in ARRAYS.items():
            same_array(restored[name], array)
            assert streams[name].dtype == np.uint8
        assert restored["note.txt"] == b"not an array"
        assert describe(streams["float16"]).symbol_bits == 16
    with zipfile.ZipFile(back) as after, zipfile.ZipFile(tmp_path / "all.npz") as before:
        kinds = [{i.filename: i.compress_type for i in z.infolist()} for z in (before, after)]
        assert kinds[0] == kinds[1]


@pytest.mark.parametrize("name", ARRAYS)
def test_npy_files_come_back(tmp_path, name):
    np.save(tmp_path / "x.npy", ARRAYS[name])
    packed = pack(tmp_path / "x.npy")
    assert np.load(packed).dtype == np.uint8
    same_array(np.load(unpack(packed), allow_pickle=True), ARRAYS[name])
    with pytest.raises(InputError, match="archive already"):
        pack(packed)


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_damage_of_numpy_archives_is_noticed_or_harmless(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    array = np.arange(50, dtype=np.float32)
    np.savez(path, x=array) if suffix == ".npz" else np.save(path, array)
    packed = pack(path)
    whole = packed.read_bytes()
    for bit in range(0, 8 * len(whole), 5):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        packed.write_bytes(damaged)
        try:
            restored = np.load(unpack(packed))
        except (CorruptStreamError, InputError):
            continue
        assert (restored["x"] if suffix == ".npz" else restored).tobytes() == array.tobytes(), bit
    for length in range(0, len(whole), 11):
        packed.write_bytes(whole[:length])
        with pytest.raises(CorruptStreamError):
            unpack(packed)


def test_a_deflated_member_of_an_archive_is_refused_before_it_is_inflated(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.arange(5))
    packed = pack(tmp_path / "x.npz")
    with zipfile.ZipFile(packed) as zipped:
        members = {name: zipped.read(name) for name in zipped.namelist()}
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    with pytest.raises(CorruptStreamError, match="deflated"):
        unpack(packed)


def test_streams_of_files_are_those_of_compress(tmp_path):
    import planezip

    for content in (b"", b"abc" * 5000):
        (tmp_path / "x").write_bytes(content)
        STREAM.compress(tmp_path / "x", tmp_path / "x.pz", Settings(), silent)
        assert (tmp_path / "x.pz").read_bytes() == planezip.compress(content)


@pytest.mark.parametrize("more", [-1, 10, 5000])
def test_members_of_another_size_than_the_zip_file_says_are_refused(tmp_path, more):
    source = tmp_path / "odd.npz"
    np.savez_compressed(source, a=np.arange(300))
    data = source.read_bytes()
    with zipfile.ZipFile(source) as zipped:
        size = zipped.infolist()[0].file_size
    said = data.replace(size.to_bytes(4, "little"), (size + more).to_bytes(4, "little"))
    assert said != data
    source.write_bytes(said)
    with pytest.raises((CorruptStreamError, InputError)):
        pack(source)


def test_a_safetensors_shape_that_no_library_takes_is_refused(tmp_path):
    header = f'{{"a":{{"dtype":"F32","shape":[0,{2**70}],"data_offsets":[0,0]}}}}'
    (tmp_path / "x.safetensors").write_bytes(of_header(header, 0))
    with pytest.raises(CorruptStreamError):
        pack(tmp_path / "x.safetensors")
