"""Global questions: answered from the themes of all documents, by a model over a real server or by the nearest themes."""

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sag_retrieval import Answer, open_release
from sag_retrieval.ask import ask
from sag_retrieval.cli.main import main
from sag_retrieval.release.folders import mark_of
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer, broken, schema_of
from tests.support.overlap_search import OverlapSearch
from tests.support.scripted_writer import instead, lines_of, write_well

RISKS = {"en": "What are the main risks?", "zh": "主要的风险有哪些？"}


@pytest.fixture
def own(demo_home: Path, home: Path) -> Path:
    """The demo's release in a home of its own."""
    shutil.copytree(demo_home, home)
    return home


@pytest.fixture
def asked(own: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Answer, ChatServer]]]:
    """Ask a global question of a model with a script."""

    def one(script: Any, language: str = "en", **given: Any) -> tuple[Answer, ChatServer]:
        with ChatServer(script) as server, monkeypatch.context() as patch:
            patch.setenv("SAG_CHAT_MODEL", "openai:scripted")
            patch.setenv("OPENAI_BASE_URL", server.base_url)
            patch.setenv("OPENAI_API_KEY", "none")
            with open_release() as release:
                return release.ask(RISKS[language], mode="global", **given), server

    return one


def _is_cited(answer: Answer) -> bool:
    """Whether each citation is a stretch of its document, and the text has the marker of each."""
    with open_release() as release:
        return all(
            release.document(each.document_id).text[each.start : each.end] == each.quote
            and f"[{each.marker}]" in answer.text
            and each.chunk_id in {hit.chunk_id for hit in answer.hits}
            for each in answer.citations
        )


@pytest.mark.parametrize(("language", "least"), [("en", 3), ("zh", 1)])
def test_without_a_model_statements_of_themes_answer(own, language, least):
    with open_release() as release:
        answer, again = (release.ask(RISKS[language], mode="global") for _ in range(2))

    assert answer.is_found
    assert (answer.mode, answer.usage.calls) == ("global", 0)
    assert answer.text == again.text
    assert least <= len(answer.citations) == answer.text.count("[")
    assert len({each.document_id for each in answer.citations}) >= least
    assert _is_cited(answer)
    titles = tuple(each["theme"] for each in answer.trace["themes"]) + tuple(c.title for c in answer.citations)
    assert all(line.startswith(titles) for line in answer.text.splitlines())
    assert any("no language model" in note for note in answer.notes)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_is_asked_about_each_theme_and_then_about_all(asked, language):
    answer, server = asked(write_well, language)

    schemas = [schema_of(call.request) for call in server.calls]
    assert schemas.count("PartialAnswer") == len(answer.trace["themes"]) > 3
    assert schemas[-1] == "GlobalAnswer"
    assert answer.usage.calls == len(server.calls)
    assert all(RISKS[language] in call.prompt for call in server.calls)
    assert answer.is_found
    assert len(answer.citations) >= 2
    assert _is_cited(answer)
    points = [point for each in answer.trace["themes"] for point in each["points"]]
    assert points
    assert all(0 < point["rating"] <= 10 for point in points)


def test_the_same_question_again_asks_nothing(asked):
    first, _ = asked(write_well)
    again, server = asked(write_well)

    assert len(server.calls) == 0
    assert again.text == first.text
    assert (again.usage.calls, again.usage.cached_calls) == (0, first.usage.calls)


@pytest.mark.parametrize("options", [{"max_calls": 3}, {"max_tokens": 12_000}])
def test_a_budget_leaves_out_the_themes_that_are_least_near(asked, options):
    answer, server = asked(write_well, options=options)

    assert 1 < len(server.calls) <= options.get("max_calls", 5)
    assert any("themes are beyond the budget" in note for note in answer.notes)
    assert answer.is_found


@pytest.mark.parametrize("answer", ["I cannot help with that.", {"thoughts": "…"}, {"points": []}, broken()])
def test_a_model_that_says_nothing_usable_leaves_the_quotations(asked, own, answer):
    given, _ = asked(instead("PartialAnswer", answer), options={"max_seconds": 3})
    with open_release() as release:
        by_rules = release.ask(RISKS["en"], mode="global")

    assert given.text == by_rules.text
    assert given.is_found


def _invented(request: Any) -> Any:
    answer, line = write_well(request), lines_of(request)[0]
    made_up = {"text": f"{line['text']} It costs 77,777 dollars.", "cited": [line["n"]]}
    if schema_of(request) == "PartialAnswer":
        return {"points": [*answer["points"], made_up | {"rating": 10}, {"text": "x", "cited": [999], "rating": 10}]}
    return answer | {"sentences": [*answer["sentences"], made_up]}


def test_what_no_event_supports_is_in_no_answer(asked):
    answer, _ = asked(_invented)

    assert answer.is_found
    assert "77,777" not in answer.text
    assert {each["reason"] for each in answer.trace["left_out"]} >= {"figure", "cites nothing"}
    assert any("were left out" in note for note in answer.notes)


def test_a_restriction_leaves_only_themes_of_its_events(own):
    with open_release() as release:
        answer = release.ask(RISKS["en"], mode="global", where={"language": "en"})
        languages = {release.document(each.document_id).language for each in answer.citations}

    assert answer.is_found
    assert languages == {"en"}


def test_themes_are_made_for_the_first_question_and_kept_for_every_later_process(own):
    with open_release() as release:
        first = release.ask(RISKS["en"], mode="global")
        kept = sorted(path.name for path in (release.path / "themes").iterdir())
        again = release.ask(RISKS["en"], mode="global")
    with open_release() as release:
        later = release.ask(RISKS["en"], mode="global")
        release.report()
        reported = release.ask(RISKS["en"], mode="global")

    assert any("were made for this question and are kept" in note for note in first.notes)
    assert len(kept) == 1
    assert not any("were made" in note for note in (*later.notes, *reported.notes))
    assert first.text == again.text == later.text == reported.text


def test_damaged_themes_are_made_again(own):
    with open_release() as release:
        first = release.ask(RISKS["en"], mode="global")
        kept = next((release.path / "themes").iterdir())
    (kept / "communities.parquet").write_bytes(b"PAR1 cut")

    with open_release() as release:
        again = release.ask(RISKS["en"], mode="global")

    assert any("were made for this question" in note for note in again.notes)
    assert again.text == first.text
    assert mark_of(kept) is not None


def test_several_readers_may_make_the_themes_at_once(own):
    def ask_alone(_: int) -> str:
        with open_release() as release:
            return release.ask(RISKS["en"], mode="global").text

    with ThreadPoolExecutor(4) as threads:
        texts = set(threads.map(ask_alone, range(4)))
    with open_release() as release:
        later = release.ask(RISKS["en"], mode="global")
        kept = list((release.path / "themes").iterdir())

    assert texts == {later.text}
    assert [mark_of(folder) is not None for folder in kept] == [True]
    assert not any("were made" in note for note in later.notes)


def test_themes_of_a_release_that_cannot_be_written_to_are_kept_in_the_cache(own, monkeypatch, tmp_path):
    monkeypatch.setenv("SAG_CACHE", str(tmp_path / "cache"))
    with open_release() as release:
        (release.path / "themes").write_text("a file where the folder would be", encoding="utf-8")
        first = release.ask(RISKS["en"], mode="global")
    with open_release() as release:
        later = release.ask(RISKS["en"], mode="global")

    assert [path.name.partition("-")[0] for path in (tmp_path / "cache" / "themes").iterdir()] == [release.release_id]
    assert not any("were made" in note for note in later.notes)
    assert first.text == later.text


def test_where_nothing_can_be_kept_the_answer_says_so(own, monkeypatch, tmp_path):
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    monkeypatch.setenv("SAG_CACHE", str(tmp_path / "cache"))
    with open_release() as release:
        (release.path / "themes").write_text("a file", encoding="utf-8")
        answer = release.ask(RISKS["en"], mode="global")

    assert answer.citations
    assert any("could not be kept" in note for note in answer.notes)


def test_the_themes_made_longest_ago_give_way(own):
    with open_release() as release:
        for number in range(40):
            (release.path / "themes" / f"old{number}").mkdir(parents=True)
        release.ask(RISKS["en"], mode="global")
        kept = [path.name for path in (release.path / "themes").iterdir()]

    assert len(kept) == 32
    assert sum(name.startswith("old") for name in kept) == 31


def test_the_command_answers_as_python_does(own):
    result = CliRunner().invoke(main, ["ask", RISKS["en"], "--mode", "global", "--json"])

    assert result.exit_code == 0, result.output
    with open_release() as release:
        assert json.loads(result.stdout)["answer"] == release.ask(RISKS["en"], mode="global").text


def test_a_search_without_a_release_is_asked_as_in_fast_mode():
    answer = ask(OverlapSearch([("d", "Bees", "Bees make honey in the hive.")]), "What do bees make?", mode="global")

    assert any("open the release" in note for note in answer.notes)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["offline", "openai:scripted"])
def test_a_release_without_themes_says_so(home, source, monkeypatch, model):
    bare_ingest([source({"heron.md": "# Heron\n\nIt left.\n"})])

    with ChatServer(write_well) as server:
        monkeypatch.setenv("SAG_CHAT_MODEL", model)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        with open_release() as release:
            answer = release.ask(RISKS["en"], mode="global")

    assert not answer.is_found
    assert any("no themes to answer from" in note for note in answer.notes)


def test_a_pipeline_asks_the_themes_as_the_release_does(own, tmp_path):
    whole, part = tmp_path / "whole.yaml", tmp_path / "part.yaml"
    whole.write_text("stages:\n- ask: {mode: global}\n", encoding="utf-8")
    part.write_text("stages:\n- ask: {mode: global, options: {sql: \"language = 'zh'\"}}\n", encoding="utf-8")

    with open_release() as release:
        asked = release.ask(RISKS["en"], mode="global")
        found = release.run(whole, RISKS["en"])["retrieval_results"]
        chinese = release.run(part, RISKS["zh"])["retrieval_results"]
        languages = {release.document(each["metadata"]["document_id"]).language for each in chinese}

    assert [each["metadata"]["chunk_id"] for each in found] == [hit.chunk_id for hit in asked.hits]
    assert languages == {"zh"}
