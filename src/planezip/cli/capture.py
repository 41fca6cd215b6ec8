"""planezip capture"""

from pathlib import Path

import click

from planezip.cli import options


@click.command(
    epilog=options.models_and_example(
        "planezip capture resnet50 --warmup-steps 8 -o capture.json.gz",
        "planezip capture resnet50 --pretrained --images photographs -o capture.json.gz",
        "planezip capture my_file.py:make_step -o capture.json.gz",
        "planezip capture gpt2 --text book.txt -o capture.json.gz",
    )
)
@click.argument("model")
@options.captures(warmup_steps=0)
@click.option(
    "--iterations",
    type=click.IntRange(1, options.MOST_ITERATIONS),
    default=3,
    show_default=True,
    help="Consecutive steps.",
)
@options.output("the capture")
@options.as_json
def command(
    model: str,
    batch: int | None,
    images: Path | None,
    text: Path | None,
    pretrained: bool,
    warmup_steps: int,
    seed: int,
    iterations: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Train MODEL on real photographs or text and compress every saved activation with every codec.

    MODEL is a workload's name or file.py:function, as for `planezip trace`. Runs on the CPU, in
    FP32, with updates of the weights. BF16 sizes are those of the same tensors rounded to BF16; a
    model that computes in mixed precision itself is captured as it is. Of a tensor larger than
    32 MiB every fourth 4 KiB chunk is compressed and stands for all of it.
    """
    from planezip.cli.descriptions import capture_description
    from planezip.cli.output import print_grids, print_json
    from planezip.cli.training import CaptureOptions, capture_model, data_source
    from planezip.records import save

    source = data_source(model, images, text)
    chosen = CaptureOptions(batch, iterations, source, pretrained, warmup_steps, seed)
    capture = capture_model(model, chosen)
    if output:
        save(output, capture)
    described = capture_description(str(output or model), capture)
    if as_json:
        print_json({**described.facts, "file": output and str(output)})
    else:
        print_grids(*described.grids)
