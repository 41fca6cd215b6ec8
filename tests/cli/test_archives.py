"""Archives by the command line: made, restored and inspected."""

import json
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import planezip as library
from archiving import sealed
from planezip.codec import describe
from planezip.codec.archives import STREAM, archive_of
from planezip.codec.archives.settings import Settings

TENSORS = {
    "layer.weight": np.linspace(-1, 1, 3000, dtype=np.float16).reshape(30, 100),
    "relu [0]": np.maximum(np.sin(np.arange(4000, dtype=np.float32)), 0),
    "scalar": np.array(3, np.int64),
}


@pytest.fixture
def model(here):
    save_file(TENSORS, here / "model.safetensors", metadata={"format": "np"})
    return here / "model.safetensors"


def test_a_model_becomes_an_archive_and_comes_back(model, here, succeed):
    before = model.read_bytes()
    told = json.loads(succeed("compress", "model.safetensors", "--json"))
    assert told["target"] == "model.pz.safetensors"
    assert told["source_bytes"] == len(before)
    assert told["target_bytes"] == (here / "model.pz.safetensors").stat().st_size
    assert all(stream.dtype == np.uint8 for stream in load_file("model.pz.safetensors").values())
    model.unlink()
    succeed("decompress", "model.pz.safetensors")
    assert model.read_bytes() == before


def loaded(name: str) -> np.ndarray:
    if name.endswith(".npy"):
        return np.load(name)
    with np.load(name) as arrays:
        return arrays["arr_0"]


@pytest.mark.parametrize(
    ("name", "target"), [("a.npz", "a.pz.npz"), ("a.npy", "a.npy.pz"), ("a.npy", "a.pz.npy")]
)
def test_numpy_files_come_back(here, succeed, name, target):
    (np.save if name == "a.npy" else np.savez)(name, TENSORS["layer.weight"])
    before = loaded(name)
    explicit = ["-o", target] if target == "a.pz.npy" else []
    succeed("compress", name, *explicit)
    succeed("decompress", target, "--force")
    after = loaded(name)
    assert np.array_equal(before, after)
    assert before.dtype == after.dtype


def test_a_model_can_be_a_plain_stream(model, here, succeed):
    succeed("compress", "model.safetensors", "-o", "model.pz")
    assert describe((here / "model.pz").read_bytes()).byte_length == model.stat().st_size
    succeed("decompress", "model.pz", "-o", "other.bin")
    assert (here / "other.bin").read_bytes() == model.read_bytes()


def test_options_reach_every_tensor(model, here, succeed):
    succeed("compress", model, "--codec", "bdi", "--symbol-bits", 16, "--threads", 1)
    for stream in load_file("model.pz.safetensors").values():
        assert (describe(stream).codec, describe(stream).symbol_bits) == ("bdi", 16)


def test_what_cannot_be_done_is_said_in_one_line(model, here, succeed, refuse):
    (here / "data.bin").write_bytes(b"some")
    assert "cannot make x.npz of data.bin" in refuse("compress", "data.bin", "-o", "x.npz")
    assert "no PlaneZip archive" in refuse("decompress", "model.safetensors", "-o", "x")
    assert "no PlaneZip archive" in refuse("inspect", "model.safetensors")
    assert "-o" in refuse("decompress", "model.safetensors")
    (here / "bad.safetensors").write_bytes(b"\0" * 40)
    assert "cannot compress bad.safetensors" in refuse("compress", "bad.safetensors")
    (here / "bad.npz").write_bytes(b"PK\3\4 something")
    assert "cannot compress bad.npz" in refuse("compress", "bad.npz")
    succeed("compress", model)
    assert "archive already" in refuse("compress", "model.pz.safetensors", "-o", "y.safetensors")
    assert "no archive; leave out --tensor" in refuse("inspect", "data.bin", "--tensor", "z")
    assert "no tensor 'z'" in refuse("inspect", "model.pz.safetensors", "--tensor", "z")
    left = {path.name for path in here.iterdir()}
    assert not {"x.npz", "x", "y.safetensors"} & left
    assert not [name for name in left if name.startswith(".")]


def test_a_damaged_archive_writes_nothing(model, here, succeed, refuse):
    succeed("compress", model)
    packed = here / "model.pz.safetensors"
    damaged = bytearray(packed.read_bytes())
    damaged[-100] ^= 16
    packed.write_bytes(damaged)
    model.write_bytes(b"precious")
    line = refuse("decompress", "model.pz.safetensors", "--force")
    assert "cannot decompress model.pz.safetensors: tensor" in line
    assert model.read_bytes() == b"precious"
    assert "checksum" in refuse("inspect", "model.pz.safetensors")


def test_inspect_refuses_a_manifest_that_does_not_fit_its_streams(here, refuse, succeed):
    np.save("a.npy", np.arange(4, dtype=np.float32))
    succeed("compress", "a.npy", "-o", "a.pz.npy")
    data = np.load("a.pz.npy").tobytes()
    size = int.from_bytes(data[-8:], "little")
    manifest = json.loads(data[-8 - size : -8])
    manifest["tensors"]["planezip"]["shape"] = [5]
    text = json.dumps(sealed(manifest)).encode()
    forged = data[: -8 - size] + text + len(text).to_bytes(8, "little")
    np.save("a.pz.npy", np.frombuffer(forged, np.uint8))
    assert "another size" in refuse("inspect", "a.pz.npy")
    assert "another size" in refuse("decompress", "a.pz.npy", "-o", "b.npy")


def test_inspect_tells_programs_about_every_tensor(model, succeed):
    succeed("compress", model)
    told = json.loads(succeed("inspect", "model.pz.safetensors", "--json"))
    assert told["kind"] == "archive"
    assert told["byte_length"] == sum(tensor.nbytes for tensor in TENSORS.values())
    found = {tensor["name"]: tensor for tensor in told["tensors"]}
    assert found.keys() == TENSORS.keys()
    assert found["layer.weight"]["dtype"] == "F16"
    assert found["layer.weight"]["shape"] == [30, 100]
    for tensor in told["tensors"]:
        assert sum(tensor["shares"].values()) == pytest.approx(1)
        assert tensor["ratio"] == tensor["byte_length"] / tensor["wire_bytes"]


def test_inspect_shows_people_a_line_for_every_tensor(model, succeed):
    succeed("compress", model)
    text = succeed("inspect", "model.pz.safetensors")
    for name in TENSORS:
        assert name in text
    assert "30 x 100" in text
    assert "F16" in text
    assert "Bit planes" not in text


def test_inspect_draws_the_planes_of_one_tensor(model, here, succeed):
    ramp = np.arange(64, dtype=np.float16)
    save_file({"ramp": ramp, "other": ramp}, here / "ramp.safetensors")
    succeed("compress", "ramp.safetensors")
    text = succeed("inspect", "ramp.pz.safetensors", "--tensor", "ramp")
    lines = [line.split() for line in text.split("\n")]
    planes = {line[0]: line[1] for line in lines if len(line) == 3 and len(line[1]) == 64}
    bits = ramp.view(np.uint16)
    assert planes == {
        str(plane): "".join("·█"[bit >> plane & 1] for bit in bits.tolist()) for plane in range(16)
    }


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_inspect_tells_about_numpy_archives_and_streams(here, succeed, name):
    (np.save if name == "a.npy" else np.savez)(name, TENSORS["layer.weight"])
    target = f"a.pz{Path(name).suffix}"
    succeed("compress", name, "-o", target)
    (tensor,) = json.loads(succeed("inspect", target, "--json"))["tensors"]
    assert (tensor["dtype"], tensor["shape"]) == ("<f2", [30, 100])
    assert "Bit planes" in succeed("inspect", target)
    succeed("compress", name, "-o", "a.pz")
    assert "Bit planes" in succeed("inspect", "a.pz")


def test_progress_is_shown_on_a_terminal_alone(model, planezip, monkeypatch):
    assert planezip("compress", model).stderr == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    for command in (["compress", model], ["decompress", "model.pz.safetensors"]):
        result = planezip(*command, "--force")
        assert result.exit_code == 0
        assert f"{command[0]}ing model" in result.stderr
        assert "writing model" in result.stderr
        assert "ing model" not in result.stdout


@pytest.mark.parametrize("name", ["data.bin", "data.npy", "data.npz", "data.safetensors"])
def test_progress_of_the_conversion_is_of_all_bytes(here, name):
    array = np.arange(300_000, dtype=np.float32)
    save = {".npy": np.save, ".npz": np.savez}.get(Path(name).suffix)
    if save:
        save(name, array)
    elif name == "data.bin":
        array.tofile(name)
    else:
        save_file({"x": array, "y": array[:7]}, name)
    shown = []

    @contextmanager
    def progress(total, writing=False):
        done = []
        yield done.append
        shown.append((writing, total, sum(done)))

    target = here / ("data.pz" if name == "data.bin" else f"data.pz{Path(name).suffix}")
    kind = archive_of(target) or STREAM
    kind.compress(here / name, target, Settings(), progress)
    (here / "new").mkdir()
    kind.decompress(target, here / "new" / name, Settings(), progress)
    converting = [(total, done) for writing, total, done in shown if not writing]
    assert len(converting) == 2
    for total, done in converting:
        assert done == total >= array.nbytes


def test_inspect_tells_about_sequences_and_their_torn_tails(here, succeed):
    with library.SequenceWriter(here / "parts.plzs") as writer:
        writer.append(TENSORS["layer.weight"])
        writer.append(b"abc")
    told = json.loads(succeed("inspect", "parts.plzs", "--json"))
    assert (told["kind"], told["fault"]) == ("sequence", None)
    assert [stream["shape"] for stream in told["streams"]] == [[30, 100], []]
    with (here / "parts.plzs").open("ab") as file:
        file.write(b"PLZS")
    assert "torn from byte" in succeed("inspect", "parts.plzs")


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
    ids=["deflate", "bz2", "lzma"],
)
def test_a_damaged_member_is_the_fault_of_the_input(here, refuse, method):
    with zipfile.ZipFile("x.npz", "w", method) as zipped:
        zipped.writestr("x.npy", np.random.default_rng(0).bytes(20_000))
    content = bytearray((here / "x.npz").read_bytes())
    content[60:10_000] = bytes(10_000 - 60)
    (here / "x.npz").write_bytes(content)
    line = refuse("compress", "x.npz", "-o", "y.npz")
    assert line.startswith("planezip: cannot compress x.npz: not a whole zip file: ")
    assert not (here / "y.npz").exists()


@pytest.mark.parametrize("shape", ["(10L,)", "(1 if 1is 1else 2,)", "('\\d',)"])
def test_headers_that_python_remarks_upon_are_kept_without_a_word(here, succeed, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    before = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + bytes(40)
    (here / "a.npy").write_bytes(before)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        succeed("compress", "a.npy")
        succeed("decompress", "a.npy.pz", "--force")
    assert not said
    assert (here / "a.npy").read_bytes() == before
