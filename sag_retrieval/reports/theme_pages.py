"""The pages beside a report: all events of one theme each, by year and by the document that they were read from."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import Final

from sag_retrieval.reports.context import ReportContext
from sag_retrieval.reports.ranking import RankedTopic, in_time_order

FOLDER: Final = "themes"
_NOT_IN_FILE_NAMES: Final = re.compile(r"[^\w]+")
_NAME_LENGTH: Final = 40
_YEAR: Final = 4


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """An event of a theme's page: its text, its date if it is not the one above, and its place in the document."""

    text: str
    date: str
    place: str
    lang: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class FromDocument:
    """Events of one document that follow each other; `file` is empty where the title says as much."""

    title: str
    file: str
    events: tuple[ListedEvent, ...]


@dataclass(frozen=True, slots=True)
class Year:
    """A year, empty for what has no date, how many events it has, and the documents that they are from."""

    name: str
    count: int
    documents: tuple[FromDocument, ...]


@dataclass(frozen=True, slots=True)
class ThemePage:
    """A page: its file, the theme, all of its events in time order, and the themes before and after it."""

    file: str
    topic: RankedTopic
    years: tuple[Year, ...]
    before: RankedTopic | None
    after: RankedTopic | None


def theme_file(topic: RankedTopic) -> str:
    """Path of a theme's page beside the report: its number and title."""
    return f"{FOLDER}/{theme_name(topic)}"


def theme_name(topic: RankedTopic) -> str:
    """File name of a theme's page."""
    name = _NOT_IN_FILE_NAMES.sub("-", topic.title.casefold())[:_NAME_LENGTH].strip("-")
    return f"{topic.number}-{name}.html" if name else f"{topic.number}.html"


def theme_pages(context: ReportContext) -> Iterator[ThemePage]:
    """A page for each ranked topic."""
    topics = context.topics
    for place, topic in enumerate(topics):
        rows = in_time_order(context.events, topic.members).tolist()
        years = groupby(rows, key=lambda row: (context.events.dates[row] or "")[:_YEAR])
        yield ThemePage(
            theme_file(topic),
            topic,
            tuple(_year(context, name, list(of_year)) for name, of_year in years),
            topics[place - 1] if place else None,
            topics[place + 1] if place + 1 < len(topics) else None,
        )


def _year(context: ReportContext, name: str, rows: Sequence[int]) -> Year:
    groups = groupby(rows, key=lambda row: int(context.events.document[row]))
    documents = tuple(_from_document(context, document, list(of_document)) for document, of_document in groups)
    return Year(name, len(rows), documents)


def _from_document(context: ReportContext, document: int, rows: Sequence[int]) -> FromDocument:
    documents = context.events.documents
    title, file = documents.titles[document], documents.document_ids[document]
    same = title in {file, PurePosixPath(file).name, PurePosixPath(file).stem}
    events: list[ListedEvent] = []
    date = ""
    for row in rows:
        events.append(_listed(context, row, date))
        date = context.events.dates[row] or ""
    return FromDocument(title, "" if same else file, tuple(events))


def _listed(context: ReportContext, row: int, above: str) -> ListedEvent:
    events = context.events
    date = events.dates[row] or ""
    return ListedEvent(
        text=events.contents[row],
        date="" if date == above else date,
        place=events.chunks.places[int(events.chunk[row])] if events.chunks.places else "",
        lang=context.foreign_language(row),
        is_new=bool(context.comparison.is_new[row]),
    )
