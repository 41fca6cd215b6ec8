"""`planezip`: a group whose commands are imported when they are called.

Help is answered from the table below, so that `planezip --help` imports nothing heavy.
"""

import sys
from importlib import import_module
from typing import Any

import click

from planezip import __version__
from planezip.cli.failures import exit_code

COMMANDS = {
    "trace": "Record one training iteration of a model on the meta device.",
    "capture": "Train on real data and compress every saved activation.",
    "plan": "Decide what to keep, swap and drop within a memory budget.",
    "simulate": "Run a plan on a modelled platform.",
    "run": "Train a model within a budget of activation memory.",
    "train-demo": "Train ResNet-50 within a budget and compare every bit.",
    "compress": "Compress a file losslessly.",
    "decompress": "Restore a compressed file.",
    "inspect": "Say what compressed data or a record holds.",
    "report": "Write a page on a trace, or on what `reproduce` made.",
    "measure": "Trace and capture the paper's workloads.",
    "reproduce": "Make the paper's tables and figures, and a page of them.",
    "demo": "Do all of it for ResNet-50 and write a report.",
}


class LazyGroup(click.Group):
    """Looks commands up in COMMANDS; turns every failure into an exit code and one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"planezip.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        # Around the commands alone: click has codes and lines of its own for these failures.
        sys.exit(exit_code(lambda: super(LazyGroup, self).invoke(ctx)))

    def main(self, *args: Any, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        sys.exit(exit_code(lambda: super(LazyGroup, self).main(*args, **extra)))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `planezip demo`, or for example `planezip plan resnet50 --budget 50%`; "
    "`planezip COMMAND --help` shows more.",
)
@click.version_option(__version__, prog_name="planezip")
def main() -> None:
    """Train neural networks in less memory.

    PlaneZip traces a PyTorch training step, compresses the activations that it saves, and plans
    which of them to keep, swap to the host in compressed form, or drop and recompute.
    """
