"""What `sag ask` and `sag evaluate --answers` are given reaches every search and every model call, as in Python."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from sag_retrieval import AskOptions, QueryError, open_release
from sag_retrieval.cli.main import main
from tests.support.chat_server import ChatServer, first_prompt_of, schema_of

QUESTION = "Which company made the part that caused the sensors to leak?"
FOUND = {"is_found": True, "answer": "Marlow Seals [1].", "cited": [1]}


def node(number: int, question: str) -> dict[str, object]:
    return {"id": f"q{number}", "question": question, "keys": [], "sql": ""}


def reply(request):
    """Two sub-questions, never enough, and the same answer to everything."""
    further = {"is_enough": False, "missing": "more", "edges": []}
    return {
        "Rewrite": {"question": QUESTION, "keys": [], "sql": ""},
        "DraftPlan": {"nodes": [node(1, QUESTION), node(2, "Who accepted the rings?")], "edges": []},
        "Verdict": further | {"nodes": [node(9, "Why was the batch recalled?")]},
        "ModelAnswer": FOUND,
    }[schema_of(request)]


@pytest.fixture
def server(demo, monkeypatch) -> Iterator[ChatServer]:
    with ChatServer(reply) as running:
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield running


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def told(*arguments: str) -> dict:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def evidence_of(server: ChatServer) -> list[list[dict]]:
    """The lines of evidence of each answer that the model was asked for."""
    prompts = [first_prompt_of(c.request) for c in server.calls if schema_of(c.request) == "ModelAnswer"]
    lines = [[json.loads(line) for line in prompt.splitlines() if line.startswith("{")] for prompt in prompts]
    return [[line for line in each if "n" in line] for each in lines]


@pytest.mark.parametrize("mode", ["fast", "normal", "deep"])
def test_a_restriction_holds_for_every_search_of_every_mode(server, mode):
    by_where = told("ask", QUESTION, "--mode", mode, "--where", "language=en")
    by_sql = told("ask", QUESTION, "--mode", mode, "--sql", "SELECT document_id FROM documents WHERE language = 'en'")
    with open_release() as release:
        english = set(release.sql("SELECT document_id FROM documents WHERE language = 'en'").to_pandas()["document_id"])
        here = release.ask(QUESTION, mode=mode, where={"language": "en"})

    for answer in (by_where, by_sql):
        assert {hit["document_id"] for hit in answer["hits"]} <= english
        assert [hit["chunk_id"] for hit in answer["hits"]] == [hit.chunk_id for hit in here.hits]


@pytest.mark.parametrize("by_option", [True, False])
def test_a_models_filter_narrows_the_callers_sql(demo, monkeypatch, by_option):
    english, recall = "language = 'en'", "document_id = 'kestrel-7-recall-2022.md'"
    filtered = {"Rewrite": {"question": QUESTION, "keys": [], "sql": recall}}
    with ChatServer(lambda request: filtered.get(schema_of(request), FOUND)) as server:
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        given = ["--set", f"sql={english}"] if by_option else ["--sql", english]
        answer = told("ask", QUESTION, "--mode", "normal", *given)
        other = told("ask", QUESTION, "--mode", "normal", "--sql", "language = 'zh'")

    assert answer["trace"]["filters"] == [{"sql": recall, "is_kept": True, "documents": ["kestrel-7-recall-2022.md"]}]
    assert not other["trace"]["filters"][0]["is_kept"]
    assert "kestrel-7-recall-2022.md" not in {hit["document_id"] for hit in other["hits"]}


@pytest.mark.parametrize("mode", ["fast", "normal", "deep"])
def test_the_method_the_keys_and_the_options_of_the_search_are_those_given(server, mode):
    plain = told("ask", QUESTION, "--mode", mode)
    by_text = told("ask", QUESTION, "--mode", mode, "--method", "bm25")
    keys = ["--key", "Simon Pike", "--key", "Lanwan University"]
    by_keys = told("ask", QUESTION, "--mode", mode, *keys)
    otherwise = told("ask", QUESTION, "--mode", mode, *keys, "--set", "search.final_count=1")
    with open_release() as release:
        same = release.ask(QUESTION, mode=mode, keys=["Simon Pike", "Lanwan University"])

    order = [hit["chunk_id"] for hit in plain["hits"]]
    assert [hit["chunk_id"] for hit in by_text["hits"]] != order
    assert [hit["chunk_id"] for hit in by_keys["hits"]] != order
    assert [hit["chunk_id"] for hit in otherwise["hits"]] != [hit["chunk_id"] for hit in by_keys["hits"]]
    assert [hit["chunk_id"] for hit in by_keys["hits"]] == [hit.chunk_id for hit in same.hits]


@pytest.mark.parametrize("mode", ["fast", "normal", "deep"])
def test_with_segments_answers_rest_on_joined_passages_that_stand_in_their_document(server, mode):
    answer = told("ask", QUESTION, "--mode", mode, "--segments", "balanced", "--set", "segments.max_length=3")

    with open_release() as release:
        chunks = {row.chunk_id: row for row in release.table("chunks").itertuples()}
        for hit in answer["hits"]:
            text = release.document(hit["document_id"]).text
            assert text[hit["start"] :].startswith(hit["text"])
        joined = [hit for hit in answer["hits"] if len(hit["text"]) > len(chunks[hit["chunk_id"]].text)]
        for citation in answer["citations"]:
            chunk = chunks[citation["chunk_id"]]
            assert chunk.start <= citation["start"] < chunk.end
            assert release.document(citation["document_id"]).text[citation["start"] :].startswith(citation["quote"])
    assert joined
    assert answer["citations"]
    if mode != "fast":
        assert any(line["text"] == joined[0]["text"] for lines in evidence_of(server) for line in lines)


def test_in_deep_mode_no_passage_of_the_last_answer_repeats_another(server):
    told("ask", QUESTION, "--mode", "deep", "--segments", "balanced", "--rounds", "1")

    last = [line["text"] for line in evidence_of(server)[-1]]
    assert not [text for text in last for other in last if text != other and text in other]


@pytest.mark.parametrize(
    ("option", "name", "value"), [("--max-calls", "max_calls", 2), ("--max-tokens", "max_tokens", 10)]
)
def test_a_budget_ends_the_calls_and_is_named_in_the_notes(server, option, name, value):
    by_command = told("ask", QUESTION, "--mode", "deep", option, str(value))
    with open_release() as release:
        here = release.ask(QUESTION, mode="deep", options=AskOptions(**{name: value}))

    assert any(f"raise {name}" in note for note in by_command["notes"])
    assert any(f"raise {name}" in note for note in here.notes)
    assert by_command["usage"]["calls"] == here.usage.calls <= 2


@pytest.mark.parametrize("rounds", [1, 2])
def test_there_are_as_many_plans_as_rounds(server, rounds):
    answer = told("ask", QUESTION, "--mode", "deep", "--rounds", str(rounds))

    assert len(answer["trace"]["rounds"]) == rounds


def test_evaluating_answers_takes_the_same_options(server):
    given = ["--answers", "deep", "--method", "bm25", "--rounds", "1", "--max-calls", "9", "--where", "language=en"]

    found = told("evaluate", "data/questions.jsonl", *given, "--segments", "balanced", "--key", "Petrel", "--k", "3")

    assert found["questions"] == 10
    assert "recall@3" in found
    assert not any("Verdict" in schema_of(c.request) for c in server.calls)
    with open_release() as release:
        english = set(release.sql("SELECT document_id FROM documents WHERE language = 'en'").to_pandas()["document_id"])
    assert all(set(line["documents"]) <= english for line in found["per_question"])
    assert all(line["calls"] <= 9 for line in found["per_question"])


def test_the_keys_of_a_question_reach_its_searches(server, tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_text(
        json.dumps({"question": QUESTION, "keys": ["Simon Pike", "Lanwan University"], "answers": ["Marlow Seals"]})
    )

    (found,) = told("evaluate", str(path), "--answers", "fast")["per_question"]

    with open_release() as release:
        assert found["documents"] == list(release.ask(QUESTION, keys=["Simon Pike", "Lanwan University"]).documents)
        assert found["documents"] != list(release.ask(QUESTION).documents)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", "x", "--rounds", "0"], "rounds='0'"),
        (["ask", "x", "--segments", "long"], "unknown preset of segments 'long'"),
        (["ask", "x", "--set", "segments.longest=3"], "no option 'longest'"),
        (["ask", "x", "--rounds", "2", "--set", "rounds=3"], "given twice"),
        (["evaluate", "data/questions.jsonl", "--rounds", "2"], "add --answers"),
        (["evaluate", "data/questions.jsonl", "--set", "segments.max_length=2"], "add --answers"),
    ],
)
def test_a_wrong_value_is_named_before_anything_is_asked(demo, arguments, says):
    result = call(*arguments)

    assert result.exit_code == 2
    assert says in result.stderr


def test_one_text_for_keys_is_refused(demo):
    with open_release() as release, pytest.raises(QueryError, match="did you mean"):
        release.ask(QUESTION, keys="Petrel")


def test_a_retriever_of_ones_own_is_measured_on_the_same_questions_by_document_and_by_text(demo, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def right(question, count):\n    return [('kestrel-recall.md', 'The O-ring leaked.'), 'another.md'][:count]\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    document = open_release().table("documents").document_id[0]
    rows = [
        {"id": "1", "question": "Why?", "gold_documents": ["another.md", document]},
        {"id": "2", "question": "What?", "gold_documents": [document], "evidence": [{"text": "the O-ring leaked"}]},
    ]
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    found = told("evaluate", str(questions), "--retriever", "mine:right", "--against", "bm25", "--k", "2")

    assert (found["method"], found["recall"]["2"], found["passage_recall"]["2"]) == ("mine:right", 0.25, 1.0)
    assert found["against"]["questions"] == 2
    wrong = call("evaluate", str(questions), "--retriever", "nothing:there")
    assert (wrong.exit_code, "name a function as `module:function`" in wrong.stderr) == (1, True)
