"""What public classes share: import name, version, conversion to plain values and tables, HTML for notebooks."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__version__: Final = version("sag")


AnyClass = TypeVar("AnyClass", bound=type)


def public(cls: AnyClass) -> AnyClass:
    """Make `help`, `repr` and pickles show a class under its public name: `sag_retrieval.Hit`."""
    cls.__module__ = "sag_retrieval"
    return cls


class Convertible:
    """A result that converts to plain values, JSON and tables by the same four methods."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, as `--json` prints them."""
        raise NotImplementedError

    def to_arrow(self) -> "pa.Table":
        """The result as an Arrow table."""
        raise NotImplementedError

    def to_json(self, *, indent: int | None = None) -> str:
        """The result of `to_dict` as JSON; Chinese is not escaped.

        Examples:
            >>> import json, sag_retrieval
            >>> with sag_retrieval.open_release() as release:
            ...     answer = release.ask("Who made the O-ring?")
            >>> json.loads(answer.to_json())["mode"]
            'fast'

        Args:
            indent: Spaces per level; None: all on one line.

        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, default=str)

    def to_pandas(self) -> "pd.DataFrame":
        """The result of `to_arrow` as a DataFrame.

        Examples:
            >>> import sag_retrieval
            >>> with sag_retrieval.open_release() as release:
            ...     result = release.search("Who made the O-ring?", top_k=2)
            >>> result.to_pandas()["rank"].tolist()
            [1, 2]

        """
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame


_LONGEST: Final = 600
"""Characters of a text that are shown in a notebook."""
MOST_ROWS: Final = 50
"""Rows of a table that are shown in a notebook."""


def render_html(template: str, **values: Any) -> str:  # noqa: ANN401  any value that the template shows
    """A rendered macro of `notebook.html.j2`."""
    module = _templates().get_template("notebook.html.j2").module
    return str(module.style()) + str(getattr(module, template)(**values))


def shortened(text: str) -> str:
    """The beginning of a long text, on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[:_LONGEST].rstrip() + " …"


def readable(value: object) -> str:
    """A value as text; a number without trailing zeros and with thousands separators."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,.12g}" if is_number else str(value)


def render_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], count: int) -> str:
    """Rows as an HTML table, with the total count if not all are shown."""
    return render_html("table", columns=columns, rows=rows[:MOST_ROWS], count=count)


@cache
def _templates() -> Any:  # noqa: ANN401  a jinja2.Environment, imported when something is shown
    from jinja2 import Environment, FileSystemLoader  # noqa: PLC0415

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {"shortened": shortened, "readable": readable}
    return templates
