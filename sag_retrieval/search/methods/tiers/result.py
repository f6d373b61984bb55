"""The result of tiered retrieval: categories, events and documents as rows, and the steps that found them."""

from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa

from sag_retrieval.core.public import Convertible, public
from sag_retrieval.notebook import render_html
from sag_retrieval.search.methods.tiers.source import Tier
from sag_retrieval.search.methods.tiers.workflow import TIERS, TiersFound, TierStep
from sag_retrieval.search.result import HitKey, key_text


@public
@dataclass(frozen=True, slots=True)
class TierRow(Convertible):
    """A category, an event or a document that was found.

    `text`: the summary of a category, the content of an event, the caption of a document. `score`: its cosine with the
    query; None if a language model chose it.
    """

    tier: Tier
    rank: int
    row_id: str
    title: str
    text: str
    score: float | None
    document_id: str = ""
    """Document of an event, and a document itself; empty for a category."""
    chunk_id: str = ""
    """Chunk of an event."""
    date: str | None = None
    """Of an event, ISO."""
    size: int = 0
    """Events of a category."""
    keys: tuple[HitKey, ...] = ()
    """Of an event."""

    def to_arrow(self) -> pa.Table:
        """The row as a table of one row; see `TiersResult.to_arrow`."""
        return _table([self])


@public
@dataclass(frozen=True, slots=True)
class TiersResult(Convertible):
    """Rows of each tier, best first, and how they were reached.

    `stopped_at` names the step that ended the search early, and is empty if all tiers were searched. `method` is the
    one that ran: `rag` where no language model is configured.
    """

    query: str
    """The question as it was asked: the last turn of the conversation."""
    rewritten_query: str
    """The question as it was searched, with what it refers to."""
    next_query: str | None
    """The question as it was rewritten between tiers; None if it was not."""
    needs_retrieval: bool
    release: str
    method: str
    stopped_at: str
    categories: tuple[TierRow, ...]
    items: tuple[TierRow, ...]
    resources: tuple[TierRow, ...]
    steps: tuple[TierStep, ...]

    @property
    def rows(self) -> tuple[TierRow, ...]:
        """Categories, then events, then documents."""
        return (*self.categories, *self.items, *self.resources)

    def __repr__(self) -> str:
        counts = f"{len(self.categories)} categories, {len(self.items)} items, {len(self.resources)} resources"
        return f"TiersResult({counts} by {self.method}{f', stopped at {self.stopped_at}' if self.stopped_at else ''})"

    def _repr_html_(self) -> str:
        return render_html("tiers", found=self)

    def to_arrow(self) -> pa.Table:
        """One row per category, event and document; a key of an event reads `type: value unit`.

        Examples:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     found = release.retrieve("Who made the O-ring?")
            >>> found.to_arrow().column_names[:4]
            ['tier', 'rank', 'row_id', 'title']
        """
        return _table(self.rows)


def result_of(found: TiersFound, release: str) -> TiersResult:
    """What was found with typed rows."""
    categories, items, resources = (
        tuple(_row(tier, rank, row) for rank, row in enumerate(found.rows(tier), 1)) for tier in TIERS
    )
    return TiersResult(
        query=found.original_query,
        rewritten_query=found.rewritten_query,
        next_query=found.next_step_query,
        needs_retrieval=found.needs_retrieval,
        release=release,
        method=found.method,
        stopped_at=found.stopped_at,
        categories=categories,
        items=items,
        resources=resources,
        steps=found.trace,
    )


_ID_AND_TEXT: Final = {
    "category": ("category_id", "summary"),
    "item": ("event_id", "content"),
    "resource": ("document_id", "summary"),
}


def _row(tier: Tier, rank: int, row: dict[str, Any]) -> TierRow:
    own, text = _ID_AND_TEXT[tier]
    more = {name: row[name] for name in ("document_id", "chunk_id", "date", "size") if name in row}
    keys = tuple(HitKey(**key) for key in row.get("keys", ()))
    return TierRow(tier, rank, row[own], row["title"], row[text], row.get("score"), keys=keys, **more)


def _table(rows: "tuple[TierRow, ...] | list[TierRow]") -> pa.Table:
    plain = [asdict(row) | {"keys": [key_text(key) for key in row.keys]} for row in rows]
    return pa.Table.from_pylist(plain, schema=_COLUMNS)


_COLUMNS: Final = pa.schema(
    [
        ("tier", pa.string()),
        ("rank", pa.int32()),
        ("row_id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("score", pa.float64()),
        ("document_id", pa.string()),
        ("chunk_id", pa.string()),
        ("date", pa.string()),
        ("size", pa.int32()),
        ("keys", pa.list_(pa.string())),
    ]
)
