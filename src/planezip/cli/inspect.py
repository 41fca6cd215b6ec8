"""planezip inspect"""

from pathlib import Path

import click

from planezip.cli import options


@click.command(
    epilog=options.example(
        "planezip inspect trace.json.gz",
        "planezip inspect values.npy.pz --json",
        "planezip inspect model.pz.safetensors --tensor layers.0.weight",
    )
)
@click.argument("file", type=options.NAMED_PATH)
@click.option("--tensor", metavar="NAME", help="Of an archive, draw this tensor's bit planes.")
@options.as_json
def command(file: Path, tensor: str | None, as_json: bool) -> None:
    """Say what FILE holds: compressed data, or a trace, capture, plan or timeline.

    Streams are read and checked whole. Of each tensor of an archive, one learns the type, the
    shape, the ratio, the shares of the encoders, and how much every bit plane tells.
    """
    from planezip.cli.descriptions import describe_file
    from planezip.cli.output import print_grids, print_json

    found = describe_file(file, tensor)
    if as_json:
        print_json({"file": str(file), "kind": found.kind, **found.facts})
    else:
        print_grids(*found.grids)
