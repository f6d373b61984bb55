"""What holds now, from documents to answers: in both languages, whatever the order of ingests."""

import json
import re

import pytest
from click.testing import CliRunner

from sag_pipeline.publish.revisions import said_times
from sag_pipeline.store.store import Store
from sag_retrieval import open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import FilterError, QueryError, SagError
from tests.support.bare_ingest import bare_ingest, kept_ingest
from tests.support.chat_server import ChatServer, schema_of

pytestmark = pytest.mark.slow

SLIDE = "# Slides of spring\n\nSales · 20 May 2025\n\nThe market share of Orin Pumps is 31 %. The hall in Kiel opens on 1 August 2025.\n"
FINAL = "# Final report\n\n3 June 2025\n\nThe market share of Orin Pumps is 27 % by the final count.\n"
RUMOUR = "# Mail\n\nDate: 12 June 2025\n\nI heard that the market share of Orin Pumps is 45 %.\n"
BATH = "# Leaflet {n}\n\nEntry to the city bath of Norden costs {n} euros for adults.\n"
PLAN = "# 项目计划\n\n2025年3月2日\n\n新厂房的启用日期为2025年8月12日。\n"
MOVED = "# 项目邮件\n\n2025年4月1日\n\n新厂房的启用日期由2025年8月12日调整为2025年9月19日。\n"
FILES = {
    "slide.md": SLIDE,
    "final.md": FINAL,
    "rumour.md": RUMOUR,
    "bath6.md": BATH.format(n=6),
    "bath7.md": BATH.format(n=7),
    "plan.md": PLAN,
    "moved.md": MOVED,
}


@pytest.fixture
def release(home, source):
    kept_ingest([source(FILES)])
    with open_release(home) as opened:
        yield opened


def test_answers_give_what_holds_and_what_was_said_before(release):
    now, before, moved, bath = (
        release.ask(question)
        for question in (
            "What is the market share of Orin Pumps?",
            "What was the market share of Orin Pumps originally?",
            "新厂房的启用日期是哪天？",
            "What does entry to the city bath of Norden cost for adults?",
        )
    )

    assert now.text.startswith("The market share of Orin Pumps is 27 %")
    assert "said 31 % [2]" in now.text
    assert [citation.document_id for citation in now.citations][:2] == ["final.md", "slide.md"]
    assert before.text.startswith("The market share of Orin Pumps is 31 %")
    assert "9月19日" in moved.text
    assert "the documents disagree" in bath.text
    assert "6 euros" in bath.text
    assert "7 euros" in bath.text


def test_hits_name_what_revised_them_and_rumours_stand_behind(release):
    hits = release.search("What is the market share of Orin Pumps?").hits
    places = [hit.document_id for hit in hits]

    assert places.index("final.md") < places.index("slide.md")
    assert places.index("final.md") < places.index("rumour.md")
    slide = hits[places.index("slide.md")]
    assert [(one.own_value, one.other_value, one.document_id) for one in slide.revised_by][-1] == (
        "31 %",
        "27 %",
        "final.md",
    )


def test_as_of_a_day_only_what_had_been_said_by_then_is_found(release):
    assert release.ask("What is the market share of Orin Pumps?", as_of="2025-05-31").text.startswith(
        "The market share of Orin Pumps is 31 %"
    )
    found = release.search("market share of Orin Pumps", as_of="2025-05")
    assert {hit.document_id for hit in found} <= {"slide.md", "plan.md", "moved.md"}
    with pytest.raises(QueryError, match="ISO date"):
        release.search("share", as_of="last week")


def test_where_knows_when_it_was_said_and_when_it_holds(release):
    assert {hit.document_id for hit in release.search("启用", where={"said__lt": "2025-04"})} == {"plan.md"}
    assert release.search("share", where={"holds__at": "2025-07-01"})
    with pytest.raises(FilterError, match="ISO date"):
        release.search("share", where={"holds__at": "soon"})


def test_the_same_documents_have_the_same_revisions_in_whatever_order_they_came(home, source, tmp_path):
    files = {name: FILES[name] for name in ("final.md", "moved.md", "plan.md", "slide.md")}
    kept_ingest([source(files)])
    whole = open_release(home).table("revisions")
    for path in (tmp_path / "inbox").iterdir():
        path.unlink()
    for name in sorted(files, reverse=True):
        source({name: FILES[name]})
        bare_ingest(["inbox"])

    assert open_release(home).table("revisions").equals(whole)


def test_changes_are_listed_by_day_and_by_release(release):
    since = json.loads(CliRunner().invoke(main, ["changes", "--since", "2025-06-01", "--json"]).output)
    printed = CliRunner().invoke(main, ["changes"]).output

    assert [(row["earlier_value"], row["later_value"]) for row in since["revised"] if row["kind"] == "updates"] == [
        ("31 %", "27 %")
    ]
    assert "31 % → 27 %" in printed
    assert release.changes(release.release_id) == {"revised": [], "new": [], "withdrawn": []}


def test_people_confirm_and_refuse_revisions_for_good(home, source):
    kept_ingest([source(FILES)])
    run = CliRunner().invoke
    rows = {
        row["later_value"]: row["revision_id"] for row in json.loads(run(main, ["changes", "--json"]).output)["revised"]
    }

    assert json.loads(run(main, ["changes", "refuse", rows["27 %"], "--json"]).output)["verb"] == "refuse"
    bare_ingest(["inbox"])  # a decision alone is a new release
    known = {row["revision_id"] for row in json.loads(run(main, ["changes", "--json"]).output)["revised"]}
    assert rows["27 %"] not in known
    confirmed = json.loads(run(main, ["changes", "confirm", rows["2025年9月19日"], "--json"]).output)
    assert "调整为" in confirmed["later"]
    source({"slide.md": SLIDE + "\nThe canteen closes at 3 pm.\n"})
    for _ in range(2):
        bare_ingest(["inbox"])
        after = json.loads(run(main, ["changes", "--json"]).output)["revised"]
        assert {row["later_value"]: row["decided"] for row in after if row["kind"] != "contradicts"} == {
            "2025年9月19日": "confirmed"
        }
    assert run(main, ["changes", "confirm", rows["27 %"]]).exit_code == 0
    bare_ingest(["inbox"])
    assert "27 %" in {row["later_value"] for row in json.loads(run(main, ["changes", "--json"]).output)["revised"]}
    assert "sag changes" in run(main, ["changes", "refuse", "v0"]).output
    (home / "revisions.csv").write_text("perhaps,v1\n")
    with pytest.raises(SagError, match="line 1"):
        bare_ingest(["inbox"])


def test_a_report_lists_what_was_changed_in_words_and_marks_every_superseded_value(release):
    page = release.report().markdown.read_text(encoding="utf-8")

    section = page.partition("## Old and new values")[2].partition("\n## ")[0]
    assert "调整为" in section
    assert "more; all of them are in `sag changes`" in section
    assert " / " not in section
    old = [line for line in page.splitlines() if "Orin Pumps is 31 %" in line and not line.startswith("[^")]
    assert all("(later: 27 %" in line.replace("\\", "") for line in old)


def test_a_model_is_shown_what_other_documents_say_in_place_of_its_evidence(home, source, monkeypatch):
    bare_ingest([source(FILES)])
    answer = {"is_found": True, "answer": "27 % [1]; the slides said 31 % [2].", "cited": [1, 2]}
    with ChatServer(lambda _: answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        with open_release(home) as release:
            release.ask("What is the market share of Orin Pumps?", mode="normal")

    prompt = next(call.prompt for call in server.calls if schema_of(call.request) == "ModelAnswer")
    lines = {
        row["title"]: row for row in map(json.loads, re.findall(r"^\{.*\}$", prompt, re.MULTILINE)) if "title" in row
    }
    assert {"kind": "updates", "here": "31 %", "there": "27 %", "title": "Final report", "date": "2025-06-03"} in lines[
        "Slides of spring"
    ]["revised"]
    assert "revised" not in lines["Final report"] or lines["Final report"]["revised"][0]["kind"] != "updates"
    assert [one["kind"] for one in lines["Mail"]["revised"]] == ["unconfirmed"] * len(lines["Mail"]["revised"])


def test_times_of_statements_are_counted_and_a_day_after_today_is_told(home, source):
    bare_ingest([source({"late.md": FINAL.replace("2025", "2099"), "plain.md": BATH.format(n=6), "slide.md": SLIDE})])

    with Store.locked(home) as store:
        told = said_times(store, "2026-01-01")

    assert (told["oldest_said"], told["newest_said"], told["said_after_today"]) == ("2025-05-20", "2099-06-03", 1)
    assert told["days_from"]["unknown"] >= 1
    assert 0 < told["share_without_day"] < 1


def test_a_document_that_claims_to_replace_everything_revises_nothing_that_it_does_not_state(home, source):
    claim = "# Order\n\n1 July 2025\n\nThis document supersedes and replaces all earlier statements, which are void.\n"
    bare_ingest([source(FILES | {"order.md": claim})])

    with open_release(home) as release:
        rows = release.table("revisions").to_dict("records")
    assert not [row for row in rows if row["later_document_id"] == "order.md"]


RENAMED = {
    "2024.md": "# Report\n\n2 May 2024\n\nThe Harbour Trust owns twelve boat sheds. Ada Lin keeps the accounts of the Harbour Trust. The director of the Harbour Trust is Tom Reyes.\n",
    "2025.md": "# Notice\n\n3 March 2025\n\nThe Harbour Trust was renamed the Coastal Foundation. Ada Lin, now Ada Moor, stays in her post. Petra Olsen succeeds Tom Reyes as director.\n",
    "2024z.md": "# 情况\n\n2024年6月1日\n\n东港诊所有四名护士，药房由王丽负责。\n",
    "2025z.md": "# 通知\n\n2025年3月5日\n\n东港诊所自2025年3月1日起改名海滨诊所。\n",
}


def test_either_name_of_one_thing_finds_what_was_said_of_both_and_an_office_has_one_holder(home, source):
    bare_ingest([source(RENAMED)])
    asked = {
        "How many boat sheds does the Coastal Foundation own?": "owns twelve boat sheds",
        "Who keeps the accounts of the Coastal Foundation?": "Ada Lin keeps",
        "Who is the director of the Harbour Trust now?": "Petra Olsen succeeds Tom Reyes",
        "Who was the director of the Coastal Foundation before?": "The director of the Harbour Trust is Tom Reyes",
        "海滨诊所有几名护士？": "东港诊所有四名护士",
    }
    with open_release(home) as release:
        answers = {question: release.ask(question).text for question in asked}
        aliases = {row["alias"] for row in release.sql("SELECT alias FROM key_aliases").rows}

    assert {question for question, part in asked.items() if part not in answers[question]} == set()
    assert {"Coastal Foundation", "Ada Moor"} <= aliases
