"""Write the files of a release: whole, or the layers that it shares with the one before and one of its own."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.extract.revisions import REVISIONS_VERSION
from sag_pipeline.progress import listener
from sag_pipeline.publish.changes import MADE_OF, RESOLVED, Base, Held, carried_resolved, resolved_since
from sag_pipeline.publish.checks import Check, check_release
from sag_pipeline.publish.distinct_keys import StoredRows, connection, numbers_of, state_hashes
from sag_pipeline.publish.links import KeyOwners, Resolution, key_rows, key_table
from sag_pipeline.publish.open_tables import Hidden, write_database, write_parquet
from sag_pipeline.publish.revisions import decided_by
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import KINDS, ReleasedRows, VectorStore, show, vector_ids
from sag_pipeline.tables import RECORDS
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.core.types import Rows64
from sag_retrieval.language.spans import Validity, span_of, span_words
from sag_retrieval.models.protocols import Embedder, Vectors
from sag_retrieval.release.arrays import (
    GraphParts,
    counted_keys,
    open_graph_arrays,
    places_of,
    save_graph,
    write_arrays,
    write_names,
)
from sag_retrieval.release.folders import link
from sag_retrieval.release.knowledge_graph import FOLDER, write_graph
from sag_retrieval.release.layers import (
    Joined,
    JoinedLinks,
    Layer,
    join_links,
    overlay,
    shown_vectors,
    write_shown_text,
)
from sag_retrieval.release.manifest import OF_LARGE, Contents, Manifest, layer_path
from sag_retrieval.release.mapped_arrays import (
    PACKED_ROWS,
    group,
    map_array,
    pack_folder,
    save_array,
    save_rows,
    take_rows,
)
from sag_retrieval.release.schema import LANCE, OF_ALL, ORDER, ROW_FILES, SCHEMA_VERSION, TABLES
from sag_retrieval.release.table import no_rows
from sag_retrieval.release.tables import RowFiles
from sag_retrieval.release.topk import INDEXED_ROWS, describe_binary_index, pack, write_binary_index
from sag_retrieval.release.vectors import (
    DIMENSION,
    PLACED,
    SPARSE,
    open_dense,
    open_placed,
    open_sparse,
    projected,
    save_sparse,
    write_placed,
    write_runs,
    write_vectors,
)

_DOCUMENTS = """
    SELECT d.document_id, d.source, d.title, d.language, d.text, coalesce(s.summary, '') AS summary, d.metadata,
           d.version, length(d.text)::INTEGER AS char_count
    FROM raw_documents d LEFT JOIN raw_summaries s USING (document_id) ORDER BY document_id
"""
_CHUNKS = """
    SELECT d.row AS document_row, c.*
    FROM raw_chunks c JOIN placed_documents d USING (document_id) ORDER BY document_id, chunk_index
"""
_EVENTS = """
    SELECT c.row AS chunk_row, e.*, coalesce(t.date, e.context_date) AS date,
           CASE WHEN t.date IS NULL THEN e.context_source ELSE 'text' END AS date_source,
           e.context_date AS said, e.context_source AS said_source
    FROM raw_events e JOIN placed_chunks c USING (chunk_id, document_id) LEFT JOIN event_dates t USING (event_id)
    ORDER BY c.row, e.event_index
"""
_COUNTS = """
    SELECT CASE WHEN k.folded = '' OR NOT contains(c.folded, k.folded) THEN 1 ELSE greatest(1,
               (length(c.folded) - length(replace(c.folded, k.folded, ''))) // length(k.value_string))
           END::INTEGER AS count
    FROM pairs p JOIN (SELECT row, lower(text) AS folded FROM texts) c ON c.row = p.chunk
    JOIN (SELECT row, value_string, lower(coalesce(value_string, '')) AS folded FROM names) k ON k.row = p.key
    ORDER BY p.place
"""
_ALIASES = "SELECT a.* FROM key_aliases a SEMI JOIN keys USING (key_id) ORDER BY key_id, alias"
_TRIPLES = """
    SELECT t.* REPLACE (coalesce(h.canonical, t.head_key_id) AS head_key_id,
                        coalesce(x.canonical, t.tail_key_id) AS tail_key_id)
    FROM raw_triples t LEFT JOIN canonical h ON h.key_id = t.head_key_id
    LEFT JOIN canonical x ON x.key_id = t.tail_key_id
    SEMI JOIN events e ON e.event_id = t.event_id ORDER BY document_id, triple_id
"""


_DATES = r"""
    SELECT event_id, min_by(value_string, (10 - length(value_string)) || value_string) AS date  -- a day before any year
    FROM raw_keys WHERE key_type = 'date' AND regexp_full_match(value_string, '\d{4}(-\d{2}(-\d{2})?)?')
    AND try_cast(value_string || '-01-01'[length(value_string) - 3:] AS DATE) >= DATE '0001-01-01'
    GROUP BY 1 ORDER BY 1
"""
_KEY_COLUMNS = ("event_id", "key_id", "key_type", "value_string")


@dataclass(frozen=True, slots=True)
class Relational:
    """The tables of a release or of a layer of one, and its links by row.

    Links are joined as numbers: sorting and joining ids takes ten times longer.
    """

    tables: Mapping[str, pa.Table]
    parts: GraphParts


def build_tables(
    store: Store, resolution: Resolution, documents: Sequence[str] | None = None, described: Rows64 | None = None
) -> Relational:
    """Tables and links from the current state of the store, in the schema's columns and order; no tables of links.

    Of some documents, or of all; `described` are rows of distinct keys that are kept even where nothing carries them.
    """
    with connection(store, None if documents is None else len(documents)) as database:
        rows = StoredRows(store, documents, database)
        return _build(store, rows, resolution, np.zeros(0, np.int64) if described is None else described)


def _build(store: Store, rows: StoredRows, resolution: Resolution, described: Rows64) -> Relational:
    raw_keys = pa.concat_tables([each.select(_KEY_COLUMNS) for each in rows.scan("keys", _KEY_COLUMNS)])
    documents = _shaped("documents", rows.query(_DOCUMENTS, ("documents", "summaries")))
    chunks = rows.query(_CHUNKS, ("chunks",), placed_documents=_placed(documents, "document_id"))
    events = rows.query(
        _EVENTS,
        ("events",),
        placed_chunks=_placed(chunks, "chunk_id", "document_id"),
        event_dates=rows.query(_DATES, raw_keys=raw_keys),
    )
    chunk_document, event_chunk = numbers_of(chunks, "document_row"), numbers_of(events, "chunk_row")
    keyed = key_rows(raw_keys, resolution, (chunks["chunk_id"], events["event_id"]), event_chunk, described)
    keys = _shaped("keys", key_table(resolution, keyed, chunk_document, len(events)))
    main = keys["key_id"].combine_chunks().take(pa.array(keyed.main, mask=keyed.main < 0))
    tables = {
        "documents": documents,
        "chunks": _shaped("chunks", chunks.append_column("main_key_id", main)),
        "events": _shaped("events", _with_spans(events, documents["language"].take(chunk_document[event_chunk]))),
        "keys": keys,
    }
    named = rows.query(_ALIASES, key_aliases=resolution.aliases, keys=keys.select(["key_id"]))
    tables["key_aliases"] = _shaped("key_aliases", named)
    joined = {"canonical": resolution.canonical, "events": events.select(["event_id"])}
    tables["triples"] = _shaped("triples", rows.query(_TRIPLES, ("triples",), **joined))
    tables["tables"] = _cells(documents)
    revisions = store.whole("revisions")
    tables["revisions"] = _shaped("revisions", no_rows(TABLES["revisions"]) if revisions is None else revisions)
    for name in (each for each in ROW_FILES if each not in tables):  # published as stored
        order = [(column, "ascending") for column in ORDER[name]]
        tables[name] = _shaped(name, pa.concat_tables(rows.scan(name)).sort_by(order))
    return Relational(
        {name: tables[name] for name in ROW_FILES},
        _parts(keyed, keys, _counts(rows, keyed, chunks, keys), (event_chunk, chunk_document), len(documents)),
    )


def _cells(documents: pa.Table) -> pa.Table:
    """The cells of the tables of documents."""
    from sag_pipeline.extract.rules.tables import table_cells  # noqa: PLC0415  loads the rules of extraction

    given = documents.select(["document_id", "text", "language"]).filter(pc.match_substring(documents["text"], "|"))
    cells = [
        {"document_id": row["document_id"], **cell._asdict()}
        for row in given.to_pylist()
        for cell in table_cells(row["text"], row["language"])
    ]
    return _shaped("tables", pa.Table.from_pylist(cells, schema=TABLES["tables"]))


def _with_spans(events: pa.Table, languages: pa.ChunkedArray) -> pa.Table:
    """The same with the days from and to which each event says that it holds."""
    may_say = pc.match_substring_regex(events["content"], span_words(), ignore_case=True)
    columns = (each.to_pylist() for each in (may_say, events["content"], events["said"], languages))
    spans = [
        span_of(text, lang, at or "") if is_read else Validity()
        for is_read, text, at, lang in zip(*columns, strict=True)
    ]
    for place, name in enumerate(Validity._fields):
        events = events.append_column(name, pa.array([span[place] or None for span in spans], pa.string()))
    return events


def _placed(rows: pa.Table, *columns: str) -> pa.Table:
    return rows.select(columns).append_column("row", pa.array(np.arange(len(rows))))


def _shaped(name: str, rows: pa.Table) -> pa.Table:
    """Rows in the columns and types of the schema; equal rows give equal bytes, however they were made."""
    schema = TABLES[name]
    shaped = rows.select(schema.names).cast(pa.schema([f.remove_metadata() for f in schema])).combine_chunks()
    for place, column in enumerate(shaped.schema):
        if shaped[column.name].null_count:  # `take` clears the bytes below a null
            chunks = [chunk.take(pa.array(np.arange(len(chunk)))) for chunk in shaped[column.name].chunks]
            shaped = shaped.set_column(place, column, pa.chunked_array(chunks, column.type))
    return shaped


def _counts(rows: StoredRows, keyed: KeyOwners, chunks: pa.Table, keys: pa.Table) -> npt.NDArray[np.int32]:
    """Number of occurrences of each key of a chunk in its text, at least 1."""
    chunk, key = keyed.chunk_key.T
    pairs = pa.table({"place": np.arange(len(chunk)), "chunk": chunk, "key": key})
    found = rows.query(_COUNTS, pairs=pairs, texts=_placed(chunks, "text"), names=_placed(keys, "value_string"))
    return np.asarray(found["count"].to_numpy(), np.int32)


def _parts(
    keyed: KeyOwners, keys: pa.Table, counts: npt.NDArray[np.int32], owners: tuple[Rows64, Rows64], document_count: int
) -> GraphParts:
    (event, of_event), (chunk, of_chunk) = keyed.event_key.T, keyed.chunk_key.T
    chunk_keys, order = group(chunk, of_chunk, len(owners[1]))
    return GraphParts(
        event_keys=group(event, of_event, len(owners[0]))[0],
        chunk_keys=chunk_keys,
        chunk_key_count=counts[order],
        event_chunk=owners[0].astype(np.int32),
        chunk_document=owners[1].astype(np.int32),
        chunk_main_key=keyed.main.astype(np.int32),
        key_idf=keys["idf"].to_numpy().astype(np.float32),
        document_count=document_count,
    )


def _write_remaining(draft: Path, base: Base, number: int, resolution: Resolution) -> Mapping[str, int]:
    """Write the documents of a kept layer that are not left out, with the keys that they carry as these are now.

    Links, counts and words are those that readers see of this layer alone. Returns the number of rows by table.
    """
    below, files = layer_path(number), RowFiles(base.contents, base.manifest, number)
    place, folder = base.contents.place(below), draft / below
    layer = Layer.open(place, files)
    documents = overlay([files("documents")["document_id"]]).without(base.left_out[number])
    links = join_links([layer], base.manifest.smoothing, documents)
    rows = _rows(files, links, resolution)
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    for name, table in rows.items():
        save_rows(folder / "rows" / f"{name}.arrow", table)
    write_parquet(draft, number, rows, links.parts)
    save_graph(folder / "arrays", links.graph)
    write_shown_text(folder / "arrays" / "text", layer.text, links.rows["chunks"], documents)
    write_names(folder / "arrays", rows)
    for name in KINDS:
        vectors = folder / "arrays" / "vectors"
        _write_kept_vectors(vectors, name, base.contents, f"{below}arrays/vectors/", links.rows[name])
    save_array(folder / "arrays" / MADE_OF, map_array(place / "arrays" / MADE_OF)[documents.source])
    save_rows(folder / "arrays" / RESOLVED, carried_resolved(place, resolution))
    if number and len(links.rows["chunks"]) + len(links.rows["events"]) <= PACKED_ROWS:
        pack_folder(folder)
    return {name: table.num_rows for name, table in rows.items()}


def _rows(files: RowFiles, links: JoinedLinks, resolution: Resolution) -> dict[str, pa.Table]:
    """The tables of the layer; keys and their aliases as they are described now."""
    joined = {name: rows.source for name, rows in links.rows.items() if name != "key_aliases"}
    shown = {name: take_rows(files(name), source) for name, source in joined.items()}
    keys = counted_keys(shown["keys"], links.graph, resolution.smoothing)
    now = resolution.distinct.take(pa.array(places_of(keys["key_id"], resolution.distinct["key_id"])))
    described = {name: now[name] if name in now.column_names else keys[name] for name in keys.column_names}
    is_carried = pc.is_in(resolution.aliases["key_id"], keys["key_id"].combine_chunks())
    aliases = resolution.aliases.filter(is_carried).select(files("key_aliases").column_names)
    found = shown | {"keys": pa.table(described), "key_aliases": aliases}
    return {name: rows.cast(files(name).schema).combine_chunks() for name, rows in found.items()}


def _write_kept_vectors(folder: Path, name: str, contents: Contents, below: str, shown: Joined) -> None:
    """Write what a release needs to read the vectors of the rows that are shown; those in Lance stay there."""
    folder.mkdir(parents=True, exist_ok=True)
    place = contents.place(below)
    if name in contents.names(below, PLACED):
        write_placed(folder, name, map_array(place / f"{name}.lance_rows")[shown.source])
        if f"{name}.signs" in contents.names(below, ".npy"):
            save_array(folder / f"{name}.signs", map_array(place / f"{name}.signs")[:, shown.source])
        if f"{name}.signs" in contents.names(below, ".json"):
            (folder / f"{name}.signs.json").write_text((place / f"{name}.signs.json").read_text("utf-8"), "utf-8")
    elif name in contents.names(below, SPARSE):
        save_sparse(folder, name, shown_vectors(open_sparse(place, name), shown))
    else:
        vectors, rows = open_dense(place, name), np.arange(len(shown), dtype=np.int32)
        taken = vectors.take(shown.source.astype(np.int32))
        write_vectors(folder, name, [(rows, taken)], (len(rows), vectors.dimension))


PUBLISH_VERSION: Final = "4"
_AT_ONCE = 2
_BLOCK_BYTES = 100_000_000
_HASHED_TOGETHER = 65_536
_COUNTED: Final = ("event_count", "chunk_count", "document_count", "idf")
_OF_RELEASE: Final = ("lance/", "embedder/", "communities/", OF_LARGE)
"""Files that each release has for itself, though most are those of the one before."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedder of a release: its setting, the embedder, its vectors, and how to save what queries need."""

    model: str
    embedder: Embedder
    vectors: VectorStore
    save: Callable[[Path], None]
    is_indexed: bool = False
    """Whether Lance trains its index of the vectors of large tables."""
    computed: Callable[[pa.ChunkedArray], Iterator[Vectors]] | None = None
    """Vectors of texts in blocks, of an embedder that computes them again for less than it takes to keep them."""


@dataclass(frozen=True, slots=True)
class ReleaseInput:
    """What a release is made from."""

    store: Store
    embedding: Embedding
    resolution: Resolution
    held: Held
    schema: KeySchema = field(default_factory=default_schema)


def build_whole(draft: Path, source: ReleaseInput) -> tuple[Manifest, Sequence[Check]]:
    """Write a release of one layer into a folder; its manifest without files and checks, and what these found."""
    report = listener()
    report("release", 0, 0, "tables")
    made = build_tables(source.store, source.resolution)
    report("release", 0, 0, "vectors, full text and rows")
    source.embedding.save(draft / "embedder")
    _write_layer(draft, 0, made, source, None)
    manifest = bare_manifest(source)
    released = (_released(name, made.tables[name]) for name in KINDS)
    _write_vectors(draft, 0, released, source.embedding, manifest.release_id)
    links = {"event_keys": len(made.parts.event_keys.items), "chunk_keys": len(made.parts.chunk_keys.items)}
    counts = {name: links[name] if name in links else made.tables[name].num_rows for name in TABLES}
    signs = {name: describe_binary_index(draft / "arrays" / "vectors", name) for name in KINDS}
    index = {name: {"kind": "none", "rows": counts[name]} | signs[name] for name in KINDS}
    manifest = replace(manifest, counts=counts, index=index)
    write_database(draft, manifest.smoothing)
    report("release", 0, 0, "checks")
    graph = open_graph_arrays(draft / "arrays" / "graph")
    checks = check_release(draft, manifest, made.tables, graph, {n: rows.num_rows for n, rows in made.tables.items()})
    return manifest, checks


def build_layer(draft: Path, source: ReleaseInput, base: Base) -> tuple[Manifest, Sequence[Check]]:
    """The same with the kept layers of a release, by links, and one layer of the documents that changed."""
    report, number = listener(), base.kept
    report("release", 0, 0, "tables")
    now, is_new = base.described.changes(source.resolution)
    made = build_tables(source.store, source.resolution, base.documents, now[is_new])
    report("release", 0, 0, "vectors, full text and rows")
    _link_layers(draft, base)
    shared = [*base.manifest.layer_counts[:number]]
    for layer in base.left_out:
        shared[layer] = _write_remaining(draft, base, layer, source.resolution)
    source.embedding.save(draft / "embedder")
    _write_layer(draft, number, made, source, base)
    own = {name: rows.num_rows for name, rows in made.tables.items()}
    shared[0] = {**shared[0], **{name: own[name] for name in OF_ALL}}
    manifest = replace(bare_manifest(source), layers=[*shared, own])
    contents = Contents(draft, manifest, "off")
    files = [RowFiles(contents, manifest, each) for each in range(number + 1)]
    layers = [Layer.open(contents.place(layer_path(each)), rows) for each, rows in enumerate(files)]
    joined = join_links(layers, manifest.smoothing)
    wanted = {name: _embedded_ids(name, [layer(name) for layer in files], joined.rows[name]) for name in KINDS}
    released = (_released(name, made.tables[name], ids) for name, ids in wanted.items())
    _write_vectors(draft, number, released, source.embedding, manifest.release_id, is_erased=base.is_erasing)
    write_database(draft, manifest.smoothing, Hidden.of(files, joined.rows), base.contents.folder)
    counts = own | {name: len(joined.graph[name].items) for name in ("event_keys", "chunk_keys")}
    counts |= {name: len(rows) for name, rows in joined.rows.items()}
    index = {name: base.manifest.index[name] | {"rows": counts[name]} for name in KINDS}
    manifest = replace(manifest, counts={name: counts[name] for name in TABLES}, index=index)
    report("release", 0, 0, "checks")
    checks = check_release(draft, manifest, made.tables, joined.graph, {"documents": len(source.held.documents)})
    if own["chunks"] + own["events"] <= PACKED_ROWS:
        pack_folder(draft / layer_path(number))
    return manifest, checks


def bare_manifest(source: ReleaseInput) -> Manifest:
    """The manifest of a release that is to be made, without counts."""
    embedder, smoothing = source.embedding.embedder, source.resolution.smoothing
    hashes = state_hashes(source.store, RECORDS)
    lines = [PUBLISH_VERSION, f"{SCHEMA_VERSION}", embedder.fingerprint, smoothing]
    lines += [f"{name} {hashes[name]}" for name in sorted(hashes)]
    lines += [f"revisions {REVISIONS_VERSION}"]
    lines += [f"revised by {said}"] if (said := decided_by(source.store)) else []
    described = schema_in_manifest(source.schema)
    lines += [f"key_schema {json.dumps(described, sort_keys=True)}"] if described else []
    lines += [f"canonical {source.resolution.digest}"] if source.resolution.is_decided else []
    content = blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
    return Manifest(
        release_id=f"r{content[:12]}",
        schema_version=SCHEMA_VERSION,
        content_hash=content,
        input_hash="",
        created_at="",
        embedding_model=source.embedding.model,
        embedder_fingerprint=embedder.fingerprint,
        dimension=embedder.dimension,
        counts={},
        hashes=hashes,
        checks={},
        index={},
        smoothing=smoothing,
        key_schema=described,
    )


def schema_in_manifest(schema: KeySchema) -> dict[str, Any]:
    """A schema as manifests describe it; empty for the default."""
    return {} if schema == default_schema() else schema.model_dump(mode="json", exclude_defaults=True)


def _link_layers(draft: Path, base: Base) -> None:
    """Put the files of the kept layers into a draft: by hard links, so that releases share their bytes."""
    for name in base.manifest.files:
        layer = _layer_of(name)
        if layer < base.kept and layer not in base.left_out and "/" in name and not name.startswith(_OF_RELEASE):
            link(base.contents.folder / name, draft / name)


def _layer_of(name: str) -> int:
    """The layer of a file of a release."""
    first, *inside = name.split("/")
    if first == "layers":
        return int(inside[0])
    return int(inside[1].partition(".")[0]) if first == "tables" and len(inside) > 1 else 0


def _write_layer(draft: Path, number: int, made: Relational, source: ReleaseInput, base: Base | None) -> None:
    folder, tables = draft / layer_path(number), made.tables
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # longest first; most of the work is done outside Python
        # Later layers have neither weights nor the graph of triples, which follow from all layers.
        written = [pool.submit(write_arrays, folder / "arrays", made.parts, tables, is_weighed=not number)]
        written.append(pool.submit(write_parquet, draft, number, tables, made.parts))
        if not number:
            written.append(pool.submit(write_graph, folder / "arrays" / FOLDER, tables, made.parts))
        for name, rows in tables.items():
            save_rows((draft if name in OF_ALL else folder) / "rows" / f"{name}.arrow", rows)
        for done in written:
            done.result()
    own = pc.index_in(tables["documents"]["document_id"], source.held.documents)
    save_array(folder / "arrays" / MADE_OF, source.held.hashes[np.asarray(own)])
    save_rows(folder / "arrays" / RESOLVED, resolved_since(base.described if base else None, source.resolution))


def _write_vectors(
    draft: Path,
    number: int,
    released: Iterable[ReleasedRows],
    embedding: Embedding,
    release: str,
    *,
    is_erased: bool = False,
) -> None:
    """Write the rows of one layer to Lance in one step, and what the release needs to read their vectors."""
    folder = draft / layer_path(number) / "arrays" / "vectors"
    with embedding.vectors.tables.together():
        for given in released:
            shown = given if embedding.computed is None else _computed(folder, given, embedding)
            row_ids = show(embedding.vectors, shown, release, is_erased=is_erased)
            _write_vectors_of(draft, number, shown, embedding, row_ids)


def _computed(folder: Path, given: ReleasedRows, embedding: Embedding) -> ReleasedRows:
    """Write vectors that the store does not keep; the rows with their projections, which lie in a file meanwhile."""
    count, dimension = len(given.rows), embedding.embedder.dimension
    with TemporaryFile() as file:
        projections = np.memmap(file, np.float16, shape=(max(1, count), DIMENSION))

    def blocks() -> Iterator[tuple[Rows64, Vectors]]:
        at = 0
        for vectors in embedding.computed(embedded_texts(given.kind, given.rows)) if embedding.computed else ():
            rows = np.arange(at, at := at + vectors.shape[0])
            projections[rows] = projected(vectors)
            yield rows, vectors

    write_vectors(folder, given.kind, blocks(), (count, dimension))
    return replace(given, projections=projections)


def _write_vectors_of(draft: Path, number: int, given: ReleasedRows, embedding: Embedding, row_ids: Rows64) -> None:
    """Link the files of Lance, and write where the vectors of the rows lie.

    They stay in the files of Lance; those that Lance stores in a form that cannot be mapped are written as arrays.
    """
    name, store, first = given.kind, embedding.vectors, draft / "arrays" / "vectors"
    folder, shape = draft / layer_path(number) / "arrays" / "vectors", (len(given.rows), embedding.embedder.dimension)
    table = None
    if (shown := store.shown(name)) is not None:
        if embedding.is_indexed:
            store.index(shown)
        store.link(shown, draft / LANCE / f"{name}.lance")
        table = store.tables.sealed()[shown]
    if table is not None and table.runs:
        write_runs(first, name, table.runs, shape[1], table.folder, table.moved)
        write_placed(folder, name, row_ids)
        placed = open_placed(folder, name, draft)
        if number and describe_binary_index(first, name):
            save_array(folder / f"{name}.signs", pack(placed[:]))
        elif not number and len(given.rows) > INDEXED_ROWS:
            write_binary_index(folder, name, placed)
    elif given.projections is None:
        rows_a_block = max(1, _BLOCK_BYTES // (4 * shape[1]))
        write_vectors(folder, name, store.blocks(given.texts, rows_a_block), shape)


def _released(name: str, rows: pa.Table, wanted: pa.Array | None = None) -> ReleasedRows:
    """What Lance has of a table: its columns but those that each release counts again."""
    columns, texts = [column for column in rows.column_names if column not in _COUNTED], embedded_texts(name, rows)
    blocks = (texts[start : start + _HASHED_TOGETHER] for start in range(0, len(texts), _HASHED_TOGETHER))
    ids = vector_ids(text for block in blocks for text in block.to_pylist())
    return ReleasedRows(name, rows.select(columns), ids, wanted)


def _embedded_ids(name: str, layers: Sequence[pa.Table], shown: Joined) -> pa.Array:
    """The ids of the rows that a release shows of its layers and that have a text."""
    columns = [f"{name[:-1]}_id", *(["value_string"] if name == "keys" else [])]
    rows = take_rows(pa.concat_tables([layer.select(columns) for layer in layers]), shown.source)
    found = rows.filter(pc.not_equal(rows["value_string"], "")) if name == "keys" else rows
    return found.column(0).combine_chunks()


def embedded_texts(table: str, rows: pa.Table) -> pa.ChunkedArray:
    """The embedded text of each row, equal to `indexed_text` of its record; empty for keys that are not text."""
    if table == "keys":
        return pc.fill_null(rows["value_string"], "")
    before, mark, own = ("header", "\n", "text") if table == "chunks" else ("title", ": ", "content")
    first = rows[before]
    return pc.if_else(pc.equal(first, ""), rows[own], pc.binary_join_element_wise(first, rows[own], mark))
