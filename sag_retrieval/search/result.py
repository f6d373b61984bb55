"""What a search gives back: hits with their events and keys, and the keys that led to them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Rows
from sag_retrieval.release.csr import join
from sag_retrieval.release.index import Index
from sag_retrieval.search.method import Query, Ranking

KeyValue = str | float | bool | None


@dataclass(frozen=True, slots=True)
class HitEvent:
    """An event of a hit's chunk."""

    event_id: str
    content: str


@dataclass(frozen=True, slots=True)
class HitKey:
    """A key of a hit's chunk."""

    key_id: str
    type: str
    value: KeyValue
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class ResultKey:
    """A key that took part: hop 0 is a seed key, and `reason` says why it is one."""

    key_id: str
    type: str
    value: KeyValue
    weight: float
    hop: int
    reason: str = ""
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A found chunk: `text == document.text[start:end]`. `parts` are the terms its score is made of."""

    rank: int
    score: float
    chunk_id: str
    document_id: str
    title: str
    text: str
    events: tuple[HitEvent, ...]
    keys: tuple[HitKey, ...]
    chunk_index: int
    start: int
    end: int
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultSegment:
    """Chunks `chunk_start` to before `chunk_end` of a document as one piece: `text == document.text[start:end]`."""

    document_id: str
    title: str
    chunk_start: int
    chunk_end: int
    start: int
    end: int
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, the keys that took part, and the seconds of each step; segments where they were asked for."""

    query: str
    release: str
    method: str
    hits: tuple[Hit, ...]
    keys: tuple[ResultKey, ...]
    seconds: Mapping[str, float]
    trace: Mapping[str, Any] = field(default_factory=dict)
    segments: tuple[ResultSegment, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names of the contract; trace and segments only where there are any."""
        found = asdict(self)
        for name in ("trace", "segments"):
            if not found[name]:
                del found[name]
        return found

    def to_json(self, *, indent: int | None = None) -> str:
        """The same as JSON, Chinese as it is."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)


def build_result(index: Index, query: Query, ranking: Ranking, *, release: str, method: str) -> SearchResult:
    """A ranking with its texts, events and keys, read from memory maps without a database.

    Args:
        index: The index it was made from.
        query: What was asked.
        ranking: Row numbers and scores.
        release: Id of the release.
        method: Name of the method.

    """
    named = keys_of(index, np.array([key.row for key in ranking.keys], np.int32))
    keys = tuple(
        ResultKey(**name, weight=key.weight, hop=key.hop, reason=key.reason)
        for name, key in zip(named, ranking.keys, strict=True)
    )
    hits = tuple(_hits(index, ranking))
    return SearchResult(query.text, release, method, hits, keys, dict(ranking.seconds), dict(ranking.trace))


def keys_of(index: Index, rows: Rows) -> list[dict[str, Any]]:
    """Id, type, value and unit of some keys."""
    return [
        {
            "key_id": row["key_id"],
            "type": row["key_type"],
            "value": next((row[name] for name in _VALUES if row[name] is not None), None),
            "unit": row["unit"],
        }
        for row in _taken(index, "keys", ("key_id", "key_type", "unit", *_VALUES), rows)
    ]


def key_of(index: Index, row: int) -> dict[str, Any]:
    """Id, type, value and unit of a key."""
    return keys_of(index, np.array([row], np.int32))[0]


def _hits(index: Index, ranking: Ranking) -> Iterator[Hit]:
    """The hits; each table is read once for all of them, since a row alone costs as much as many."""
    arrays, chunks = index.arrays, ranking.chunks
    titles = _taken(index, "documents", ("title",), arrays.chunk_document[chunks])
    sizes, events = _events(index, chunks)
    owner, place = arrays.chunk_keys.gather(chunks)
    keys = (HitKey(**key) for key in keys_of(index, arrays.chunk_keys.items[place]))
    key_counts = np.bincount(owner, minlength=len(chunks)).tolist()
    for rank, chunk in enumerate(_taken(index, "chunks", _OF_CHUNK, chunks)):
        yield Hit(
            rank=rank + 1,
            score=float(ranking.scores[rank]),
            title=titles[rank]["title"],
            events=tuple(islice(events, sizes[rank])),
            keys=tuple(islice(keys, key_counts[rank])),
            parts={name: float(part[rank]) for name, part in ranking.parts.items()},
            **chunk,
        )


def _events(index: Index, chunks: Rows) -> tuple[list[int], Iterator[HitEvent]]:
    """How many events each chunk has, and the events of all, behind one another."""
    starts = index.arrays.chunk_events
    runs = [np.arange(first, last) for first, last in zip(starts[chunks], starts[chunks + 1], strict=True)]
    found = _taken(index, "events", ("event_id", "content"), join(runs, np.int64))
    return [len(run) for run in runs], (HitEvent(**event) for event in found)


def _taken(index: Index, table: str, columns: tuple[str, ...], rows: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Some columns of some rows as plain values."""
    found: list[dict[str, Any]] = index.rows[table].select(columns).take(rows).to_pylist()
    return found


_OF_CHUNK = ("chunk_id", "document_id", "text", "chunk_index", "start", "end")
_VALUES = ("value_string", "value_number", "value_bool")
