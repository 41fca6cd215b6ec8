"""planezip inspect"""

from pathlib import Path

import click

from planezip.cli import options


@click.command(
    epilog=options.example(
        "planezip inspect trace.json.gz", "planezip inspect values.npy.pz --json"
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
def command(file: Path, as_json: bool) -> None:
    """Say what FILE holds: a compressed stream, or a trace, capture, plan or timeline.

    A stream is read and checked whole.
    """
    from planezip.cli.descriptions import describe_file
    from planezip.cli.output import print_grids, print_json

    found = describe_file(file)
    if as_json:
        print_json({"file": str(file), "kind": found.kind, **found.facts})
    else:
        print_grids(*found.grids)
