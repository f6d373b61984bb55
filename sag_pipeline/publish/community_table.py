"""The communities of a release as a Lance table beside its chunks, events and keys."""

import shutil
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from sag_retrieval.clusters.storage import COMMUNITIES
from sag_retrieval.core import durable
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.folders import DRAFT, delete
from sag_retrieval.release.projection import projected
from sag_retrieval.release.table import read_parquet
from sag_retrieval.release.vectors import LANCE, VECTOR, open_database
from sag_retrieval.topics.stored import categories_in, read_category_vectors


def show_communities(release: Path, embedder: Embedder) -> None:
    """Write the communities of a release to its Lance tables, the finest of two events and more with a vector.

    They are made after the release, and again: the table is no file that its manifest names.
    """
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
        durable.sync_all(sorted(draft.rglob("*"), reverse=True))
        if (release / LANCE / file).exists():
            delete(release / LANCE / file)
        durable.make_folder(release / LANCE)
        durable.rename(draft / file, release / LANCE / file)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
