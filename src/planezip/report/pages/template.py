"""Fills the templates; they hold the words and the looks of the pages."""

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from planezip.report.pages.drawing import KINDS
from planezip.report.pages.paths import HEIGHT, WIDTH


def render(name: str, view: dict[str, Any]) -> str:
    """A page from the template called `name`; text in `view` is never taken for markup."""
    return _environment().get_template(name).render(view)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("planezip.report.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folder = files("planezip.report.pages") / "templates"
    for part in ("style.css", "explorer.js"):
        environment.globals[part.replace(".", "_")] = Markup((folder / part).read_text())
    environment.globals |= {"width": WIDTH, "height": HEIGHT, "kinds": KINDS}
    return environment
