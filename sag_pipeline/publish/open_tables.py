"""A release's tables for other programs: Parquet files of each layer, and a DuckDB file of views and formulas.

The views show what `release.sql` reads: rows that a later layer hides are left out, keys are counted over all layers.
Their paths are relative to the release, so that it can be moved.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import uuid4

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import FEW, MOST, PERIOD
from sag_retrieval.clusters.storage import COMMUNITIES, COMMUNITY_SCHEMAS
from sag_retrieval.core import durable
from sag_retrieval.core.types import Rows
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.arrays import GraphParts
from sag_retrieval.release.folders import DRAFT, MADE, delete, link, write_made
from sag_retrieval.release.key_weights import Smoothing
from sag_retrieval.release.layers import Joined
from sag_retrieval.release.mapped_arrays import CsrLists, arrow_numbers
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.schema import DATABASE, LANCE, OF_ALL, OPEN_TABLES, TABLES, VIEWS
from sag_retrieval.release.table import no_rows, read_parquet
from sag_retrieval.release.tables import RowFiles
from sag_retrieval.release.vectors import VECTOR, open_database, projected

_LEVEL: Final = 1
"""Of zstd: a third of the bytes of snappy's in the same time."""
_BLOCK: Final = 16_384
"""Bytes of a block of the DuckDB file, the smallest that it takes: the file holds hardly more than views."""
_SQL: Final = f"{OPEN_TABLES}views.sql"
"""What the DuckDB file was made by, to read and to compare."""
_MADE_LATER: Final = {"communities": "communities", "community_events": "community_members"}
"""Tables that are made after publishing, and their views."""


def write_parquet(draft: Path, number: int, tables: Mapping[str, pa.Table], parts: GraphParts) -> None:
    """Write the rows of a layer, those of links with their document; of later layers only tables that have rows."""
    for name, rows in {**tables, **_links(tables, parts)}.items():
        is_whole = name in OF_ALL
        path = draft / OPEN_TABLES / name / f"{0 if is_whole else number}.parquet"
        if len(rows) or is_whole or not number:
            _write(path, rows)


def _write(path: Path, rows: pa.Table) -> None:
    """Write a file, in place of a linked one if there is one."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, compression="zstd", compression_level=_LEVEL, store_schema=False, write_statistics=False)


def _links(tables: Mapping[str, pa.Table], parts: GraphParts) -> dict[str, pa.Table]:
    chunk_owner = np.repeat(np.arange(len(parts.chunk_keys)), parts.chunk_keys.sizes())
    is_main = np.asarray(parts.chunk_main_key)[chunk_owner] == parts.chunk_keys.items
    counted = {"count": arrow_numbers(parts.chunk_key_count), "is_main": pa.array(is_main)}
    of_event = np.asarray(parts.chunk_document)[parts.event_chunk]
    return {
        "event_keys": _linked(tables, "event", parts.event_keys, of_event, {}),
        "chunk_keys": _linked(tables, "chunk", parts.chunk_keys, np.asarray(parts.chunk_document), counted),
    }


def _linked(
    tables: Mapping[str, pa.Table], owner: str, lists: CsrLists, document: Rows, more: Mapping[str, pa.Array]
) -> pa.Table:
    """Links by id: as dictionaries of the ids, so that no id is copied."""
    row = np.repeat(np.arange(len(lists), dtype=np.int32), lists.sizes())
    named: dict[str, tuple[pa.Table, Rows]] = {
        f"{owner}_id": (tables[f"{owner}s"], row),
        "key_id": (tables["keys"], lists.items),
        "document_id": (tables["documents"], document[row]),
    }
    ids = {
        name: pa.DictionaryArray.from_arrays(
            arrow_numbers(rows.astype(np.int32, copy=False)), table[name].combine_chunks()
        )
        for name, (table, rows) in named.items()
    }
    return pa.table({**ids, **more})


@dataclass(frozen=True, slots=True)
class Hidden:
    """Of each layer the documents and the keys that it has and that are not shown."""

    ids: Mapping[str, Sequence[pa.Array]]
    """By `document_id` and `key_id`."""

    @classmethod
    def of(cls, files: Sequence[RowFiles], joined: Mapping[str, Joined]) -> "Hidden":
        """What layers hide of those before."""
        found = {}
        for name, column in (("documents", "document_id"), ("keys", "key_id")):
            rows, shown = joined[name], joined[name].is_shown()
            hidden = [np.flatnonzero(~shown[rows.firsts[n] : rows.firsts[n + 1]]) for n in range(len(files))]
            found[column] = [
                layer(name)[column].combine_chunks().take(arrow_numbers(own))
                for layer, own in zip(files, hidden, strict=True)
            ]
        return cls(found)

    def tables(self) -> dict[str, pa.Table]:
        """The ids with their layer, by name of the file."""
        return {
            f"hidden_{column}": pa.table(
                {
                    "layer": arrow_numbers(np.repeat(np.arange(len(ids), dtype=np.int32), [*map(len, ids)])),
                    column: pa.chunked_array(ids, pa.string()),
                }
            )
            for column, ids in self.ids.items()
        }


def write_database(draft: Path, smoothing: Smoothing, hidden: Hidden | None = None, base: Path | None = None) -> None:
    """Write the DuckDB file of a draft whose Parquet files are written, or link that of `base` if it has these views.

    DuckDB compares a view with its files when it is made: below a link, as a comma in the path would divide it. Without
    `hidden` there is one layer.
    """
    own = {name: no_rows(COMMUNITY_SCHEMAS[name]) for name in _MADE_LATER}
    for name, rows in {**own, **(hidden.tables() if hidden else {})}.items():
        _write(draft / OPEN_TABLES / f"{name}.parquet", rows)
    sql = ";\n".join(_statements(smoothing, is_layered=hidden is not None)) + ";\n"
    if base and (base / _SQL).read_text("utf-8") == sql:
        for name in (_SQL, DATABASE):
            (draft / name).unlink(missing_ok=True)
            link(base / name, draft / name)
        return
    with TemporaryDirectory() as above:
        (place := Path(above) / "release").symlink_to(draft.resolve())
        with duckdb.connect(config={"threads": 1, "file_search_path": str(place)}) as connection:
            connection.execute(f"ATTACH '{place / DATABASE}' AS made (BLOCK_SIZE {_BLOCK}); USE made; BEGIN; {sql}")
            connection.execute("COMMIT; USE memory; DETACH made")
    (draft / _SQL).unlink(missing_ok=True)
    (draft / _SQL).write_text(sql, "utf-8")


def _statements(smoothing: Smoothing, *, is_layered: bool) -> Iterator[str]:
    """SQL that makes every view and macro, with its comments: the same for all releases of one layer, and of more."""
    yield f"CREATE MACRO key_idf(count, events) AS {_IDF.format(int(smoothing == 'add-one'))}"
    for name in sorted(TABLES, key="keys".__eq__):  # they are counted by the others
        shown = f"SELECT {_columns(name)} FROM ({_shown(name, is_layered=is_layered)})"
        yield f"CREATE VIEW {name} AS {_keys_of_layers() if is_layered and name == 'keys' else shown}"
    for name, view in _MADE_LATER.items():  # the empty one, and that of the folder `communities` as soon as it is made
        yield f"CREATE VIEW {view} AS FROM '*/{name}.parquet'"
    yield _FORMULAS
    for view, meaning in VIEWS.items():
        yield f"COMMENT ON VIEW {view} IS {_text(meaning)}"
    for name, schema in TABLES.items():
        for column in schema:
            yield f'COMMENT ON COLUMN {name}."{column.name}" IS {_text(column.metadata[b"meaning"].decode())}'


def _columns(name: str) -> str:
    return ", ".join(f'"{column}"' for column in TABLES[name].names)


def _text(said: str) -> str:
    return "'" + said.replace("'", "''") + "'"


def _shown(name: str, *, is_layered: bool) -> str:
    """A query of a table's rows in all layers, with the number of the layer, without those that are hidden."""
    files = f"FROM '{OPEN_TABLES}{name}/*.parquet'"
    if not is_layered or name in OF_ALL:
        return files
    column = "key_id" if name in {"keys", "key_aliases"} else "document_id"
    numbered = f"SELECT *, parse_filename(filename, true)::INTEGER AS layer {files}"
    return f"FROM ({numbered}) ANTI JOIN '{OPEN_TABLES}hidden_{column}.parquet' USING (layer, {column})"


def _keys_of_layers() -> str:
    """A query of keys whose counts are those of all layers together."""
    of_value = _columns("keys").partition('"event_count"')[0]
    return f"""
        SELECT {of_value} coalesce(e.n, 0)::INTEGER AS event_count, c.n::INTEGER AS chunk_count,
               c.documents::INTEGER AS document_count,
               key_idf(coalesce(e.n, 0), (SELECT count(*) FROM events)) AS idf
        FROM ({_shown("keys", is_layered=True)})
        JOIN (SELECT key_id, count(*) AS n, count(DISTINCT document_id) AS documents
              FROM ({_shown("chunk_keys", is_layered=True)}) GROUP BY key_id) AS c USING (key_id)
        LEFT JOIN (SELECT key_id, count(*) AS n FROM event_keys GROUP BY key_id) AS e USING (key_id)"""


_ALPHA: Final = ClusterOptions().alpha
_IDF: Final = "greatest(0, ln(greatest(events, 1) / greatest(count + {}, 1)))"

_FORMULAS: Final = f"""
    CREATE VIEW summaries AS
        SELECT document_id, NULL::VARCHAR AS section_id, summary FROM documents WHERE summary <> ''
        UNION ALL SELECT document_id, section_id, summary FROM sections WHERE summary <> '';
    CREATE VIEW idf AS SELECT key_id, event_count, idf FROM keys;
    CREATE VIEW event_key_weights AS SELECT event_id, key_id, idf AS weight FROM event_keys JOIN keys USING (key_id);
    CREATE MACRO neighbours_of_key(key) AS TABLE
        SELECT o.key_id, k.key_type, k.value_string, count(*) AS events
        FROM event_keys AS m JOIN event_keys AS o USING (event_id) JOIN keys AS k ON k.key_id = o.key_id
        WHERE m.key_id = key AND o.key_id <> key GROUP BY ALL;
    CREATE MACRO neighbours_of_event(event) AS TABLE
        SELECT o.event_id, count(*) AS keys, sum(o.weight) AS weight
        FROM event_keys AS m JOIN event_key_weights AS o USING (key_id)
        WHERE m.event_id = event AND o.event_id <> event GROUP BY ALL;
    CREATE VIEW tying_keys AS
        SELECT key_id, event_count, ln(n / event_count) AS weight
        FROM keys, (SELECT count(*) AS n FROM events)
        WHERE event_count BETWEEN 1 AND greatest({FEW}, {MOST} * n) AND value_bool IS NULL
            AND key_type NOT IN ({", ".join(map(_text, ClusterOptions().without_key_types))})
            AND NOT regexp_full_match(coalesce(value_string, ''), {_text(PERIOD.pattern)});
    CREATE VIEW tie_statistics AS
        WITH one AS (SELECT sum(weight * event_count * (event_count - 1)) / 2 AS total FROM tying_keys),
            two AS (SELECT a.key_id, b.key_id, any_value(x.weight * y.weight) AS weight, count(*) AS c
                FROM event_keys AS a JOIN event_keys AS b USING (event_id)
                JOIN tying_keys AS x ON x.key_id = a.key_id JOIN tying_keys AS y ON y.key_id = b.key_id
                GROUP BY a.key_id, b.key_id),
            all_pairs AS (SELECT count(*) * (count(*) - 1) / 2 AS pairs FROM events),
            moments AS (SELECT coalesce(total / pairs, 0) AS mean,
                coalesce((SELECT sum(weight * c * (c - 1)) / 2 FROM two) / pairs, 0) AS square FROM one, all_pairs)
        SELECT mean, if(square - mean * mean > 1e-12 * square, sqrt(square - mean * mean), 0) AS deviation FROM moments;
    CREATE MACRO tie(one, other, cosine) AS TABLE
        WITH shared AS (SELECT coalesce(sum(weight), 0) AS shared FROM tying_keys
            WHERE key_id IN (SELECT key_id FROM event_keys WHERE event_id = one)
            AND key_id IN (SELECT key_id FROM event_keys WHERE event_id = other)),
            scores AS (SELECT shared, if(deviation = 0, 0, (shared - mean) / deviation) AS z
                FROM shared, tie_statistics)
        SELECT shared, z, {_ALPHA} / (1 + exp(-z)) + (1 - {_ALPHA}) * cosine AS weight FROM scores
"""


def write_copy(path: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write tables to a new DuckDB file, for other programs."""
    with duckdb.connect(str(path), config={"memory_limit": "1GB"}) as database:
        for name, rows in tables.items():
            database.from_arrow(rows).create(name)


def show_communities(release: Path, embedder: Embedder) -> None:
    """Write the communities of a release to its Lance tables, the finest of two events and more with a vector.

    They are made after the release, and again: the table has a list of its files of its own.
    """
    from sag_retrieval.topics.stored import categories_in, read_category_vectors  # noqa: PLC0415  graph libraries

    rows = read_parquet(release / COMMUNITIES / f"{COMMUNITIES}.parquet")
    kept, categories = read_category_vectors(release / COMMUNITIES, embedder), categories_in(rows)
    if kept is None:
        kept = np.zeros((0, embedder.dimension), np.float32)
    matrix = projected(kept) if isinstance(kept, csr_array) else np.asarray(kept, np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    at = pc.index_in(rows["community_id"], categories["community_id"].combine_chunks()).combine_chunks()
    shown = rows.drop(["sentences"]).append_column(VECTOR, vectors.take(at))
    file, draft = f"{COMMUNITIES}.lance", release / f"{DRAFT}{uuid4().hex}"
    try:
        open_database(draft).create_table(COMMUNITIES, shown, on_bad_vectors="null")
        write_made(draft / file, durable.digest_of(release / COMMUNITIES / MADE))
        durable.sync_all(sorted(draft.rglob("*"), reverse=True))
        if (release / LANCE / file).exists():
            delete(release / LANCE / file)
        durable.make_folder(release / LANCE)
        durable.rename(draft / file, release / LANCE / file)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if remote := Releases(release.parents[1]).remote:
        remote.push_beside(release.name)
