"""Figure 4 for ResNet-50: overhead and throughput of every policy from 90 to 30 % of the memory."""

from common import results_folder

from planezip.records import PAPER_PLATFORMS, platform, write_atomically
from planezip.records.measurements import shipped
from planezip.report.csvs import write_csv
from planezip.report.evaluate import evaluate
from planezip.report.figures import throughput_figure
from planezip.report.names import platform_title
from planezip.report.rows import Row

MODEL = "resnet50"
BUDGETS_PCT = (90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0)

if __name__ == "__main__":
    folder, measured = results_folder(), shipped()
    trace, capture = measured.trace(MODEL), measured.capture(MODEL)
    on = [platform(name) for name in PAPER_PLATFORMS]
    rows = [outcome.row for outcome in evaluate(trace, capture, on, BUDGETS_PCT)]
    write_csv(folder / "figure4.csv", Row, rows)
    titles = {p.name: platform_title(p) for p in on}
    write_atomically(folder / "figure4.png", throughput_figure(rows, titles))
