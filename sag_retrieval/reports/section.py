"""What a section of a report is: its messages, its content, and its Markdown; its HTML is the template of its name."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from sag_retrieval.reports.citations import CitedSource
from sag_retrieval.reports.section import ReportContext
from sag_retrieval.reports.wording import Messages, Wording

T = TypeVar("T")


def no_lines(_content: object, _messages: Messages) -> Iterator[str]:
    """Nothing to show."""
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection(Generic[T]):
    """One section of the page. `name` is that of its module and of its template `<name>.html.j2` beside it.

    The template gets the content as `content` and the messages as `t`. Content is a dataclass of plain values and
    of statements without numbers: citations are numbered after all sections are built, in whatever order that was.
    """

    name: str
    build: Callable[[ReportContext], T | None]
    """The content; None where the report does not have the section."""
    markdown: Callable[[T, Messages], Iterable[str]]
    """Lines of the section in the Markdown file."""
    wording: Wording = field(default_factory=dict)
    """Its own messages; `heading` is its heading and its entry in the contents."""
    anchor: str = ""
    """Id in the page; empty for a section without heading."""
    place: Literal["top", "main"] = "main"
    """`top` is above the contents."""
    preview: Callable[[T, Messages], Iterable[str]] = no_lines
    """Lines in the short preview."""
    with_sources: Callable[[T, tuple[CitedSource, ...]], T] | None = None
    """Adds the cited passages, known when all citations have numbers."""
    is_footnotes: bool = False
    """Whether it comes last in the Markdown file."""
