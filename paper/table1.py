"""Table I: the workload, and its modelled speed on the platforms of Table II."""

from common import measured, results_folder

from planezip.report.csvs import write_csv
from planezip.report.summary import Speed, TraceSummary, speeds, summarise

if __name__ == "__main__":
    trace, _ = measured()
    write_csv(results_folder() / "table1.csv", TraceSummary, [summarise(trace)])
    write_csv(results_folder() / "table2-speeds.csv", Speed, speeds(trace))
