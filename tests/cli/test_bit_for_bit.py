"""compress and decompress give back the very file, however its array was written."""

import io

import numpy as np
import pytest


def saved(array, **how) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **how)
    return file.getvalue()


ODD_FILES = {
    "two arrays in one file": saved(np.ones(5000)) + saved(np.zeros(5000)),
    "bytes behind the array": saved(np.ones(9)) + b"tail",
    "Fortran order": saved(np.asfortranarray(np.arange(600.0).reshape(20, 30))),
    "version 2": saved(np.arange(9.0), version=(2, 0)),
    "another spelling of the type": saved(np.arange(9.0)).replace(b"'<f8'", b"'f8' "),
    "a shape of 10^15": saved(np.arange(9.0)).replace(b"(9,), }     ", b"(10**15,), }"),
    "a broken header": saved(np.arange(9.0)).replace(b"'<f8'", b"'''<f"),
    "an impossible shape without elements": saved(np.empty((0, 7))).replace(
        b"(0, 7), }" + b" " * 20, b"(0, %d), }" % 2**70
    ),
    "a truth value in the shape": saved(np.ones((1, 2))).replace(b"(1, 2), }   ", b"(True, 2), }"),
    "no array": b"\x93NUMPY",
    "nothing": b"",
}


@pytest.mark.parametrize("contents", ODD_FILES.values(), ids=ODD_FILES.keys())
@pytest.mark.parametrize("name", ["odd.npy.pz", "odd.pz.npy"])
def test_odd_npy_files_come_back_bit_for_bit(here, succeed, contents, name):
    (here / "odd.npy").write_bytes(contents)
    succeed("compress", "odd.npy", "-o", name)
    succeed("decompress", name, "-o", "back.npy")
    assert (here / "back.npy").read_bytes() == contents
