"""Table IV: ratios of consecutive iterations and the wire-size error of three signatures."""

from common import measured, results_folder

from planezip.report.csvs import write_csv
from planezip.report.predictability import Stability, stability

if __name__ == "__main__":
    _, capture = measured()
    write_csv(results_folder() / "table4.csv", Stability, stability(capture))
