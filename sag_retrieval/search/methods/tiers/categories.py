"""Categories of a release: its communities, or the events that share a key of one type."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from scipy.sparse import csr_array

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.types import Flags, Floats
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.folders import MADE, check_made
from sag_retrieval.release.mapped_arrays import CsrLists, group, take_rows
from sag_retrieval.release.table import read_parquet
from sag_retrieval.topics.stored import categories_in, category_texts, read_category_vectors

COMMUNITIES: Final = "communities"
_TABLES: Final = ("communities", "community_events")
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
        home: Folder with `communities.parquet` and `community_events.parquet`, or with a folder
            `communities` that has them.
        source: `communities`, or `key:<type>` for one category per text key of that type with at least two events.

    Raises:
        SettingsError: If the source has another form.
        QueryError: If the release has no key of the type.
        ReleaseError: If the files of the communities were changed.
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
    return (folder / f"{_TABLES[0]}.parquet").stat().st_mtime_ns if folder is not None else 0


def _folder(home: Path | None) -> Path | None:
    folders = [home / COMMUNITIES, home] if home else []
    return next((f for f in folders if all((f / f"{name}.parquet").is_file() for name in _TABLES)), None)


def _communities(index: Index, folder: Path) -> Categories:
    """The finest communities of two events and more."""
    communities, members = (read_parquet(folder / f"{name}.parquet") for name in _TABLES)
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
    """`a·b / (|a|·|b| + 1e-9)` of one vector with every row.

    Source: docs/algorithm.md §tiers.2.
    """
    query = query if isinstance(query, csr_array) else np.asarray(query, np.float32).reshape(1, -1)
    product = vectors @ query.T
    dense = product.toarray() if isinstance(product, csr_array) else np.asarray(product)
    lengths = _lengths(vectors) * _lengths(query)[0]
    found: Floats = dense.reshape(-1).astype(np.float64) / (lengths + 1e-9)
    return found


def best_of(scores: Floats, k: int, chosen: Flags | Sequence[bool]) -> list[int]:
    """Positions of the k highest scores among the chosen ones, best first, ties in order."""
    places = np.flatnonzero(np.asarray(chosen))
    if len(places) > k > 0:
        least = np.partition(scores[places], -k)[-k]
        places = places[scores[places] >= least]
    return [int(place) for place in places[np.argsort(-scores[places], kind="stable")][:k]]


def _lengths(vectors: Vectors) -> Floats:
    squares = vectors.multiply(vectors).sum(axis=1) if isinstance(vectors, csr_array) else (vectors**2).sum(axis=1)
    return np.sqrt(np.asarray(squares, np.float64)).reshape(-1)
