"""The result of a search: hits with their events and keys, and the keys that led to them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, SupportsIndex, overload

import pyarrow as pa

from sag_retrieval.core.public import Convertible, public
from sag_retrieval.language.places import Locations
from sag_retrieval.notebook import readable, render_html
from sag_retrieval.search.calibration import LEAST_FIT
from sag_retrieval.search.method import HitPath, PathStep
from sag_retrieval.search.revised import HitRevision

KeyValue = str | float | bool | None
_SHOWN = 40  # characters of a title that `repr` shows


@public
@dataclass(frozen=True, slots=True)
class HitEvent:
    """An event of a hit's chunk."""

    event_id: str
    content: str
    said: str | None = None
    """When it was said, ISO; None: unknown."""


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
    places: Locations = ()
    """First character and name of each page, slide or sheet that the text touches."""
    place: str = ""
    """These in words: `p. 4`; empty where the file has none."""
    paths: tuple[HitPath, ...] = ()
    """Paths of the knowledge graph to its document, those through this chunk first; of methods that walk the graph."""
    triples: tuple[PathStep, ...] = ()
    """Triples on these paths that its document states, those of this chunk first."""
    revised_by: tuple[HitRevision, ...] = ()
    """What later statements, of this or other documents, say instead of one of its own; contradictions too."""
    revises: tuple[HitRevision, ...] = ()
    """Earlier statements that its own stand in place of; contradictions too."""

    def to_dict(self) -> dict[str, Any]:
        """The hit as plain values; paths, triples and revisions only if there are any."""
        return _without_empty(asdict(self), ("paths", "triples", "revised_by", "revises"))

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
    notes: tuple[str, ...] = ()
    """What the caller should know, such as a given key that is no name but is spelt like one."""

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
        """The result as plain values; trace, segments and notes only if there are any.

        Examples:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     result = release.search("Who made the O-ring?", top_k=2)
            >>> sorted(result.to_dict())
            ['hits', 'keys', 'method', 'query', 'release', 'seconds']
        """
        found = asdict(self) | {"hits": [hit.to_dict() for hit in self.hits]}
        return _without_empty(found, ("trace", "segments", "notes"))

    def to_arrow(self) -> pa.Table:
        """One row per hit: its rank, score and text, its events and keys as lists of text.

        Each part of the score is a column `part.<name>`. A key reads `type: value unit`.

        Examples:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     result = release.search("Who made the O-ring?", method="bm25", top_k=2)
            >>> result.to_arrow().column_names[:5]
            ['rank', 'score', 'raw_score', 'document_id', 'chunk_id']
        """
        return hit_table(self.hits)


def _without_empty(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    left_out = {name for name in names if not values[name]}
    return {name: value for name, value in values.items() if name not in left_out}


def hit_table(hits: "tuple[Hit, ...] | list[Hit]") -> pa.Table:
    """Hits as rows; an empty table has the same columns, except the parts of the scores."""
    names = list(dict.fromkeys(name for hit in hits for name in hit.parts))
    rows = [
        {name: getattr(hit, name) for name in _COLUMNS.names if name not in {"events", "keys", "paths"}}
        | {"events": [event.content for event in hit.events], "keys": list(map(key_text, hit.keys))}
        | {"paths": [path.text for path in hit.paths]}
        | {f"part.{name}": hit.parts.get(name) for name in names}
        for hit in hits
    ]
    schema = pa.schema([*_COLUMNS, *(pa.field(f"part.{name}", pa.float64()) for name in names)])
    return pa.Table.from_pylist(rows, schema=schema)


def key_text(key: HitKey) -> str:
    """A key in one line: `type: value unit`."""
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
        ("place", pa.string()),
        ("events", pa.list_(pa.string())),
        ("keys", pa.list_(pa.string())),
        ("paths", pa.list_(pa.string())),
    ]
)
