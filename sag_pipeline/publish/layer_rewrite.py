"""Write a layer again without some of its documents: from its own files, put together as readers do it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.publish.changes import MADE_OF, Base
from sag_pipeline.publish.links import Resolution, places
from sag_pipeline.publish.published_keys import RESOLVED, carried_resolved
from sag_pipeline.store.vectors import KINDS
from sag_retrieval.release.arrays import counted_keys, save_graph, write_names
from sag_retrieval.release.layer_precedence import Joined, overlay
from sag_retrieval.release.layers import JoinedLinks, Layer, join_links
from sag_retrieval.release.manifest import Contents, layer_path
from sag_retrieval.release.mapped_arrays import PACKED_ROWS, map_array, pack_folder, save_array, save_rows, take_rows
from sag_retrieval.release.tables import RowFiles
from sag_retrieval.release.text_index import write_shown_text
from sag_retrieval.release.vectors import (
    PLACED,
    SPARSE,
    open_dense,
    open_sparse,
    save_sparse,
    write_placed,
    write_vectors,
)


def write_remaining(draft: Path, base: Base, number: int, resolution: Resolution) -> Mapping[str, int]:
    """Write the documents of a kept layer that are not left out, with the keys that they carry as these are now.

    Links, counts and words are those that readers see of this layer alone, so there is one way of making them.

    Returns:
        The rows of the layer by table.

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
    save_graph(folder / "arrays", links.graph)
    write_shown_text(folder / "arrays" / "text", layer.text, links.rows["chunks"], documents)
    write_names(folder / "arrays", rows)
    for name in KINDS:
        _write_vectors(folder / "arrays" / "vectors", name, base.contents, f"{below}arrays/vectors/", links.rows[name])
    save_array(folder / "arrays" / MADE_OF, map_array(place / "arrays" / MADE_OF)[documents.source])
    save_rows(folder / "arrays" / RESOLVED, carried_resolved(place, resolution))
    if number and len(links.rows["chunks"]) + len(links.rows["events"]) <= PACKED_ROWS:
        pack_folder(folder)
    return {name: table.num_rows for name, table in rows.items()}


def _rows(files: RowFiles, links: JoinedLinks, resolution: Resolution) -> dict[str, pa.Table]:
    """The tables of the layer; keys and their aliases as they are described now."""
    shown = {
        name: take_rows(files(name), joined.source) for name, joined in links.rows.items() if name != "key_aliases"
    }
    keys = counted_keys(shown["keys"], links.graph, resolution.smoothing)
    now = resolution.distinct.take(pa.array(places(keys["key_id"], resolution.distinct["key_id"])))
    described = {name: now[name] if name in now.column_names else keys[name] for name in keys.column_names}
    is_carried = pc.is_in(resolution.aliases["key_id"], keys["key_id"].combine_chunks())
    aliases = resolution.aliases.filter(is_carried).select(files("key_aliases").column_names)
    found = shown | {"keys": pa.table(described), "key_aliases": aliases}
    return {name: rows.cast(files(name).schema).combine_chunks() for name, rows in found.items()}


def _write_vectors(folder: Path, name: str, contents: Contents, below: str, shown: Joined) -> None:
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
        save_sparse(folder, name, open_sparse(place, name).shown(shown))
    else:
        vectors, rows = open_dense(place, name), np.arange(len(shown), dtype=np.int32)
        taken = vectors.take(shown.source.astype(np.int32))
        write_vectors(folder, name, [(rows, taken)], (len(rows), vectors.dimension))
