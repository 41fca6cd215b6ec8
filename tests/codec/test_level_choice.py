"""The level is the machine's fastest, or the one that PLANEZIP_LEVEL names; threads and forks."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from planezip import InputError, compress, compressed_size, decompress
from planezip.codec import levels

NAMES = levels.levels()


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


SHOW = "from planezip.codec.levels import level; print(level())"


def test_every_machine_has_the_portable_level():
    assert NAMES[-1] == "portable"
    assert levels.level() in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_environment_forces_a_level(name):
    assert run(SHOW, PLANEZIP_LEVEL=name).stdout == name + "\n"


def test_the_fastest_level_is_used_unless_forced():
    assert run(SHOW, PLANEZIP_LEVEL="").stdout == NAMES[0] + "\n"


def test_a_level_that_the_machine_lacks_is_refused_in_one_line():
    code = (
        "import planezip\n"
        "for f in (planezip.compress, planezip.compressed_size):\n"
        "    try: f(b'abc')\n"
        "    except planezip.InputError as error: print(error)"
    )
    lines = run(code, PLANEZIP_LEVEL="avx1024").stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("PLANEZIP_LEVEL: no level 'avx1024'; this machine has ")
        assert line.endswith(", ".join(NAMES))


@pytest.mark.parametrize("name", [b"\xff", b"a\x1b[31m", "niveau supérieur".encode(), b"\n"])
def test_a_level_of_any_bytes_is_refused_in_one_line(name):
    code = (
        "import planezip\n"
        "try: planezip.compress(b'abc')\n"
        "except planezip.InputError as error: print(error)"
    )
    line = run(code, PLANEZIP_LEVEL=os.fsdecode(name)).stdout
    shown = "".join(chr(c) if 32 <= c < 127 else f"\\x{c:02x}" for c in name)
    assert line == f"PLANEZIP_LEVEL: no level '{shown}'; this machine has {', '.join(NAMES)}\n"


def test_a_level_is_used_within_its_context_only():
    before = levels.level()
    with levels.use_level("portable"):
        assert levels.level() == "portable"
    assert levels.level() == before
    with pytest.raises(InputError, match="no level 'sse9'"), levels.use_level("sse9"):
        pass
    assert levels.level() == before


def test_calls_from_many_threads_share_the_pool():
    data = (np.arange(1 << 20) % 977).astype(np.float32)
    stream, size = compress(data, threads=1), compressed_size(data)

    def work(i: int) -> bool:
        threads = 1 + i % 5
        return (
            compress(data, threads=threads) == stream
            and compressed_size(data, threads=threads) == size
            and np.array_equal(decompress(stream, threads=threads), data)
        )

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(work, range(96)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_threads_of_its_own():
    code = (
        "import os, numpy as np, planezip\n"
        "data = np.arange(1 << 20)\n"
        "stream = planezip.compress(data, threads=4)\n"
        "child = os.fork()\n"
        "same = planezip.compress(data, threads=4) == stream\n"
        "same = same and (planezip.decompress(stream, threads=4) == data).all()\n"
        "if child == 0: os._exit(0 if same else 1)\n"
        "print(same, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert run(code).stdout == "True 0\n"
