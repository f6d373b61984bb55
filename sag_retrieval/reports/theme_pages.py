"""The pages beside a report: all events of one theme each, with the document that each was read from."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sag_retrieval.reports.ranking import RankedCommunity, in_time_order
from sag_retrieval.reports.section import ReportContext

FOLDER: Final = "themes"
_NOT_IN_FILE_NAMES: Final = re.compile(r"[^\w]+")
_NAME_LENGTH: Final = 40


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """An event of a theme's page: its text and date, and where it was read."""

    text: str
    date: str
    document: str
    where: str
    lang: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class ThemePage:
    """A page: its file, the theme, and all of its events in time order."""

    file: str
    community: RankedCommunity
    events: tuple[ListedEvent, ...]


def theme_file(community: RankedCommunity) -> str:
    """Path of a theme's page beside the report: its number and title."""
    name = _NOT_IN_FILE_NAMES.sub("-", community.title.casefold())[:_NAME_LENGTH].strip("-")
    return f"{FOLDER}/{community.number}-{name}.html" if name else f"{FOLDER}/{community.number}.html"


def theme_pages(context: ReportContext) -> Iterator[ThemePage]:
    """A page for each ranked community."""
    for community in context.ranking.communities:
        rows = in_time_order(context.events, community.members).tolist()
        yield ThemePage(theme_file(community), community, tuple(_listed(context, row) for row in rows))


def _listed(context: ReportContext, row: int) -> ListedEvent:
    events = context.events
    chunk, document = int(events.chunk[row]), int(events.document[row])
    place = events.chunks.places[chunk] if events.chunks.places else ""
    return ListedEvent(
        text=events.contents[row],
        date=events.dates[row] or "",
        document=events.documents.titles[document],
        where=" ".join(filter(None, (events.documents.document_ids[document], place))),
        lang=context.foreign_language(row),
        is_new=bool(context.comparison.is_new[row]),
    )
