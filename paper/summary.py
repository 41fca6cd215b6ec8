"""Prints what the results say beside the paper's figures, as Markdown."""

from common import measured, results_folder

from planezip.records import platforms
from planezip.report.csvs import read_csv
from planezip.report.grid import markdown
from planezip.report.grids import (
    error_grid,
    overhead_grid,
    producer_grid,
    ratio_grid,
    stability_grid,
    trace_grid,
)
from planezip.report.predictability import Stability
from planezip.report.producers import Producer
from planezip.report.ratios import PRECISIONS, Ratio
from planezip.report.rows import Row

if __name__ == "__main__":
    folder = results_folder()
    trace, capture = measured()
    producers = read_csv(folder / "table3.csv", Producer)
    overheads = read_csv(folder / "figure4.csv", Row)
    grids = [
        trace_grid(trace),
        ratio_grid(read_csv(folder / "figure3.csv", Ratio), capture.weights),
        ratio_grid(read_csv(folder / "figure3-random.csv", Ratio), "random"),
        *(producer_grid(producers, precision) for precision in PRECISIONS),
        stability_grid(read_csv(folder / "table4.csv", Stability)),
        error_grid(capture),
        *(overhead_grid(overheads, platform) for platform in platforms().values()),
    ]
    print(f"Weights: {capture.weights}. Data: {capture.data}.\n")
    print("\n\n".join(markdown(grid) for grid in grids))
