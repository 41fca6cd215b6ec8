"""planezip trace"""

from pathlib import Path

import click

from planezip.cli import options


@click.command(
    epilog=options.models_and_example(
        "planezip trace resnet50 -o trace.json.gz",
        "planezip trace resnet50 --batch 32 --json",
        "planezip trace gpt2 --tokens 512",
        "planezip trace my_file.py:make_step",
    )
)
@click.argument("model")
@click.option(
    "--batch",
    type=click.IntRange(1, options.LARGEST_BATCH),
    help="Items in the batch.  [default: the paper's, or your function's]",
)
@click.option(
    "--tokens",
    type=click.IntRange(2),
    help="Length of the sequences of a language model.  [default: 1024]",
)
@options.output("the trace")
@options.as_json
def command(
    model: str, batch: int | None, tokens: int | None, output: Path | None, as_json: bool
) -> None:
    """Record one training iteration of MODEL: forward, backward and optimizer step.

    MODEL is a workload's name or file.py:function, where the function returns a torch.nn.Module and
    a function that computes its loss. Runs on tensors that have shapes but no data: no memory is
    too small.
    """
    from planezip.cli.output import print_grids, print_json
    from planezip.cli.training import trace_model
    from planezip.records import save
    from planezip.report.grids import trace_grid
    from planezip.report.summary import speeds, summarise

    trace = trace_model(model, batch, tokens)
    if output:
        save(output, trace)
    if as_json:
        print_json(
            {
                "summary": summarise(trace),
                "modelled_items_per_s": {s.platform: s.items_per_s for s in speeds(trace)},
                "versions": trace.versions,
                "file": output and str(output),
            }
        )
    else:
        print_grids(trace_grid(trace))
