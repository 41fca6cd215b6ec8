"""Manifests and metadata that were damaged or forged are refused before anything is written."""

import json
import zipfile

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from archiving import pack, sealed, unpack
from planezip import CorruptStreamError

LIES = {
    "a type without end": {"dtype": "x" * 70_000},
    "a type of no letters": {"dtype": "中"},
    "a type of no numbers": {"dtype": "<f"},
    "a type of Python": {"dtype": "|O"},
    "a type of another size": {"dtype": "<f8"},
    "dimensions without end": {"shape": [1] * 40_000},
    "65 dimensions": {"shape": [4] + [1] * 64},
    "negative dimensions": {"shape": [-2, -2]},
    "a huge shape": {"shape": [1 << 60, 1 << 60]},
    "a huge shape of nothing": {"shape": [0, 1 << 62, 1 << 62]},
    "another shape": {"shape": [5]},
    "bytes of a shape": {"dtype": "", "shape": [4, 4]},
    "another hash": {"xxh3_64": "0" * 16},
}


def forged(manifest: bytes, lie: dict) -> bytes:
    about = json.loads(manifest)
    (entry,) = about["tensors"].values()
    entry |= lie
    return json.dumps(sealed(about)).encode()


def forge_npy(path, lie: dict) -> None:
    data = np.load(path).tobytes()
    size = int.from_bytes(data[-8:], "little")
    manifest = forged(data[-8 - size : -8], lie)
    whole = data[: -8 - size] + manifest + len(manifest).to_bytes(8, "little")
    np.save(path, np.frombuffer(whole, np.uint8))


def forge_npz(path, lie: dict) -> None:
    with zipfile.ZipFile(path) as zipped:
        members = {name: zipped.read(name) for name in zipped.namelist()}
    members["planezip.json"] = forged(members["planezip.json"], lie)
    with zipfile.ZipFile(path, "w") as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_numpy_archive_that_lies_is_refused(tmp_path, suffix, lie):
    array = np.arange(4, dtype=np.float32)
    path = tmp_path / f"m{suffix}"
    np.save(path, array) if suffix == ".npy" else np.savez(path, array)
    packed = pack(path)
    forge = forge_npy if suffix == ".npy" else forge_npz
    forge(packed, {})
    assert unpack(packed).exists()
    forge(packed, LIES[lie])
    with pytest.raises(CorruptStreamError):
        unpack(packed)


def test_every_changed_byte_of_manifest_and_metadata_is_noticed(tmp_path):
    """Names, types, shapes, keys and values: whatever tells of the original."""
    tensors = {"weight": np.ones((3, 4), np.float32), "bias": np.ones((4, 3), np.float32)}
    save_file(tensors, tmp_path / "m.safetensors", {"format": "pt", "license": "none"})
    packed = pack(tmp_path / "m.safetensors")
    with safe_open(packed, "np") as file:
        metadata = file.metadata()
    streams = load_file(packed)
    for key, text in metadata.items():
        for at in range(len(text)):
            changed = text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]
            save_file(streams, packed, metadata | {key: changed})
            with pytest.raises(CorruptStreamError):
                unpack(packed)
    for without in ("format", "license"):
        save_file(streams, packed, {k: v for k, v in metadata.items() if k != without})
        with pytest.raises(CorruptStreamError, match="hash"):
            unpack(packed)
    save_file(streams, packed, metadata | {"more": "of it"})
    with pytest.raises(CorruptStreamError, match="hash"):
        unpack(packed)
    save_file(streams, packed, metadata)
    unpack(packed)


def test_streams_that_were_exchanged_are_noticed(tmp_path):
    tensors = {name: np.full(9, value, np.float32) for value, name in enumerate("ab")}
    save_file(tensors, tmp_path / "m.safetensors")
    packed = pack(tmp_path / "m.safetensors")
    with safe_open(packed, "np") as file:
        metadata = file.metadata()
    streams = load_file(packed)
    save_file({"a": streams["b"], "b": streams["a"]}, packed, metadata)
    with pytest.raises(CorruptStreamError, match="hash differs"):
        unpack(packed)
