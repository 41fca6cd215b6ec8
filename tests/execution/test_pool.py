"""The pool keeps what it is given, no more than it may, and gives chunks back."""

import os
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planezip.errors import InputError
from planezip.execution.pool import CHUNK_BYTES, Pool, PoolFullError, SpillFile


def _bytes(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def _read(record: object, size: int) -> np.ndarray:
    out = np.zeros(size, np.uint8)
    record.read(out)  # type: ignore[attr-defined]
    return out


@given(st.lists(st.integers(0, 3 * CHUNK_BYTES), max_size=8), st.randoms())
def test_what_is_stored_comes_back_in_any_order_of_releases(sizes: list[int], order) -> None:  # type: ignore[no-untyped-def]
    pool = Pool(1 << 30)
    kept = {i: pool.put(_bytes(size, i)) for i, size in enumerate(sizes)}
    while kept:
        gone = order.choice(sorted(kept))
        del kept[gone]
        again = pool.put(_bytes(5, 99))
        for i, record in kept.items():
            assert np.array_equal(_read(record, sizes[i]), _bytes(sizes[i], i))
            del record
        assert np.array_equal(_read(again, 5), _bytes(5, 99))
        del again
    assert pool.used_bytes == 0


def test_more_than_the_capacity_is_refused_and_nothing_is_lost() -> None:
    pool = Pool(2 * CHUNK_BYTES)
    record = pool.put(_bytes(CHUNK_BYTES + 1))
    with pytest.raises(PoolFullError):
        pool.put(_bytes(1))
    assert np.array_equal(_read(record, CHUNK_BYTES + 1), _bytes(CHUNK_BYTES + 1))
    del record
    assert pool.put(_bytes(2 * CHUNK_BYTES)).nbytes == 2 * CHUNK_BYTES


def test_what_the_capacity_does_not_hold_is_spilled(tmp_path: Path) -> None:
    pool = Pool(CHUNK_BYTES, SpillFile(tmp_path))
    records = [pool.put(_bytes(CHUNK_BYTES, i)) for i in range(3)]
    assert pool.used_bytes == CHUNK_BYTES
    assert pool.spilled_bytes == 2 * CHUNK_BYTES
    for i, record in enumerate(records):
        assert np.array_equal(_read(record, CHUNK_BYTES), _bytes(CHUNK_BYTES, i))
    assert not list(tmp_path.iterdir())  # the file has no name, and goes with the process


@pytest.mark.parametrize("spills", [False, True])
def test_memory_behind_all_that_is_in_use_is_given_back(tmp_path: Path, spills: bool) -> None:
    pool = Pool(0, SpillFile(tmp_path)) if spills else Pool(1 << 30)
    records = [pool.put(_bytes(CHUNK_BYTES, i)) for i in range(600)]
    del records[300:]
    pool.shrink()
    backing = pool._tiers[-1 if spills else 0].backing
    if isinstance(backing, SpillFile):
        assert os.fstat(backing._file.fileno()).st_size == 300 * CHUNK_BYTES
    else:
        assert len(backing._slabs) == 2  # type: ignore[attr-defined]
    again = [pool.put(_bytes(CHUNK_BYTES, 1000 + i)) for i in range(10)]
    for i, record in enumerate(records):
        assert np.array_equal(_read(record, CHUNK_BYTES), _bytes(CHUNK_BYTES, i))
    for i, record in enumerate(again):
        assert np.array_equal(_read(record, CHUNK_BYTES), _bytes(CHUNK_BYTES, 1000 + i))
    del records, again, record
    pool.shrink()
    assert pool.used_bytes == pool.spilled_bytes == 0


def test_a_folder_that_is_none_is_named() -> None:
    with pytest.raises(InputError, match="no/such/folder"):
        SpillFile("no/such/folder")


def test_threads_do_not_disturb_one_another() -> None:
    pool = Pool(1 << 30)
    failures: list[int] = []

    def work(seed: int) -> None:
        for i in range(50):
            data = _bytes(CHUNK_BYTES + i, seed)
            if not np.array_equal(_read(pool.put(data), len(data)), data):
                failures.append(seed)

    threads = [Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert pool.used_bytes == 0
