"""The command line is quick, explains itself, and fails in one line."""

import signal
import subprocess
import sys
import time
from importlib import import_module

import click
import pytest

from planezip import __version__
from planezip.cli.failures import EXTRA_OF, exit_code
from planezip.cli.main import COMMANDS

HEAVY = {"torch", "numpy", "matplotlib", "rich", "timm", "jinja2", "msgspec", "sklearn", "PIL"}


def shell(*arguments: str, **options) -> subprocess.Popen:
    """The command line as a process of its own."""
    code = "from planezip.cli.entry import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys\nfrom planezip.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n    print(*sys.modules, sep='\\n')"
    )
    arguments = [command, "--help"] if command else ["--help"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
    assert not HEAVY & set(done.stdout.split("\n"))


def test_help_lists_every_command_with_what_it_does(succeed):
    text = succeed("--help")
    for name, does in COMMANDS.items():
        assert f"  {name} " in text
        assert does in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example(succeed, name):
    text = succeed(name, "--help")
    assert "Example:" in text
    assert f"\n    planezip {name} " in text or f"\n    planezip {name}\n" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_json(name):
    command = import_module(f"planezip.cli.{name.replace('-', '_')}").command
    assert "--json" in {flag for parameter in command.params for flag in parameter.opts}


def test_the_version_is_the_packages(succeed):
    assert succeed("--version") == f"planezip, version {__version__}\n"


def test_without_a_command_help_is_shown(planezip):
    result = planezip()
    assert result.exit_code == 2
    assert "Usage:" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tarce"], "tarce"),
        (["--fast"], "--fast"),
        (["trace"], "MODEL"),
        (["trace", "resnet50", "--batch", "0"], "--batch"),
        (["plan", "x.json"], "--budget"),
    ],
)
def test_wrong_usage_is_one_line_that_leads_to_help(refuse, arguments, said):
    line = refuse(*arguments)
    assert said in line
    assert "--help" in line


@pytest.mark.parametrize("package", EXTRA_OF)
def test_a_missing_package_is_named_with_the_extra_that_installs_it(capsys, package):
    def run() -> None:
        raise ModuleNotFoundError(f"No module named '{package}'", name=package)

    assert exit_code(run) == 2
    line = capsys.readouterr().err
    assert package in line
    assert f"pip install 'planezip[{EXTRA_OF[package]}]'" in line


def test_commands_that_train_say_that_they_need_torch(refuse, monkeypatch):
    monkeypatch.delitem(sys.modules, "planezip.cli.training", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "planezip[train]" in refuse("trace", "resnet50")


def test_reports_say_that_they_need_matplotlib(here, refuse, monkeypatch):
    for name in [n for n in sys.modules if n.startswith(("planezip.report", "planezip.cli.rep"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "planezip[report]" in refuse("report", "trace.json.gz", "-o", "out")
    assert not (here / "out").exists()


def test_defects_keep_their_traceback():
    def broken() -> None:
        raise ModuleNotFoundError("No module named 'planezip.codex'", name="planezip.codex")

    with pytest.raises(ModuleNotFoundError):
        exit_code(broken)
    with pytest.raises(ZeroDivisionError):
        exit_code(lambda: 1 / 0)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort])
def test_an_interruption_is_one_line(capsys, interruption):
    def run() -> None:
        raise interruption

    assert exit_code(run) == 130
    assert capsys.readouterr().err == "planezip: interrupted\n"


def test_ctrl_c_leaves_nothing_partial(tmp_path):
    with open(tmp_path / "large", "wb") as large:
        large.truncate(8 << 30)  # a hole: it takes seconds to compress and no room
    process = shell("compress", str(tmp_path / "large"))
    while not any(path.name.startswith(".planezip-") for path in tmp_path.iterdir()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, error) == (b"", b"planezip: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["large"]


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_a_reader_that_goes_away_is_no_error(here, arguments):
    process = shell("inspect", "trace.json.gz", *arguments, cwd=here)
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert error == b""
