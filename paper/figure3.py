"""Figure 3: compression ratio of every codec at both precisions, trained and random weights."""

from common import measured, results_folder

from planezip.records import write_atomically
from planezip.report.csvs import write_csv
from planezip.report.figures import ratio_figure
from planezip.report.published import paper
from planezip.report.ratios import PRECISIONS, Ratio, ratios

if __name__ == "__main__":
    folder = results_folder()
    for name, weights in (("figure3.csv", "trained"), ("figure3-random.csv", "random")):
        _, capture = measured(weights)
        write_csv(folder / name, Ratio, ratios(capture))
    _, capture = measured()
    beside = paper().ratios(capture.model, capture.weights)
    write_atomically(folder / "figure3.png", ratio_figure(ratios(capture), PRECISIONS, beside))
