"""What an archive is made of comes back, whatever its names and metadata, or is refused at once."""

import json
import zipfile

import numpy as np
import pytest
from safetensors import TensorSpec, deserialize, safe_open, serialize_file
from safetensors.numpy import save_file

from archiving import pack, sealed, unpack
from planezip import CorruptStreamError, InputError, compress
from planezip.codec.archives import safetensors_file

ONES = np.ones(4, np.uint8)


def save(path, names, metadata):
    spec = TensorSpec(dtype="uint8", shape=[4], data_ptr=ONES.ctypes.data, data_len=4)
    serialize_file(dict.fromkeys(names, spec), path, metadata=metadata)


@pytest.mark.parametrize("metadata", [None, {}, {"a": "é\n\0"}, {"planezip": "x"}])
@pytest.mark.parametrize("names", [["x"], ["", "planezip", "é\n", "\0"]])
def test_what_the_library_wrote_comes_back_byte_for_byte(tmp_path, names, metadata):
    save(tmp_path / "m.safetensors", names, metadata)
    assert unpack(pack(tmp_path / "m.safetensors")).read_bytes() == (
        (tmp_path / "m.safetensors").read_bytes()
    )


@pytest.mark.parametrize("header", ["{}", '{"__metadata__":{}}', '{"__metadata__":{"a":"b"}}'])
def test_files_without_tensors_come_back(tmp_path, header):
    content = len(header).to_bytes(8, "little") + header.encode()
    (tmp_path / "m.safetensors").write_bytes(content)
    with safe_open(unpack(pack(tmp_path / "m.safetensors")), "np") as file:
        assert list(file.keys()) == []
        assert file.metadata() == json.loads(header).get("__metadata__")


def test_the_hash_of_the_manifest_is_that_of_plain_json(tmp_path):
    """Whatever characters there are: another program must find the same."""
    odd = "".join(map(chr, range(0x300))) + "\u2028\uffff\U0001f600"
    metadata = {odd: odd, "\uffff": "", "\U0001f600": "", "z": ""}
    save_file({odd: ONES, "a": ONES}, tmp_path / "m.safetensors", metadata)
    with safe_open(pack(tmp_path / "m.safetensors"), "np") as file:
        manifest = json.loads(file.metadata()["planezip"])
    assert sealed(manifest, metadata) == manifest


KEYS = ["planezip", "planezip.original", "planezip.original.original", "planezip.", "PlaneZip"]


def test_metadata_may_have_the_keys_of_an_archive(tmp_path):
    metadata = {key: f"of {key}" for key in KEYS}
    save_file({"x": ONES}, tmp_path / "m.safetensors", metadata)
    packed = pack(tmp_path / "m.safetensors")
    with safe_open(packed, "np") as file:
        assert json.loads(file.metadata()["planezip"])["tensors"].keys() == {"x"}
    with safe_open(unpack(packed), "np") as file:
        assert file.metadata() == metadata


NAMES = [
    *("", "a", "folder/", "folder/with data/", "é\n", "../up", "x" * 65_000),
    *("planezip.json", "planezip.json.original", "planezip.json.original.original"),
]


def test_members_of_any_name_come_back(tmp_path):
    contents = {name: b"" if name == "folder/" else name.encode() or b"no" for name in NAMES}
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as zipped:
        for name, content in contents.items():
            with zipped.open(zipfile.ZipInfo(name), "w") as member:
                member.write(content)
    with zipfile.ZipFile(unpack(pack(tmp_path / "m.npz"))) as zipped:
        members = {info.filename: zipped.open(info).read() for info in zipped.infolist()}
    assert list(members) == NAMES
    assert members == contents


def test_a_member_whose_name_is_cut_off_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as zipped:
        zipped.writestr("aXb", b"data")
    (tmp_path / "m.npz").write_bytes((tmp_path / "m.npz").read_bytes().replace(b"aXb", b"a\0b"))
    with pytest.raises(CorruptStreamError, match="impossible name"):
        pack(tmp_path / "m.npz")


@pytest.mark.parametrize("damaged", [False, True])
def test_only_a_whole_archive_is_one_already(tmp_path, damaged):
    """What merely looks like one is compressed and comes back."""
    np.save(tmp_path / "m.npy", np.frombuffer(compress(ONES), np.uint8))
    back = unpack(pack(tmp_path / "m.npy"))
    assert back.read_bytes() == (tmp_path / "m.npy").read_bytes()

    save_file({"x": ONES}, tmp_path / "m.safetensors")
    np.savez(tmp_path / "m.npz", x=ONES)
    for suffix in (".npy", ".npz", ".safetensors"):
        packed = pack(tmp_path / f"m{suffix}")
        if not damaged:
            with pytest.raises(InputError, match="archive already"):
                pack(packed)
            continue
        content = packed.read_bytes()
        at = content.index(b"xxh3_64") + 20  # inside a hash of the manifest
        packed.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        if suffix == ".npz":  # its own checksum notices
            with pytest.raises(CorruptStreamError, match="CRC"):
                pack(packed)
        else:
            again = packed.read_bytes()
            assert unpack(pack(packed)).read_bytes() == again


def of_header(entry: dict, content: bytes) -> bytes:
    header = json.dumps({"x": entry}).encode()
    return len(header).to_bytes(8, "little") + header + content


def test_elements_that_the_library_could_not_write_again_are_refused_at_once(tmp_path):
    entry = {"dtype": "F4", "shape": [2, 3], "data_offsets": [0, 3]}
    (tmp_path / "m.safetensors").write_bytes(of_header(entry, b"abc"))
    with pytest.raises(InputError, match=r"'x'.*-o FILE\.pz"):
        pack(tmp_path / "m.safetensors")


@pytest.mark.parametrize(
    "shape", [[0, 1 << 62, 1 << 62], [1 << 62, 1 << 62, 0], [0, (1 << 63) - 1], [1 << 61, 8, 0]]
)
def test_shapes_are_possible_if_they_are_for_the_library(tmp_path, shape):
    content = of_header({"dtype": "U64", "shape": shape, "data_offsets": [0, 0]}, b"")
    (tmp_path / "m.safetensors").write_bytes(content)
    try:
        deserialize(content)
    except Exception:
        with pytest.raises(CorruptStreamError):
            pack(tmp_path / "m.safetensors")
    else:
        back = unpack(pack(tmp_path / "m.safetensors")).read_bytes()
        assert dict(deserialize(back))["x"]["shape"] == shape


def test_more_names_than_a_header_holds_are_told_with_a_way_out(tmp_path, monkeypatch):
    save(tmp_path / "m.safetensors", ["x"], None)

    def refuse(*_, **__):
        from safetensors import SafetensorError

        raise SafetensorError("Error while serializing: header too large")

    monkeypatch.setattr("safetensors.serialize_file", refuse)
    with pytest.raises(InputError, match=rf"{tmp_path}/m\.safetensors: .*-o FILE\.pz"):
        pack(tmp_path / "m.safetensors")


@pytest.mark.slow
def test_the_library_refuses_large_headers_as_it_is_understood_here(tmp_path):
    names = [f"{number:0100d}" for number in range(500_000)]
    save(tmp_path / "m.safetensors", names, None)
    with pytest.raises(InputError, match=r"100,000,000.*-o FILE\.pz"):
        pack(tmp_path / "m.safetensors")


def test_every_element_type_has_the_width_of_symbols_of_its_kind():
    wide = {name for name, (_, bits) in safetensors_file.DTYPES.items() if bits == 16}
    assert wide == {"I16", "U16", "F16", "BF16"}
    halves = {
        name
        for name in safetensors_file.DTYPES
        if safetensors_file.Tensor(name, (), None).symbol_bits == 16
    }
    assert halves == {"F16", "BF16"}
