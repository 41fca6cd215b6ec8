"""planezip measure"""

from pathlib import Path

import click

from planezip.cli import options


@click.command(
    epilog=options.models_and_example(
        "planezip measure --images photographs --text book.txt --out measured",
        "planezip measure resnet50 --warmup-steps 30 --out quick",
    )
)
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@options.images
@options.text
@click.option(
    "--warmup-steps",
    type=click.IntRange(1, options.MOST_ITERATIONS),
    default=300,
    show_default=True,
    metavar="N",
    help="Train N steps from random weights before the captures of trained weights.",
)
@click.option(
    "--out",
    "folder",
    metavar="FOLDER",
    type=options.NAMED_PATH,
    required=True,
    help="Write the measurements there; what is there already is not measured again.",
)
@options.as_json
def command(
    models: tuple[str, ...],
    images: Path | None,
    text: Path | None,
    warmup_steps: int,
    folder: Path,
    as_json: bool,
) -> None:
    """Trace and capture the workloads, for `planezip reproduce --measurements FOLDER`.

    MODEL is a workload's name; by default all of them. For each: a trace at the paper's batch (of
    gpt2 also at shorter sequences), and captures of three iterations at random initialisation and
    after the warm-up, which say on what machine they were made; of gpt2 and vit_base_patch16_224
    both under BF16 autocast, too. Takes minutes to an hour a model; may be interrupted and goes on
    where it was.
    """
    from planezip.cli.measuring import Measuring
    from planezip.cli.output import print_json
    from planezip.records.measurements import OTHER_MODELS, PAPER_MODELS
    from planezip.report.write import writable_folder

    names = tuple(dict.fromkeys(models)) or (*PAPER_MODELS, *OTHER_MODELS)
    measuring = Measuring(folder, names, {"images": images, "text": text}, warmup_steps)
    measuring.check()
    made = []
    with writable_folder(folder):
        for file in measuring.run():
            made.append(str(file))
            if not as_json:
                click.echo(file)
    if as_json:
        print_json({"files": made})
