"""A text is embedded once, whoever has it, and its vector is appended in large pieces."""

import numpy as np
import pyarrow as pa
import pytest

from sag_pipeline.embed import embed
from sag_pipeline.embed.embed import NewVectors, open_embedding
from sag_pipeline.options import IngestOptions
from sag_pipeline.publish.build import Embedding
from sag_pipeline.step_runner import step_of
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import VectorStore, fixed, vector_ids
from sag_retrieval import open_release
from sag_retrieval.core.errors import ModelError
from tests.support.bare_ingest import bare_ingest


class Counting:
    """Embeds letters, and keeps what it was asked."""

    dimension, fingerprint = 4, "counting"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: list[str]) -> np.ndarray:
        self.asked += texts
        return np.array([[ord(text[0]), 1, 0, 0] for text in texts], np.float32)


class Failing(Counting):
    """Fails for one text."""

    def embed(self, texts: list[str]) -> np.ndarray:
        if "c" in texts:
            raise ModelError("the server is down")
        return super().embed(texts)


def appending(tmp_path, embedder: Counting) -> tuple[NewVectors, VectorStore]:
    vectors = VectorStore(tmp_path, "counting", 4)
    return NewVectors(Embedding("counting", embedder, vectors, lambda _: None)), vectors


def new(piece: NewVectors, texts: dict[str, list[str]]) -> int:
    """Embed texts by kind; how many were new."""
    return sum(piece.embed((kind, pa.array(each, pa.string())) for kind, each in texts.items()))


def test_a_text_of_several_kinds_is_sent_once_and_kept_by_each(tmp_path):
    embedder = Counting()
    piece, vectors = appending(tmp_path, embedder)

    assert new(piece, {"chunks": ["b", "a", "b"], "events": ["a"], "keys": []}) == 2
    piece.flush()
    again, _ = appending(tmp_path, embedder)
    assert new(again, {"chunks": ["a"], "events": ["a", "c"], "keys": ["b"]}) == 1
    again.flush()

    assert embedder.asked == ["b", "a", "c"]
    wanted = {"chunks": "ab", "events": "ac", "keys": "b"}
    assert {kind: vectors.known(kind).tolist() for kind in wanted} == {
        kind: sorted(vector_ids(texts).tolist()) for kind, texts in wanted.items()
    }
    ((_, found),) = vectors.blocks(vector_ids("abc"), 10)
    assert found[:, 0].tolist() == [ord("a"), ord("b"), ord("c")]


def test_what_was_embedded_before_a_failure_can_be_appended(tmp_path):
    embedder = Failing()
    piece, vectors = appending(tmp_path, embedder)

    with pytest.raises(ModelError):
        new(piece, {"chunks": ["a"], "events": ["c"], "keys": []})
    piece.flush()

    assert vectors.known().tolist() == vector_ids("a").tolist()


@pytest.fixture
def inbox(tmp_path):
    (tmp_path / "inbox").mkdir()
    for n in range(7):
        text = f"# Log {n}\n\nThe Egret left pier {n} at noon.\n"
        (tmp_path / "inbox" / f"{n}.md").write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("inbox")
def test_documents_are_committed_with_their_vectors_in_large_pieces(home, monkeypatch):
    monkeypatch.setattr(embed, "_DOCUMENTS_A_BATCH", 2)
    bare_ingest(["inbox"])

    with Store.locked(home) as store:
        vectors = VectorStore(home, "counting", 4)
        step = step_of("vectors", IngestOptions(), "counting")
        tally = embed.embed_pending(store, step, Embedding("counting", Counting(), vectors, lambda _: None))

        assert tally.counts["rows"] == len(vectors.known())
        assert len(list((home / "vectors/counting").glob("[cek]*.lance/data/*"))) == 3
        assert vectors.known().tolist() == embed.wanted_vectors(store).tolist()


@pytest.mark.slow
@pytest.mark.usefixtures("inbox")
def test_vectors_of_hashing_are_kept_by_releases_alone_and_leave_homes_that_kept_them(home, tmp_path):
    bare_ingest(["inbox"])
    store = Store(home)
    tables = open_embedding(store, "hashing").vectors.tables
    shown = {"projected_chunks", "projected_events", "projected_keys"}
    assert {*tables.sealed()} == shown
    row = {"vector_id": fixed(vector_ids(["a"])), "indices": [b"\1\0"], "values": [b"\0\0\0\0"]}
    tables.show("events", iter([pa.RecordBatch.from_pydict(row)]))
    (tmp_path / "inbox" / "8.md").write_text("# Log 8\n\nThe Heron came at two.\n", encoding="utf-8")

    bare_ingest(["inbox"])

    assert {*tables.sealed()} == shown
    with open_release(home) as release:
        assert release.search("When did the Heron come?").hits[0].document_id == "8.md"
