"""The vectors of communities as categories: one of title and summary for each of the finest with two events."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array, issparse, vstack

from sag_retrieval.clusters.storage import DAMAGE
from sag_retrieval.models.protocols import Embedder, Vectors
from sag_retrieval.release.table import read_parquet

VECTORS: Final = "categories.npz"
_FEWEST_EVENTS: Final = 2
"""A community of one event is that event, which its own tier finds."""
_COLUMNS: Final = ["community_id", "title", "summary", "level", "size"]
Stored = Mapping[str, npt.NDArray[Any]]


def categories_in(communities: pa.Table) -> pa.Table:
    """The rows of the finest communities of two events and more."""
    finest = pc.equal(communities["level"], pc.min(communities["level"]))
    return communities.filter(pc.and_(finest, pc.greater_equal(communities["size"], _FEWEST_EVENTS)))


def category_texts(categories: pa.Table) -> list[str]:
    """The text of each that is embedded."""
    pairs = zip(categories["title"].to_pylist(), categories["summary"].to_pylist(), strict=True)
    return [f"{title}: {summary}" for title, summary in pairs]


def write_category_vectors(folder: Path, embedder: Embedder, earlier: Path | None = None) -> None:
    """Write the vectors of the communities in a folder.

    Args:
        folder: Has the table of communities.
        embedder: That of the release.
        earlier: Such a folder of an earlier release: its texts are not embedded again.

    """
    texts = category_texts(categories_in(read_parquet(folder / "communities.parquet", columns=_COLUMNS)))
    known, old = _earlier(earlier, embedder)
    fresh = [text for text in dict.fromkeys(texts) if text not in known]
    number = known | {text: len(known) + place for place, text in enumerate(fresh)}
    parts = [each for each in (old, embedder.embed(fresh) if fresh else None) if each is not None]
    if not parts:
        np.savez(folder / VECTORS, fingerprint=np.array(embedder.fingerprint))
        return
    rows = _joined(parts)[np.array([number[text] for text in texts], np.int64)]
    write = np.savez_compressed if issparse(rows) else np.savez  # every release in a bucket sends this file
    write(folder / VECTORS, fingerprint=np.array(embedder.fingerprint), **_as_arrays(rows))


def read_category_vectors(folder: Path, embedder: Embedder) -> Vectors | None:
    """The vectors in a folder, in the order of `categories_in`; None without any of this embedder."""
    try:
        with np.load(folder / VECTORS) as stored:
            return _as_vectors(stored) if str(stored["fingerprint"]) == embedder.fingerprint else None
    except DAMAGE:
        return None


def _earlier(folder: Path | None, embedder: Embedder) -> tuple[dict[str, int], Vectors | None]:
    """Row by text, and the vectors, of an earlier release; nothing where they cannot be used."""
    vectors = read_category_vectors(folder, embedder) if folder else None
    if folder is None or vectors is None:
        return {}, None
    try:
        texts = category_texts(categories_in(read_parquet(folder / "communities.parquet", columns=_COLUMNS)))
    except DAMAGE:
        return {}, None
    if len(texts) != vectors.shape[0]:
        return {}, None
    return {text: row for row, text in enumerate(texts)}, vectors


def _joined(parts: Sequence[Vectors]) -> Vectors:
    sparse = [part for part in parts if isinstance(part, csr_array)]
    if not sparse:
        return np.concatenate([np.asarray(part, np.float32) for part in parts])
    stacked: csr_array = vstack(sparse, format="csr")
    return stacked


def _as_arrays(vectors: Vectors) -> dict[str, Any]:
    if not issparse(vectors):
        return {"dense": np.asarray(vectors, np.float32)}
    rows = csr_array(vectors)
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}


def _as_vectors(stored: Stored) -> Vectors | None:
    if "dense" in stored:
        return np.asarray(stored["dense"], np.float32)
    if "data" not in stored:
        return None
    parts = (stored["data"], stored["indices"], stored["indptr"])
    return csr_array(parts, shape=tuple(stored["shape"].tolist()))
