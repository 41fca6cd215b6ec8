"""planezip reproduce"""

from pathlib import Path

import click

from planezip.cli import options


@click.command(
    epilog=options.example(
        "planezip reproduce --out out/paper",
        "planezip reproduce --only table1,table3,table4,fig3 --out out/paper",
        "planezip reproduce --only fig4,fig5 --ratios paper --jobs 8 --out out/paper-ratios",
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
@options.ratios
@options.jobs
@options.as_json
def command(
    only: str,
    measurements: Path | None,
    folder: Path,
    ratios: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Make the paper's tables and figures from traces and captures.

    By default from those that come with this package, without torch. Plans and simulations are
    spread over processes and made once for all figures.
    """
    from planezip.cli.output import print_grids, print_json, stage
    from planezip.records.measurements import measurements_in
    from planezip.report.artefacts import chosen
    from planezip.report.study import Study
    from planezip.report.write import writable_folder, write_artefacts
    from planezip.units import counted

    artefacts = chosen([name for part in only.split(",") if (name := part.strip())])
    kind = ratios or "captured"
    study = Study(measurements_in(measurements).folder, kind, jobs)  # type: ignore[arg-type]
    writable_folder(folder)
    if tasks := [
        task for artefact in artefacts if artefact.tasks for task in artefact.tasks(study)
    ]:
        with stage("plan and simulate") as advance:
            study.run(tasks, advance)
    made = {}
    for artefact in artefacts:
        with stage(artefact.title):
            made[artefact] = artefact.rows(study)
    files = write_artefacts(folder, made)
    if as_json:
        rows = {artefact.name: rows for artefact, rows in made.items()}
        print_json({**rows, "files": [str(file) for file in files]})
        return
    print_grids(*(artefact.grid(rows) for artefact, rows in made.items() if rows))
    click.echo(f"\n{counted(len(files), 'file')} in {folder}")
