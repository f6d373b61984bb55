"""What README shows of the tour is what the tour prints."""

import json
import re
from pathlib import Path

from sag_retrieval import open_release

ROOT = Path(__file__).parents[2]


def bare(text: str) -> str:
    """Text without white space: README breaks lines where a terminal does not."""
    return re.sub(r"\s", "", text)


def test_the_answer_of_the_tour_is_the_one_that_is_given(demo_home):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(block for block in re.findall(r"```text\n(.*?)```", readme, re.DOTALL) if "[1]" in block)
    question, _, told = shown.partition("\n")

    with open_release(demo_home) as release:
        answer = release.ask(question)
    places = [f"[{c.marker}] {c.document_id} {c.start}–{c.end}" for c in answer.citations]

    assert bare(told) == bare(answer.text + "".join(places))


def test_the_question_of_the_tour_is_one_the_demo_asks():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = (ROOT / "data" / "questions.jsonl").read_text(encoding="utf-8").splitlines()

    assert any(json.loads(line)["question"] in readme for line in lines)


def test_readme_names_both_commands_to_the_letter():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert 'pip install -e ".[pipeline]" && sag demo' in readme
    assert 'pip install -e ".[dev]" && pytest' in readme
