"""The tables of distinct keys and of what each stands for; after a change only keys that it can touch are aligned."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.extract.entity_resolution import ALIGNMENT_VERSION, Aligned, Alignment, KeyColumns, align_keys
from sag_pipeline.extract.name_decisions import NameDecisions
from sag_pipeline.publish.key_blocks import reached, with_blocks
from sag_pipeline.publish.key_counts import KeyCounts, count_keys
from sag_pipeline.publish.links import DECIDED_BY, LINK_TABLES
from sag_pipeline.publish.stored_rows import connection
from sag_pipeline.store.store import Store
from sag_retrieval.language.words import normal_name
from sag_retrieval.release.layer_precedence import overlay
from sag_retrieval.release.mapped_arrays import arrow_numbers
from sag_retrieval.release.schema import TABLES

_PLAIN = r"^(?:[0-9A-Za-z]+(?: [0-9A-Za-z]+)*|[\x{4e00}-\x{9fff}]+)$"
"""ASCII letters and digits with single spaces between, or Chinese characters alone: folding lowers the case."""
_VERSION: Final = b"alignment"
"""Metadata of the table `distinct_keys`: the version of the rules that aligned them."""
_DISTINCT = """
    SELECT key_id, any_value(key_type) AS key_type, min(value_string) AS value_string,
           any_value(value_number) AS value_number, any_value(value_bool) AS value_bool, min(unit) AS unit,
           sum(event_count)::INTEGER AS event_count
    FROM spellings GROUP BY key_id ORDER BY key_id
"""
_KEYS_A_DOCUMENT: Final = 10
_CANONICAL: Final = pa.schema({"key_id": pa.string(), "canonical": pa.string()})
_SAID: Final = ("key_id", "same_as")


class Confirm(Protocol):
    """Asks about keys that are close and not aligned yet."""

    def __call__(self, keys: KeyColumns, alignment: Alignment) -> Collection[tuple[str, str]]:
        """Pairs of ids that are one thing."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class KeyTables:
    """The tables of `LINK_TABLES`."""

    distinct: pa.Table
    canonical: pa.Table
    aliases: pa.Table

    def named(self) -> dict[str, pa.Table]:
        """By name."""
        return dict(zip(LINK_TABLES, (self.distinct, self.canonical, self.aliases), strict=True))


def make_links(
    store: Store, decisions: NameDecisions | None = None, confirm: Confirm | None = None
) -> dict[str, pa.Table]:
    """The tables of `LINK_TABLES` and those that count keys, from all current keys, decisions and answers.

    Where nobody decides anything and no model is asked, they are made from those of the last time.
    """
    decisions = decisions or NameDecisions()
    counts = count_keys(store)
    before = None if confirm or decisions.lines or counts.changed is None else _stored(store)
    changed = None if before is None else counts.changed
    with connection(store, None if changed is None else len(changed) // _KEYS_A_DOCUMENT) as database:
        fresh = _distinct(counts, changed, database)
    if before is None or changed is None:
        tables = _aligned_whole(fresh, counts, decisions, confirm)
    else:
        tables = _aligned_again(before, fresh, counts, changed)
    return tables.named() | counts.tables()


def _stored(store: Store) -> KeyTables | None:
    """What was made last, if by the same rules and from keys alone."""
    made = store.ledger.whole("canonical")
    if made is None or DECIDED_BY in made.input_hash:
        return None
    distinct, canonical, aliases = (store.whole(name) for name in LINK_TABLES)
    if distinct is None or (distinct.schema.metadata or {}).get(_VERSION) != ALIGNMENT_VERSION.encode():
        return None
    return KeyTables(distinct, canonical, aliases)


def _distinct(counts: KeyCounts, ids: pa.Array | None, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Some keys with their names and blocks, sorted by id; None: all."""
    spellings = counts.spellings.append_column("event_count", arrow_numbers(counts.counted("event_count")))
    connection.register("spellings", spellings if ids is None else spellings.filter(_among(spellings["key_id"], ids)))
    found = connection.sql(_DISTINCT).to_arrow_table()
    found = with_blocks(found.append_column("name", normal_names(found["value_string"])))
    return found.replace_schema_metadata({_VERSION: ALIGNMENT_VERSION})


def _aligned_whole(
    distinct: pa.Table, counts: KeyCounts, decisions: NameDecisions, confirm: Confirm | None
) -> KeyTables:
    said, keys = _statements(counts, None), text_keys(distinct)
    alignment = align_keys(keys, said=said, decisions=decisions)
    if confirm and (answered := confirm(keys, alignment)):
        alignment = align_keys(keys, said=said, answered=answered, decisions=decisions)
    return KeyTables(distinct, _canonical(alignment), _aliases(alignment.rows))


def _aligned_again(before: KeyTables, fresh: pa.Table, counts: KeyCounts, changed: pa.Array) -> KeyTables:
    """The tables with some keys in place of those that changed.

    Alignment compares keys of one block, and those that somebody says are the same. What it makes of keys which no
    number of such steps leads to from a changed one is what it was.
    """
    is_old = _among(before.distinct["key_id"], changed)
    old = before.distinct.filter(is_old)
    distinct = _in_place(before.distinct, is_old, fresh)
    said = counts.spellings.select(_SAID).filter(pc.is_valid(counts.spellings["same_as"]))
    ids = reached([distinct, old], changed, said)
    alignment = align_keys(text_keys(distinct.filter(_among(distinct["key_id"], ids))), said=_statements(counts, ids))
    canonical = before.canonical.filter(pc.invert(_among(before.canonical["key_id"], ids)))
    aliases = before.aliases.filter(pc.invert(_among(before.aliases["key_id"], ids)))
    return KeyTables(
        distinct,
        pa.concat_tables([canonical, _canonical(alignment)]).sort_by("key_id").combine_chunks(),
        _sorted_aliases(pa.concat_tables([aliases, _aliases(alignment.rows)])),
    )


def _in_place(before: pa.Table, is_old: pa.ChunkedArray, fresh: pa.Table) -> pa.Table:
    """Rows sorted by id, with some rows in place of others."""
    rows = overlay([before["key_id"], fresh["key_id"]]).source
    is_gone = np.append(np.asarray(is_old), np.zeros(len(fresh), np.bool_))
    both = pa.concat_tables([before, fresh.cast(before.schema)])
    return both.take(pa.array(rows[~is_gone[rows]])).combine_chunks()


def _among(values: pa.ChunkedArray, wanted: pa.Array) -> pa.ChunkedArray:
    return pc.is_in(values, wanted)


def _statements(counts: KeyCounts, ids: pa.Array | None) -> list[tuple[str, str]]:
    """Pairs of text keys of which rows say that they are the same, one for each row; with ids, those among them."""
    spellings = counts.spellings
    is_said = pc.and_(pc.is_valid(spellings["same_as"]), pc.is_valid(spellings["value_string"]))
    if ids is not None:
        is_said = pc.and_(is_said, _among(spellings["key_id"], ids))
    rows = np.flatnonzero(np.asarray(is_said))
    if not len(rows):
        return []
    stated = (
        spellings.select(_SAID)
        .take(pa.array(rows))
        .append_column("times", arrow_numbers(counts.counted("row_count")[rows]))
    )
    texts = spellings["key_id"].filter(_among(spellings["key_id"], stated["same_as"].combine_chunks()))
    has_text = spellings["value_string"].filter(_among(spellings["key_id"], stated["same_as"].combine_chunks()))
    texts = texts.filter(pc.is_valid(has_text)).combine_chunks()
    stated = stated.filter(_among(stated["same_as"], texts))
    columns = (stated[name].to_pylist() for name in (*_SAID, "times"))
    return sorted((one, other) for one, other, times in zip(*columns, strict=True) for _ in range(times))


def normal_names(values: pa.ChunkedArray) -> pa.Array:
    """`normal_name` of each value, empty for null; only values that are not plain are processed one by one."""
    whole = pc.fill_null(values, "").combine_chunks()
    is_odd = pc.and_(pc.invert(pc.match_substring_regex(whole, _PLAIN)), pc.not_equal(whole, ""))
    odd = whole.filter(is_odd)
    distinct = odd.dictionary_encode()
    named = pa.array([normal_name(value) for value in distinct.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(pc.ascii_lower(whole), is_odd, named.take(distinct.indices))


def text_keys(distinct: pa.Table) -> KeyColumns:
    """The text keys of the table `distinct_keys`."""
    text = distinct.filter(pc.is_valid(distinct["value_string"]))
    return KeyColumns(*(text[c].to_pylist() for c in ("key_id", "key_type", "value_string", "name", "event_count")))


def _canonical(alignment: Alignment) -> pa.Table:
    rows = alignment.rows
    return pa.table(
        {"key_id": [row.alias_key_id for row in rows], "canonical": [row.key_id for row in rows]}, schema=_CANONICAL
    )


def _aliases(rows: Sequence[Aligned]) -> pa.Table:
    schema = TABLES["key_aliases"].remove_metadata()
    unique = {(row.key_id, row.alias): row for row in rows}
    columns = {
        "alias": [row.alias for row in unique.values()],
        "key_id": [row.key_id for row in unique.values()],
        "reason": [row.reason for row in unique.values()],
        "score": [float(row.score) for row in unique.values()],
    }
    return _sorted_aliases(pa.table(columns, schema=pa.schema([f.remove_metadata() for f in schema])))


def _sorted_aliases(rows: pa.Table) -> pa.Table:
    return rows.sort_by([("key_id", "ascending"), ("alias", "ascending")]).combine_chunks()
