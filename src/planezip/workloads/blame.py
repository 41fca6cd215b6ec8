"""One line about what goes wrong in a user's file, or in torch because of it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import clear_frames, walk_tb

import torch

from planezip.errors import InputError, PlaneZipError

_CPU_ALONE = (
    "; trace and capture run on the CPU: leave out .cuda() and device='cuda', or hide the GPU from "
    "code that asks for one with CUDA_VISIBLE_DEVICES="
)
_HINTS = {
    "UninitializedParameter": "; lazy layers have no sizes yet: give them, as nn.Linear in place "
    "of nn.LazyLinear takes them",
    "NVIDIA driver": _CPU_ALONE,
    "not compiled with CUDA": _CPU_ALONE,
    "cuda:": _CPU_ALONE,
}
"""Part of an error of torch's -> what its text does not say."""


@contextmanager
def blamed(name: str, path: Path) -> Iterator[None]:
    """Makes an InputError of what a file's code raises, or torch in its backward pass.

    Args:
        name: what the line calls the model.
        path: the user's file; modules in its folder are the user's, too.
    """
    try:
        yield
    except PlaneZipError:
        raise
    except (Exception, SystemExit) as error:
        place = _place(error, path)
        if place is None and not _is_torchs(error):
            raise
        told = _told(error)
        _release(error)
        where = place or "in the backward pass or the optimizer"
        raise InputError(f"{name} failed: {where}: {told}") from error


def _place(error: BaseException, path: Path) -> str | None:
    """The innermost line of the user's file, or else of a module beside it, that led there."""
    file = os.path.abspath(path)
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{path}, line {error.lineno}"
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    mine = [line for code, line in lines if code == file]
    if mine:
        return f"{path}, line {mine[-1]}"
    beside = [(c, line) for c, line in lines if is_beside(Path(c), path)]
    return f"{beside[-1][0]}, line {beside[-1][1]}" if beside else None


def is_beside(module: Path, path: Path) -> bool:
    """Whether a module's file is one of the user's own, in the folder of `path` or below it."""
    folder = path.resolve().parent
    own = module.is_relative_to(folder) and not module.is_relative_to(Path(__file__).parents[1])
    return own and "site-packages" not in module.parts and not module.is_relative_to(sys.prefix)


def _is_torchs(error: BaseException) -> bool:
    """Whether torch raised it, as its backward pass does, and not a defect of this package."""
    files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    return (
        isinstance(error, RuntimeError) and Path(torch.__file__).parent in Path(files[-1]).parents
    )


def _told(error: BaseException) -> str:
    """Kind and first line of an error, and what to do where torch's text does not say."""
    if type(error).__name__ in ("DataDependentOutputException", "DynamicOutputShapeException"):
        if any("utils/data/" in f.f_code.co_filename for f, _ in walk_tb(error.__traceback__)):
            return (
                "a DataLoader looks at the values of tensors, but a trace has shapes alone; "
                "trace with a batch of the right shapes, such as torch.randn makes"
            )
        return f"it looks at the values of a tensor ({error}), but a trace has shapes alone"
    if isinstance(error.__cause__, PlaneZipError):
        return str(error.__cause__)
    text = str(error).strip().partition("\n")[0]
    hint = next((hint for part, hint in _HINTS.items() if part in str(error)), "")
    return f"{type(error).__name__}: {text}{hint}" if text else type(error).__name__


def _release(error: BaseException) -> None:
    """Let go of what the failed code was making; a half-made object may complain when it goes."""
    usual, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        clear_frames(error.__traceback__)
    finally:
        sys.unraisablehook = usual
