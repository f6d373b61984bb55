"""The example of one page finds the right passage in both languages."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("Which company made the part that caused the sensors to leak?", "kestrel-7-recall-2022.md"),
        ("三号变电站的贷款由哪家银行提供？", "东港银行贷款公告.txt"),
    ],
)
def test_the_example_prints_the_passage_that_answers(question, document):
    command = [sys.executable, "examples/minimal.py", "data/documents", question]

    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True).stdout

    assert said.splitlines()[0] == document
