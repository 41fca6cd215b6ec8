"""planezip reproduce"""

from pathlib import Path

import click

from planezip.cli import options


@click.command(
    epilog=options.example(
        "planezip reproduce --out out/paper",
        "planezip reproduce --only table1,table3,table4,fig3 --out out/paper",
        "planezip reproduce --measurements measured --out out/paper",
    )
)
@click.option(
    "--only",
    metavar="NAMES",
    default="",
    help="Tables and figures, separated by commas.  [default: all]",
)
@options.measurements
@click.option(
    "--out",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    required=True,
    help="Write one CSV file for each there, and PNG and SVG for the figures.",
)
@options.as_json
def command(only: str, measurements: Path | None, folder: Path, as_json: bool) -> None:
    """Make the paper's tables and figures from traces and captures.

    By default from those that come with this package, which takes seconds and no torch.
    """
    from planezip.cli.output import print_grids, print_json, stage
    from planezip.records.measurements import measurements_in
    from planezip.report.artefacts import chosen
    from planezip.report.write import writable_folder, write_artefacts

    artefacts = chosen([name for part in only.split(",") if (name := part.strip())])
    measured = measurements_in(measurements)
    writable_folder(folder)
    made = {}
    for artefact in artefacts:
        with stage(artefact.title):
            made[artefact] = artefact.rows(measured)
    files = write_artefacts(folder, made)
    if as_json:
        rows = {artefact.name: rows for artefact, rows in made.items()}
        print_json({**rows, "files": [str(file) for file in files]})
        return
    print_grids(*(artefact.grid(rows) for artefact, rows in made.items() if rows))
    click.echo(f"\n{len(files)} files in {folder}")
