"""planezip run"""

from typing import Any

import click

from planezip.cli import options

EXAMPLES = (
    "planezip run my_file.py:make_step --budget 2GiB",
    "planezip run gpt2 --budget 50% --steps 9 --compare",
)


@click.command(epilog=options.models_and_example(*EXAMPLES))
@click.argument("model")
@click.option(
    "--budget",
    required=True,
    metavar="SIZE",
    help="Limit on activation memory: a size, such as 2GiB, or a share of what plain training "
    "takes, such as 50%.",
)
@options.training(steps=7)
@click.option("--compare", "plainly", is_flag=True, help="Train plainly as well, compare all bits.")
@options.as_json
def command(model: str, as_json: bool, **chosen: Any) -> None:
    """Train MODEL for some steps within a budget of activation memory.

    MODEL is a workload's name or file.py:function, where the function returns a torch.nn.Module and
    a function that computes its loss. The first two steps are profiled, the others follow a plan.
    Nothing is saved: this shows what a budget costs; train with planezip.Session in your own
    program.
    """
    from planezip.cli.running import RunOptions, run, show

    show(model, run(model, RunOptions(**chosen)), as_json)
