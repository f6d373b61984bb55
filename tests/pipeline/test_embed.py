"""A text is embedded once, whoever has it, and its vector is appended in large pieces."""

import numpy as np
import pyarrow as pa
import pytest

from sag_pipeline.embed import embed
from sag_pipeline.embed.embed import NewVectors, open_embedding
from sag_pipeline.publish.build import Embedding
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import VectorStore, vector_ids
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


@pytest.mark.slow
def test_documents_are_committed_with_their_vectors_in_large_pieces(home, tmp_path, monkeypatch):
    monkeypatch.setattr(embed, "_DOCUMENTS_A_BATCH", 2)
    (tmp_path / "inbox").mkdir()
    for n in range(7):
        (tmp_path / "inbox" / f"{n}.md").write_text(
            f"# Log {n}\n\nThe Egret left pier {n} at noon.\n", encoding="utf-8"
        )

    bare_ingest(["inbox"])

    store = Store(home)
    vectors = open_embedding(store, "hashing").vectors
    assert {kind: vectors.tables.sealed()[kind].rows > 0 for kind in ("chunks", "events", "keys")} == dict.fromkeys(
        ("chunks", "events", "keys"), True
    )
    assert len(list((home / "vectors").glob("*/[cek]*.lance/data/*"))) == 3  # those of projections are named so
    assert vectors.known().tolist() == embed.wanted_vectors(store).tolist()
