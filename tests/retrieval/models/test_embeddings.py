"""Dense embedders against the scripted server."""

import numpy as np
import pytest

from sag_retrieval.core.errors import AnswerError, SettingsError
from sag_retrieval.core.settings import load_settings
from sag_retrieval.models.open import open_chat, open_dense, open_embedder
from sag_retrieval.models.openai import BATCH, BATCH_TOKENS, OpenAIEmbedder, _decoded, unit_rows
from tests.support.chat_server import ChatServer, vector_of


def test_texts_are_embedded_in_batches_and_in_order():
    texts = [f"text {n}" for n in range(2 * BATCH + 5)]

    with ChatServer() as server:
        rows = OpenAIEmbedder("m", base_url=server.base_url, api_key="none").embed(texts)

    assert sorted(map(len, server.embedded)) == [5, BATCH, BATCH]
    assert rows.shape == (len(texts), 64)
    assert np.allclose(rows, [vector_of(text) for text in texts], atol=1e-6)


@pytest.mark.parametrize("server", [{"ignores": {"base64"}}, {"refuses": {"base64"}}])
def test_a_server_without_base64_gives_the_same_vectors(server):
    texts = [f"text {n}" for n in range(BATCH + 1)]

    with ChatServer(**server) as running:
        embedder = OpenAIEmbedder("m", base_url=running.base_url, api_key="none")
        rows = embedder.embed(texts)
        again = embedder.embed(texts[:1])

    assert np.allclose(rows, [vector_of(text) for text in texts], atol=1e-6)
    assert (again == rows[:1]).all()


def test_a_request_holds_a_bounded_number_of_tokens():
    texts = ["word " * (BATCH_TOKENS // 2), "short", "词" * BATCH_TOKENS * 2, "short", "word " * (BATCH_TOKENS // 2)]

    with ChatServer() as server:
        rows = OpenAIEmbedder("m", base_url=server.base_url, api_key="none").embed(texts)

    assert sorted(map(len, server.embedded)) == [1, 2, 2]
    assert (rows[1] == rows[3]).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)


@pytest.mark.parametrize("damaged", ["AAAA*", "AAAA"])
def test_a_damaged_vector_is_an_error(damaged):
    with pytest.raises(AnswerError, match="cannot be read"):
        _decoded(damaged)


def test_empty_texts_are_rows_of_zeros_and_are_not_sent():
    with ChatServer() as server:
        rows = OpenAIEmbedder("m", base_url=server.base_url, api_key="none").embed(["", "一", "  "])

    assert server.embedded == [["一"]]
    assert np.linalg.norm(rows, axis=1).round(5).tolist() == [0, 1, 0]


def test_no_text_gives_no_row():
    with ChatServer() as server:
        embedder = OpenAIEmbedder("m", base_url=server.base_url, api_key="none")
        embedder.expect("openai:m:64")
        rows = embedder.embed([])

    assert rows.shape == (0, 64)
    assert not server.embedded


def test_the_dimension_is_asked_for_once_and_enters_the_fingerprint():
    with ChatServer(dimension=8) as server:
        embedder = OpenAIEmbedder("m", base_url=server.base_url, api_key="none")

        assert embedder.fingerprint == "openai:m:8"
        assert embedder.dimension == 8

    assert len(server.embedded) == 1


def test_another_dimension_than_promised_is_an_error():
    with ChatServer(dimension=8) as server:
        embedder = OpenAIEmbedder("m", base_url=server.base_url, api_key="none")
        embedder.expect("openai:m:16")
        with pytest.raises(AnswerError, match="expected 16"):
            embedder.embed(["a"])


def test_a_number_that_is_not_finite_is_an_error():
    with pytest.raises(AnswerError, match="not finite"):
        unit_rows(np.array([[1, np.nan]], np.float32))


def test_names_of_settings_open_their_models(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    assert open_chat(load_settings(chat_model="offline")) is None
    assert open_chat(load_settings(chat_model="openai:gpt")).model_id == "openai:gpt"
    assert open_dense("openai:e").__class__ is OpenAIEmbedder
    with pytest.raises(SettingsError, match="open_embedder"):
        open_dense("hashing")
    with pytest.raises(SettingsError, match="none of 'hashing', 'openai:<model>'"):
        open_embedder("word2vec", tmp_path)
