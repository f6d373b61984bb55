"""What a search gives back: hits with their events and keys, and the keys that led to them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sag_retrieval.release.index import Index
from sag_retrieval.search.method import Query, Ranking

Value = str | float | bool | None


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
    value: Value


@dataclass(frozen=True, slots=True)
class ResultKey:
    """A key that took part: hop 0 is a seed key, and `reason` says why it is one."""

    key_id: str
    type: str
    value: Value
    weight: float
    hop: int
    reason: str = ""


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


def hydrate(index: Index, query: Query, ranking: Ranking, *, release: str, method: str) -> SearchResult:
    """A ranking with its texts, events and keys, read from memory maps without a database.

    Args:
        index: The index it was made from.
        query: What was asked.
        ranking: Row numbers and scores.
        release: Id of the release.
        method: Name of the method.

    """
    hits = tuple(_hit(index, ranking, place) for place in range(len(ranking.chunks)))
    keys = tuple(
        ResultKey(**key_of(index, key.row), weight=key.weight, hop=key.hop, reason=key.reason) for key in ranking.keys
    )
    return SearchResult(query.text, release, method, hits, keys, dict(ranking.seconds), dict(ranking.trace))


def key_of(index: Index, row: int) -> dict[str, Any]:
    """Id, type and value of a key."""
    keys = index.rows["keys"]
    values = (keys[name][row].as_py() for name in ("value_string", "value_number", "value_bool"))
    return {
        "key_id": keys["key_id"][row].as_py(),
        "type": keys["key_type"][row].as_py(),
        "value": next((value for value in values if value is not None), None),
    }


def _hit(index: Index, ranking: Ranking, place: int) -> Hit:
    row, arrays = int(ranking.chunks[place]), index.arrays
    first, last = int(arrays.chunk_events[row]), int(arrays.chunk_events[row + 1])
    events = index.rows["events"].slice(first, last - first).select(["event_id", "content"]).to_pylist()
    chunk = {name: index.rows["chunks"][name][row].as_py() for name in _OF_CHUNK}
    return Hit(
        rank=place + 1,
        score=float(ranking.scores[place]),
        title=index.rows["documents"]["title"][int(arrays.chunk_document[row])].as_py(),
        events=tuple(HitEvent(**event) for event in events),
        keys=tuple(HitKey(**key_of(index, int(key))) for key in arrays.chunk_keys.of(row)),
        parts={name: float(part[place]) for name, part in ranking.parts.items()},
        **chunk,
    )


_OF_CHUNK = ("chunk_id", "document_id", "text", "chunk_index", "start", "end")
