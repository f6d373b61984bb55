"""LanceDB's own hybrid search over the chunks of a release, with the vectors that its own methods use.

Its full-text index (ICU words, as the sets are of many languages; else its defaults) and its vector search, joined by
its reciprocal rank fusion. A chunk is indexed by its text with its header, which begins with the document's title, and
the document's id before it: what BM25 has.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS
from lancedb.query import MatchQuery
from lancedb.rerankers import RRFReranker
from scipy.sparse import issparse

from sag_retrieval import Release
from sag_retrieval.search.hits import build_result
from sag_retrieval.search.method import Query, Ranking
from sag_retrieval.search.result import Hit

LANCE = "lancedb"


def asking_lance(release: Release, depth: int) -> Callable[[str], Sequence[Hit]]:
    """How to ask: the table is made once and kept as long as the function is."""
    folder = tempfile.TemporaryDirectory(prefix="lancedb-")
    table = _filled(Path(folder.name), release)

    def ask(text: str, _kept: object = folder) -> Sequence[Hit]:
        vector = _dense(release.index.embedder.embed([text]))[0]
        query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        found = query.vector(vector).text(MatchQuery(text, "text")).rerank(RRFReranker()).limit(depth).to_arrow()
        rows = found["row"].to_numpy().astype(np.int32)
        scores = np.asarray(found["_relevance_score"].to_numpy(), float)
        ranking = Ranking(chunks=rows, scores=scores)
        return build_result(release.index, Query(text, top_k=depth), ranking, release="", method=LANCE).hits

    return ask


def _filled(folder: Path, release: Release) -> Any:  # noqa: ANN401  lancedb has no types
    chunks = release.index.rows["chunks"]
    texts = [
        "\n".join(parts)
        for parts in zip(*(chunks[name].to_pylist() for name in ("header", "document_id", "text")), strict=True)
    ]
    vectors = _dense(release.index.arrays.vectors["chunks"].take(np.arange(len(texts), dtype=np.int32)))
    flat = pa.array(vectors.ravel())
    table = lancedb.connect(folder).create_table(
        "chunks",
        pa.table(
            {
                "row": pa.array(np.arange(len(texts), dtype=np.int32)),
                "text": texts,
                "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
            }
        ),
    )
    table.create_index("text", config=FTS(base_tokenizer="icu"))
    return table


def _dense(vectors: Any) -> np.ndarray:  # noqa: ANN401  sparse or dense
    return np.ascontiguousarray(vectors.toarray() if issparse(vectors) else vectors, dtype=np.float32)
