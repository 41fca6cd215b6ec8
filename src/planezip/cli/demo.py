"""planezip demo"""

from pathlib import Path

import click

from planezip.cli import options

MODEL = "resnet50"
WARMUP_STEPS = 8


@click.command(
    epilog=options.example("planezip demo", "planezip demo --images photographs --warmup-steps 30")
)
@click.option(
    "-o",
    "--out",
    "folder",
    metavar="FOLDER",
    type=options.NAMED_PATH,
    default=Path("out/demo"),
    show_default=True,
    help="Write everything there.",
)
@options.captures(warmup_steps=WARMUP_STEPS)
@options.jobs
@options.as_json
def command(
    folder: Path,
    batch: int | None,
    images: Path | None,
    text: Path | None,
    pretrained: bool,
    warmup_steps: int,
    seed: int,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Trace ResNet-50, compress its activations, plan and simulate, and write a report.

    The trace is of a training iteration at batch 128 on the meta device; the ratios are of real
    iterations at batch 8. Six policies plan for 90, 70, 50 and 30 % of the activation memory on
    both platforms of the paper.
    """
    from planezip.cli.output import stage
    from planezip.cli.reporting import make_report, print_report
    from planezip.cli.training import CaptureOptions, capture_model, data_source, trace_model
    from planezip.records import PAPER_PLATFORMS, platform, save
    from planezip.report.evaluate import BUDGETS_PCT
    from planezip.report.write import writable_folder

    source = data_source(MODEL, images, text)
    with writable_folder(folder):
        with stage("trace one iteration"):
            trace = trace_model(MODEL)
        save(folder / "trace.json.gz", trace)
        chosen = CaptureOptions(batch, 3, source, pretrained, warmup_steps, seed)
        capture = capture_model(MODEL, chosen)
        save(folder / "capture.json.gz", capture)
        platforms = [platform(name) for name in PAPER_PLATFORMS]
        made, files = make_report(trace, capture, platforms, BUDGETS_PCT, folder, jobs=jobs)
    print_report(made, [*files, folder / "trace.json.gz", folder / "capture.json.gz"], as_json)
