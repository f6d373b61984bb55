"""Store communities as Arrow tables and Parquet files."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.clusters.events import Floats, Rows
from sag_retrieval.clusters.groups import CitedSentence, Communities, Community, Quality, Tie
from sag_retrieval.core import durable
from sag_retrieval.core.errors import SchemaMismatch
from sag_retrieval.release.folders import DRAFT
from sag_retrieval.release.table import read_parquet

COMMUNITIES = "communities"
"""Folder inside that of a release, and inside that of a report."""
REPORTS = "reports"
"""Folder below a home; its lock is held while reports or communities are written."""
DAMAGE = (OSError, ValueError, TypeError, KeyError, IndexError, pa.ArrowException)
"""Errors of reading a file that is missing, cut short or of another form."""
_STRING, _INT, _FLOAT = pa.string(), pa.int32(), pa.float64()
EventIds: TypeAlias = Sequence[str] | pa.Array
"""Of every event row."""
_SENTENCE = pa.struct([("text", _STRING), ("event_ids", pa.list_(_STRING))])
COMMUNITY_SCHEMAS: dict[str, pa.Schema] = {
    "communities": pa.schema(
        [
            pa.field("community_id", _STRING, nullable=False),
            pa.field("parent_id", _STRING),
            pa.field("level", _INT, nullable=False),
            pa.field("size", _INT, nullable=False),
            pa.field("title", _STRING, nullable=False),
            pa.field("summary", _STRING, nullable=False),
            pa.field("sentences", pa.list_(_SENTENCE), nullable=False),
            pa.field("keys", pa.list_(_STRING), nullable=False),
            pa.field("weight", _FLOAT, nullable=False),
            pa.field("conductance", _FLOAT, nullable=False),
        ]
    ),
    "community_events": pa.schema(
        [
            pa.field("community_id", _STRING, nullable=False),
            pa.field("event_id", _STRING, nullable=False),
            pa.field("centrality", _FLOAT, nullable=False),
        ]
    ),
    "community_ties": pa.schema(
        [
            pa.field("one", _STRING, nullable=False),
            pa.field("other", _STRING, nullable=False),
            pa.field("weight", _FLOAT, nullable=False),
        ]
    ),
    "community_levels": pa.schema(
        [
            pa.field("level", _INT, nullable=False),
            pa.field("communities", _INT, nullable=False),
            pa.field("modularity", _FLOAT, nullable=False),
            pa.field("coverage", _FLOAT, nullable=False),
            pa.field("conductance", _FLOAT, nullable=False),
            pa.field("edge_count", _INT, nullable=False),
            pa.field("candidate_count", pa.int64(), nullable=False),
            pa.field("common_keys", _INT, nullable=False),
        ]
    ),
}
"""Communities, their events (most typical first), strongest ties, and one row of figures per level."""


def communities_tables(communities: Communities, event_ids: EventIds) -> dict[str, pa.Table]:
    """The tables of `COMMUNITY_SCHEMAS`, in the order of the communities."""
    figures = [
        {
            "level": each.level,
            "communities": each.communities,
            "modularity": each.modularity,
            "coverage": each.coverage,
            "conductance": each.conductance,
            "edge_count": communities.edge_count,
            "candidate_count": communities.candidate_count,
            "common_keys": communities.common_keys,
        }
        for each in communities.quality
    ]
    return {
        "communities": community_rows(communities),
        "community_events": _members_table(communities, event_ids),
        "community_ties": pa.Table.from_pydict(
            {name: [getattr(each, name) for each in communities.ties] for name in Tie.__slots__},
            COMMUNITY_SCHEMAS["community_ties"],
        ),
        "community_levels": pa.Table.from_pylist(figures, COMMUNITY_SCHEMAS["community_levels"]),
    }


def community_rows(communities: Iterable[Community]) -> pa.Table:
    """The table `communities` of some of them."""
    rows = [
        {
            "community_id": each.community_id,
            "parent_id": each.parent_id,
            "level": each.level,
            "size": len(each.members),
            "title": each.title,
            "summary": each.summary_text,
            "sentences": [{"text": s.text, "event_ids": list(s.event_ids)} for s in each.summary],
            "keys": list(each.keys),
            "weight": each.weight,
            "conductance": each.conductance,
        }
        for each in communities
    ]
    return pa.Table.from_pylist(rows, COMMUNITY_SCHEMAS["communities"])


def _members_table(communities: Communities, event_ids: EventIds) -> pa.Table:
    sizes = [len(each.members) for each in communities]
    member = np.concatenate([np.zeros(0, np.int32), *(each.members for each in communities)])
    centrality = np.concatenate([np.zeros(0), *(each.centrality for each in communities)])
    number = np.repeat(np.arange(len(sizes)), sizes)
    ids = pa.array([each.community_id for each in communities], _STRING)
    known = event_ids if isinstance(event_ids, pa.Array) else pa.array(event_ids, _STRING)
    columns = [ids.take(pa.array(number)), known.take(pa.array(member)), centrality]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=COMMUNITY_SCHEMAS["community_events"])


def read_communities(tables: Mapping[str, pa.Table], event_ids: Sequence[str]) -> Communities:
    """The communities of tables written by `communities_tables`, over the same events in any order.

    Events that are not among `event_ids` are left out.

    Raises:
        SchemaMismatch: If a table lacks a column or has one too many.
    """
    for name, schema in COMMUNITY_SCHEMAS.items():
        given, promised = set(tables[name].column_names), set(schema.names)
        if given != promised:
            raise SchemaMismatch(name, promised - given, given - promised)
    members = _members(tables, event_ids)
    figures = tables["community_levels"].to_pylist()
    first = figures[0] if figures else {"edge_count": 0, "candidate_count": 0, "common_keys": 0}
    return Communities(
        communities=tuple(
            _community(row, members[row["community_id"]])
            for row in tables["communities"].to_pylist()
            if row["community_id"] in members
        ),
        quality=tuple(Quality(**{name: each[name] for name in Quality.__slots__}) for each in figures),
        ties=tuple(
            Tie(**each)
            for each in tables["community_ties"].to_pylist()
            if each["one"] in members and each["other"] in members
        ),
        edge_count=first["edge_count"],
        candidate_count=first["candidate_count"],
        common_keys=first["common_keys"],
    )


def _members(tables: Mapping[str, pa.Table], event_ids: Sequence[str]) -> dict[str, tuple[Rows, Floats]]:
    """Event rows and centralities of each community, in their order; of those that have any."""
    rows, listed = tables["community_events"], tables["communities"]["community_id"].to_pylist()
    number, event = (
        np.fromiter((place.get(value, -1) for value in rows[name].to_pylist()), np.int32, len(rows))
        for name, place in (
            ("community_id", {value: place for place, value in enumerate(listed)}),
            ("event_id", {value: place for place, value in enumerate(event_ids)}),
        )
    )  # Arrow's own index of values imports pandas
    known = np.flatnonzero((number >= 0) & (event >= 0))
    order = known[np.argsort(number[known], kind="stable")]
    present, first = np.unique(number[order], return_index=True)
    centrality = np.from_dlpack(rows["centrality"].combine_chunks()).astype(
        np.float64, copy=False
    )  # `ChunkedArray.to_numpy` imports pandas
    parts = np.split(order, first[1:]) if len(present) else []
    return {listed[n]: (event[part], centrality[part]) for n, part in zip(present.tolist(), parts, strict=True)}


def _community(row: Mapping[str, object], members: tuple[Rows, Floats]) -> Community:
    values = {name: row[name] for name in ("community_id", "parent_id", "level", "weight", "conductance", "title")}
    sentences: Sequence[Mapping[str, Sequence[str] | str]] = row["sentences"]  # type: ignore[assignment]
    return Community(
        **values,  # type: ignore[arg-type]
        members=members[0],
        centrality=members[1],
        summary=tuple(CitedSentence(str(each["text"]), tuple(each["event_ids"])) for each in sentences),
        keys=tuple(row["keys"]),  # type: ignore[arg-type]
    )


def write_communities(
    folder: Path,
    communities: Communities,
    event_ids: EventIds,
    finish: Callable[[Path], object] = lambda _: None,
) -> None:
    """Write communities into a folder that appears whole or not at all.

    Args:
        folder: Where; it does not exist yet.
        communities: What is stored.
        event_ids: Of every event row.
        finish: Called with the folder before it gets its name: adds further files.
    """
    with drafted(folder) as draft:
        for name, rows in communities_tables(communities, event_ids).items():
            shared = [each for each in ("community_id", "parent_id") if each in rows.column_names]
            # a dictionary of values that occur once takes as long as all the rest
            pq.write_table(rows, draft / f"{name}.parquet", compression="zstd", use_dictionary=shared)
        finish(draft)


@contextmanager
def drafted(folder: Path) -> Iterator[Path]:
    """A folder to write into, which gets its name when it is whole."""
    draft = folder.with_name(f"{DRAFT}{uuid4().hex}")
    draft.mkdir(parents=True)
    try:
        yield draft
        durable.rename(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read_tables(folder: Path) -> dict[str, pa.Table]:
    """The tables of communities in a folder."""
    return {name: read_parquet(folder / f"{name}.parquet") for name in COMMUNITY_SCHEMAS}


def settings_hash(*parts: object) -> str:
    """A short hash of option values: the same values give the same name of a folder."""
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
