"""The engine stands half a minute of fuzzing, where clang is installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent.parent / "fuzz" / "run"


@pytest.mark.skipif(
    not (shutil.which("clang++") and shutil.which("cmake")), reason="clang or cmake is missing"
)
@pytest.mark.skipif(sys.platform != "linux", reason="libFuzzer comes with clang on Linux")
def test_half_a_minute_of_fuzzing_finds_nothing(tmp_path):
    done = subprocess.run([RUN, "15", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("stat::number_of_executed_units") == 2


def test_without_clang_the_target_says_what_to_install(tmp_path):
    done = subprocess.run(
        ["/bin/bash", RUN, "30"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "apt-get install clang" in done.stderr
