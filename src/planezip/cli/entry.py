"""The program `planezip`: guards itself before it imports anything that takes time.

What fails later is the business of `cli.failures`.
"""

import io
import os
import sys

BAD_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143


def main() -> None:
    """Run the command line and exit."""
    try:
        _use_signals()
        _need_streams()
        if isinstance(sys.stdout, io.TextIOWrapper):  # whatever its encoding lacks is escaped
            sys.stdout.reconfigure(errors="backslashreplace")
        from planezip.cli.main import main as run

        run()
    except KeyboardInterrupt:
        _end("planezip: interrupted", INTERRUPTED)


def _use_signals() -> None:
    """SIGTERM unwinds like Ctrl-C, so that temporary files go; a second one ends at once."""
    import signal

    def terminate(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, terminate)


def _need_streams() -> None:
    """Results need a stdout; without stdin or stderr nothing is read or said.

    A closed stream's number would go to the next file that is opened, and what is printed into it.
    """
    closed = sys.stdout is None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - open until the end
    if closed:
        _end("planezip: cannot write the output: stdout is closed", BAD_INPUT)


def _end(line: str, code: int) -> None:
    os.write(2, f"{line}\n".encode())
    os._exit(code)
