"""How this process uses memory."""

import ctypes
import sys

from planezip.units import MIB

_M_MMAP_THRESHOLD = -3  # of mallopt in glibc's malloc.h


def return_freed_memory() -> None:
    """From now on blocks of a MiB and more go back to the system as soon as they are freed.

    glibc would keep those below 32 MiB for later, and then often not find room in what it kept for
    an aligned block of the same size, as tensors are: every training iteration would take memory
    anew, to twice what is in use and more. Other allocators are left alone.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt:
            mallopt(_M_MMAP_THRESHOLD, MIB)
