"""The one way out to a terminal: what a command prints or complains of passes here and leaves its escapes behind."""

import json
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from sag_retrieval.text.words import ascii_where_hidden, printable

as_json = click.option("--json", "is_json", is_flag=True, help="Print JSON instead of a table.")


class Terminal(Console):
    """A console of which only the colours are escape sequences: what documents or models say is text."""

    def __init__(self, *, stderr: bool = False) -> None:
        """On standard output, or on standard error."""
        super().__init__(stderr=stderr, emoji=False)  # `:warning:` in a document is what it says

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything, their text and style free of what a terminal would obey."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            style = segment.style.update_link(None) if segment.style and segment.style.link else segment.style
            yield Segment(printable(segment.text), style)


def print_json(value: Any) -> None:  # noqa: ANN401  any JSON
    """One JSON document on standard output; characters that a terminal would obey stand as escapes."""
    click.echo(ascii_where_hidden(json.dumps(value, ensure_ascii=False, indent=1, default=str)))


def say(text: str) -> None:
    """Plain text on standard output."""
    click.echo(printable(text))


def complain(text: str, *, kind: str = "Error") -> None:
    """One line on standard error."""
    click.echo(f"{kind}: {' '.join(printable(text).split())}", err=True)


def print_anything() -> None:
    """Let both streams take any text: what their encoding lacks stands as an escape instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
