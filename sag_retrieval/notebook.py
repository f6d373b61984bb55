"""Render results as HTML for a notebook: escaped, without outside requests, in the colours of the page around them."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

LONGEST: Final = 600
"""Longest text shown, in characters; the result has all of it."""
MOST: Final = 50
"""Most rows of a table that are shown."""


def html(template: str, **values: Any) -> str:  # noqa: ANN401  whatever the template shows
    """Render a macro of `notebook.html.j2`."""
    module = _templates().get_template("notebook.html.j2").module
    return str(module.style()) + str(getattr(module, template)(**values))


def shortened(text: str) -> str:
    """The beginning of a long text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else flat[:LONGEST].rstrip() + " …"


def readable(value: object) -> str:
    """A value as text; a number without trailing zeros and with thousands separators."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,.12g}" if is_number else str(value)


def table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], count: int) -> str:
    """Rows as a table, with their total count where not all are shown."""
    return html("table", columns=columns, rows=rows[:MOST], count=count)


@cache
def _templates() -> Any:  # noqa: ANN401  a jinja2.Environment, imported when something is shown
    from jinja2 import Environment, FileSystemLoader  # noqa: PLC0415

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {"shortened": shortened, "readable": readable}
    return templates
