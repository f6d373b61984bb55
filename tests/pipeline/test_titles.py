"""Titles that a language model writes for headers: asked once, counted beforehand, and never in the way of a document."""

from dataclasses import replace
from pathlib import Path

import pytest

from sag_pipeline.extract.headers import HeaderOptions
from sag_pipeline.extract.summaries import READ, DocumentTitle, title_from_reply, title_request
from sag_pipeline.llm.cost_model import EstimateOptions, estimate
from sag_pipeline.llm.extract import prompt_versions, summaries_work
from sag_pipeline.options import RunOptions
from sag_pipeline.step_runner import StepInput
from sag_retrieval import open_release
from sag_retrieval.core.options import build_options
from sag_retrieval.core.records import Document
from sag_retrieval.models.answer_cache import AnswerCache
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.rate_limits import ChatOptions
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer, broken, schema_of
from tests.support.scripted_answers import read_well

EN = Document("scan_07.md", "s", "scan_07", "Heron Bay flood report. The tide stood at four metres.", "en")
ZH = Document("扫描件.md", "s", "扫描件", "海澜公司2024年年度报告。公司收入增长一成。", "zh")
WITH_TITLES = RunOptions(header=HeaderOptions(title_by_model=True))


@pytest.fixture
def server():
    with ChatServer(read_well) as running:
        yield running


def chat_of(server: ChatServer) -> OpenAIChat:
    options = ChatOptions(concurrency=2, first_pause_seconds=0.01, tries=1)
    return OpenAIChat("m", base_url=server.base_url, api_key="none", options=options)


def inputs_of(*documents: Document) -> list[StepInput]:
    return [StepInput(document.document_id, {"documents": [document]}) for document in documents]


def test_a_title_is_asked_for_in_the_documents_language_with_its_start():
    english, chinese = title_request(EN), title_request(replace(ZH, text=ZH.text * READ))

    assert "scan_07" in english.prompt
    assert "four metres" in english.prompt
    assert "请给出查找这篇文档时会用的标题" in chinese.prompt
    assert len(chinese.prompt) < READ + 1_000
    assert title_request(replace(EN, text=" \n")) is None


@pytest.mark.parametrize(
    ("answered", "title"),
    [("《海澜》\n", "海澜"), ('"Heron  Bay\nflood"', "Heron Bay flood"), (" “” ", None), ("x" * 300, "x" * 200)],
)
def test_a_title_is_one_line_without_quotes(answered, title):
    assert title_from_reply(DocumentTitle(title=answered)) == title


def test_titles_are_asked_only_by_option_and_once(server, tmp_path: Path):
    with AnswerCache(tmp_path / "answers.sqlite") as cache:
        chat = CachedChat(chat_of(server), cache)
        without = [row for made in summaries_work(chat)(inputs_of(EN, ZH)) for row in made.records]
        asked_without = len(server.calls)
        first = [row for made in summaries_work(chat, titles=True)(inputs_of(EN, ZH)) for row in made.records]
        asked = len(server.calls)
        again = [row for made in summaries_work(chat, titles=True)(inputs_of(EN, ZH)) for row in made.records]

    assert [row.made_title for row in without] == [None, None]
    assert asked_without == 0
    assert [row.made_title for row in first] == ["Heron Bay flood report.", "海澜公司2024年年度报告。"]
    assert asked == len(server.calls) == 2
    assert again == first
    assert [row.summary for row in first] == [row.summary for row in without]


def test_an_estimate_counts_titles_and_those_that_are_kept(server, tmp_path: Path):
    options = EstimateOptions(run=WITH_TITLES)
    with AnswerCache(tmp_path / "answers.sqlite") as cache:
        chat = CachedChat(chat_of(server), cache)
        before = estimate([EN, ZH], chat.find, options)
        list(summaries_work(chat, titles=True)(inputs_of(EN, ZH)))
        after = estimate([EN, ZH], chat.find, options)

    assert (before["titles"].calls, before["titles"].cached_calls) == (2, 0)
    assert before["titles"].input_tokens > 100
    assert (after["titles"].calls, after["titles"].cached_calls) == (0, 2)
    assert "titles" not in estimate([EN, ZH])


def test_a_model_that_fails_on_a_title_leaves_the_summary_and_says_so():
    def answers(request):
        return broken() if schema_of(request) == "DocumentTitle" else read_well(request)

    with ChatServer(answers) as server:
        (made,) = summaries_work(chat_of(server), titles=True)(inputs_of(EN))

    (row,) = made.records
    assert row.summary
    assert row.made_title is None
    assert made.reason


def test_a_changed_prompt_of_titles_repeats_the_step():
    assert len(prompt_versions("summaries").split()) == 4


@pytest.mark.slow
def test_a_title_by_a_model_stands_in_headers_and_the_documents_own_in_the_release(server, home, source, monkeypatch):
    monkeypatch.setenv("SAG_CHAT_MODEL", "openai:m")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    folder = source({"scan_07.md": EN.text, "扫描件.md": ZH.text})

    bare_ingest([folder], options=build_options(RunOptions, {"header.title_by_model": "true"}, what="ingest"))

    with open_release() as release:
        headers = release.table("chunks").set_index("document_id")["header"]
        titles = release.table("documents").set_index("document_id")["title"]
        (hit,) = release.search("annual flood report of Heron Bay", top_k=1)
    assert headers["scan_07.md"].startswith("Heron Bay flood report.")
    assert headers["扫描件.md"].startswith("海澜公司2024年年度报告。")
    assert titles["scan_07.md"] == "scan_07"
    assert hit.document_id == "scan_07.md"
