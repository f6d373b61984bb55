"""Vectors are kept by text: found again in any order, and gone when no text needs them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sag_pipeline.store.lance_tables import LanceTables
from sag_pipeline.store.parts import write_sealed
from sag_pipeline.store.vectors import VectorStore, fixed, vector_ids
from sag_retrieval.core.errors import ModelError, StoreError
from sag_retrieval.release.vectors import open_lance, open_placed, write_placed, write_runs

TEXTS = [f"text {n}" for n in range(40)]


def dense(rows: int) -> np.ndarray:
    return np.random.default_rng(0).random((rows, 8), dtype=np.float32)


@pytest.mark.parametrize("rows_a_block", [7, 1000])
def test_vectors_come_back_with_the_numbers_of_their_texts(tmp_path, rows_a_block):
    store = VectorStore(tmp_path, "model", 8)
    ids, vectors = vector_ids(TEXTS), dense(40)
    store.append("events", ids[:25], vectors[:25])
    store.append("events", ids[25:], vectors[25:])
    order = np.random.default_rng(1).permutation(40)

    blocks = list(store.blocks(ids[order], rows_a_block))

    rows = np.concatenate([numbers for numbers, _ in blocks])
    found = np.concatenate([block for _, block in blocks])
    assert sorted(rows.tolist()) == list(range(40))
    assert np.array_equal(found, vectors[order][rows])


def test_a_text_without_a_vector_is_left_out(tmp_path):
    store = VectorStore(tmp_path, "model", 8)
    store.append("events", vector_ids(["a"]), dense(1))

    ((rows, vectors),) = store.blocks(vector_ids(["b", "a", "a"]), 10)

    assert rows.tolist() == [1, 2]
    assert vectors.shape == (2, 8)


def test_purging_keeps_only_the_texts_still_there(tmp_path):
    store = VectorStore(tmp_path, "model", 8)
    ids = vector_ids(TEXTS)
    store.append("events", ids, dense(40))

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
        store.append("events", vector_ids(["a", "b"]), vectors)

    assert len(store.known()) == 0


def rows_of(store: VectorStore, ids: np.ndarray) -> np.ndarray:
    """The vectors of texts that all have one, in order."""
    ((rows, vectors),) = store.blocks(ids, len(ids))
    assert rows.tolist() == list(range(len(ids)))
    return np.asarray(vectors)


class Killed(BaseException):
    """Stands for a kill."""


def test_an_append_that_was_cut_off_leaves_what_was_there_and_is_done_again_once(tmp_path, monkeypatch):
    store, ids, vectors = VectorStore(tmp_path, "model", 8), vector_ids(TEXTS), dense(40)
    store.append("events", ids[:25], vectors[:25])

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LanceTables, "_save", killed)
        with pytest.raises(Killed):
            store.append("events", ids[25:], vectors[25:])
    after = VectorStore(tmp_path, "model", 8)
    assert after.known().tolist() == np.unique(ids[:25]).tolist()
    after.append("events", ids[25:], vectors[25:])

    assert after.count() == 40
    assert np.array_equal(rows_of(after, ids), vectors)
    table = after.tables.sealed()["events"]
    on_disk = (tmp_path / "vectors/model" / table.folder).rglob("*")
    assert {path.name for path in on_disk if path.is_file()} == {Path(name).name for name in table.files}


def test_what_a_release_links_outlives_purging_and_compacting(tmp_path):
    store, ids, vectors = VectorStore(tmp_path, "model", 8), vector_ids(TEXTS), dense(40)
    store.append("events", ids, vectors)
    runs, row_ids = store.tables.sealed()["events"].runs, store.row_ids("events", ids)
    store.link("events", tmp_path / "release/lance/events.lance")
    write_placed(tmp_path / "release/arrays/vectors", "events", row_ids)
    write_runs(tmp_path / "release/arrays/vectors", "events", runs, 8)
    (data,) = (tmp_path / "release/lance/events.lance/data").iterdir()
    assert data.stat().st_nlink == 2

    store.purge(np.unique(ids[:3]))

    assert data.stat().st_nlink == 1
    assert np.array_equal(open_placed(tmp_path / "release/arrays/vectors", "events")[:], vectors)
    assert np.array_equal(rows_of(store, ids[:3]), vectors[:3])


def test_purged_vectors_are_in_no_file(tmp_path):
    store, ids, vectors = VectorStore(tmp_path, "model", 8), vector_ids(TEXTS), dense(40)
    for start in range(0, 40, 10):
        store.append("chunks", ids[start : start + 10], vectors[start : start + 10])

    store.purge(np.unique(ids[1:]))

    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert vectors[0].tobytes() not in held
    assert vectors[1].tobytes() in held


def test_purging_writes_only_the_files_again_that_hold_what_goes_and_rows_keep_their_ids(tmp_path):
    store, ids, vectors = VectorStore(tmp_path, "model", 8), vector_ids(TEXTS), dense(40)
    for start in range(0, 40, 10):
        store.append("chunks", ids[start : start + 10], vectors[start : start + 10])
    row_ids, before = store.row_ids("chunks", ids), store.tables.sealed()["chunks"]
    kept = np.ones(40, np.bool_)

    for gone in ([13, 17], [11, 25], []):
        kept[gone] = False
        store.purge(np.unique(ids[kept]))

    after, arrays = store.tables.sealed()["chunks"], tmp_path / "release/arrays/vectors"
    data = [{file for file in table.files if file.startswith("data/")} for table in (before, after)]
    assert after.folder == before.folder
    assert (len(data[0] & data[1]), len(data[1])) == (2, 3)
    assert np.array_equal(rows_of(store, ids[kept]), vectors[kept])
    store.link("chunks", tmp_path / "release/lance/chunks.lance")
    write_placed(arrays, "chunks", row_ids)
    write_runs(arrays, "chunks", after.runs, 8, after.folder, after.moved)
    placed = open_placed(arrays, "chunks")
    assert np.array_equal(placed[:], np.where(kept[:, None], vectors, 0))
    lance = open_lance(tmp_path / "release", "chunks", open_placed(arrays, "chunks"), None)
    assert np.array_equal(lance.take(np.flatnonzero(kept).astype(np.int32)), vectors[kept])
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert [n for n in range(40) if vectors[n].tobytes() in held] == np.flatnonzero(kept).tolist()


def test_a_purge_that_was_cut_off_is_done_again(tmp_path, monkeypatch):
    store, ids, vectors = VectorStore(tmp_path, "model", 8), vector_ids(TEXTS), dense(40)
    for start in (0, 20):
        store.append("chunks", ids[start : start + 20], vectors[start : start + 20])

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LanceTables, "_save", killed)
        with pytest.raises(Killed):
            store.purge(np.unique(ids[1:]))
    after = VectorStore(tmp_path, "model", 8)
    after.append("chunks", vector_ids(["more"]), vectors[:1] + 1)
    assert np.array_equal(rows_of(after, ids), vectors)
    after.purge(np.unique(ids[1:]))

    assert np.array_equal(rows_of(after, ids[1:]), vectors[1:])
    assert after.count() == 39


def test_many_appends_become_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr("sag_pipeline.store.vectors.MOST_FILES", 4)
    store, ids, vectors = VectorStore(tmp_path, "model", 8), vector_ids(TEXTS), dense(40)
    for start in range(0, 40, 8):
        store.append("events", ids[start : start + 8], vectors[start : start + 8])

    store.compact()

    assert len(list(tmp_path.rglob("data/*"))) == 1
    assert np.array_equal(rows_of(store, ids), vectors)


def test_vectors_of_version_0_1_are_moved_bit_by_bit_to_the_kinds_that_want_them(tmp_path):
    ids, vectors = vector_ids(TEXTS), dense(40)
    for start in (0, 15):  # with five texts in both
        write_sealed(
            old_rows(ids[start : start + 20], vectors[start : start + 20]), tmp_path / "vectors/model", f"p{start}"
        )
    store = VectorStore(tmp_path, "model", 8)
    assert (store.count(), len(store.old_ids())) == (40, 35)

    store.adopt({"chunks": np.unique(ids[:10]), "events": np.unique(ids[5:35]), "keys": np.empty(0, "S16")})

    assert not store.is_old()
    assert not list(tmp_path.rglob("*.parquet"))
    assert store.known("chunks").tolist() == np.unique(ids[:10]).tolist()
    assert store.known("events").tolist() == np.unique(ids[5:35]).tolist()
    assert np.array_equal(rows_of(store, ids[:35]), vectors[:35])


def old_rows(ids: np.ndarray, vectors: np.ndarray) -> pa.Table:
    """Rows as version 0.1 wrote them."""
    values = pa.array([row.tobytes() for row in vectors], pa.binary(4 * vectors.shape[1]))
    return pa.table({"vector_id": fixed(ids), "values": values})


@pytest.mark.parametrize("pattern", ["*/data/*", "*/_versions/*", "sealed.json"])
def test_a_damaged_file_is_named_before_lance_reads_it(tmp_path, pattern):
    store = VectorStore(tmp_path, "model", 8)
    store.append("events", vector_ids(TEXTS), dense(40))
    path = next((tmp_path / "vectors/model").glob(pattern))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)

    with pytest.raises(StoreError, match=rf"{path.name} is damaged .*`sag repair`"):
        VectorStore(tmp_path, "model", 8).known()


def test_of_a_damaged_table_the_rows_of_other_files_are_kept(tmp_path):
    store, ids, vectors = VectorStore(tmp_path, "model", 8), vector_ids(TEXTS), dense(40)
    store.append("events", ids[:25], vectors[:25])
    first = next(tmp_path.rglob("data/*"))
    store.append("events", ids[25:], vectors[25:])
    first.write_bytes(b"nothing")

    LanceTables(tmp_path / "vectors/model").salvage()

    after = VectorStore(tmp_path, "model", 8)
    assert after.known().tolist() == np.unique(ids[25:]).tolist()
    assert np.array_equal(rows_of(after, ids[25:]), vectors[25:])


@pytest.mark.slow
def test_counting_does_not_load_lance(tmp_path):
    VectorStore(tmp_path, "model", 8).append("events", vector_ids(TEXTS), dense(40))
    code = (
        "import sys; from pathlib import Path; from sag_pipeline.store.vectors import VectorStore\n"
        f"print(VectorStore(Path({str(tmp_path)!r}), 'model', 8).count(), 'lancedb' in sys.modules)"
    )

    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "40 False\n"
    )


def test_an_index_of_lance_is_linked_and_finds_what_the_mapped_rows_have(tmp_path, monkeypatch):
    monkeypatch.setattr("sag_pipeline.store.vectors.INDEXED_ROWS", 1_000)
    made = np.random.default_rng(2).standard_normal((3_000, 16), dtype=np.float32)
    vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    store, ids = VectorStore(tmp_path, "model", 16), vector_ids(str(n) for n in range(3_000))
    store.append("events", ids[:2_900], vectors[:2_900])
    store.index("events")
    store.append("events", ids[2_900:], vectors[2_900:])
    indexed = dict(store.tables.sealed()["events"].files)
    store.index("events")  # few rows are outside of it
    arrays = tmp_path / "release/arrays/vectors"
    store.link("events", tmp_path / "release/lance/events.lance")
    write_placed(arrays, "events", store.row_ids("events", ids))
    write_runs(arrays, "events", store.tables.sealed()["events"].runs, 16)

    lance, placed = (
        open_lance(arrays.parent.parent, "events", open_placed(arrays, "events"), None),
        open_placed(arrays, "events"),
    )

    assert dict(store.tables.sealed()["events"].files) == indexed
    assert any(name.startswith("_indices/") for name in indexed)
    assert lance._is_indexed
    assert np.array_equal(placed[:], vectors)
    allowed = np.arange(3_000) % 3 == 0
    for query in vectors[::500]:
        exact = np.argsort(-(vectors @ query), kind="stable")[:10]
        assert len(np.intersect1d(lance.top(query, 10)[0], exact)) >= 9
        rows, scores = lance.top(query, 10, allowed)
        assert allowed[rows].all()
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)
        assert np.allclose(lance.scores(query, rows), scores)
        assert np.allclose(placed.products(query), vectors @ query, atol=1e-6)
