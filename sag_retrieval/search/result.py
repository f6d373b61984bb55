"""The result of a search: hits with their events and keys, and the keys that led to them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.public import Convertible, public, readable, render_html
from sag_retrieval.core.types import Floats, Rows
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.csr import join
from sag_retrieval.search.calibration import LEAST_FIT, likelihoods
from sag_retrieval.search.method import Query, Ranking

KeyValue = str | float | bool | None
_SHOWN = 40  # characters of a title that `repr` shows


@public
@dataclass(frozen=True, slots=True)
class HitEvent:
    """An event of a hit's chunk."""

    event_id: str
    content: str


@public
@dataclass(frozen=True, slots=True)
class HitKey:
    """A key of a hit's chunk."""

    key_id: str
    type: str
    value: KeyValue
    unit: str | None = None


@public
@dataclass(frozen=True, slots=True)
class ResultKey:
    """A key that contributed: hop 0 is a seed key, and `reason` is why it is one."""

    key_id: str
    type: str
    value: KeyValue
    weight: float
    hop: int
    reason: str = ""
    unit: str | None = None


@public
@dataclass(frozen=True, slots=True)
class Hit(Convertible):
    """A found chunk: `text == document.text[start:end]`.

    `score`: how likely it answers, from 0 to 1. `raw_score`: what the method ranked by; `parts` are its terms.
    """

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
    raw_score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The hit as plain values."""
        return asdict(self)

    def to_arrow(self) -> pa.Table:
        """The hit as a table of one row; see `SearchResult.to_arrow`."""
        return hit_table([self])


@public
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


@public
@dataclass(frozen=True, slots=True)
class SearchResult(Convertible):
    """Hits, best first, the keys that contributed, and the seconds of each step; segments if requested.

    A sequence of its hits: `len(result)`, `for hit in result`, `result[0]`; `result[:3]` is a result of three hits.
    A result without hits is false.
    """

    query: str
    release: str
    method: str
    hits: tuple[Hit, ...]
    keys: tuple[ResultKey, ...]
    seconds: Mapping[str, float]
    trace: Mapping[str, Any] = field(default_factory=dict)
    segments: tuple[ResultSegment, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the best hit is likely enough for an answer; False for words that no document holds."""
        return bool(self.hits) and self.hits[0].score >= LEAST_FIT

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Hit: ...

    @overload
    def __getitem__(self, place: slice) -> "SearchResult": ...

    def __getitem__(self, place: "SupportsIndex | slice") -> "Hit | SearchResult":
        """The hit at a place, from 0, or a result of the hits of a slice."""
        return replace(self, hits=self.hits[place]) if isinstance(place, slice) else self.hits[place]

    def __repr__(self) -> str:
        hits = f"{len(self)} hit{'' if len(self) == 1 else 's'} by {self.method}"
        return f"SearchResult({hits}{f', best {_short(self.hits[0].title)!r}' if self.hits else ''})"

    def _repr_html_(self) -> str:
        return render_html("result", found=self)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values; trace and segments only if there are any.

        Example:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     result = release.search("Who made the O-ring?", top_k=2)
            >>> sorted(result.to_dict())
            ['hits', 'keys', 'method', 'query', 'release', 'seconds']

        """
        found = asdict(self)
        for name in ("trace", "segments"):
            if not found[name]:
                del found[name]
        return found

    def to_arrow(self) -> pa.Table:
        """One row per hit: its rank, score and text, its events and keys as lists of text.

        Each part of the score is a column `part.<name>`. A key reads `type: value unit`.

        Example:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     result = release.search("Who made the O-ring?", method="bm25", top_k=2)
            >>> result.to_arrow().column_names[:5]
            ['rank', 'score', 'raw_score', 'document_id', 'chunk_id']

        """
        return hit_table(self.hits)


def hit_table(hits: "tuple[Hit, ...] | list[Hit]") -> pa.Table:
    """Hits as rows; an empty table has the same columns, except the parts of the scores."""
    names = list(dict.fromkeys(name for hit in hits for name in hit.parts))
    rows = [
        {name: getattr(hit, name) for name in _COLUMNS.names if name not in {"events", "keys"}}
        | {"events": [event.content for event in hit.events], "keys": list(map(_key_text, hit.keys))}
        | {f"part.{name}": hit.parts.get(name) for name in names}
        for hit in hits
    ]
    schema = pa.schema([*_COLUMNS, *(pa.field(f"part.{name}", pa.float64()) for name in names)])
    return pa.Table.from_pylist(rows, schema=schema)


def build_result(index: Index, query: Query, ranking: Ranking, *, release: str, method: str) -> SearchResult:
    """A ranking with its texts, events and keys, read from memory maps without a database.

    Args:
        index: The index it was made from.
        query: What was asked.
        ranking: Rows and raw scores.
        release: Id of the release.
        method: Name of the method.

    """
    named = keys_of(index, np.array([key.row for key in ranking.keys], np.int32))
    keys = tuple(
        ResultKey(**name, weight=key.weight, hop=key.hop, reason=key.reason)
        for name, key in zip(named, ranking.keys, strict=True)
    )
    scores = likelihoods(index, query, ranking.chunks)
    return SearchResult(
        query.text, release, method, hits_of(index, ranking, scores), keys, dict(ranking.seconds), dict(ranking.trace)
    )


def hits_of(index: Index, ranking: Ranking, scores: Floats) -> tuple[Hit, ...]:
    """The chunks of a ranking with the score, the text, the events and the keys of each."""
    return tuple(_hits(index, ranking, scores))


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


def _hits(index: Index, ranking: Ranking, scores: Floats) -> Iterator[Hit]:
    """The hits; each table is read once for all of them, since reading one row costs as much as many."""
    arrays, chunks = index.arrays, ranking.chunks
    titles = _taken(index, "documents", ("title",), arrays.chunk_document[chunks])
    sizes, events = _events(index, chunks)
    owner, place = arrays.chunk_keys.gather(chunks)
    keys = (HitKey(**key) for key in keys_of(index, arrays.chunk_keys.items[place]))
    key_counts = np.bincount(owner, minlength=len(chunks)).tolist()
    for rank, chunk in enumerate(_taken(index, "chunks", _OF_CHUNK, chunks)):
        yield Hit(
            rank=rank + 1,
            score=float(scores[rank]),
            raw_score=float(ranking.scores[rank]),
            title=titles[rank]["title"],
            events=tuple(islice(events, sizes[rank])),
            keys=tuple(islice(keys, key_counts[rank])),
            parts={name: float(part[rank]) for name, part in ranking.parts.items()},
            **chunk,
        )


def _events(index: Index, chunks: Rows) -> tuple[list[int], Iterator[HitEvent]]:
    """How many events each chunk has, and the events of all chunks in sequence."""
    starts = index.arrays.chunk_events
    runs = [np.arange(first, last) for first, last in zip(starts[chunks], starts[chunks + 1], strict=True)]
    found = _taken(index, "events", ("event_id", "content"), join(runs, np.int64))
    return [len(run) for run in runs], (HitEvent(**event) for event in found)


def _taken(index: Index, table: str, columns: tuple[str, ...], rows: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Some columns of some rows as plain values."""
    found: list[dict[str, Any]] = index.rows[table].select(columns).take(rows).to_pylist()
    return found


def _key_text(key: HitKey) -> str:
    return f"{key.type}: {readable(key.value)}{f' {key.unit}' if key.unit else ''}"


def _short(title: str) -> str:
    return title if len(title) <= _SHOWN else title[:_SHOWN] + "…"


_COLUMNS = pa.schema(
    [
        ("rank", pa.int32()),
        ("score", pa.float64()),
        ("raw_score", pa.float64()),
        ("document_id", pa.string()),
        ("chunk_id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("chunk_index", pa.int32()),
        ("events", pa.list_(pa.string())),
        ("keys", pa.list_(pa.string())),
    ]
)
_OF_CHUNK = ("chunk_id", "document_id", "text", "chunk_index", "start", "end")
_VALUES = ("value_string", "value_number", "value_bool")
