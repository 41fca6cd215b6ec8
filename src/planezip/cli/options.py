"""Options that mean the same in every command that has them."""

import os
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any, TypeVar

import click

from planezip.report.printable import printable

LARGEST_BATCH = 1_000_000  # of any model, the sizes stay below 2^63 bytes
MOST_ITERATIONS = 1_000_000_000

MODELS = (
    "resnet50",
    "densenet121",
    "efficientnet_b0",
    "vit_base_patch16_224",
    "gpt2",
    "gpt2_fused",
    "llama",
)
"""The workloads, written down so that help need not import them."""


class NamedPath(click.Path):
    """A path that says something: an empty one would mean the working folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the name is empty; give that of a file or folder", param, ctx)
        return super().convert(value, param, ctx)


NAMED_PATH = NamedPath(path_type=Path)


class Number(click.FloatRange):
    """A range that holds numbers only: click lets "nan" pass any."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


Command = TypeVar("Command", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
capture = click.option(
    "--capture",
    "capture_file",
    metavar="FILE",
    type=NAMED_PATH,
    help="Compression ratios, as `planezip capture` writes them; without it nothing compresses.",
)
measurements = click.option(
    "--measurements",
    metavar="FOLDER",
    type=NAMED_PATH,
    help="What `planezip measure` wrote.  [default: what comes with the package]",
)

model = click.option(
    "--model",
    metavar="NAME",
    help="The workload whose plans the page draws.  [default: gpt2]",
)
ratios = click.option(
    "--ratios",
    type=click.Choice(["paper"]),
    help="Compress by the paper's Table III instead of a capture.",
)
jobs = click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Processes to plan with.  [default: one a processor]",
)

platform = click.option(
    "--platform",
    default="B",
    show_default=True,
    help="A (RTX 2080 Ti, FP32), B (A100), rtx4090, h100-pcie, h100-sxm, h200, gh200 or b200.",
)


images = click.option(
    "--images",
    metavar="FOLDER",
    type=NAMED_PATH,
    help="JPEG and PNG photographs.  [default: the two that scikit-learn ships]",
)
text = click.option(
    "--text",
    metavar="FILE",
    type=NAMED_PATH,
    help="Text in UTF-8 for language models.  [default: the language reference in Python's help]",
)


def output(what: str) -> Callable[[Command], Command]:
    """-o FILE for the record that a command makes."""
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=NAMED_PATH,
        help=f"Write {what} there; a name that ends in .gz is compressed.",
    )


def example(*lines: str) -> str:
    """An epilog that shows how to call a command."""
    return "\b\n" + "\n".join(("Example:", *(f"  {line}" for line in lines)))


def models_and_example(*lines: str) -> str:
    """`example` after the names that MODEL can have."""
    return f"Models: {', '.join(MODELS)}.\n\n{example(*lines)}"


compressed_output = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=NAMED_PATH,
    help="What to write.  [default: FILE with or without .pz]",
)
threads = click.option(
    "--threads", type=click.IntRange(1, 1024), help="Threads at most.  [default: as many as pay]"
)
force = click.option("--force", is_flag=True, help="Replace what is there.")


def print_sizes(
    source: Path, source_bytes: int, target: Path, target_bytes: int, as_json: bool
) -> None:
    """One line, or JSON, about a file that was compressed or restored."""
    if as_json:
        from planezip.cli.output import print_json

        print_json(
            {
                "source": str(source),
                "source_bytes": source_bytes,
                "target": str(target),
                "target_bytes": target_bytes,
                "ratio": source_bytes / target_bytes if target_bytes else None,
            }
        )
    else:
        factor = max(source_bytes, target_bytes) / max(1, min(source_bytes, target_bytes))
        way = "larger" if target_bytes > source_bytes else "smaller"
        told = f"{source_bytes:,} bytes became {target_bytes:,}, {factor:.2f} times {way}"
        click.echo(printable(f"{target}: {told}"))


seed = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Of weights and batches.",
)


def captures(warmup_steps: int) -> Callable[[Command], Command]:
    """How real training iterations are run; `warmup_steps` is the default."""

    def decorate(command: Command) -> Command:
        for option in (
            seed,
            click.option(
                "--warmup-steps",
                type=click.IntRange(0, MOST_ITERATIONS),
                default=warmup_steps,
                show_default=True,
                metavar="N",
                help="Train N steps from random weights first, if no pretrained ones are loaded.",
            ),
            click.option(
                "--pretrained",
                is_flag=True,
                help="Start from timm's trained weights if the hub or its cache is reachable.",
            ),
            text,
            images,
            click.option(
                "--batch",
                type=click.IntRange(1, LARGEST_BATCH),
                help="Items in a captured batch.  [default: 8 photographs or 1 sequence of tokens]",
            ),
        ):
            command = option(command)
        return command

    return decorate


def training(steps: int) -> Callable[[Command], Command]:
    """How `run` and its like train; `steps` is the default."""

    def decorate(command: Command) -> Command:
        for option in (
            click.option(
                "--perfetto",
                type=NAMED_PATH,
                metavar="FILE",
                help="Write a timeline for ui.perfetto.dev there: what happened in the first "
                "planned step beside what was predicted.",
            ),
            seed,
            click.option(
                "--spill",
                metavar="FOLDER",
                help="Write what the pool does not hold to a file there.",
            ),
            click.option(
                "--host-pool",
                default="4GiB",
                show_default=True,
                metavar="SIZE",
                help="Limit on compressed activations outside the budget.",
            ),
            text,
            images,
            click.option(
                "--batch",
                type=click.IntRange(1, LARGEST_BATCH),
                help="Items in a batch.  [default: 8 photographs, 1 sequence of tokens, or your "
                "function's]",
            ),
            click.option(
                "--steps",
                type=click.IntRange(3, MOST_ITERATIONS),
                default=steps,
                show_default=True,
                metavar="N",
                help="Train N steps; two are profiled, the next is measured.",
            ),
        ):
            command = option(command)
        return command

    return decorate
