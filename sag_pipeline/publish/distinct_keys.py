"""The tables of distinct keys and of what each stands for; after a change only keys that it can touch are aligned."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from sag_pipeline.extract.entity_resolution import (
    ALIGNMENT_VERSION,
    DECIDED,
    Aligned,
    Alignment,
    KeyColumns,
    align_keys,
)
from sag_pipeline.extract.name_decisions import NameDecisions
from sag_pipeline.extract.name_matching import bare_names, compact_names, title_name
from sag_pipeline.publish.links import DECIDED_BY, GIVEN, LINK_TABLES
from sag_pipeline.store.store import Store
from sag_pipeline.tables import RECORDS
from sag_retrieval.core.records import TITLE
from sag_retrieval.core.types import Flags, Rows64
from sag_retrieval.language.words import normal_name
from sag_retrieval.release.arrays import places_of
from sag_retrieval.release.layers import overlay
from sag_retrieval.release.mapped_arrays import arrow_numbers
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.table import rows_of

_FEW: Final = 1_000
"""Documents whose rows one thread can query."""


def connection(store: Store, documents: int | None = None) -> closing[duckdb.DuckDBPyConnection]:
    """A connection for queries over tables that the caller registers, about this many documents; None: all.

    For few it is one of the ledger's database: opening another takes longer than small queries do.
    """
    count = store.ledger.row_count("keys") // _KEYS_A_DOCUMENT if documents is None else documents
    if count <= _FEW:
        return closing(store.ledger.cursor())
    return closing(duckdb.connect(config={"memory_limit": "2GB"}))


class StoredRows:
    """Queries over the rows of all documents of a store, or of some."""

    def __init__(self, store: Store, documents: Sequence[str] | None, connection: duckdb.DuckDBPyConnection) -> None:
        self._store = store
        self._documents = documents
        self._connection = connection

    def scan(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows of a table, one part at a time; those of `calls` belong to no document."""
        if self._documents is None or table not in RECORDS:
            return self._store.scan(table, columns)
        rows = self._store.rows(table, self._documents)
        return iter([rows.slice(0, 0), rows])  # the first one gives the columns, as in `Store.scan`

    def query(self, sql: str, raw: tuple[str, ...] = (), **known: pa.Table) -> pa.Table:
        """Rows of a query over tables of the store (`raw_…`, streamed) and over given tables."""
        return _queried(self._connection, sql, **{f"raw_{name}": _stream(self.scan(name)) for name in raw}, **known)


def _queried(connection: duckdb.DuckDBPyConnection, sql: str, **given: pa.Table | pa.RecordBatchReader) -> pa.Table:
    """Rows of a query over given tables."""
    for name, rows in given.items():
        connection.register(name, rows)
    try:
        return connection.sql(sql).to_arrow_table()
    finally:
        for name in given:
            connection.unregister(name)


def state_hashes(store: Store, tables: Iterable[str]) -> dict[str, str]:
    """`Store.state_hash` of each table by itself."""
    names = sorted(tables)
    found = store.ledger.select_once(
        "WITH lines AS (SELECT unit, step, kind, concat_ws('|', unit, step, source, output_hash) AS line "
        "FROM current WHERE list_contains(?, step) AND status <> 'failed') "
        "SELECT step, md5(string_agg(line, '\n' ORDER BY unit, kind)) FROM lines GROUP BY step",
        names,
    )
    return dict.fromkeys(names, "") | {str(step): str(digest) for step, digest in found}


def _stream(tables: Iterator[pa.Table]) -> pa.RecordBatchReader:
    first = next(tables)
    return pa.RecordBatchReader.from_batches(first.schema, (batch for table in tables for batch in table.to_batches()))


_BLOCKS: Final = ("compact_block", "bare_block", "title_block")
"""Columns of the table `distinct_keys`: the blocks of a key, as hashes; 0 for none.

Equal names have equal compact names, so these stand for both. A title is also compared with the key that its name
without an addition names. Equal hashes of different names put two blocks together, which costs time alone.
"""


def _with_blocks(keys: pa.Table) -> pa.Table:
    """The same keys with the columns of `_BLOCKS`; `keys` has key types, values and normal names."""
    names, types = keys["name"].combine_chunks(), keys["key_type"].to_pylist()
    compact = compact_names(names)
    bare = bare_names(names, types)
    is_other = np.flatnonzero(np.asarray(pc.not_equal(bare, compact)))
    compact_hashes = _hashes(compact)
    bare_hashes = compact_hashes.copy()
    bare_hashes[is_other] = _hashes(bare.take(pa.array(is_other)))
    titles = np.zeros(len(keys), np.uint64)
    rows = np.flatnonzero(np.asarray(pc.equal(keys["key_type"], TITLE)))
    values = keys["value_string"].take(pa.array(rows)).to_pylist()
    named = compact_names(pa.array([title_name(value or "") for value in values], pa.string()))
    titles[rows] = _hashes(named)
    for name, column in zip(_BLOCKS, (compact_hashes, bare_hashes, titles), strict=True):
        keys = keys.append_column(name, arrow_numbers(column))
    return keys


def _hashes(names: pa.Array) -> npt.NDArray[np.uint64]:
    whole = names.cast(pa.binary()).to_pylist()
    return np.array([xxhash.xxh3_64_intdigest(name) if name else 0 for name in whole], np.uint64)


def _reached(keys: Sequence[pa.Table], changed: pa.Array, said: pa.Table) -> pa.Array:
    """Ids of all keys that changed ones can touch by any number of steps, and of the changed ones.

    A key may be in several tables, with different blocks; `said` has pairs of ids that are said to be one thing.
    """
    ids, *blocks = pa.concat_tables([table.select(["key_id", *_BLOCKS]) for table in keys]).columns
    one, other = said.columns
    while True:
        is_in = np.asarray(pc.is_in(ids, changed))
        is_in |= _share(blocks, is_in)
        touches = pc.or_(pc.is_in(one, changed), pc.is_in(other, changed))
        found = [ids.filter(pa.array(is_in)), one.filter(touches), other.filter(touches)]
        more = pa.chunked_array([changed, *(chunk for each in found for chunk in each.chunks)], pa.string()).unique()
        if len(more) == len(changed):
            return more
        changed = more


def _share(blocks: Sequence[pa.ChunkedArray], is_in: Flags) -> Flags:
    """Which rows have a block that a chosen row has."""
    chosen: Rows64 = np.flatnonzero(is_in)
    taken = [np.asarray(each.take(pa.array(chosen))) for each in blocks]
    wanted = np.unique(np.concatenate(taken))
    among = pa.array(wanted[wanted != 0])
    found = np.zeros(len(is_in), np.bool_)
    for each in blocks:
        found |= np.asarray(pc.is_in(each, among))
    return found


_SPELLING: Final = ("key_id", "key_type", "value_string", "value_number", "value_bool", "unit", "same_as")
_READ: Final = ("event_id", *_SPELLING)
COUNT_TABLES: Final = ("counted_documents", "spellings", "carried_spellings")
"""Tables kept whole: documents with the hash of their keys, spellings of keys, and which document carries which."""
_NAMES: Final = ", ".join(_SPELLING)
_COUNTS: Final = f"""
    SELECT document_id, {_NAMES}, count(*)::INTEGER AS row_count,
           count(*) FILTER (event_id[1] = 'e')::INTEGER AS event_count
    FROM raw_keys GROUP BY ALL
"""
_MORE: Final = f"SELECT {_NAMES} FROM counts EXCEPT SELECT {_NAMES} FROM spellings ORDER BY ALL"
_NUMBERED: Final = f"""
    SELECT d.number::INTEGER AS document, s.number::INTEGER AS spelling, c.row_count, c.event_count
    FROM counts c JOIN documents d USING (document_id)
    JOIN spellings s ON {" AND ".join(f"c.{name} IS NOT DISTINCT FROM s.{name}" for name in _SPELLING)}
    ORDER BY 1, 2
"""


class KeyCounts(NamedTuple):
    """Documents with the hash of their keys, spellings, and what carries which, by row numbers."""

    documents: pa.Table
    spellings: pa.Table
    """Each value of a key with its type, unit and other key, once."""
    carried: pa.Table
    """`document` and `spelling` by row, the rows of the table `keys` that say so, and how many of these are events'."""
    changed: pa.Array | None = None
    """Ids of the keys whose spellings or counts changed since they were stored, and of those that such a spelling says
    are the same; None: nothing was stored."""

    def counted(self, name: str) -> Rows64:
        """The sum of a column of `carried` by spelling."""
        spelling, count = (numbers_of(self.carried, each) for each in ("spelling", name))
        return np.bincount(spelling, count, len(self.spellings)).astype(np.int64)


def _count_keys(store: Store) -> KeyCounts:
    """The counts of all current documents: those that are stored, with documents that changed counted again."""
    units = store.ledger.select(
        "SELECT unit, output_hash FROM by_document WHERE step = 'keys' AND part <> '' AND status <> 'failed' ORDER BY 1"
    )
    ids, hashes = zip(*units, strict=True) if units else ((), ())
    documents = pa.table({"document_id": pa.array(ids, pa.string()), "output_hash": pa.array(hashes, pa.string())})
    stored = [rows for name in COUNT_TABLES if (rows := store.whole(name)) is not None]
    before = KeyCounts(*stored) if len(stored) == len(COUNT_TABLES) else None
    place = np.zeros(0, np.int64)  # of each document that was counted; -1 for one that is gone or has changed
    if before:
        place = places_of(*(pc.binary_join_element_wise(*rows.columns, "\n") for rows in (before.documents, documents)))
    is_fresh = np.ones(len(documents), np.bool_)
    is_fresh[place[place >= 0]] = False
    fresh = None if is_fresh.all() else documents["document_id"].filter(pa.array(is_fresh)).to_pylist()
    columns = ["document_id", *_READ]
    parts = store.scan("keys", _READ) if fresh is None else [store.rows("keys", fresh)]
    raw = pa.concat_tables([rows.select(columns) for rows in parts])
    with connection(store, None if fresh is None else len(fresh)) as database:
        made = _counted(database, raw, documents, before)
    return made if before is None else _with_kept(made, before, place)


def _counted(
    connection: duckdb.DuckDBPyConnection, raw_keys: pa.Table, documents: pa.Table, before: KeyCounts | None
) -> KeyCounts:
    """The counts of some rows; spellings are numbered after those that are known, of which few are compared."""
    counts = _queried(connection, _COUNTS, raw_keys=raw_keys)
    known = before.spellings if before else counts.select(_SPELLING).slice(0, 0)
    rows = np.flatnonzero(np.asarray(pc.is_in(known["key_id"], counts["key_id"].combine_chunks())))
    near = known.take(pa.array(rows)).combine_chunks()
    more = _queried(connection, _MORE, counts=counts, spellings=near).cast(known.schema)
    numbers = np.concatenate([rows, len(known) + np.arange(len(more))])
    spellings = pa.concat_tables([near, more]).append_column("number", arrow_numbers(numbers))
    numbered = documents.select(["document_id"]).append_column("number", arrow_numbers(np.arange(len(documents))))
    carried = _queried(connection, _NUMBERED, counts=counts, spellings=spellings, documents=numbered)
    return KeyCounts(documents, pa.concat_tables([known, more]), carried)


def _with_kept(made: KeyCounts, before: KeyCounts, place: Rows64) -> KeyCounts:
    """The same with the counts of documents that did not change, and without spellings that are gone."""
    document = place[numbers_of(before.carried, "document")]
    kept = before.carried.set_column(0, "document", arrow_numbers(document.astype(np.int32)))
    carried = pa.concat_tables([kept.filter(pa.array(document >= 0)), made.carried.cast(kept.schema)])
    other = [numbers_of(before.carried, "spelling")[document < 0], numbers_of(made.carried, "spelling")]
    touched = made.spellings.take(arrow_numbers(np.unique(np.concatenate(other))))
    changed = pa.chunked_array([*touched["key_id"].chunks, *touched["same_as"].drop_null().chunks], pa.string())
    spelling = numbers_of(carried, "spelling")
    used = np.bincount(spelling, minlength=len(made.spellings)) > 0
    number = (np.cumsum(used) - 1)[spelling].astype(np.int32)
    carried = carried.set_column(1, "spelling", arrow_numbers(number))
    return KeyCounts(made.documents, made.spellings.filter(pa.array(used)), carried, changed.unique())


def numbers_of(rows: pa.Table, name: str) -> Rows64:
    """A column of numbers."""
    return np.asarray(rows[name].combine_chunks()).astype(np.int64)


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


Confirm = Callable[[KeyColumns, Alignment], Collection[tuple[str, str]]]
"""Asks about keys that are close and not aligned yet; pairs of ids that are one thing."""


class KeyTables(NamedTuple):
    """The tables of `LINK_TABLES`."""

    distinct: pa.Table
    canonical: pa.Table
    aliases: pa.Table


def make_links(
    store: Store, decisions: NameDecisions | None = None, confirm: Confirm | None = None
) -> dict[str, pa.Table]:
    """The tables of `LINK_TABLES` and those that count keys, from all current keys, decisions and answers.

    Where nobody decides anything and no model is asked, they are made from those of the last time.
    """
    decisions = decisions or NameDecisions()
    counts = _count_keys(store)
    before = None if confirm or decisions.lines or counts.changed is None else _stored(store)
    changed = None if before is None else counts.changed
    with connection(store, None if changed is None else len(changed) // _KEYS_A_DOCUMENT) as database:
        fresh = _distinct(counts, changed, database)
    if before is None or changed is None:
        tables = _aligned_whole(fresh, counts, decisions, confirm)
    else:
        tables = _aligned_again(before, fresh, counts, changed)
    return dict(zip((*LINK_TABLES, *COUNT_TABLES), (*tables, *counts[:-1]), strict=True))


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
    chosen = spellings if ids is None else spellings.filter(pc.is_in(spellings["key_id"], ids))
    found = _queried(connection, _DISTINCT, spellings=chosen)
    found = _with_blocks(found.append_column("name", normal_names(found["value_string"])))
    return found.replace_schema_metadata({_VERSION: ALIGNMENT_VERSION})


def _aligned_whole(
    distinct: pa.Table, counts: KeyCounts, decisions: NameDecisions, confirm: Confirm | None
) -> KeyTables:
    said, keys = _statements(counts, None), text_keys(distinct)
    alignment = align_keys(keys, said=said, decisions=decisions)
    answered = confirm(keys, alignment) if confirm else ()
    if answered:
        alignment = align_keys(keys, said=said, answered=answered, decisions=decisions)
    if decisions.types:
        distinct = _with_types(distinct, keys, alignment, decisions.types)
        alignment = align_keys(text_keys(distinct), said=said, answered=answered, decisions=decisions)
    distinct, former = _with_new_names(distinct, alignment, decisions)
    return KeyTables(_with_given(distinct, decisions), _canonical(alignment), _aliases([*alignment.rows, *former]))


def _with_types(distinct: pa.Table, keys: KeyColumns, alignment: Alignment, types: Mapping[str, str]) -> pa.Table:
    """The same with the types that people gave, also of other names of these things; titles stay titles."""
    stands_for = alignment.canonical
    ids = zip(keys.key_ids, keys.key_types, keys.names, strict=True)
    chosen = {stands_for.get(key, key): types[name] for key, old, name in ids if name in types and old != TITLE}
    new = [
        old if old == TITLE else chosen.get(stands_for.get(key, key), old)
        for key, old in zip(*(distinct[name].to_pylist() for name in ("key_id", "key_type")), strict=True)
    ]
    place = distinct.column_names.index("key_type")
    return distinct.set_column(place, "key_type", pa.array(new, distinct.schema.field("key_type").type))


def _with_new_names(
    distinct: pa.Table, alignment: Alignment, decisions: NameDecisions
) -> tuple[pa.Table, list[Aligned]]:
    """The same with names that people gave and no document has; the former names are aliases."""
    columns = {name: distinct[name].to_pylist() for name in ("key_id", "name", "value_string")}
    known = frozenset(columns["name"])
    new = {one.pair[0]: one.other for one in decisions.lines if one.verb == "rename" and one.pair[1] not in known}
    if not new:
        return distinct, []
    stands_for = alignment.canonical
    pairs = zip(columns["key_id"], columns["name"], strict=True)
    called = {stands_for.get(key, key): new[name] for key, name in pairs if name in new}
    former = []
    for row, key in enumerate(columns["key_id"]):
        if key in called:
            former.append(Aligned(key, columns["value_string"][row], key, DECIDED, 1.0))
            columns["value_string"][row], columns["name"][row] = called[key], normal_name(called[key])
    for name in ("name", "value_string"):
        place = distinct.column_names.index(name)
        distinct = distinct.set_column(place, name, pa.array(columns[name], pa.string()))
    return distinct, former


def _with_given(distinct: pa.Table, decisions: NameDecisions) -> pa.Table:
    """The same with what people gave in the metadata: it makes another release, whatever stands for what."""
    given = sorted((one.verb, *one.pair) for one in decisions.lines if one.verb in {"rename", "retype"})
    metadata = distinct.schema.metadata or {}
    return distinct.replace_schema_metadata(metadata | {GIVEN: repr(given).encode()}) if given else distinct


def _aligned_again(before: KeyTables, fresh: pa.Table, counts: KeyCounts, changed: pa.Array) -> KeyTables:
    """The tables with some keys in place of those that changed.

    Alignment compares keys of one block, and those that somebody says are the same. What it makes of keys which no
    number of such steps leads to from a changed one is what it was.
    """
    is_old = pc.is_in(before.distinct["key_id"], changed)
    old = before.distinct.filter(is_old)
    distinct = _in_place(before.distinct, is_old, fresh)
    said = counts.spellings.select(_SAID).filter(pc.is_valid(counts.spellings["same_as"]))
    ids = _reached([distinct, old], changed, said)
    alignment = align_keys(text_keys(distinct.filter(pc.is_in(distinct["key_id"], ids))), said=_statements(counts, ids))
    canonical = before.canonical.filter(pc.invert(pc.is_in(before.canonical["key_id"], ids)))
    aliases = before.aliases.filter(pc.invert(pc.is_in(before.aliases["key_id"], ids)))
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


def _statements(counts: KeyCounts, ids: pa.Array | None) -> list[tuple[str, str]]:
    """Pairs of text keys of which rows say that they are the same, one for each row; with ids, those among them."""
    spellings = counts.spellings
    is_said = pc.and_(pc.is_valid(spellings["same_as"]), pc.is_valid(spellings["value_string"]))
    if ids is not None:
        is_said = pc.and_(is_said, pc.is_in(spellings["key_id"], ids))
    rows = np.flatnonzero(np.asarray(is_said))
    if not len(rows):
        return []
    times = arrow_numbers(counts.counted("row_count")[rows])
    stated = spellings.select(_SAID).take(pa.array(rows)).append_column("times", times)
    is_named = pc.is_in(spellings["key_id"], stated["same_as"].combine_chunks())
    texts = spellings["key_id"].filter(pc.and_(is_named, pc.is_valid(spellings["value_string"]))).combine_chunks()
    stated = stated.filter(pc.is_in(stated["same_as"], texts))
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
    schema = pa.schema([field.remove_metadata() for field in TABLES["key_aliases"]])
    return _sorted_aliases(rows_of(schema, {(row.key_id, row.alias): row for row in rows}.values()))


def _sorted_aliases(rows: pa.Table) -> pa.Table:
    return rows.sort_by([("key_id", "ascending"), ("alias", "ascending")]).combine_chunks()
