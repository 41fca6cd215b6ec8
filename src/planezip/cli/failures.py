"""What the shell sees when a command fails: an exit code and one clear line on stderr.

    0    done
    2    the input cannot be used; the line says why and what to do
    130  interrupted by Ctrl-C
    141  whoever read the output has gone
    143  ended by SIGTERM

Files that the system refuses are bad input, too. Anything else is a defect of PlaneZip and keeps
its traceback.
"""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress

import click

from planezip.cli.entry import BAD_INPUT, INTERRUPTED
from planezip.errors import PlaneZipError
from planezip.report.printable import printable

BROKEN_PIPE = 141
_LONGEST_LINE = 10_000

_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""What writing to stdout fails with, which has no name; errors of files come with theirs."""

EXTRA_OF = {
    "torch": "train",
    "torchvision": "train",
    "timm": "train",
    "PIL": "train",
    "sklearn": "train",
    "tokenizers": "train",
    "transformers": "train",
    "jinja2": "report",
    "markupsafe": "report",
    "matplotlib": "report",
    "scipy": "report",
}
"""Optional package -> the extra of planezip that installs it."""


def exit_code(run: Callable[[], object]) -> int:
    """Call `run`; say what went wrong, if anything, and return the exit code."""
    try:
        result = run()
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, click.Abort):
        if sys.stderr.isatty():
            click.echo(err=True)  # after the ^C that the terminal shows
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except OSError as error:
        if error.filename is not None:
            _say(f"cannot use {os.fsdecode(error.filename)}: {error.strerror}; name another path")
        elif error.errno in _UNWRITABLE:
            _discard_output()
            _say(f"cannot write the output: {error.strerror}")
        else:
            raise
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
    except (click.ClickException, PlaneZipError) as error:
        _say(_message(error))
    except ModuleNotFoundError as error:
        extra = EXTRA_OF.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        fix = f"pip install 'planezip[{extra}]'"
        _say(f"this command needs {error.name}, which is not installed; run: {fix}")
    return BAD_INPUT


def _message(error: Exception) -> str:
    if not isinstance(error, click.ClickException):
        return str(error)
    message = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message}; see {context.command_path} --help" if context else message


def _discard_output() -> None:
    """The interpreter flushes stdout once more when it exits; let that succeed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    line = printable(" ".join(message.split()))
    if len(line) > _LONGEST_LINE:  # it quotes what somebody forged
        line = line[: _LONGEST_LINE // 2] + " ... " + line[-_LONGEST_LINE // 2 :]
    with suppress(OSError):  # the exit code tells, too
        click.echo(f"planezip: {line}", err=True)
