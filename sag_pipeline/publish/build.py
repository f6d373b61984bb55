"""Write the files of a release: whole, or the layers that it shares with the one before and one of its own."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.progress import listener
from sag_pipeline.publish.changes import MADE_OF, Base, Held
from sag_pipeline.publish.checks import Check, check_layer, check_release
from sag_pipeline.publish.layer_rewrite import write_remaining
from sag_pipeline.publish.links import Resolution
from sag_pipeline.publish.published_keys import RESOLVED, resolved_since
from sag_pipeline.publish.relational import Relational, build_tables
from sag_pipeline.publish.stored_rows import state_hashes
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import KINDS, VectorIds, VectorStore, vector_ids
from sag_pipeline.tables import RECORDS
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.arrays import write_arrays
from sag_retrieval.release.folders import link
from sag_retrieval.release.knowledge_graph import FOLDER, MentionLinks, write_graph
from sag_retrieval.release.layers import Layer, join_links
from sag_retrieval.release.manifest import OF_LARGE, Contents, Manifest, layer_path
from sag_retrieval.release.mapped_arrays import PACKED_ROWS, pack_folder, save_array, save_rows
from sag_retrieval.release.schema import SCHEMA_VERSION, TABLES
from sag_retrieval.release.tables import RowFiles
from sag_retrieval.release.topk import INDEXED_ROWS, describe_binary_index, pack, write_binary_index
from sag_retrieval.release.vectors import LANCE, open_placed, write_placed, write_runs, write_vectors

PUBLISH_VERSION: Final = "2"
_AT_ONCE = 2
_BLOCK_BYTES = 100_000_000
_HASHED_TOGETHER = 65_536
_OF_RELEASE: Final = ("lance/", "embedder/", "communities/", OF_LARGE)
"""Files that each release has for itself, though most are those of the one before."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedder of a release: its setting, the embedder, its vectors, and how to save what queries need."""

    model: str
    embedder: Embedder
    vectors: VectorStore
    save: Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class ReleaseInput:
    """What a release is made from."""

    store: Store
    embedding: Embedding
    resolution: Resolution
    held: Held
    schema: KeySchema = field(default_factory=default_schema)


def build_whole(draft: Path, source: ReleaseInput) -> tuple[Manifest, Sequence[Check]]:
    """Write a release of one layer into a folder; its manifest without files, and what the checks found."""
    report = listener()
    report("release", 0, 0, "tables")
    made = build_tables(source.store, source.resolution)
    report("release", 0, 0, "vectors, full text and rows")
    source.embedding.save(draft / "embedder")
    _write_layer(draft, 0, made, source, None)
    links = {"event_keys": len(made.parts.event_key), "chunk_keys": len(made.parts.chunk_key)}
    counts = {name: links[name] if name in links else made.tables[name].num_rows for name in TABLES}
    index = {name: _index(draft, name, counts[name]) for name in KINDS}
    manifest = replace(_manifest(source), counts=counts, index=index)
    report("release", 0, 0, "checks")
    return _checked(manifest, check_release(draft, manifest, made.tables))


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
        shared[layer] = write_remaining(draft, base, layer, source.resolution)
    source.embedding.save(draft / "embedder")
    _write_layer(draft, number, made, source, base)
    own = {name: rows.num_rows for name, rows in made.tables.items()}
    shared[0] = {**shared[0], "calls": own["calls"]}  # the first layer has those of all
    manifest = replace(_manifest(source), layers=[*shared, own])
    contents = Contents(draft, manifest, "off")
    files = [RowFiles(contents, manifest, each) for each in range(number + 1)]
    layers = [Layer.open(contents.place(layer_path(each)), rows) for each, rows in enumerate(files)]
    joined = join_links(layers, manifest.smoothing)
    links = {name: len(joined.graph[name].items) for name in ("event_keys", "chunk_keys")}
    counts = own | links | {name: len(rows) for name, rows in joined.rows.items()}
    index = {name: base.manifest.index[name] | {"rows": counts[name]} for name in KINDS}
    manifest = replace(manifest, counts={name: counts[name] for name in TABLES}, index=index)
    report("release", 0, 0, "checks")
    checks = check_layer(draft, manifest, made.tables, joined.graph, len(source.held.documents))
    if own["chunks"] + own["events"] <= PACKED_ROWS:
        pack_folder(draft / layer_path(number))
    return _checked(manifest, checks)


def _checked(manifest: Manifest, checks: Sequence[Check]) -> tuple[Manifest, Sequence[Check]]:
    return replace(manifest, checks={check.name: check.as_json() for check in checks}), checks


def _manifest(source: ReleaseInput) -> Manifest:
    embedder, smoothing = source.embedding.embedder, source.resolution.smoothing
    hashes = state_hashes(source.store, RECORDS)
    lines = [PUBLISH_VERSION, f"{SCHEMA_VERSION}", embedder.fingerprint, smoothing]
    lines += [f"{name} {hashes[name]}" for name in sorted(hashes)]
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
        inside = name.split("/")
        layer = int(inside[1]) if inside[0] == "layers" else 0
        if layer < base.kept and layer not in base.left_out and "/" in name and not name.startswith(_OF_RELEASE):
            link(base.folder / name, draft / name)


def _write_layer(draft: Path, number: int, made: Relational, source: ReleaseInput, base: Base | None) -> None:
    folder, tables = draft / layer_path(number), made.tables
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # longest first; most of the work is done outside Python
        hashed = {name: vector_ids_of(name, tables[name]) for name in KINDS}
        written = [pool.submit(_write_vectors, draft, number, name, hashed[name], source.embedding) for name in KINDS]
        written.append(pool.submit(_write_arrays, folder / "arrays", made, is_first=not number))
        for name, rows in tables.items():
            save_rows((draft if name == "calls" else folder) / "rows" / f"{name}.arrow", rows)
        for done in written:
            done.result()
    own = pc.index_in(tables["documents"]["document_id"], source.held.documents)
    save_array(folder / "arrays" / MADE_OF, source.held.hashes[np.asarray(own)])
    save_rows(folder / "arrays" / RESOLVED, resolved_since(base.described if base else None, source.resolution))


def _write_arrays(folder: Path, made: Relational, *, is_first: bool) -> None:
    """Links, text and names; of later layers neither weights nor the graph of triples, which follow from all layers."""
    write_arrays(folder, made.parts, made.tables, is_weighed=is_first)
    if is_first:
        write_graph(folder / FOLDER, made.tables, MentionLinks.of_parts(made.parts))


def _write_vectors(draft: Path, number: int, name: str, hashes: VectorIds, embedding: Embedding) -> None:
    """Write what a release needs to read the vectors of one table in one layer.

    Dense vectors stay in the files of Lance, which are linked; sparse ones, and those that Lance stores in a form that
    cannot be mapped, are written as arrays.
    """
    first = draft / "arrays" / "vectors"
    folder, shape = draft / layer_path(number) / "arrays" / "vectors", (len(hashes), embedding.embedder.dimension)
    table = embedding.vectors.sealed(name)
    if table is not None and table.runs:
        embedding.vectors.link(name, draft / LANCE / f"{name}.lance")
        write_runs(first, name, table.runs, shape[1], table.folder, table.moved)
        write_placed(folder, name, embedding.vectors.row_ids(name, hashes))
        placed = open_placed(folder, name, draft)
        if number and describe_binary_index(first, name):
            save_array(folder / f"{name}.signs", pack(placed[:]))
        elif not number and len(hashes) > INDEXED_ROWS:
            write_binary_index(folder, name, placed)
    else:
        rows_a_block = max(1, _BLOCK_BYTES // (4 * shape[1]))
        write_vectors(folder, name, embedding.vectors.blocks(hashes, rows_a_block), shape)


def _index(draft: Path, name: str, count: int) -> Mapping[str, Any]:
    return {"kind": "none", "rows": count} | describe_binary_index(draft / "arrays" / "vectors", name)


def embedded_texts(table: str, rows: pa.Table) -> pa.ChunkedArray:
    """The embedded text of each row, equal to `indexed_text` of its record; empty for keys that are not text."""
    if table == "keys":
        return pc.fill_null(rows["value_string"], "")
    before, mark, own = ("header", "\n", "text") if table == "chunks" else ("title", ": ", "content")
    first = rows[before]
    return pc.if_else(pc.equal(first, ""), rows[own], pc.binary_join_element_wise(first, rows[own], mark))


def vector_ids_of(table: str, rows: pa.Table) -> VectorIds:
    """The id of the vector of each row of a release's table."""
    texts = embedded_texts(table, rows)
    blocks = (texts[start : start + _HASHED_TOGETHER] for start in range(0, len(texts), _HASHED_TOGETHER))
    return vector_ids(text for block in blocks for text in block.to_pylist())
