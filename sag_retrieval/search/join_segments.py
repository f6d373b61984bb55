"""Hits joined to segments: what lies near each other in a document comes back as one exact piece of its source."""

from collections.abc import Mapping, Sequence

from sag_retrieval.release.arrays import Index
from sag_retrieval.search.method import Ranking
from sag_retrieval.search.result import ResultSegment
from sag_retrieval.segments import SegmentOptions, extract_segments, segment_documents
from sag_retrieval.segments.options import SegmentPreset

CANDIDATES = 200
"""Hits that segments are looked for in, however many are returned."""

SegmentSpec = SegmentOptions | Mapping[str, object] | SegmentPreset


def join_segments(index: Index, ranking: Ranking, options: SegmentSpec) -> tuple[ResultSegment, ...]:
    """The segments of a ranking, best first; none for no hits.

    Raises:
        SettingsError: If a preset or option is unknown or out of bounds.

    """
    documents = index.rows["documents"]["document_id"]
    first = index.arrays.document_chunks
    places = [(int(index.arrays.chunk_document[row]), int(row)) for row in ranking.chunks]
    hits = [
        (documents[document].as_py(), row - int(first[document]), float(score))
        for (document, row), score in zip(places, ranking.scores, strict=True)
    ]
    wanted = set(segment_documents([hits], options))
    rows = {documents[document].as_py(): document for document, _ in places}
    spans = {name: _spans(index, row) for name, row in rows.items() if name in wanted}
    sections = {name: _sections(index, row) for name, row in rows.items() if name in wanted}
    found = extract_segments([hits], spans, options, sections)
    return tuple(
        ResultSegment(
            document_id=segment.document_id,
            title=index.rows["documents"]["title"][rows[segment.document_id]].as_py(),
            chunk_start=segment.chunk_start,
            chunk_end=segment.chunk_end,
            start=segment.start,
            end=segment.end,
            score=segment.score,
            text=index.rows["documents"]["text"][rows[segment.document_id]].as_py()[segment.start : segment.end],
        )
        for segment in found
    )


def _of_document(index: Index, document: int, column: str) -> list[object]:
    start, end = index.arrays.document_chunks[document : document + 2]
    values: list[object] = index.rows["chunks"][column].slice(int(start), int(end - start)).to_pylist()
    return values


def _spans(index: Index, document: int) -> Sequence[tuple[int, int]]:
    starts, ends = (_of_document(index, document, name) for name in ("start", "end"))
    return list(zip(starts, ends, strict=True))  # type: ignore[arg-type]


def _sections(index: Index, document: int) -> list[object]:
    return _of_document(index, document, "section_id")
