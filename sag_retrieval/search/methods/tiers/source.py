"""The rows of a release that tiered retrieval searches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.types import Flags, Floats
from sag_retrieval.models.protocols import Vectors, embed_queries
from sag_retrieval.release.arrays import Allowed, Index
from sag_retrieval.release.folders import MADE, check_made
from sag_retrieval.release.mapped_arrays import CsrLists, group, take_rows
from sag_retrieval.release.table import read_parquet
from sag_retrieval.search.hits import keys_of
from sag_retrieval.search.method import QuerySimilarity, best_rows
from sag_retrieval.topics.stored import categories_in, category_texts, read_category_vectors

COMMUNITIES: Final = "communities"
_CATEGORIES_TABLES: Final = ("communities", "community_events")
_LEAST_EVENTS: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Groups of events with a title, a summary and its vector; `events` are the event rows of each."""

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    summaries: tuple[str, ...]
    events: CsrLists
    vectors: Vectors

    def passing(self, allowed: Flags | None) -> Flags:
        """Which of them have an allowed event."""
        owners = np.repeat(np.arange(len(self.ids)), self.events.sizes())
        chosen = np.ones(len(owners), np.bool_) if allowed is None else allowed[self.events.items]
        passing = np.zeros(len(self.ids), np.bool_)
        passing[owners[chosen]] = True
        return passing

    def numbers(self, ids: Sequence[str]) -> list[int]:
        """Numbers of those with these ids; unknown ones are left out."""
        number = {row: n for n, row in enumerate(self.ids)}
        return [number[row] for row in ids if row in number]

    def row(self, number: int) -> dict[str, Any]:
        """One of them without its vector."""
        return {
            "category_id": self.ids[number],
            "title": self.titles[number],
            "summary": self.summaries[number],
            "size": len(self.events.row(number)),
        }


def load_categories(index: Index, home: Path | None, source: str = COMMUNITIES) -> Categories:
    """The categories of a release; empty before its first clustering.

    Args:
        index: The release's rows and vectors.
        home: Folder with the tables of communities, or with a folder `communities` that has them.
        source: `communities`, or `key:<type>` for one category per text key of that type with at least two events.
    """
    if source.startswith("key:") and source != "key:":
        return _key_groups(index, source.removeprefix("key:"))
    if source != COMMUNITIES:
        raise SettingsError(f"categories={shown(source)} is neither 'communities' nor 'key:TYPE', such as 'key:person'")
    if home is not None and (home / COMMUNITIES / MADE).exists():
        check_made(home / COMMUNITIES)
    folder = _folder(home)
    if folder is not None:
        return _communities(index, folder)
    return Categories((), (), (), CsrLists(np.zeros(1, np.int64), np.zeros(0, np.int32)), np.zeros((0, 1), np.float32))


def made_at(home: Path | None) -> int:
    """When the communities of a release were written, in nanoseconds; 0 before its first clustering."""
    folder = _folder(home)
    return (folder / f"{_CATEGORIES_TABLES[0]}.parquet").stat().st_mtime_ns if folder is not None else 0


def _folder(home: Path | None) -> Path | None:
    folders = [home / COMMUNITIES, home] if home else []
    return next((f for f in folders if all((f / f"{name}.parquet").is_file() for name in _CATEGORIES_TABLES)), None)


def _communities(index: Index, folder: Path) -> Categories:
    """The finest communities of two events and more."""
    communities, members = (read_parquet(folder / f"{name}.parquet") for name in _CATEGORIES_TABLES)
    communities = categories_in(communities)
    ids = communities["community_id"].combine_chunks()
    number = pc.index_in(members["community_id"].combine_chunks(), value_set=ids)
    event = pc.index_in(
        members["event_id"].combine_chunks(), value_set=index.rows["events"]["event_id"].combine_chunks()
    )
    known = pc.and_(pc.is_valid(number), pc.is_valid(event))
    owners, events = (np.asarray(column.filter(known), np.int64) for column in (number, event))
    titles, summaries = (tuple(communities[name].to_pylist()) for name in ("title", "summary"))
    vectors = read_category_vectors(folder, index.embedder)
    if vectors is None or vectors.shape[0] != len(ids):
        texts = category_texts(communities)
        vectors = index.embedder.embed(texts) if texts else np.zeros((0, 1), np.float32)
    return Categories(tuple(ids.to_pylist()), titles, summaries, group(owners, events, len(ids))[0], vectors)


def _key_groups(index: Index, key_type: str) -> Categories:
    keys = index.rows["keys"]
    types = keys["key_type"].unique().to_pylist()
    if key_type not in types:
        raise QueryError(
            f"no key has the type {shown(key_type)}, types are {', '.join(sorted(types))}{nearest(key_type, types)}"
        )
    is_group = pc.and_(
        pc.and_(pc.equal(keys["key_type"], key_type), pc.is_valid(keys["value_string"])),
        pc.greater_equal(keys["event_count"], _LEAST_EVENTS),
    )
    rows = np.flatnonzero(is_group.to_numpy(zero_copy_only=False)).astype(np.int32)
    owner, place = index.arrays.key_events.gather(rows)
    events = group(owner, index.arrays.key_events.items[place], len(rows))[0]
    chosen = take_rows(keys, rows)
    titles = tuple(chosen["value_string"].to_pylist())
    counts = chosen["event_count"].to_pylist()
    summaries = tuple(f"{title} ({count})" for title, count in zip(titles, counts, strict=True))
    vectors = index.arrays.vectors["keys"].take(rows)
    return Categories(tuple(chosen["key_id"].to_pylist()), titles, summaries, events, vectors)


def cosines(query: Vectors, vectors: Vectors) -> Floats:
    """`a·b / (|a|·|b| + 1e-9)` of one vector with every row. Source: docs/algorithm.md §tiers.2."""
    query = query if isinstance(query, csr_array) else np.asarray(query, np.float32).reshape(1, -1)
    product = vectors @ query.T
    dense = product.toarray() if isinstance(product, csr_array) else np.asarray(product)
    lengths = _lengths(vectors) * _lengths(query)[0]
    found: Floats = dense.reshape(-1).astype(np.float64) / (lengths + 1e-9)
    return found


def _lengths(vectors: Vectors) -> Floats:
    squares = vectors.multiply(vectors).sum(axis=1) if isinstance(vectors, csr_array) else (vectors**2).sum(axis=1)
    return np.sqrt(np.asarray(squares, np.float64)).reshape(-1)


Tier = Literal["category", "item", "resource"]
"""Categories (communities) contain items (events), which come from resources (documents)."""

RowHit = tuple[str, float | None]
"""Row id and score; None if a language model chose it."""


_TABLES: Final = {"item": ("events", "event_id"), "resource": ("documents", "document_id")}
_CAPTION: Final = ("document_id", "title", "summary", "source", "language", "metadata", "char_count")


@dataclass(slots=True, eq=False)
class ReleaseTiers:
    """Rows of three tiers, only those that the caller's restriction allows.

    The similarity of a document is that of its best chunk; chunk headers contain the document's caption.
    """

    index: Index
    categories: Categories
    allowed: Allowed | None = None
    vectors: dict[str, Vectors] = field(default_factory=dict)
    likeness: dict[int, QuerySimilarity] = field(default_factory=dict)
    row_of: dict[str, int] = field(default_factory=dict)

    def nearest(self, tier: Tier, text: str, k: int) -> list[tuple[str, float]]:
        """The k rows most similar to a query, embedded once, with their cosines, best first, ties by row."""
        if text not in self.vectors:
            self.vectors[text] = embed_queries(self.index.embedder, [text])
        vector = self.vectors[text]
        if tier == "category":
            return self._nearest_categories(vector, k)
        if tier == "item":
            allowed = self.allowed.events if self.allowed else None
            rows, cosine = self.index.arrays.vectors["events"].top(vector, k, allowed)
            return list(zip(self._ids("item", rows), map(float, cosine), strict=True))
        scores = self.document_scores(vector)
        best = best_rows(scores, k, self._documents())
        return list(zip(self._ids("resource", best), scores[best].tolist(), strict=True))

    def _nearest_categories(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        if not self.categories.ids:
            return []
        scores = cosines(vector, self.categories.vectors)
        best = best_rows(scores, k, self._passing()).tolist()
        return [(self.categories.ids[number], float(scores[number])) for number in best]

    def document_scores(self, vector: Vectors) -> Floats:
        """Shape (documents,): cosine of the best allowed chunk; −1 for a document without one."""
        scores = self.chunk_scores(vector)
        if self.allowed is not None:
            scores = np.where(self.allowed.chunks, scores, -1.0)
        best = np.full(self.index.arrays.document_count, -1.0)
        np.maximum.at(best, self.index.arrays.chunk_document, scores)
        return best

    def chunk_scores(self, vector: Vectors) -> Floats:
        """Shape (chunks,): cosines, computed once per vector."""
        kept = self.likeness.setdefault(id(vector), QuerySimilarity(self.index.arrays.vectors["chunks"], vector))
        return kept.all()

    def members(self, tier: Tier, parents: Sequence[str] | None) -> list[str]:
        """Rows below some rows of the tier above, each once; None: all rows."""
        if tier == "category":
            passing = np.flatnonzero(self._passing())
            return [self.categories.ids[number] for number in passing]
        every = np.ones(self.index.arrays.event_count, np.bool_) if self.allowed is None else self.allowed.events
        flags = every if tier == "item" else self._documents()
        if parents is not None:
            below = np.zeros(len(flags), np.bool_)
            below[self._below(tier, parents)] = True
            flags = flags & below
        return self._ids(tier, np.flatnonzero(flags))

    def _below(self, tier: Tier, parents: Sequence[str]) -> npt.NDArray[np.integer]:
        if tier == "item":
            events = self.categories.events
            return events.items[events.gather(np.array(self.categories.numbers(parents), np.int64))[1]]
        arrays = self.index.arrays
        return arrays.chunk_document[arrays.event_chunk[self.rows_of("item", parents)]]

    def texts(self, tier: Tier, ids: Sequence[str]) -> list[str]:
        """Each row for a language model: its title, and its summary or the content of an event."""
        second = "content" if tier == "item" else "summary"
        return [f"{row['title']}: {row[second]}" for row in self._plain_rows(tier, ids)]

    def rows(self, tier: Tier, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Categories with their size, events with their keys, documents with their caption."""
        rows = self._plain_rows(tier, ids)
        if tier == "item":
            for row, keys in zip(rows, self._keys(self.rows_of("item", ids)), strict=True):
                row["keys"] = keys
        return rows

    def _plain_rows(self, tier: Tier, ids: Sequence[str]) -> list[dict[str, Any]]:
        if tier == "category":
            return list(map(self.categories.row, self.categories.numbers(ids)))
        table = self.index.rows[_TABLES[tier][0]]
        chosen = table.select(_CAPTION) if tier == "resource" else table
        found: list[dict[str, Any]] = take_rows(chosen, self.rows_of(tier, ids)).to_pylist()
        return found

    def _keys(self, events: npt.NDArray[np.int64]) -> list[list[dict[str, Any]]]:
        owner, place = self.index.arrays.event_keys.gather(events)
        keys = keys_of(self.index, self.index.arrays.event_keys.items[place])
        found: list[list[dict[str, Any]]] = [[] for _ in events]
        for event, key in zip(owner.tolist(), keys, strict=True):
            found[event].append(key)
        return found

    def rows_of(self, tier: Tier, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """Row numbers of ids."""
        table, column = _TABLES[tier]
        new = [row for row in dict.fromkeys(ids) if row not in self.row_of]
        if new:
            known = self.index.rows[table][column].combine_chunks()
            found = pc.index_in(pa.array(new, pa.string()), value_set=known)
            self.row_of.update(zip(new, found.to_pylist(), strict=True))
        return np.array([self.row_of[row] for row in ids], np.int64)

    def _ids(self, tier: Tier, rows: npt.NDArray[np.integer]) -> list[str]:
        table, column = _TABLES[tier]
        found: list[str] = take_rows(self.index.rows[table].select([column]), rows)[column].to_pylist()
        self.row_of.update(zip(found, rows.tolist(), strict=True))
        return found

    def _passing(self) -> Flags:
        return self.categories.passing(self.allowed.events if self.allowed else None)

    def _documents(self) -> Flags:
        has_chunk = np.zeros(self.index.arrays.document_count, np.bool_)
        chunks = self.index.arrays.chunk_document
        has_chunk[chunks if self.allowed is None else chunks[self.allowed.chunks]] = True
        return has_chunk
