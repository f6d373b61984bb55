"""Documents, chunks and segments of a release as results."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.public import Convertible, public
from sag_retrieval.language.places import Locations
from sag_retrieval.language.words import normal_name
from sag_retrieval.notebook import render_html
from sag_retrieval.release.arrays import Allowed, Index
from sag_retrieval.release.mapped_arrays import arrow_numbers
from sag_retrieval.release.sandbox import SqlResult, SqlSandbox
from sag_retrieval.search.hits import hits_of
from sag_retrieval.search.method import Ranking, check_text
from sag_retrieval.search.result import Hit, HitEvent, HitKey, ResultSegment
from sag_retrieval.search.segments import SegmentOptions, SegmentPreset, extract_segments, segment_documents


@public
@dataclass(frozen=True, slots=True)
class ChunkResult(Convertible):
    """A chunk with its events and keys: `text == document.text[start:end]`."""

    chunk_id: str
    document_id: str
    title: str
    text: str
    events: tuple[HitEvent, ...]
    keys: tuple[HitKey, ...]
    chunk_index: int
    start: int
    end: int
    places: Locations = ()
    """First character and name of each page, slide or sheet that the text touches."""
    place: str = ""
    """These in words: `p. 4`; empty where the file has none."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return render_html("chunk", found=self)

    def to_arrow(self) -> pa.Table:
        """The chunk as a table of one row, with the columns of `SearchResult.to_arrow` except rank and scores."""
        hit = Hit(rank=1, score=0.0, **{name: getattr(self, name) for name in self.__slots__})
        return hit.to_arrow().drop_columns(["rank", "score", "raw_score"])


@public
@dataclass(frozen=True, slots=True)
class DocumentResult(Convertible):
    """A document: its whole text, its metadata, and its chunks in order.

    It is what the stage `SegmentReranker` cuts segments from: `SegmentReranker(source=release.document)`.
    """

    document_id: str
    source: str
    title: str
    language: str
    text: str
    summary: str
    metadata: dict[str, Any]
    chunk_ids: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Start and end of each chunk in `text`."""
    sections: tuple[str, ...]
    """Of each chunk the id of its section."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"DocumentResult({self.document_id!r}, {len(self.text)} characters, {len(self.chunk_ids)} chunks)"

    def to_arrow(self) -> pa.Table:
        """The document as a table of one row, `metadata` as JSON."""
        values = self.to_dict() | {"metadata": json.dumps(self.metadata, ensure_ascii=False)}
        return pa.Table.from_pylist([values], schema=_DOCUMENT)


def chunk_by_id(index: Index, chunk_id: str, allowed: Allowed | None = None) -> ChunkResult:
    """The chunk with this id."""
    row = _row(index, "chunks", "chunk_id", chunk_id)
    if allowed is not None and not allowed.chunks[row]:
        raise _absent("chunks", "chunk_id", chunk_id)
    hit = next(hits_of(index, Ranking(np.array([row], np.int32), np.zeros(1)), np.zeros(1)))
    return ChunkResult(**{name: getattr(hit, name) for name in ChunkResult.__slots__})


def document_by_id(index: Index, document_id: str, allowed: Allowed | None = None) -> DocumentResult:
    """The document with this id; spaces stand for text that a restriction withholds."""
    row = _row(index, "documents", "document_id", document_id)
    first, last = index.arrays.document_chunks[row : row + 2].tolist()
    shows = np.ones(last - first, np.bool_) if allowed is None else allowed.chunks[first:last]
    if allowed is not None and not shows.any():
        raise _absent("documents", "document_id", document_id)
    columns = ["document_id", "source", "title", "language", "text", "summary", "metadata"]
    values = index.rows["documents"].select(columns).slice(row, 1).to_pylist()[0]
    values["metadata"] = json.loads(values["metadata"])
    chunks, sections = (tuple(map(str, _of_document(index, row, name))) for name in ("chunk_id", "section_id"))
    found = DocumentResult(**values, chunk_ids=chunks, spans=tuple(chunk_spans(index, row)), sections=sections)
    return found if shows.all() else _part(found, np.flatnonzero(shows).tolist())


def _part(whole: DocumentResult, chosen: Sequence[int]) -> DocumentResult:
    """A document with the text of some of its chunks, each where it was."""
    text = [" "] * len(whole.text)
    for start, end in (whole.spans[place] for place in chosen):
        text[start:end] = whole.text[start:end]
    return replace(
        whole,
        text="".join(text),
        summary="",
        chunk_ids=tuple(whole.chunk_ids[place] for place in chosen),
        spans=tuple(whole.spans[place] for place in chosen),
        sections=tuple(whole.sections[place] for place in chosen),
    )


def find_keys(index: Index, sandbox: SqlSandbox, text: str, key_type: str | None, most: int) -> SqlResult:
    """Named keys, those of exactly this name or alias first, then by how many events have them."""
    check_text("name", text, _LONGEST_NAME)
    ids = index.rows["keys"]["key_id"].take(arrow_numbers(index.arrays.mentions.exact(text))).to_pylist()
    exact = f"k.key_id IN ({', '.join(map(_quoted, ids or ['']))})"
    folded, lower = _quoted(normal_name(text)), _quoted(text.lower())
    like = f"SELECT a.key_id FROM key_aliases AS a WHERE contains(lower(a.alias), {lower})"  # noqa: S608  quoted
    conditions = ["k.value_string IS NOT NULL"]
    conditions += [] if key_type is None else [f"k.key_type = {_quoted(sandbox.type_named(key_type))}"]
    conditions += [f"({exact} OR contains(k.name, {folded}) OR k.key_id IN ({like}))"] if text.strip() else []
    query = (
        "SELECT k.key_id, k.key_type AS type, k.value_string AS value, k.event_count AS events, "  # noqa: S608  quoted
        f"k.document_count AS documents FROM keys AS k WHERE {' AND '.join(conditions)} "
        f"ORDER BY {exact} DESC, events DESC, value LIMIT {int(most)}"
    )
    found, aliases = sandbox.select(query), index.rows["key_aliases"]
    own: dict[str, list[str]] = {key_id: [] for key_id in found["key_id"].to_pylist()}
    chosen = aliases.filter(pc.is_in(aliases["key_id"], found["key_id"].combine_chunks()))
    for key_id, alias in zip(chosen["key_id"].to_pylist(), chosen["alias"].to_pylist(), strict=True):
        own[key_id].append(alias)
    return SqlResult(query, found.append_column("aliases", pa.array(list(own.values()), pa.list_(pa.string()))))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _row(index: Index, table: str, column: str, wanted: str) -> int:
    check_text(column.replace("_", " "), wanted, _LONGEST)
    row = int(pc.index(index.rows[table][column], wanted).as_py())
    if row < 0:
        raise _absent(table, column, wanted)
    return row


def _absent(table: str, column: str, wanted: str) -> QueryError:
    return QueryError(f"{column} {shown(wanted)} is not in {table}; `release.table({table!r})` shows what is")


_LONGEST = 10_000
_LONGEST_NAME = 500
_DOCUMENT = pa.schema(
    [(name, pa.string()) for name in ("document_id", "source", "title", "language", "text", "summary", "metadata")]
    + [("chunk_ids", pa.list_(pa.string())), ("spans", pa.list_(pa.list_(pa.int64(), 2)))]
    + [("sections", pa.list_(pa.string()))]
)


SegmentSpec = SegmentOptions | Mapping[str, object] | SegmentPreset


def join_segments(index: Index, ranking: Ranking, options: SegmentSpec) -> tuple[ResultSegment, ...]:
    """The segments of a ranking, best first; empty without hits."""
    documents, arrays = index.rows["documents"], index.arrays
    owners = arrays.chunk_document[ranking.chunks].tolist()
    rows = {documents["document_id"][row].as_py(): row for row in owners}
    names = {row: name for name, row in rows.items()}
    hits = [
        (names[owner], int(chunk) - int(arrays.document_chunks[owner]), float(score))
        for owner, chunk, score in zip(owners, ranking.chunks, ranking.scores, strict=True)
    ]
    wanted = segment_documents([hits], options)
    spans = {name: chunk_spans(index, rows[name]) for name in wanted}
    sections = {name: section_labels(index, rows[name]) for name in wanted}
    return tuple(
        ResultSegment(
            **asdict(segment),
            title=documents["title"][rows[segment.document_id]].as_py(),
            text=documents["text"][rows[segment.document_id]].as_py()[segment.start : segment.end],
        )
        for segment in extract_segments([hits], spans, options, sections)
    )


def _of_document(index: Index, document: int, column: str) -> list[object]:
    start, end = index.arrays.document_chunks[document : document + 2]
    values: list[object] = index.rows["chunks"][column].slice(int(start), int(end - start)).to_pylist()
    return values


def chunk_spans(index: Index, document: int) -> Sequence[tuple[int, int]]:
    """Start and end of each chunk of the document in a row."""
    starts, ends = (_of_document(index, document, name) for name in ("start", "end"))
    return list(zip(starts, ends, strict=True))  # type: ignore[arg-type]


def section_labels(index: Index, document: int) -> list[object]:
    """The section of each chunk of the document in a row."""
    return _of_document(index, document, "section_id")
