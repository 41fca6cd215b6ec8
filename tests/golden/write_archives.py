"""Writes the golden archives that do not exist yet: python tests/golden/write_archives.py

An archive that has been committed is never written again: every later version must still read it.
To cover something new, add a case.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from planezip.codec.archives import archive_of
from planezip.codec.archives.settings import Settings
from planezip.codec.streaming import Advance

FOLDER = Path(__file__).parent
RAMP = np.arange(300, dtype=np.float32).reshape(3, 100)
ARRAYS = {"ramp": RAMP, "half": RAMP.astype("<f2"), "empty": RAMP[:, :0], "scalar": np.array(7)}
METADATA = {"format": "np", "planezip": "of the user", "é": ""}


def npz(path: Path) -> None:
    columns = {"columns": np.asfortranarray(RAMP), "planezip.json": np.zeros(3, "i1,i2")}
    np.savez_compressed(path, **ARRAYS, **columns)


CASES: dict[str, Callable[[Path], None]] = {
    "arrays.pz.safetensors": lambda path: save_file(ARRAYS, path, METADATA),
    "bare.pz.safetensors": lambda path: save_file(ARRAYS, path),
    "arrays.pz.npz": npz,
    "columns.pz.npy": lambda path: np.save(path, np.asfortranarray(RAMP)),
    "records.pz.npy": lambda path: np.save(path, np.zeros(3, "i1,i2")),
}


@contextmanager
def silent(total: int, writing: bool = False) -> Iterator[Advance]:
    yield lambda done: None


def main() -> None:
    for name, write in CASES.items():
        path = FOLDER / name
        if path.exists():
            print(f"kept {name}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"source{path.suffix}"
            write(source)
            (Path(folder) / "new").mkdir()
            target = Path(folder) / "new" / name
            archive_of(path).compress(source, target, Settings(), silent)
            path.write_bytes(target.read_bytes())
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
