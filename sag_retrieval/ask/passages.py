"""Join neighbouring passages of one or several searches into longer ones, for the evidence of an answer."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.hits import hits_of
from sag_retrieval.search.lookup import chunk_spans, section_labels
from sag_retrieval.search.method import Ranking
from sag_retrieval.search.result import Hit
from sag_retrieval.search.segments import Segment, SegmentOptions, extract_segments, segment_documents


@dataclass(frozen=True, slots=True)
class JoinedPassage:
    """Neighbouring chunks of a document as one passage: `text == document.text[start:end]`.

    `chunk_id` and `score` are those of its best chunk; `chunks` holds the start and the id of each.
    """

    chunk_id: str
    document_id: str
    title: str
    text: str
    score: float
    start: int
    end: int
    chunks: tuple[tuple[int, str], ...]
    events: tuple[Any, ...] = ()
    keys: tuple[Any, ...] = ()
    places: tuple[tuple[int, str], ...] = ()
    place: str = ""
    revised_by: tuple[Any, ...] = ()
    revises: tuple[Any, ...] = ()


def chunks_of(hit: FoundPassage) -> tuple[str, ...]:
    """Ids of the chunks of a passage."""
    return tuple(chunk_id for _, chunk_id in getattr(hit, "chunks", ())) or (hit.chunk_id,)


def chunk_at(hit: FoundPassage, start: int) -> str:
    """The id of the chunk of a passage in which a character of its document stands."""
    before = [chunk_id for first, chunk_id in getattr(hit, "chunks", ()) if first <= start]
    return before[-1] if before else hit.chunk_id


def merge_hits(first: Iterable[FoundPassage], *lists: Sequence[FoundPassage]) -> tuple[FoundPassage, ...]:
    """The first hits, then the others in turn by rank; each once, none with known chunks only (§rag.5)."""
    turns = (hit for tier in zip_longest(*lists) for hit in tier if hit is not None)
    merged: list[FoundPassage] = []
    seen: set[str] = set()
    for hit in [*first, *turns]:
        chunks = chunks_of(hit)
        if not seen.issuperset(chunks):
            merged.append(hit)
            seen.update(chunks)
    return tuple(merged)


def join_passages(
    index: Index, rankings: Sequence[Sequence[Hit]], options: SegmentOptions, characters: int
) -> tuple[FoundPassage, ...]:
    """The segments of several searches, best first for each in turn, then the best chunks that lie in none.

    Segments have `characters` together at most. Source: docs/algorithm.md §rag.7.
    """
    best: dict[str, Hit] = {}
    for hit in (hit for tier in zip_longest(*rankings) for hit in tier if hit is not None):
        best.setdefault(hit.chunk_id, hit)
    if not best:
        return ()
    ranked = [[(hit.document_id, hit.chunk_index, hit.raw_score) for hit in hits] for hits in rankings]
    fitting = options.within(characters, float(np.mean([len(hit.text) for hit in best.values()])))
    rows = {name: document_row(index, name) for name in segment_documents(ranked, fitting)}
    spans = {name: chunk_spans(index, row) for name, row in rows.items()}
    sections = {name: section_labels(index, row) for name, row in rows.items()}
    found = extract_segments(ranked, spans, fitting, sections)
    joined = [_joined(index, segment, rows[segment.document_id], best) for segment in found]
    return merge_hits(joined, *([hit for hit in hits if not _lies_in(hit, found)] for hits in rankings))


def _lies_in(hit: Hit, segments: Sequence[Segment]) -> bool:
    return any(
        hit.document_id == segment.document_id and segment.chunk_start <= hit.chunk_index < segment.chunk_end
        for segment in segments
    )


def _joined(index: Index, segment: Segment, row: int, best: dict[str, Hit]) -> JoinedPassage:
    first = int(index.arrays.document_chunks[row])
    rows = np.arange(first + segment.chunk_start, first + segment.chunk_end, dtype=np.int32)
    parts = list(hits_of(index, Ranking(rows, np.zeros(len(rows))), np.zeros(len(rows))))
    found = [best[part.chunk_id] for part in parts if part.chunk_id in best]
    leading = max(found, key=lambda hit: hit.score) if found else parts[0]
    text = index.rows["documents"]["text"][row].as_py()[segment.start : segment.end]
    places = tuple(dict.fromkeys(place for part in parts for place in part.places))
    return JoinedPassage(
        leading.chunk_id,
        segment.document_id,
        leading.title,
        text,
        leading.score,
        segment.start,
        segment.end,
        tuple((part.start, part.chunk_id) for part in parts),
        tuple(event for part in parts for event in part.events),
        tuple({key.key_id: key for part in parts for key in part.keys}.values()),
        places,
        leading.place,
        *(tuple(one for hit in found for one in getattr(hit, name)) for name in ("revised_by", "revises")),
    )


def document_row(index: Index, document_id: str) -> int:
    """The row of a document; rows are ordered by id."""
    ids = index.rows["documents"]["document_id"]
    return bisect_left(range(len(ids)), document_id, key=lambda row: str(ids[row].as_py()))


def chunk_row(index: Index, document_id: str, start: int) -> int:
    """The row of the chunk in which a character of a document stands."""
    document = document_row(index, document_id)
    first, last = index.arrays.document_chunks[document : document + 2].tolist()
    starts = index.rows["chunks"]["start"].slice(first, last - first).to_pylist()
    return int(first) + max((place for place, each in enumerate(starts) if each <= start), default=0)
