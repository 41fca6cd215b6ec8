import pytest
from click.testing import CliRunner, Result

from planezip.cli.main import main
from planezip.records import save


@pytest.fixture
def here(tmp_path, monkeypatch, trace, capture):
    """An empty working folder with the trace and capture of a small network in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    save(tmp_path / "trace.json.gz", trace)
    save(tmp_path / "capture.json", capture)
    return tmp_path


@pytest.fixture
def planezip():
    """Calls the command line in this process."""

    def call(*arguments: object) -> Result:
        result = CliRunner().invoke(main, [str(a) for a in arguments])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def succeed(planezip):
    """Calls the command line, which must succeed, and returns what it printed on stdout."""

    def call(*arguments: object) -> str:
        result = planezip(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    return call


@pytest.fixture
def refuse(planezip):
    """Calls the command line, which must refuse in one line; returns the line."""

    def call(*arguments: object) -> str:
        result = planezip(*arguments)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        line = result.stderr
        assert line.startswith("planezip: ")
        assert line.count("\n") == 1
        assert line.endswith("\n")
        return line

    return call
