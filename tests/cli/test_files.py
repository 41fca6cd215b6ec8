"""compress and decompress restore any file, and never destroy one."""

import json
import stat

import numpy as np
import pytest

import planezip as library
from planezip.codec import describe


@pytest.mark.parametrize(
    "content", [b"", b"x", bytes(range(256)) * 40, b"\x93NUMPY but not really"]
)
@pytest.mark.parametrize("codec", ["planezip", "bdi"])
def test_any_file_comes_back_as_it_was(here, succeed, content, codec):
    (here / "data.bin").write_bytes(content)
    succeed("compress", "data.bin", "--codec", codec)
    succeed("decompress", "data.bin.pz", "-o", "back.bin")
    assert (here / "back.bin").read_bytes() == content
    assert describe((here / "data.bin.pz").read_bytes()).codec == codec


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float16", 16), ("float32", 32), ("int64", 32), ("bool", 32), (">f4", 32)]
)
@pytest.mark.parametrize("shape", [(3, 50), (0, 4), ()])
def test_arrays_keep_type_and_shape_and_choose_the_symbol_width(here, succeed, dtype, bits, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    np.save("values.npy", array)
    succeed("compress", "values.npy")
    stream = (here / "values.npy.pz").read_bytes()
    assert describe(stream).symbol_bits == bits
    assert library.decompress(stream).shape == shape
    (here / "values.npy").unlink()
    succeed("decompress", "values.npy.pz")
    back = np.load("values.npy")
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()


def test_arrays_that_no_stream_holds_are_kept_as_bytes(here, succeed):
    np.save("records.npy", np.zeros(5, dtype=[("a", "i4"), ("b", "f8")]))
    np.save("objects.npy", np.array([None, {}], dtype=object), allow_pickle=True)
    np.save("columns.npy", np.asfortranarray(np.ones((3, 4))))
    for name in ("records.npy", "objects.npy"):
        before = (here / name).read_bytes()
        succeed("compress", name)
        succeed("decompress", f"{name}.pz", "--force")
        assert (here / name).read_bytes() == before
    succeed("compress", "columns.npy")
    succeed("decompress", "columns.npy.pz", "-o", "rows.npy")
    assert np.array_equal(np.load("rows.npy"), np.ones((3, 4)))


def test_a_torch_tensor_comes_back_as_the_bytes_of_its_elements(here, succeed):
    torch = pytest.importorskip("torch")
    tensor = torch.arange(40, dtype=torch.bfloat16).reshape(5, 8)
    (here / "tensor.pz").write_bytes(library.compress(tensor))
    succeed("decompress", "tensor.pz")
    assert (here / "tensor").read_bytes() == tensor.view(torch.int16).numpy().tobytes()


def test_symbol_bits_and_threads_are_passed_on(here, succeed):
    (here / "data.bin").write_bytes(bytes(9000))
    succeed("compress", "data.bin", "--symbol-bits", 16, "--threads", 2)
    assert describe((here / "data.bin.pz").read_bytes()).symbol_bits == 16
    succeed("decompress", "data.bin.pz", "--threads", 1, "--force")
    assert (here / "data.bin").read_bytes() == bytes(9000)


def test_sizes_are_told_to_people_and_programs(here, succeed):
    (here / "data.bin").write_bytes(bytes(100_000))
    told = json.loads(succeed("compress", "data.bin", "--json"))
    size = (here / "data.bin.pz").stat().st_size
    assert told["source_bytes"] == 100_000
    assert told["target_bytes"] == size
    assert told["ratio"] == 100_000 / size
    text = succeed("decompress", "data.bin.pz", "--force")
    assert f"{size:,} bytes became 100,000" in text


def test_nothing_is_overwritten_without_force(here, succeed, refuse):
    (here / "data.bin").write_bytes(b"new")
    (here / "data.bin.pz").write_bytes(b"precious")
    assert "--force" in refuse("compress", "data.bin")
    assert (here / "data.bin.pz").read_bytes() == b"precious"
    succeed("compress", "data.bin", "--force")
    assert "data.bin exists" in refuse("decompress", "data.bin.pz")
    succeed("decompress", "data.bin.pz", "-o", "other.bin")
    assert (here / "other.bin").read_bytes() == b"new"


def test_files_get_the_usual_permissions(here, succeed):
    (here / "data.bin").write_bytes(b"new")
    succeed("compress", "data.bin")
    mode = stat.S_IMODE((here / "data.bin.pz").stat().st_mode)
    assert mode == stat.S_IMODE((here / "data.bin").stat().st_mode)


@pytest.mark.parametrize("command", ["compress", "decompress", "inspect"])
@pytest.mark.parametrize(
    ("name", "said"), [("none.pz", "No such file"), ("folder.pz", "directory")]
)
def test_a_file_that_cannot_be_read_is_named(here, refuse, command, name, said):
    (here / "folder.pz").mkdir()
    line = refuse(command, name)
    assert name in line
    assert said in line


@pytest.mark.parametrize(
    ("output", "said"), [("folder", "folder"), ("data.bin/x", "cannot write data.bin/x")]
)
def test_an_output_that_cannot_be_written_is_named(here, refuse, output, said):
    (here / "data.bin").write_bytes(b"some")
    (here / "folder").mkdir()
    assert said in refuse("compress", "data.bin", "-o", output)
    assert sorted(p.name for p in here.iterdir()) == sorted(
        ["capture.json", "data.bin", "folder", "trace.json.gz"]
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--codec", "zip"], "'zip'"),
        (["--symbol-bits", "8"], "8"),
        (["--threads", "0"], "--threads"),
        (["--threads", "two"], "two"),
    ],
)
def test_a_wrong_option_is_named(here, refuse, options, said):
    (here / "data.bin").write_bytes(b"some")
    assert said in refuse("compress", "data.bin", *options)
    assert not (here / "data.bin.pz").exists()


@pytest.mark.parametrize("damage", ["flip", "cut", "foreign", "empty"])
def test_a_damaged_stream_writes_nothing(here, refuse, damage):
    stream = bytearray(library.compress(bytes(range(256)) * 100))
    if damage == "flip":
        stream[len(stream) // 2] ^= 4
    damaged = {"cut": stream[:-1], "foreign": b"PK\x03\x04 zip", "empty": b""}.get(damage, stream)
    (here / "data.pz").write_bytes(damaged)
    assert "cannot decompress data.pz: " in refuse("decompress", "data.pz")
    assert not (here / "data").exists()
    assert "data.pz" in refuse("inspect", "data.pz")


def test_a_name_without_suffix_needs_an_output(here, refuse):
    (here / "stream").write_bytes(library.compress(b"some"))
    assert "-o" in refuse("decompress", "stream")
