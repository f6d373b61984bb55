"""Retrievers of other packages find what `Release.search` finds, and tell where it stands."""

import asyncio
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from sag_retrieval import FilterError, open_release
from tests.support.loops import finished

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # it tells its makers of every run
QUESTION = "Who built the Heron buoy?"
SEARCH = {"method": "hybrid", "where": {"metadata.department": "sales"}, "sql": "date >= '2020'"}


@pytest.fixture(scope="module")
def release(served_home):
    with open_release(served_home) as opened:
        yield opened


@pytest.fixture
def wanted(release):
    return release.search(QUESTION, top_k=2, **SEARCH)


def package(name: str):
    """A package of its own, or a skip; what it warns of while it is imported is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"serve: {name} not installed, an extra")


def test_langchain(release, wanted):
    package("langchain_core")
    from sag_retrieval.serve.langchain import LangChainRetriever

    found = LangChainRetriever(release, k=2, **SEARCH).invoke(QUESTION)

    assert [each.id for each in found] == [hit.chunk_id for hit in wanted]
    assert [each.page_content for each in found] == [hit.text for hit in wanted]
    check_metadata(found[0].metadata, wanted)
    assert len(LangChainRetriever(release).invoke(QUESTION, k=1)) == 1
    with pytest.raises(FilterError):
        LangChainRetriever(release, sql="DROP TABLE events").invoke(QUESTION)


def check_metadata(metadata, wanted) -> None:
    hit = wanted[0]
    names = ("document_id", "title", "place", "start", "end", "score", "chunk_id")
    assert {name: metadata[name] for name in names} == {name: getattr(hit, name) for name in names}
    assert metadata["release"] == wanted.release
    assert metadata["events"] == [event.content for event in hit.events]
    assert len(metadata["keys"]) == len(hit.keys)


@pytest.mark.slow
def test_the_standard_suite_of_langchain_passes(served_home, tmp_path):
    package("langchain_tests")
    package("pytest_asyncio")
    suite = tmp_path / "test_suite.py"
    suite.write_text(
        "from langchain_tests.integration_tests import RetrieversIntegrationTests\n"
        "from sag_retrieval.serve.langchain import LangChainRetriever\n\n\n"
        "class TestSagRetriever(RetrieversIntegrationTests):\n"
        "    retriever_constructor = LangChainRetriever\n"
        "    retriever_constructor_params = {'method': 'sag'}\n"
        f"    retriever_query_example = {QUESTION!r}\n"
    )
    settings = ["-o", "asyncio_mode=auto", "-p", "no:xdist", "-p", "no:cacheprovider", "-W", "ignore"]
    environment = {**os.environ, "SAG_HOME": str(served_home), "PYTHONPATH": str(Path(__file__).parents[2])}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), *settings, str(suite)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def test_llama_index(release, wanted):
    package("llama_index.core")
    from sag_retrieval.serve.llama_index import LlamaIndexQueryEngine, LlamaIndexRetriever

    found = LlamaIndexRetriever(release, k=2, **SEARCH).retrieve(QUESTION)
    answer = LlamaIndexQueryEngine(release).query(QUESTION)
    said = release.ask(QUESTION)

    assert [each.node_id for each in found] == [hit.chunk_id for hit in wanted]
    assert (found[0].node.start_char_idx, found[0].node.end_char_idx) == (wanted[0].start, wanted[0].end)
    assert found[0].node.source_node.node_id == wanted[0].document_id
    assert found[0].score == wanted[0].score
    check_metadata(found[0].metadata, wanted)
    assert str(answer) == said.text
    assert [node.text for node in answer.source_nodes] == [each.quote for each in said.citations]


def test_a_query_engine_of_llama_index_answers_from_the_retriever(release):
    package("llama_index.core")
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine

    from sag_retrieval.serve.llama_index import LlamaIndexRetriever

    engine = RetrieverQueryEngine.from_args(LlamaIndexRetriever(release, k=2), llm=MockLLM())
    found = engine.query(QUESTION)

    assert [each.node_id for each in found.source_nodes] == [hit.chunk_id for hit in release.search(QUESTION, top_k=2)]
    assert release.search(QUESTION)[0].text[:40] in str(found)


def test_haystack(served_home, wanted):
    package("haystack")
    from haystack import Pipeline
    from haystack.core.serialization_security import allow_deserialization_module

    from sag_retrieval.serve.haystack import HaystackRetriever

    pipeline = Pipeline()
    pipeline.add_component("retriever", HaystackRetriever(home=str(served_home), k=2, **SEARCH))
    allow_deserialization_module("sag_retrieval.*")
    again = Pipeline.loads(pipeline.dumps())
    found = again.run({"retriever": {"query": QUESTION}})["retriever"]["documents"]

    assert again.dumps() == pipeline.dumps()
    assert [each.content for each in found] == [hit.text for hit in wanted]
    assert [each.score for each in found] == [hit.score for hit in wanted]
    check_metadata(found[0].meta, wanted)


@pytest.mark.parametrize("kind", ["langchain_core", "llama_index.core", "haystack"])
def test_asking_asynchronously_holds_up_no_other_task(release, served_home, kind, monkeypatch):
    package(kind)
    begun, go_on = threading.Event(), threading.Event()
    search = type(release).search

    def waiting(*given, **named):
        begun.set()
        assert go_on.wait(20)
        return search(*given, **named)

    monkeypatch.setattr(type(release), "search", waiting)
    if kind == "langchain_core":
        from sag_retrieval.serve.langchain import LangChainRetriever

        asked = LangChainRetriever(release, k=1).ainvoke(QUESTION)
    elif kind == "haystack":
        from sag_retrieval.serve.haystack import HaystackRetriever

        asked = HaystackRetriever(home=str(served_home), k=1).run_async(QUESTION)
    else:
        from sag_retrieval.serve.llama_index import LlamaIndexRetriever

        asked = LlamaIndexRetriever(release, k=1).aretrieve(QUESTION)

    async def other() -> None:
        assert await asyncio.to_thread(begun.wait, 20)
        go_on.set()

    async def both():
        return (await asyncio.gather(asked, other()))[0]

    assert finished(both())
