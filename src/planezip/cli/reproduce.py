"""planezip reproduce"""

from pathlib import Path

import click

from planezip.cli import options
from planezip.errors import InputError


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
    help="Tables and figures, separated by commas.  [default: all]",
)
@options.measurements
@click.option(
    "--out",
    "folder",
    metavar="FOLDER",
    type=options.NAMED_PATH,
    required=True,
    help="Write one CSV file for each there, PNG and SVG for the figures, and report.html.",
)
@options.model
@options.ratios
@options.jobs
@options.as_json
def command(
    only: str | None,
    measurements: Path | None,
    folder: Path,
    model: str | None,
    ratios: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Make the paper's tables and figures from traces and captures.

    By default from those that come with this package, without torch. Plans and simulations are
    spread over processes and made once for all figures. The page, report.html, shows what was
    made; `planezip report FOLDER` makes it from everything in the folder.
    """
    from planezip.cli.output import print_grids, print_json, stage
    from planezip.records.measurements import measurements_in
    from planezip.report.artefacts import chosen
    from planezip.report.explored import explorers, provenance
    from planezip.report.machine import this_machine
    from planezip.report.study import Study
    from planezip.report.write import writable_folder, write_artefacts
    from planezip.units import counted

    names = [name for part in (only or "").split(",") if (name := part.strip())]
    if only is not None and not names:
        raise InputError(f"--only {only!r} names no table or figure; leave it out to make all")
    artefacts = chosen(names)
    kind = ratios or "captured"
    study = Study(measurements_in(measurements).folder, kind, jobs)  # type: ignore[arg-type]
    if model and model not in study.models():
        known = ", ".join(study.models())
        raise InputError(f"no model {model!r} was measured; choose from: {known}")
    with writable_folder(folder):
        if tasks := [task for a in artefacts if a.tasks for task in a.tasks(study)]:
            with stage("plan and simulate") as advance:
                study.run(tasks, advance)
        made = {}
        for artefact in artefacts:
            with stage(artefact.title):
                made[artefact] = artefact.rows(study)
        with stage("page"):
            drawn = explorers(study, made, model)
            files = write_artefacts(folder, made, drawn, provenance(study, this_machine()))
    if as_json:
        rows = {artefact.name: rows for artefact, rows in made.items()}
        print_json({**rows, "files": [str(file) for file in files]})
        return
    print_grids(*(artefact.grid(rows) for artefact, rows in made.items() if rows))
    click.echo(f"\n{counted(len(files), 'file')} in {folder}; read {files[-1]}")
