"""Prefetches start at the earliest point from which memory holds (Algorithm 1, line 12)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planezip.errors import PlanOverflowError
from planezip.planning.prefetch import _after_last_above, place_prefetches
from planezip.planning.program import Program, Residence
from planezip.records import Swap


def program(memory, *residences):
    return Program((), residences, (), np.array(memory, dtype=np.int64))


def starts(swaps):
    return {w.storage: w.prefetch_before for w in swaps}


def test_a_prefetch_starts_right_after_the_last_point_without_room():
    p = program([9, 9, 9, 5, 5, 9, 5, 5, 5], Residence(0, 0, 1, 8))
    assert starts(place_prefetches(p, [4], 10)) == {0: 6}


def test_a_prefetch_without_room_starts_at_its_use():
    p = program([9, 9, 9, 9], Residence(0, 0, 0, 3))
    assert starts(place_prefetches(p, [4], 10)) == {0: 3}


def test_a_prefetch_never_starts_before_its_tensor_has_left():
    p = program([0, 0, 0, 0], Residence(0, 0, 1, 3))
    assert starts(place_prefetches(p, [4], 10)) == {0: 2}


def test_what_is_needed_first_is_placed_first_and_takes_its_room():
    p = program([9, 5, 5, 5, 5, 5], Residence(0, 0, 0, 5), Residence(1, 0, 0, 3))
    assert starts(place_prefetches(p, [4, 4], 10)) == {1: 1, 0: 3}
    assert [w.storage for w in place_prefetches(p, [4, 4], 10)] == [1, 0]


def test_what_is_compressed_in_place_needs_room_for_both_at_its_use_at_the_latest():
    p = program([9, 5, 5, 9], Residence(0, 0, 0, 3, resident_bytes=2))
    (swap,) = place_prefetches(p, [4], 9)
    assert swap == Swap(0, 0, 0, 1, 3, in_place=True)
    with pytest.raises(PlanOverflowError) as caught:
        place_prefetches(p, [4], 8)
    assert (caught.value.step, caught.value.needed_bytes) == (3, 9)
    place_prefetches(program([9, 5, 5, 9], Residence(0, 0, 0, 3)), [4], 8)  # the simulator's matter


def test_prefetches_leave_a_hundredth_of_the_compressed_bytes_free():
    p = program([900, 500, 500, 500], Residence(0, 0, 0, 3), Residence(1, 0, 0, 3, 200))
    assert starts(place_prefetches(p, [200, 202], 902)) == {0: 1, 1: 3}
    assert starts(place_prefetches(p, [200, 200], 902)) == {0: 1, 1: 1}


@given(st.lists(st.integers(0, 20), min_size=1, max_size=400), st.integers(0, 20))
def test_the_search_from_the_end_finds_the_first_point_from_which_memory_fits(memory, limit):
    found = _after_last_above(np.array(memory), 0, len(memory), limit)
    assert all(held <= limit for held in memory[found:])
    assert found == 0 or memory[found - 1] > limit
