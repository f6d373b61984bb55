"""A release restricted to a part of it tells nothing of the rest, whatever is asked."""

import json

import pytest

from sag_retrieval import FilterError, QueryError, SagError, open_release
from tests.serve.conftest import SECRET

QUESTIONS = ("Who did Lumen Optics sue over the Heron buoy?", f"{SECRET} Ltd", "What is the price of the Heron buoy?")
SALES = {"metadata.department": "sales"}


@pytest.fixture(scope="module")
def whole(served_home):
    with open_release(served_home) as release:
        yield release


@pytest.fixture(params=[{"where": SALES}, {"sql": "document_id LIKE 'notes/%'"}, {"where": {"title__ne": "x"} | SALES}])
def part(whole, request):
    return whole.restricted(**request.param)


def told(found) -> str:
    """All that an answer says, without the words of the question itself."""
    values = found if isinstance(found, dict | list) else found.to_dict()
    values = values | {name: "" for name in ("query", "question") if name in values}
    return json.dumps(values, ensure_ascii=False, default=str)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("method", ["sag", "sag-literal", "bm25", "dense", "hybrid", "bridge", "think-on-graph"])
def test_no_method_shows_what_is_restricted(part, whole, question, method):
    found = part.search(question, method=method, explain=True)

    assert {hit.document_id for hit in found} <= {"notes/heron.md", "notes/price.md"}
    assert SECRET.lower() not in told(found).replace(question, "").lower()
    assert SECRET in told(whole.search(QUESTIONS[0], method=method))


@pytest.mark.parametrize("mode", ["fast", "normal", "deep", "global"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_answer_shows_what_is_restricted(part, question, mode):
    assert SECRET.lower() not in told(part.ask(question, mode=mode)).replace(question, "").lower()


def test_a_restricted_search_equals_one_with_the_same_restriction(whole):
    part = whole.restricted(where=SALES)

    for question in QUESTIONS:
        asked = whole.search(question, where=SALES).to_dict() | {"seconds": {}}
        assert part.search(question).to_dict() | {"seconds": {}} == asked


def test_a_narrower_restriction_is_joined_and_a_wider_one_widens_nothing(part):
    assert {hit.document_id for hit in part.search("Heron buoy", where={"document_id": "notes/price.md"})} == {
        "notes/price.md"
    }
    assert len(part.search("Heron buoy", where={"metadata.department": "legal"})) == 0
    assert len(part.search("Heron buoy", where={"metadata.department__in": ["legal", "sales"]})) == 2


@pytest.mark.parametrize(
    "sql",
    [
        f"EXISTS (SELECT 1 FROM documents WHERE text LIKE '%{SECRET}%')",
        "SELECT document_id FROM documents",
        "TRUE OR TRUE",
    ],
)
def test_sql_that_reads_whole_tables_is_refused(part, sql):
    with pytest.raises(FilterError, match="restricted"):
        part.search("Heron", sql=sql)
    with pytest.raises(FilterError, match="restricted"):
        part.ask("Heron", sql=sql)
    with pytest.raises(FilterError, match="restricted"):
        part.sql("SELECT count(*) AS n FROM documents")
    with pytest.raises(FilterError, match="restricted"):
        part.find_keys("Heron")


def test_a_foreign_document_is_told_in_the_words_of_an_absent_one(part, whole):
    chunk = whole.document(f"legal/{SECRET}.md").chunk_ids[0]
    for read, foreign in ((part.document, f"legal/{SECRET}.md"), (part.chunk, chunk)):
        said = []
        for wanted in (foreign, "x" * len(foreign)):
            with pytest.raises(QueryError) as refused:
                read(wanted)
            said.append(str(refused.value).replace(repr(wanted), "it"))
        assert said[0] == said[1]


def test_of_a_document_of_which_some_statements_may_be_seen_the_rest_is_blank(whole):
    hit = whole.search("Who leads Lumen Optics?", where={"document_id": "notes/heron.md"})[0]
    part = whole.restricted(sql=f"chunk_id = '{hit.chunk_id}'")

    found = part.document("notes/heron.md")

    assert found.text[hit.start : hit.end] == hit.text
    assert len(found.text) == len(whole.document("notes/heron.md").text)
    with pytest.raises(QueryError, match="segments"):
        part.search("Heron", segments="balanced")


def test_reports_changes_types_and_tables_show_the_part_alone(part, tmp_path):
    report = part.report(out=tmp_path / "report", is_kept=False)
    written = "".join(path.read_text(encoding="utf-8") for path in (report.page, report.markdown))

    assert SECRET not in written + told(part.changes()) + told(part.changes("2020"))
    with pytest.raises(SagError) as refused:
        part.search("Heron", where={"key.nothing": "x"})
    assert SECRET not in str(refused.value)
    with pytest.raises(QueryError, match="restricted"):
        part.table("documents")
    with pytest.raises(QueryError, match="restricted"):
        part.search("Heron", method="tiers")
    with pytest.raises(QueryError, match="restricted"):
        part.retrieve("Heron")


def test_a_conversation_is_asked_with_the_names_it_refers_to(whole):
    talk = [
        {"role": "user", "content": "Who built the Heron buoy?"},
        {"role": "assistant", "content": "Lumen Optics."},
        {"role": "user", "content": "Who leads it?"},
    ]

    assert "Lumen Optics" in whole.ask(messages=talk).question
    assert whole.ask("Who leads it?", messages=talk[:-1]).question == whole.ask(messages=talk).question
    with pytest.raises(QueryError, match="a conversation is given as messages"):
        whole.ask()


def test_closing_a_part_leaves_the_whole_open(whole):
    part = whole.restricted(where=SALES)
    part.close()

    assert whole.search("Heron")
