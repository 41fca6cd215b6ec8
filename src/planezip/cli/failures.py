"""What the shell sees when a command fails: an exit code and one clear line on stderr.

0    done
2    the input cannot be used, the line says why and what to do
130  interrupted by Ctrl-C
141  whoever read the output has gone
"""

import os
import sys
from collections.abc import Callable

import click

from planezip.errors import PlaneZipError

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141

EXTRA_OF = {
    "torch": "train",
    "torchvision": "train",
    "timm": "train",
    "PIL": "train",
    "sklearn": "train",
    "jinja2": "report",
    "matplotlib": "report",
}
"""Optional package -> the extra of planezip that installs it."""


def exit_code(run: Callable[[], object]) -> int:
    """Call `run`; say what went wrong, if anything, and return the exit code.

    Anything that is not listed in the module's docstring is a defect of PlaneZip and keeps its
    traceback.
    """
    try:
        result = run()
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return BAD_INPUT
    except click.UsageError as error:
        where = f"; see {error.ctx.command_path} --help" if error.ctx else ""
        return _say(error.format_message().rstrip(".") + where)
    except click.ClickException as error:
        return _say(error.format_message())
    except PlaneZipError as error:
        return _say(str(error))
    except ModuleNotFoundError as error:
        extra = EXTRA_OF.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        return _say(
            f"this command needs {error.name}, which is not installed; "
            f"run: pip install 'planezip[{extra}]'"
        )


def _say(message: str, code: int = BAD_INPUT) -> int:
    click.echo("planezip: " + " ".join(message.split()), err=True)
    return code
