"""One line about what goes wrong in a user's file, or in torch because of it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import clear_frames, walk_tb

import torch

from planezip.errors import InputError, PlaneZipError
from planezip.workloads import calls

_PACKAGE = Path(__file__).parents[1]

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

    Whatever it raises: only an interrupt stays one, by Ctrl-C or a signal. InputErrors that do not
    name the model or its file are made to.

    Args:
        name: what the line calls the model.
        path: the user's file; modules in its folder are the user's, too.
    """
    try:
        yield
    except InputError as error:
        if name in str(error) or str(path) in str(error):
            raise
        raise InputError(f"{name}: {error}") from error
    except (PlaneZipError, KeyboardInterrupt):
        raise
    except BaseException as error:
        where = _place(error, path) or _outside(error)
        if where is None or _is_signal(error):
            raise
        told = _told(error)
        _release(error)
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
    own = module.is_relative_to(folder) and not module.is_relative_to(_PACKAGE)
    return own and "site-packages" not in module.parts and not module.is_relative_to(sys.prefix)


def _outside(error: BaseException) -> str | None:
    """What a user wrote that led there from outside the files; None for defects of this package."""
    files = [Path(frame.f_code.co_filename) for frame, _ in walk_tb(error.__traceback__)]
    ours = [file for file in files if file.is_relative_to(_PACKAGE)]
    if ours[-1] == Path(calls.__file__):
        return "in a function from elsewhere that it names or returns"
    if isinstance(error, RuntimeError) and files[-1].is_relative_to(Path(torch.__file__).parent):
        return "in the backward pass or the optimizer"
    return None


def _is_signal(error: BaseException) -> bool:
    """Whether the program was told to end, by a handler of its own that ran within user code."""
    last = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)][-1]
    return isinstance(error, SystemExit) and Path(last).is_relative_to(_PACKAGE)


def _told(error: BaseException) -> str:
    """Kind and first line of an error, and what to do where torch's text does not say."""
    if type(error).__name__ in ("DataDependentOutputException", "DynamicOutputShapeException"):
        if any("utils/data/" in f.f_code.co_filename for f, _ in walk_tb(error.__traceback__)):
            return (
                "a DataLoader looks at the values of tensors, but a trace has shapes alone; "
                "trace with a batch of the right shapes, such as torch.randn makes"
            )
        return f"it looks at the values of a tensor ({_text(error)}), but a trace has shapes alone"
    if isinstance(error.__cause__, PlaneZipError):
        return str(error.__cause__)
    text = _text(error)
    line = text.partition("\n")[0]
    hint = next((hint for part, hint in _HINTS.items() if part in text), "")
    return f"{type(error).__name__}: {line}{hint}" if line else type(error).__name__


def _text(error: BaseException) -> str:
    try:
        return str(error).strip()
    except KeyboardInterrupt:
        raise
    except BaseException as another:  # the user's class may say it by code of its own
        return f"what it says cannot be had, since that raises {type(another).__name__}"


def _release(error: BaseException) -> None:
    """Let go of what the failed code was making; a half-made object may complain when it goes."""
    usual, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        clear_frames(error.__traceback__)
    finally:
        sys.unraisablehook = usual
