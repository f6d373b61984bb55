"""Before a release becomes current, the questions of the home are answered as well as by the one before."""

import json
import re
import shlex
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from sag_pipeline.jobs import run_ingest
from sag_pipeline.options import GateOptions
from sag_pipeline.runs.recall_gate import Measured, QuestionError, askable, measure
from sag_retrieval.api import open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import SagError, SettingsError
from sag_retrieval.evaluation.questions import Question, read_questions
from sag_retrieval.release.manifest import ANSWERS, Manifest
from sag_retrieval.release.releases import Releases, list_releases
from tests.pipeline.publish.histories import ONE_BY_ONE
from tests.support.bare_ingest import bare_ingest, kept_ingest

HERON = "# Heron\n\nLumen Optics sold 120 buoys in 2021. Ada Byrne leads Lumen Optics.\n"
EGRET = "# 白鹭号\n\n海澜公司在2023年卖出300盏灯。陈雨领导海澜公司。\n"
ASKED = [
    {
        "id": "q1",
        "question": "How many buoys did Lumen Optics sell?",
        "gold_documents": ["heron.md"],
        "answers": ["120"],
    },
    {"id": "q2", "question": "海澜公司在2023年卖出多少盏灯？", "gold_documents": ["egret.md"], "answers": ["300"]},
]


@pytest.fixture
def asked(home):
    """Write the questions of the home."""

    def write(rows: list[dict[str, object]] | str) -> None:
        home.mkdir(exist_ok=True)
        text = rows if isinstance(rows, str) else "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (home / "questions.jsonl").write_text(text, encoding="utf-8")

    return write


def kept(home: Path, release: str) -> dict[str, object]:
    return Manifest.read(Releases(home).path(release)).checks[ANSWERS]


@pytest.mark.slow
def test_a_first_release_is_measured_and_passes(home, source, asked):
    asked(ASKED)

    made = kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])

    check = kept(home, made["release"])
    assert (check["passed"], check["questions"], check["recall"], check["answer_rate"]) == (True, 2, 1.0, 1.0)
    assert check["message"].endswith("on 2 questions, compared with none, as it is the first release")


@pytest.mark.slow
def test_a_release_that_answers_worse_is_kept_beside_the_current_one_and_says_the_ways_out(home, source, asked):
    asked(ASKED)
    first = kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])["release"]

    source({"heron.md": "# Heron\n\nThe ship has left. Nothing else is known of it.\n"})
    with pytest.raises(SagError, match=r"answer rate 1\.000 → 0\.500 on 2 questions") as refused:
        bare_ingest(["inbox"])

    new = next(each.release_id for each in list_releases(home) if not each.is_current)
    assert Releases(home).current() == first
    assert "questions q1" in str(refused.value)
    assert f"`sag releases promote {new}`" in str(refused.value)
    assert "`sag ingest --accept-recall`" in str(refused.value)
    assert kept(home, new)["passed"] is False
    (named,) = re.findall(r"`sag (evaluate [^`]+)`", str(refused.value))
    assert CliRunner().invoke(main, shlex.split(named)).exit_code == 0

    accepted = bare_ingest(["inbox"], {"accept_recall": True})

    assert accepted["release"] == new == Releases(home).current()


@pytest.mark.slow
def test_questions_of_both_languages_are_asked_of_a_release_in_layers(home, source, asked, monkeypatch):
    monkeypatch.setattr("sag_pipeline.publish.publish._LAYERING", ONE_BY_ONE)
    asked(ASKED)
    bare_ingest([source({"heron.md": HERON, "egret.md": EGRET})])

    made = bare_ingest([source({"pier.md": "# Pier\n\nMara Voss built the pier of Port Ansel.\n"})])

    assert len(Manifest.read(Releases(home).path(made["release"])).layers) == 2
    check = kept(home, made["release"])
    assert (check["passed"], check["questions"], check["recall"], check["answer_rate"]) == (True, 2, 1.0, 1.0)


@pytest.mark.slow
def test_a_refused_release_can_be_promoted_and_is_then_the_one_to_compare_with(home, source, asked):
    asked(ASKED)
    kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])
    source({"heron.md": "# Heron\n\nThe ship has left. Nothing else is known of it.\n"})
    with pytest.raises(SagError):
        bare_ingest(["inbox"])
    new = next(each.release_id for each in list_releases(home) if not each.is_current)

    Releases(home).promote(new)

    assert bare_ingest(["inbox"])["release"] == new


@pytest.mark.slow
def test_a_question_about_a_removed_document_is_left_out_and_blocks_nothing(home, source, asked):
    asked(ASKED)
    kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])

    Path("inbox/heron.md").unlink()
    made = bare_ingest(["inbox"])

    check = kept(home, made["release"])
    assert (check["questions"], check["left_out"], check["recall"]) == (1, 1, 1.0)
    assert "1 left out, as their documents are not in the release" in check["message"]


@pytest.mark.slow
def test_the_figures_of_earlier_releases_stay_after_these_are_pruned(home, source, asked):
    asked(ASKED)
    options = {"keep_releases": 1, "grace_hours": 0}
    ids = [
        bare_ingest([source({"heron.md": HERON + f"\nNote {n}.\n" * n, "egret.md": EGRET})], options)["release"]
        for n in range(3)
    ]

    (left,) = list_releases(home)
    assert [each["release"] for each in left.measurements] == ids

    shown = CliRunner().invoke(main, ["releases"], env={"SAG_HOME": str(home), "COLUMNS": "200"}).output
    assert all(release in shown for release in ids)
    assert "█" * 20 in shown


@pytest.mark.slow
def test_questions_that_cannot_be_read_stop_the_switch_and_the_refusal_says_how_to_go_on(home, source, asked):
    asked('{"question": "Who?", "gold_documents": ["heron.md"]}\nnot json\n')

    with pytest.raises(SagError, match=r"line 2: not JSON.*--accept-recall"):
        run_ingest([source({"heron.md": HERON})])
    assert Releases(home).current() is None

    made = run_ingest(["inbox"], {"accept_recall": True})

    assert Releases(home).current() == made["release"]


@pytest.mark.slow
def test_the_command_takes_the_acceptance_as_a_flag(home, source, asked):
    asked("not json\n")
    source({"heron.md": HERON})
    run = partial(CliRunner().invoke, main, env={"SAG_HOME": str(home)})

    refused, accepted = run(["ingest", "inbox"]), run(["ingest", "inbox", "--accept-recall"])

    assert (refused.exit_code, accepted.exit_code) == (1, 0)
    assert "--accept-recall" in refused.output


def test_of_a_question_about_several_documents_those_that_are_left_are_asked_for():
    question = Question(id="q", question="Who?", gold_documents=("a", "b"), answers=("Ada",))

    (asked,) = askable([question], {"a"})

    assert (asked.gold_documents, asked.answers) == (("a",), ())
    assert askable([question], set()) == []


def test_a_question_that_nothing_is_expected_of_is_not_asked():
    assert askable([Question(id="q", question="Who?")], {"a"}) == []


def test_what_became_worse_is_named_whatever_became_better():
    before = Measured({"a": 1.0, "b": 0.5}, {"a": 1.0, "c": 0.0})
    after = Measured({"a": 0.5, "b": 1.0}, {"a": 1.0, "c": 1.0})

    assert after.worse_than(before) == ["a"]


@pytest.mark.parametrize("margin", [-0.1, 1.5])
def test_a_margin_that_is_no_share_is_refused(margin):
    with pytest.raises(SettingsError, match="recall_margin"):
        GateOptions(recall_margin=margin)


@pytest.mark.slow
def test_a_question_that_ends_in_an_error_is_a_failed_check_and_its_release_is_new_once_it_passes(home, source, asked):
    asked(ASKED)
    first = kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])["release"]
    release = open_release(home)
    release.close()
    with pytest.raises(QuestionError, match=r"question 'How many buoys .*' ended with ReleaseError"):
        measure(release, read_questions(home / "questions.jsonl"))
    broken = {"heron.md": HERON + "\nMara Voss steers it.\n"}
    asked([*ASKED, {"id": "q3", "question": " ", "answers": ["x"]}])

    with pytest.raises(SagError, match=r"questions cannot be used|question ' ' ended with"):
        bare_ingest([source(broken)])
    assert Releases(home).current() == first
    asked(ASKED)
    made = bare_ingest(["inbox"])

    assert made["release"] != first
    assert made["is_new"]
    assert bare_ingest(["inbox"])["is_new"] is False
