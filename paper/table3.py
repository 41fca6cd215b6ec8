"""Table III: compression ratio by producing operator at both precisions."""

from common import measured, results_folder

from planezip.report.csvs import write_csv
from planezip.report.producers import Producer, producers

if __name__ == "__main__":
    _, capture = measured()
    write_csv(results_folder() / "table3.csv", Producer, producers(capture))
