"""What makes up the identity of vectors, and that a server is asked only for texts that have none."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sag_pipeline.embed import embed
from sag_retrieval import open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import AnswerError
from sag_retrieval.core.settings import MULTILINGUAL
from tests.support import small_onnx
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server(home, tmp_path, monkeypatch):
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "fox.md").write_text("# Fox\n\nThe Arctic fox lives in the tundra near Oslo.\n")
    with ChatServer() as running:
        monkeypatch.setenv("SAG_EMBEDDING_MODEL", "openai:scripted")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        yield running


def test_an_ingest_with_nothing_to_do_and_an_opened_release_send_no_request(server, tmp_path):
    release = bare_ingest(["inbox"])["release"]
    asked = len(server.embedded)

    assert bare_ingest(["inbox"])["release"] == release
    with open_release() as opened:
        assert opened.index.embedder.fingerprint == "openai:scripted:64"
        assert len(server.embedded) == asked

    (tmp_path / "inbox" / "owl.md").write_text("# Owl\n\nThe owl hunts at night.\n")
    bare_ingest(["inbox"])
    assert any("The owl hunts at night." in text for batch in server.embedded[asked:] for text in batch)


def test_prefixes_reach_texts_and_questions_and_a_change_embeds_again(server, monkeypatch):
    first = bare_ingest(["inbox"])["release"]
    monkeypatch.setenv("SAG_EMBEDDING_QUERY_PREFIX", "query: ")
    monkeypatch.setenv("SAG_EMBEDDING_PASSAGE_PREFIX", "passage: ")
    server.embedded.clear()

    second = bare_ingest(["inbox"])["release"]
    texts = [text for batch in server.embedded for text in batch if text != "dimension"]
    assert second != first
    assert texts
    assert all(text.startswith("passage: ") for text in texts if text != "passage: dimension")
    server.embedded.clear()
    assert bare_ingest(["inbox"])["release"] == second
    assert not server.embedded

    monkeypatch.delenv("SAG_EMBEDDING_QUERY_PREFIX")  # a release knows its own
    with open_release() as release:
        assert release.search("Where does the fox live?").hits
    assert server.embedded == [["query: Where does the fox live?"]]


def test_a_home_that_was_embedded_without_the_prefixes_of_its_family_keeps_its_vectors(server, monkeypatch):
    monkeypatch.setenv("SAG_EMBEDDING_MODEL", "openai:multilingual-e5-small")
    for name in ("QUERY", "PASSAGE"):
        monkeypatch.setenv(f"SAG_EMBEDDING_{name}_PREFIX", "")
    plain = bare_ingest(["inbox"])["release"]
    for name in ("QUERY", "PASSAGE"):
        monkeypatch.delenv(f"SAG_EMBEDDING_{name}_PREFIX")
    server.embedded.clear()

    assert bare_ingest(["inbox"])["release"] == plain
    assert not server.embedded

    monkeypatch.setenv("SAG_EMBEDDING_QUERY_PREFIX", "query: ")
    assert bare_ingest(["inbox"])["release"] != plain
    assert any(text.startswith("passage: ") for batch in server.embedded for text in batch)


def test_another_model_behind_the_name_is_told_with_a_way_on(server, tmp_path, monkeypatch):
    bare_ingest(["inbox"])
    server.dimension = 8
    with open_release() as release, pytest.raises(AnswerError, match=r"openai:scripted\?dimension=8"):
        release.search("Where does the fox live?")

    monkeypatch.setenv("SAG_EMBEDDING_MODEL", "openai:scripted?dimension=8")
    bare_ingest(["inbox"])
    with open_release() as release:
        assert release.search("Where does the fox live?").hits
        assert release.manifest.dimension == 8


def test_a_command_that_used_a_server_ends_without_a_word(server, tmp_path):
    command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", "inbox"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)

    assert "leaked" not in found.stderr
    assert "Task was destroyed" not in found.stderr


def test_a_cross_encoder_reorders_hits_and_scores_still_descend(home, tmp_path):
    if not (find_spec("fastembed") and find_spec("onnx")):
        pytest.skip("models: fastembed, onnx not installed, an extra or a package with weights")
    (tmp_path / "inbox").mkdir()
    texts = {
        "one": "Kestrel and Heron are firms. Kestrel sold a Heron in May.",
        "two": "The sensors of the Heron buoy were made by Kestrel in a works by the river, as the prices rose.",
        "three": "Steel prices rose.",
    }
    for name, text in texts.items():
        (tmp_path / "inbox" / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    (tmp_path / "encoder").mkdir()
    small_onnx.write_cross_encoder(tmp_path / "encoder")
    bare_ingest(["inbox"])
    question, options = "Kestrel Heron the of by", {"rerank": f"fastembed:{tmp_path / 'encoder'}"}

    with open_release() as release:
        usual = release.search(question)
        reordered = release.search(question, options=options)
        first = release.search(question, top_k=1, options=options)

    assert [hit.document_id for hit in usual][:2] == ["one.md", "two.md"]
    assert [hit.document_id for hit in reordered][:2] == ["two.md", "one.md"]
    assert [hit.document_id for hit in first] == ["two.md"]
    assert [hit.parts["bm25"] for hit in reordered][:2] == [hit.parts["bm25"] for hit in usual][1::-1]


def embedder_of_release():
    with open_release() as release:
        return release.manifest.embedding_model


def test_auto_is_hashing_where_its_model_is_missing_and_the_home_keeps_that(home, tmp_path, monkeypatch, caplog):
    embed._embedder_of_new_home.cache_clear()
    (tmp_path / "fox.md").write_text("The Arctic fox lives in the tundra near Oslo.\n")
    monkeypatch.setenv("SAG_EMBEDDING_MODEL", "auto")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "model2vec", None)
        bare_ingest(["fox.md"])
    said = [one.message for one in caplog.records if "SAG_EMBEDDING_MODEL=auto" in one.message]

    assert embedder_of_release() == "hashing"
    assert len(said) == 1
    assert 'pip install "sag[model2vec]"' in said[0]

    embed._embedder_of_new_home.cache_clear()
    (tmp_path / "owl.md").write_text("The owl hunts at night.\n")
    bare_ingest(["owl.md"])
    assert embedder_of_release() == "hashing"


def test_auto_is_the_multilingual_model_where_it_loads_and_stays_it(home, tmp_path, monkeypatch):
    if find_spec("model2vec") is None:
        pytest.skip("models: model2vec not installed, an extra or a package with weights")
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    embed._embedder_of_new_home.cache_clear()
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "fox": 1, "owl": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    StaticModel(np.eye(3, 8, dtype=np.float32), tokenizer).save_pretrained(tmp_path / MULTILINGUAL.partition(":")[2])
    (tmp_path / "fox.md").write_text("The Arctic fox lives in the tundra near Oslo.\n")
    monkeypatch.setenv("SAG_EMBEDDING_MODEL", "auto")

    bare_ingest(["fox.md"])
    assert embedder_of_release() == MULTILINGUAL
    assert "cosine (static) beside BM25: 30%" in CliRunner().invoke(main, ["search", "Arctic fox", "--explain"]).output

    monkeypatch.setenv("SAG_EMBEDDING_MODEL", MULTILINGUAL)
    assert not bare_ingest(["fox.md"])["is_new"]
