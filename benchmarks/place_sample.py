"""Places in documents that no other sample of events has, and the events and keys that rules make there.

A place is where an event stood when the sample was drawn: a document and a span. It stays in the sample whatever rules
make of it later, so that a changed event is judged again and a lost one counts.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from event_sample import DATA, corpora, digest, read_folder

from sag_pipeline.rules.events import offline_events
from sag_pipeline.rules.keys import offline_keys
from sag_pipeline.rules.sections import offline_sections
from sag_pipeline.steps.chunks import split_chunks
from sag_pipeline.steps.document_dates import with_context_dates
from sag_retrieval.core.records import TITLE, Document, Event, Key

SEED = "places-1"
"""Drawn once: the events of each corpus whose hashes with this word are least."""
BOOK = Path.home() / ".rustup/toolchains/stable-x86_64-unknown-linux-gnu/share/doc/rust/html/cargo"
"""The manual of a package manager, as its tool chain installs it."""
_BUSINESS = DATA / "business" / "documents"


class Place(NamedTuple):
    """Where an event stood."""

    corpus: str
    document: str
    start: int
    end: int

    @property
    def mark(self) -> str:
        """What stands for the place in notes."""
        return digest(self.corpus, self.document, str(self.start))


class Made(NamedTuple):
    """What rules make at a place; no event if nothing is left of it."""

    place: Place
    event: Event | None
    keys: tuple[Key, ...]


def _of_business(*folders: str) -> Iterator[Document]:
    for folder in folders:
        yield from read_folder(_BUSINESS / folder)


def _finance(language: str) -> Iterator[Document]:
    for row in pq.read_table(DATA / "dragonball.docs.parquet").to_pylist():
        if row["domain"] == "finance" and row["language"] == language:
            yield Document(str(row["doc_id"]), "finance", row["name"], row["text"], language)


def _earlier(name: str) -> Iterator[Document]:
    """The documents of a corpus of the earlier sample."""
    yield from corpora(Path("none"))[name].documents()


def place_corpora(book: Path) -> dict[str, tuple[Callable[[], Iterable[Document]], int]]:
    """Documents by the name of their corpus, and how many places the sample has of them."""
    return {
        "reports-zh": (lambda: _finance("zh"), 14),
        "reports-en": (lambda: _finance("en"), 14),
        "reports-business": (lambda: _of_business("incidents", "minutes", "press"), 14),
        "manuals-book": (lambda: read_folder(book) if book.is_dir() else (), 16),
        "manuals-business": (lambda: _of_business("hr", "intranet"), 10),
        "chats-lihua": (lambda: _earlier("chats-lihua"), 12),
        "chats-locomo": (lambda: _earlier("chats-locomo"), 12),
        "chats-business": (lambda: _of_business("chat", "helpdesk", "mail"), 12),
        "law-zh": (lambda: _earlier("law-zh"), 11),
        "law-en": (lambda: _earlier("law-en"), 11),
        "law-business": (lambda: _of_business("contracts"), 10),
        "tables": (lambda: (*_earlier("tables"), *_of_business("inspections")), 14),
    }


def draw(book: Path, is_judged: Callable[[str, Event], bool]) -> Iterator[Place]:
    """The places of the sample, from documents of which no event was judged before."""
    for name, (documents, most) in place_corpora(book).items():
        found: dict[str, Place] = {}
        for document in documents():
            events = [event for event, _ in events_and_keys(document)]
            if any(is_judged(name, event) for event in events):
                continue
            for event in events:
                if event.start is not None and event.end is not None:
                    place = Place(name, document.document_id, event.start, event.end)
                    found.setdefault(digest(SEED, name, event.content), place)
        yield from (place for _, place in sorted(found.items())[:most])


def events_and_keys(document: Document) -> list[tuple[Event, tuple[Key, ...]]]:
    """What rules make of a document, without the title."""
    chunks = split_chunks(document, offline_sections(document))
    events = with_context_dates(document, [event for made in offline_events(document, chunks) for event in made])
    keys: defaultdict[str, list[Key]] = defaultdict(list)
    for link in offline_keys(document, chunks, events):
        if link.key.key_type != TITLE:
            keys[link.event_id].append(link.key)
    return [(event, tuple(keys[event.event_id])) for event in events]


def made_at(places: Iterable[Place], book: Path) -> Iterator[Made]:
    """What rules make now at every place: the event that shares most with it, of equals the first."""
    by_document: defaultdict[tuple[str, str], list[Place]] = defaultdict(list)
    for place in places:
        by_document[place.corpus, place.document].append(place)
    for name, (documents, _) in place_corpora(book).items():
        for document in documents():
            wanted = by_document.get((name, document.document_id), ())
            made = events_and_keys(document) if wanted else []
            for place in wanted:
                yield _best(place, made)


def _best(place: Place, made: Iterable[tuple[Event, tuple[Key, ...]]]) -> Made:
    best = max(made, key=lambda one: _shared(place, one[0]), default=None)
    if best is None or not _shared(place, best[0]):
        return Made(place, None, ())
    return Made(place, *best)


def _shared(place: Place, event: Event) -> int:
    return max(0, min(place.end, event.end or 0) - max(place.start, event.start or 0))


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table of labels; none if there is none."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
