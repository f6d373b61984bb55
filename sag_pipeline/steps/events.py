"""Events that were given with a document, tied to its chunks."""

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import log
from typing import Any

from sag_pipeline.steps.keys import make_key, title_key
from sag_pipeline.steps.places import first_places
from sag_pipeline.steps.triples import read_triples
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Extraction, Key, make_id
from sag_retrieval.text.words import tokens

_UNTYPED = "entity"
_MOST_ROWS = 10_000
"""Chunks weighed for one statement: in a document of more, common words say nothing of the place."""


def given_events(document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
    """The extraction that `document.extraction` gives, one a chunk; all empty if it gives none.

    An event goes to the chunk that holds its content word for word, else to the one that shares most of its words, rare
    words counting more; without a shared word to the first. Keys without a usable value and triples that are not three
    texts are left out. Every event carries the title's key first.

    Source:
        docs/algorithm.md §extraction.4.

    """
    raw_events = json.loads(document.extraction) if document.extraction else []
    if not chunks:
        return []
    contents = [" ".join(str(raw["content"]).split()) for raw in raw_events]
    places = _Places(document, chunks, contents)
    gathered: dict[int, list[tuple[Mapping[str, Any], tuple[int, int] | None]]] = defaultdict(list)
    for raw, content in zip(raw_events, contents, strict=True):
        if content:
            row, span = places.of(content)
            gathered[row].append((raw, span))
    return [_extraction(document, chunk, gathered[row]) for row, chunk in enumerate(chunks)]


class _Places:
    """Finds the chunk that covers a statement best."""

    def __init__(self, document: Document, chunks: Sequence[Chunk], contents: Sequence[str]) -> None:
        self._starts_of = first_places(contents, document.text)
        self._chunks = chunks
        self._starts = [chunk.start for chunk in chunks]
        self._rows_of: dict[str, set[int]] = defaultdict(set)
        for row, chunk in enumerate(chunks):
            for term in tokens(chunk.indexed_text):
                self._rows_of[term].add(row)

    def of(self, content: str) -> tuple[int, tuple[int, int] | None]:
        """Row of the chunk, and the span in the document if the content stands there word for word."""
        start = self._starts_of.get(content, -1)
        row = bisect_right(self._starts, start) - 1
        if start >= 0 and row >= 0 and start + len(content) <= self._chunks[row].end:
            return row, (start, start + len(content))
        weight: defaultdict[int, float] = defaultdict(float)
        for term in self._telling(content):
            rows = self._rows_of[term]
            for own in rows:
                weight[own] += log(1 + len(self._chunks) / len(rows))
        return min(weight, key=lambda own: (-weight[own], own), default=0), None

    def _telling(self, content: str) -> list[str]:
        """The rarest terms of a statement: as many as stand in so many chunks together."""
        terms = sorted(set(tokens(content)) & self._rows_of.keys(), key=lambda term: (len(self._rows_of[term]), term))
        counts = accumulate(len(self._rows_of[term]) for term in terms)
        kept = [term for term, count in zip(terms, counts, strict=True) if count <= _MOST_ROWS]
        return sorted(kept or terms[:1])


def _extraction(
    document: Document, chunk: Chunk, raws: Sequence[tuple[Mapping[str, Any], tuple[int, int] | None]]
) -> Extraction:
    events: list[Event] = []
    keys: list[EventKey] = []
    triples = []
    seen: Counter[str] = Counter()
    for raw, span in raws:
        content = " ".join(str(raw["content"]).split())
        event = Event(
            event_id=make_id("e", chunk.chunk_id, content, seen[content]),
            document_id=document.document_id,
            chunk_id=chunk.chunk_id,
            event_index=len(events),
            content=content,
            title=document.title,
            start=span[0] if span else None,
            end=span[1] if span else None,
        )
        seen[content] += 1
        own = list(_keys(document, raw.get("keys") or ()))
        events.append(event)
        keys.extend(EventKey(document.document_id, event.event_id, key) for key in own)
        triples.extend(read_triples(event, own, raw.get("triples") or ()))
    return Extraction(tuple(events), tuple(keys), tuple(triples))


def _keys(document: Document, raws: Sequence[Mapping[str, Any]]) -> Iterator[Key]:
    made = [title_key(document)]
    made += [
        make_key(
            str(raw.get("type") or _UNTYPED), raw["value"], unit if isinstance(unit := raw.get("unit"), str) else None
        )
        for raw in raws
        if isinstance(raw, Mapping) and isinstance(raw.get("value"), str | int | float)
    ]
    yield from {key.key_id: key for key in made if key}.values()
