"""Build the result of a search from a ranking: texts, events and keys, read from memory maps."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Floats, Rows
from sag_retrieval.language.places import place_name, places_within
from sag_retrieval.release.arrays import Allowed, Index
from sag_retrieval.release.mapped_arrays import join, take_rows
from sag_retrieval.search.calibration import likelihoods
from sag_retrieval.search.method import Query, Ranking
from sag_retrieval.search.result import Hit, HitEvent, HitKey, ResultKey, SearchResult
from sag_retrieval.search.revised import hit_revisions

_OF_CHUNK = ("chunk_id", "document_id", "text", "chunk_index", "start", "end")
_VALUES = ("value_string", "value_number", "value_bool")


def build_result(index: Index, query: Query, ranking: Ranking, *, release: str, method: str) -> SearchResult:
    """A ranking with its texts, events and keys, read from memory maps without a database."""
    named = keys_of(index, np.array([key.row for key in ranking.keys], np.int32))
    keys = tuple(
        ResultKey(**name, weight=key.weight, hop=key.hop, reason=key.reason)
        for name, key in zip(named, ranking.keys, strict=True)
    )
    scores = likelihoods(index, query, ranking.chunks)
    return SearchResult(
        query.text,
        release,
        method,
        tuple(hits_of(index, ranking, scores, query.allowed)),
        keys,
        dict(ranking.seconds),
        dict(ranking.trace),
    )


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


def count_stage(index: Index, query: Query, name: str, chunks: Rows) -> dict[str, Any]:
    """How many chunks a stage of a search kept, and how many of the documents known to be relevant."""
    stage: dict[str, Any] = {"stage": name, "chunks": len(np.unique(chunks))}
    if query.gold_documents:
        found = _taken(index, "documents", ("document_id",), np.unique(index.arrays.chunk_document[chunks]))
        stage["gold_documents"] = len(set(query.gold_documents).intersection(row["document_id"] for row in found))
    return stage


def hits_of(index: Index, ranking: Ranking, scores: Floats, allowed: Allowed | None = None) -> Iterator[Hit]:
    """The chunks of a ranking with the score, text, events and keys of each; each table is read once for all."""
    arrays, chunks = index.arrays, ranking.chunks
    documents = _taken(index, "documents", ("title", "metadata"), arrays.chunk_document[chunks])
    sizes, events = _events(index, chunks)
    owner, place = arrays.chunk_keys.gather(chunks)
    keys = (HitKey(**key) for key in keys_of(index, arrays.chunk_keys.items[place]))
    key_counts = np.bincount(owner, minlength=len(chunks)).tolist()
    for rank, chunk in enumerate(_taken(index, "chunks", _OF_CHUNK, chunks)):
        revised_by, revises = hit_revisions(index, int(chunks[rank]), allowed)
        places = places_within(documents[rank]["metadata"], chunk["start"], chunk["end"])
        yield Hit(
            rank=rank + 1,
            score=float(scores[rank]),
            raw_score=float(ranking.scores[rank]),
            title=documents[rank]["title"],
            places=places,
            place=place_name(places, chunk["start"], chunk["end"]),
            events=tuple(islice(events, sizes[rank])),
            keys=tuple(islice(keys, key_counts[rank])),
            parts={name: float(part[rank]) for name, part in ranking.parts.items()},
            paths=evidence.paths if (evidence := ranking.evidence.get(int(chunks[rank]))) else (),
            triples=evidence.triples if evidence else (),
            revised_by=revised_by,
            revises=revises,
            **chunk,
        )


def _events(index: Index, chunks: Rows) -> tuple[list[int], Iterator[HitEvent]]:
    """How many events each chunk has, and the events of all chunks in sequence."""
    starts = index.arrays.chunk_events
    runs = [np.arange(first, last) for first, last in zip(starts[chunks], starts[chunks + 1], strict=True)]
    found = _taken(index, "events", ("event_id", "content", "said"), join(runs, np.int64))
    return [len(run) for run in runs], (HitEvent(**event) for event in found)


def _taken(index: Index, table: str, columns: tuple[str, ...], rows: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Some columns of some rows as plain values."""
    found: list[dict[str, Any]] = take_rows(index.rows[table].select(columns), rows).to_pylist()
    return found
