"""Store communities as Arrow tables and Parquet files."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias
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
_OF_ALL = ("edge_count", "candidate_count", "common_keys")
"""Figures of the grouping, told for every level."""


def _schema(**types: pa.DataType) -> pa.Schema:
    """Columns without nulls, but for the parent: the coarsest communities have none."""
    return pa.schema([pa.field(name, kind, nullable=name == "parent_id") for name, kind in types.items()])


COMMUNITY_SCHEMAS: dict[str, pa.Schema] = {
    "communities": _schema(
        **dict.fromkeys(("community_id", "parent_id"), _STRING),
        **dict.fromkeys(("level", "size"), _INT),
        **dict.fromkeys(("title", "summary"), _STRING),
        sentences=pa.list_(_SENTENCE),
        keys=pa.list_(_STRING),
        **dict.fromkeys(("weight", "conductance"), _FLOAT),
    ),
    "community_events": _schema(community_id=_STRING, event_id=_STRING, centrality=_FLOAT),
    "community_ties": _schema(one=_STRING, other=_STRING, weight=_FLOAT),
    "community_levels": _schema(
        **dict.fromkeys(("level", "communities"), _INT),
        **dict.fromkeys(("modularity", "coverage", "conductance"), _FLOAT),
        edge_count=_INT,
        candidate_count=pa.int64(),
        common_keys=_INT,
    ),
}
"""Communities, their events (most typical first), strongest ties, and one row of figures per level."""


def communities_tables(communities: Communities, event_ids: EventIds) -> dict[str, pa.Table]:
    """The tables of `COMMUNITY_SCHEMAS`, in the order of the communities."""
    of_all = {name: getattr(communities, name) for name in _OF_ALL}
    listed = {
        "community_ties": [asdict(each) for each in communities.ties],
        "community_levels": [asdict(each) | of_all for each in communities.quality],
    }
    return {
        "communities": community_rows(communities),
        "community_events": _members_table(communities, event_ids),
        **{name: pa.Table.from_pylist(rows, COMMUNITY_SCHEMAS[name]) for name, rows in listed.items()},
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
    ids = pa.array([each.community_id for each in communities], _STRING)
    known = event_ids if isinstance(event_ids, pa.Array) else pa.array(event_ids, _STRING)
    columns = [
        ids.take(pa.array(np.repeat(np.arange(len(sizes)), sizes))),
        known.take(pa.array(member)),
        pa.array(centrality),
    ]
    return pa.Table.from_arrays(columns, schema=COMMUNITY_SCHEMAS["community_events"])


def read_communities(tables: Mapping[str, pa.Table], event_ids: Sequence[str]) -> Communities:
    """The communities of tables written by `communities_tables`, over events in any order; others are left out.

    Raises:
        SchemaMismatch: If a table lacks a column or has one too many.
    """
    for name, schema in COMMUNITY_SCHEMAS.items():
        given, promised = set(tables[name].column_names), set(schema.names)
        if given != promised:
            raise SchemaMismatch(name, promised - given, given - promised)
    members = _members(tables, event_ids)
    listed = [row for row in tables["communities"].to_pylist() if row["community_id"] in members]
    found = [_community(row, *members[row["community_id"]]) for row in listed]
    return with_figures(found, tables, {name: name for name in members})


def with_figures(found: Sequence[Community], tables: Mapping[str, pa.Table], ids: Mapping[str, str]) -> Communities:
    """Communities with figures and ties of tables, by the ids that those of the tables have now."""
    figures = tables["community_levels"].to_pylist()
    of_all: dict[str, Any] = figures[0] if figures else dict.fromkeys(_OF_ALL, 0)
    ties = (each for each in tables["community_ties"].to_pylist() if each["one"] in ids and each["other"] in ids)
    return Communities(
        communities=tuple(found),
        quality=tuple(Quality(**{name: each[name] for name in Quality.__slots__}) for each in figures),
        ties=tuple(Tie(ids[each["one"]], ids[each["other"]], each["weight"]) for each in ties),
        **{name: of_all[name] for name in _OF_ALL},
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


def _community(row: Mapping[str, Any], members: Rows, centrality: Floats) -> Community:
    names = ("community_id", "parent_id", "level", "weight", "conductance", "title")
    return Community(
        **{name: row[name] for name in names},
        members=members,
        centrality=centrality,
        summary=cited_sentences(row),
        keys=tuple(row["keys"]),
    )


def cited_sentences(row: Mapping[str, Any]) -> tuple[CitedSentence, ...]:
    """The summary of a row of `communities`."""
    return tuple(CitedSentence(each["text"], tuple(each["event_ids"])) for each in row["sentences"])


def write_communities(
    folder: Path, communities: Communities, event_ids: EventIds, finish: Callable[[Path], object] = lambda _: None
) -> None:
    """Write communities into a new folder that appears whole or not at all; `finish` adds further files to it."""
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
