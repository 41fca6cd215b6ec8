"""Run as a program, shrinking.py FOLDER: sources become shorter while they are converted.

Every conversion must end in one line that names the source, and leave the target as it was.
"""

import os
import sys
import zipfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from planezip.cli.files import convert
from planezip.codec import engine
from planezip.codec.archives import STREAM, archive_of
from planezip.codec.archives.settings import Settings
from planezip.errors import InputError

OLD = b"what was there before"
engine.SLICE_BYTES = 1 << 16
folder = Path(sys.argv[1])
noise = np.random.default_rng(0).integers(0, 256, 1 << 20, dtype=np.uint8)


def shrinks(verb: str, kind, source: Path, target: Path, owner: object, name: str) -> str:
    """The source loses its second half when a function is called first; what is said of it."""
    target.write_bytes(OLD)
    work = getattr(owner, name)

    def cut_and_work(*arguments):
        os.truncate(source, source.stat().st_size // 2)
        setattr(owner, name, work)
        return work(*arguments)

    setattr(owner, name, cut_and_work)
    try:
        convert(verb, getattr(kind, verb), source, target, Settings(threads=1), force=True)
    except InputError as error:
        assert target.read_bytes() == OLD
        return str(error)
    raise AssertionError(f"{verb} of {source} did not notice")


def check(source: Path, target: Path) -> None:
    kind = archive_of(target) or STREAM
    convert("compress", kind.compress, source, target, Settings(threads=1), force=True)
    back = source.with_name("back" + source.suffix)
    said = shrinks("decompress", kind, target, back, engine, "decode_slice")
    assert said.startswith(f"cannot read {target}: it has become shorter"), said
    reads = (zipfile.ZipExtFile, "read") if source.suffix == ".npz" else (engine, "encode_into")
    said = shrinks("compress", kind, source, target, *reads)
    assert said.startswith(f"cannot read {source}: it has become shorter"), said
    print(source.name, "->", target.name, "->", said)


(folder / "a.bin").write_bytes(noise.tobytes())
np.save(folder / "a.npy", noise)
np.savez(folder / "a.npz", x=noise)
save_file({"x": noise, "y": noise}, folder / "a.safetensors")
check(folder / "a.bin", folder / "a.bin.pz")
for suffix in (".npy", ".npz", ".safetensors"):
    check(folder / f"a{suffix}", folder / f"a.pz{suffix}")
