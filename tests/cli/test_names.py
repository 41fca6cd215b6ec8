"""An empty name, as of a shell's variable that is not set, is refused wherever a path is taken."""

from pathlib import Path

import click
import pytest

from planezip.cli.main import COMMANDS, main
from planezip.cli.options import NamedPath

PARAMETERS = {
    f"{name} {parameter.opts[0]}": (name, parameter)
    for name in COMMANDS
    for parameter in main.get_command(click.Context(main), name).params
}
PATHS = {k: v for k, v in PARAMETERS.items() if isinstance(v[1].type, click.Path)}


def test_every_path_is_of_the_kind_that_refuses():
    assert all(isinstance(parameter.type, NamedPath) for _, parameter in PATHS.values())
    assert {"trace -o", "capture --images", "capture --text", "reproduce --out"} <= PATHS.keys()


OTHERS = {
    "trace model": ("trace", ""),
    "plan trace": ("plan", "", "--budget", "50%"),
    "report source": ("report", "", "-o", "out"),
    "run model": ("run", "", "--budget", "50%"),
}


@pytest.mark.parametrize("arguments", OTHERS.values(), ids=OTHERS)
def test_an_empty_model_or_source_is_refused(here, refuse, arguments):
    assert "''" in refuse(*arguments)
    assert not Path("out").exists()


@pytest.mark.parametrize(("command", "parameter"), PATHS.values(), ids=PATHS)
def test_an_empty_path_is_refused_before_anything_is_done(here, refuse, command, parameter):
    before = list(Path().rglob("*"))
    option = [parameter.opts[0]] if isinstance(parameter, click.Option) else []
    others = ["x"] if parameter.name == "plan" else []  # simulate TRACE PLAN
    told = refuse(command, *others, *option, "")
    assert "the name is empty; give that of a file or folder" in told
    assert list(Path().rglob("*")) == before
