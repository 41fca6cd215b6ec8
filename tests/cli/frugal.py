"""Run as a program, frugal.py FOLDER TENSOR SLICE ALLOWED: converts files that are larger than the
memory it may have. TENSOR, SLICE and ALLOWED are MiB.

The limit is on private writable memory; mapped files are the system's to load and forget.
"""

import filecmp
import resource
import sys
import zipfile
from pathlib import Path

import numpy as np
import safetensors.numpy

from planezip.cli.archive_descriptions import archive_tensors
from planezip.cli.files import convert
from planezip.codec import StreamView, describe, engine
from planezip.codec.archives import STREAM, archive_of
from planezip.codec.archives.region import opened
from planezip.codec.archives.settings import Settings

folder = Path(sys.argv[1])
TENSOR_BYTES, SLICE_BYTES, ALLOWED_BYTES = (int(text) << 20 for text in sys.argv[2:])


def data_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return 1024 * int(line.split()[1])
    raise AssertionError


def members(path: Path) -> list[tuple[str, int, int]]:
    """Name, size and checksum of the members of a zip file, whatever their dates."""
    with zipfile.ZipFile(path) as zipped:
        return [(info.filename, info.file_size, info.CRC) for info in zipped.infolist()]


def there_and_back(source: Path, target: Path) -> None:
    settings = Settings(threads=1)
    kind = archive_of(target) or STREAM
    back = source.with_name("back" + source.suffix)
    convert("compress", kind.compress, source, target, settings, force=True)
    convert("decompress", kind.decompress, target, back, settings, force=True)
    if source.suffix == ".npz":
        assert members(source) == members(back)
    else:
        assert filecmp.cmp(source, back, shallow=False)


values = np.tile(np.arange(1 << 16, dtype=np.float32), TENSOR_BYTES >> 18)
safetensors.numpy.save_file({"x": values, "y": values[:9]}, folder / "m.safetensors")
np.savez(folder / "a.npz", x=values)
np.save(folder / "a.npy", values)
(folder / "a.bin").write_bytes(values.tobytes())
engine.SLICE_BYTES = SLICE_BYTES
small = folder / "small.npy"
np.save(small, values[:1000])
there_and_back(small, folder / "small.npy.pz")  # whatever is loaded late is loaded now
del values

limit = data_bytes() + ALLOWED_BYTES
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.ones(TENSOR_BYTES, np.uint8)
    raise AssertionError("the limit does not hold")
except MemoryError:
    pass
there_and_back(folder / "a.bin", folder / "a.bin.pz")
there_and_back(folder / "a.npy", folder / "a.npy.pz")
there_and_back(folder / "a.npy", folder / "a.pz.npy")
there_and_back(folder / "m.safetensors", folder / "m.pz.safetensors")
there_and_back(folder / "a.npz", folder / "a.pz.npz")
with opened(folder / "a.bin.pz") as file:
    stream = file.mapped()
assert describe(stream).byte_length == TENSOR_BYTES
assert len(StreamView(stream).bytes(20_000_000, 20_000_100)) == 100
for name in ("m.pz.safetensors", "a.pz.npz", "a.pz.npy"):
    with opened(folder / name) as file:
        tensors = archive_tensors(file, archive_of(folder / name))
    assert TENSOR_BYTES in {tensor.info.byte_length for tensor in tensors}
print("passed")
