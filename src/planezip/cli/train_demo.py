"""planezip train-demo"""

from typing import Any

import click

from planezip.cli import options

MODEL = "resnet50"


@click.command(epilog=options.example("planezip train-demo", "planezip train-demo --budget 40%"))
@click.option(
    "--budget",
    default="50%",
    show_default=True,
    metavar="SIZE",
    help="Limit on activation memory: a size or a share of what plain training takes.",
)
@options.training(steps=7)
@options.as_json
def command(as_json: bool, **chosen: Any) -> None:
    """Train ResNet-50 twice, plainly and within a budget, and compare every bit.

    Prints peak activation memory, time a step, and whether loss, gradients, weights, buffers,
    optimizer state and random numbers are the same.
    """
    from planezip.cli.running import RunOptions, run, show

    show(MODEL, run(MODEL, RunOptions(plainly=True, **chosen)), as_json)
