"""Vectors are kept by text: found again in any order, and gone when no text needs them."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from sag_pipeline.store.vectors import VectorStore, vector_ids
from sag_retrieval.core.errors import ModelError

TEXTS = [f"text {n}" for n in range(40)]


def dense(rows: int) -> np.ndarray:
    return np.random.default_rng(0).random((rows, 8), dtype=np.float32)


def sparse(rows: int) -> csr_array:
    return csr_array(random_array((rows, 8), density=0.3, format="csr", dtype=np.float32, random_state=0))


@pytest.mark.parametrize("make", [dense, sparse])
@pytest.mark.parametrize("rows_a_block", [7, 1000])
def test_vectors_come_back_with_the_numbers_of_their_texts(tmp_path, make, rows_a_block):
    store = VectorStore(tmp_path, "model", 8)
    ids, vectors = vector_ids(TEXTS), make(40)
    store.append(ids[:25], vectors[:25])
    store.append(ids[25:], vectors[25:])
    order = np.random.default_rng(1).permutation(40)

    blocks = list(store.blocks(ids[order], rows_a_block))

    rows = np.concatenate([numbers for numbers, _ in blocks])
    found = np.concatenate([np.asarray(b.todense() if hasattr(b, "todense") else b) for _, b in blocks])
    wanted = vectors[order]
    assert sorted(rows.tolist()) == list(range(40))
    assert np.array_equal(found, (wanted.todense() if hasattr(wanted, "todense") else wanted)[rows])
    assert make is dense or rows.tolist() == list(range(40))


def test_a_text_without_a_vector_is_left_out(tmp_path):
    store = VectorStore(tmp_path, "model", 8)
    store.append(vector_ids(["a"]), dense(1))

    ((rows, vectors),) = store.blocks(vector_ids(["b", "a", "a"]), 10)

    assert rows.tolist() == [1, 2]
    assert vectors.shape == (2, 8)


def test_purging_keeps_only_the_texts_still_there(tmp_path):
    store = VectorStore(tmp_path, "model", 8)
    ids = vector_ids(TEXTS)
    store.append(ids, sparse(40))

    gone = store.purge(np.unique(ids[:5]))

    assert gone == 35
    assert store.known().tolist() == np.unique(ids[:5]).tolist()


@pytest.mark.parametrize(
    "vectors",
    [np.ones((2, 7), np.float32), np.ones((1, 8), np.float32), np.full((2, 8), np.nan, np.float32)],
    ids=["wrong dimension", "one missing", "not a number"],
)
def test_a_faulty_embedder_is_refused_before_anything_is_written(tmp_path, vectors):
    store = VectorStore(tmp_path, "model", 8)

    with pytest.raises(ModelError, match="SAG_EMBEDDING_MODEL"):
        store.append(vector_ids(["a", "b"]), vectors)

    assert len(store.known()) == 0
