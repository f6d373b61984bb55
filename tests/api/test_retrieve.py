"""`release.retrieve` and `sag search --messages`: categories, events and documents as records, for a conversation."""

import json
import pickle

import pytest
from click.testing import CliRunner

import sag_retrieval
from sag_retrieval import FilterError, QueryError, RecordError, SettingsError, TiersOptions, open_release
from sag_retrieval.cli.main import main

TALK = [
    {"role": "system", "content": "Answer in one sentence about Alder Bay."},
    {"role": "user", "content": "Who made the O-ring of the Kestrel 7?"},
    {"role": "assistant", "content": {"text": "Marlow Seals."}},
    {"role": "user", "content": "Where is its factory?"},
]


@pytest.fixture
def release(demo):
    with open_release() as opened:
        yield opened


def test_rows_of_each_tier_are_records_with_text_score_document_and_date(release):
    found = release.retrieve("Who made the O-ring of the Kestrel 7?")

    assert found.categories
    assert found.items[0].document_id == "kestrel-7-recall-2022.md"
    assert release.chunk(found.items[0].chunk_id).document_id == found.items[0].document_id
    assert "Marlow Seals" in {key.value for key in found.items[0].keys}
    assert release.document(found.resources[0].row_id).summary == found.resources[0].text
    dates = {row["event_id"]: row["date"] for row in release.sql("SELECT event_id, date FROM events")}
    assert {row.row_id: row.date for row in found.items} == {row.row_id: dates[row.row_id] for row in found.items}
    assert all(row.size > 1 and row.text for row in found.categories)
    for rows in (found.categories, found.items, found.resources):
        assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
        assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)


def test_a_question_is_searched_with_what_it_refers_to_and_without_instructions(release):
    found = release.retrieve(TALK)

    assert found.query == "Where is its factory?"
    assert found.rewritten_query == "Where is its factory? (Marlow Seals, Kestrel-7)"
    assert [step.mode for step in found.steps] == ["rule", "rag", "rag", "rag"]
    assert {step.query for step in found.steps[1:]} == {found.rewritten_query}
    assert release.retrieve(TALK[-1:]).rewritten_query == "Where is its factory?"


def test_without_routing_a_question_is_searched_as_it_is(release):
    assert release.retrieve(TALK, options={"route_intention": False}).rewritten_query == "Where is its factory?"


def test_restrictions_apply_to_every_tier(release):
    english = release.retrieve("Kestrel", where={"language": "en"})
    chinese = release.retrieve("Kestrel", sql="language = 'zh'")

    languages = {row.document_id: release.document(row.document_id).language for row in english.rows if row.document_id}
    assert set(languages.values()) == {"en"}
    assert {release.document(row.document_id).language for row in chinese.items} == {"zh"}
    assert english.categories


def test_categories_can_be_the_keys_of_a_type(release):
    found = release.retrieve("澜湾市水务局做了什么？", options=TiersOptions(categories="key:organisation"))

    assert found.categories[0].title == "澜湾市水务局"
    for category in found.categories:
        assert release.sql(f"SELECT key_type FROM keys WHERE key_id = '{category.row_id}'")[0]["key_type"] == (
            "organisation"
        )


def test_the_method_that_ran_is_named(release):
    assert release.retrieve("Kestrel", method="llm").method == "rag"


@pytest.mark.parametrize(
    ("error", "messages", "named"),
    [
        (QueryError, [], {}),
        (QueryError, " ", {}),
        (QueryError, 3, {}),
        (QueryError, TALK[:3], {}),
        (QueryError, [{"role": "system", "content": "x"}], {}),
        (QueryError, "x" * 100_001, {}),
        (RecordError, [{"role": "user"}], {}),
        (RecordError, [4], {}),
        (SettingsError, "x", {"method": "lm"}),
        (SettingsError, "x", {"options": {"item.top_k": 0}}),
        (SettingsError, "x", {"options": {"categories": "keys"}}),
        (QueryError, "x", {"options": {"categories": "key:organization"}}),
        (FilterError, "x", {"where": {"nothing": 1}}),
    ],
)
def test_wrong_arguments_are_refused_in_words(release, error, messages, named):
    with pytest.raises(error, match=r"\w"):
        release.retrieve(messages, **named)


def test_an_unknown_type_of_keys_is_answered_with_the_nearest(release):
    with pytest.raises(QueryError, match="did you mean 'organisation'"):
        release.retrieve("x", options={"categories": "key:organization"})


def test_a_result_converts_like_the_others(release):
    found = release.retrieve(TALK, options={"item.top_k": 2})

    frame, plain = found.to_pandas(), json.loads(found.to_json())
    assert frame["tier"].tolist() == [row.tier for row in found.rows]
    assert frame["text"].tolist() == [row.text for row in found.rows]
    assert plain["items"][0]["row_id"] == found.items[0].row_id
    assert plain["steps"][1]["step"] == "recall_category"
    assert found.items[0].to_pandas()["row_id"].tolist() == [found.items[0].row_id]
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found) == "TiersResult(5 categories, 2 items, 5 resources by rag)"
    assert "Where is its factory?" in found._repr_html_()
    assert {sag_retrieval.TiersResult, sag_retrieval.TierRow, sag_retrieval.TierStep} == {
        type(found), type(found.items[0]), type(found.steps[0])
    }  # fmt: skip


def sag(*command, given=None):
    return CliRunner().invoke(main, ["search", "--method", "tiers", *command], input=given)


def test_the_command_takes_a_conversation_from_a_file_or_standard_input(demo, tmp_path):
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK), encoding="utf-8")

    whole = sag("--messages", str(path), "--json")
    joined = sag(TALK[-1]["content"], "--messages", "-", "--json", given=json.dumps({"messages": TALK[:-1]}))
    shown = sag("--messages", str(path), "--explain", "--set", "item.top_k=1")

    assert (whole.exit_code, joined.exit_code, shown.exit_code) == (0, 0, 0)
    assert json.loads(whole.stdout)["items"] == json.loads(joined.stdout)["items"]
    assert json.loads(whole.stdout)["rewritten_query"] == "Where is its factory? (Marlow Seals, Kestrel-7)"
    assert all(part in shown.stdout for part in ("searched as", "Categories", "Documents", "recall_item", "1: “"))


ASKED = json.dumps([{"role": "user", "content": "x"}])


@pytest.mark.parametrize(
    ("code", "command", "given"),
    [
        (2, [], None),
        (2, ["--messages", "-"], "{"),
        (2, ["--messages", "-"], json.dumps(TALK[:3])),
        (1, ["--messages", "-"], '{"talk": []}'),
        (1, ["--messages", "-"], "[3]"),
        (2, ["--messages", "-", "--set", "categories=key:persn"], ASKED),
        (2, ["--messages", "-", "--set", "item.top_k=0"], ASKED),
        (2, ["--messages", "-", "--set", "top"], ASKED),
        (2, ["--messages", "-", "--where", "nothing=1"], ASKED),
        (2, ["--messages", "-", "--set", "method=sag"], ASKED),
        (2, ["--messages", "-", "--method", "sag"], ASKED),
        (2, ["--messages", "-", "--top-k", "3"], ASKED),
        (2, ["--messages", "-", "--key", "Kestrel"], ASKED),
    ],
)
def test_a_wrong_call_ends_in_one_line_and_its_exit_code(demo, code, command, given):
    done = sag(*command, given=given)

    assert done.exit_code == code, done.output
    assert len(done.stderr.strip().splitlines()) <= 3
    assert "Traceback" not in done.stderr


def test_choosing_by_a_model_that_is_not_set_is_said(demo):
    done = sag("Kestrel", "--messages", "-", "--set", "method=llm", "--json", given="[]")

    assert done.exit_code == 0
    assert "no language model is set" in done.stderr
    assert json.loads(done.stdout)["method"] == "rag"


def test_the_former_command_still_works_and_names_the_present_one(demo):
    former = ["retrieve", "Kestrel", "--categories", "key:organisation", "--method", "rag", "--json"]

    done = CliRunner().invoke(main, former)
    now = sag("Kestrel", "--messages", "-", "--set", "categories=key:organisation", "--json", given="[]")

    assert done.exit_code == 0
    assert "`sag retrieve` is now `sag search --method tiers --messages FILE`" in done.stderr
    assert json.loads(done.stdout)["categories"] == json.loads(now.stdout)["categories"]
