"""How well `fast` mode answers questions in other words than their documents: who lowered what, to how much, and why.

    python -m benchmarks.reworded [--show]

Eight invented documents of ferries, breweries, orchards, museums, tea, ships, water and pharmacies, half of them in
Chinese. 30 questions (`near`) repeat words of their sentence, 40 (`far`) use others and short names, 12 have no answer.
Questions with an odd number were looked at while rules were written, those with an even one are held out. The columns
are those of `benchmarks.answers`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.answer_sets import Asked
from benchmarks.answers import judge, shown, table
from sag_retrieval import open_release

DATA: Final = Path(__file__).parent / "reworded_data"


class Numbered(Asked):
    """A question whose number says which half it belongs to."""

    @property
    def is_for_development(self) -> bool:
        """Whether its number is odd."""
        return int(self.id.rpartition("-")[2]) % 2 == 1


def asked() -> Iterator[Numbered]:
    """All questions, in the order of the file."""
    for line in (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        kind = given["id"].partition("-")[0]
        yield Numbered(kind, given["id"], given["question"], given["language"] == "zh", "", tuple(given["answers"]))


def main() -> None:
    """Ingest the documents, ask everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", action="store_true", help="print each question for development with its answer")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(DATA / "documents")]
        models = {"SAG_HOME": home, "SAG_CHAT_MODEL": "offline", "SAG_EMBEDDING_MODEL": "hashing"}
        subprocess.run(command, env=os.environ | models, cwd=home, check=True, stdout=subprocess.DEVNULL)
        with open_release(home) as release:
            judged = [judge(question, release.ask(question.text)) for question in asked()]
    if given.show:
        print("\n".join(shown(each) for each in judged if each.asked.is_for_development))
    print("\n".join(table(judged)))


if __name__ == "__main__":
    main()
