"""What a capable model brings to two piles of office files: its recorded answers, replayed without a network."""

import csv
import os
from pathlib import Path
from typing import NamedTuple

import pytest

from sag_retrieval.api import open_release
from sag_retrieval.models.recording import UNANSWERED
from tests.support import forked

pytestmark = pytest.mark.slow
PILES = Path(__file__).parents[1] / "data" / "recorded"


class Pile(NamedTuple):
    """Documents, questions and answers: the day on which they are asked, and how many hold their fact."""

    name: str
    today: str
    whole: int
    headline: str


FERRY = Pile("ferry", "2025-11-20", 17, "leaves at least £1,230,000 uncovered (1,880,000 − 650,000 = 1,230,000)")
CLINIC = Pile("clinic", "2025-08-01", 17, "收入412万元，支出436万元")


@pytest.mark.parametrize("pile", [FERRY, CLINIC], ids=lambda pile: pile.name)
def test_every_prompt_has_an_answer_and_most_answers_hold_their_fact(
    pile: Pile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    there = PILES / pile.name
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("SAG_HOME", str(tmp_path))
    monkeypatch.setenv("SAG_CHAT_MODEL", f"recorded:{there / 'answers.jsonl.gz'}")
    with (there / "questions.tsv").open(encoding="utf-8", newline="") as file:
        asked = list(csv.DictReader(file, delimiter="\t"))

    read = forked.sag("ingest", str(there / "documents"), env=os.environ, cwd=tmp_path)
    with open_release(tmp_path) as release:
        answers = {
            each["question"]: release.ask(
                each["question"],
                mode="global" if each["kind"] == "global" else "normal",
                options={"today": pile.today},
            )
            for each in asked
        }
    told = forked.sag("report", "--out", str(tmp_path / "page"), env=os.environ, cwd=tmp_path)

    held = [each["question"] for each in asked if each["key"] and each["key"] in answers[each["question"]].text]
    found = [each["question"] for each in asked if not each["key"] and answers[each["question"]].is_found]
    assert read.returncode + told.returncode == 0, read.stderr + told.stderr
    assert not sorted(each.name for each in (tmp_path / UNANSWERED).glob("*.md")), "record these again"
    assert len(held) >= pile.whole, sorted(answers.keys() - held)
    assert not found
    assert pile.headline in (tmp_path / "page" / "report.md").read_text(encoding="utf-8")
