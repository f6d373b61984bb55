"""Sets split into a half for developing and a half that is looked at last, by a hash of each question's id."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal

from judging import gold_chunks, ingested
from sets import DATA, SETS, Question, is_held_out

from sag_retrieval import Release, open_release

Half = Literal["dev", "held-out"]
HALVES: Final[tuple[Half, ...]] = ("dev", "held-out")
BUSINESS: Final = "business"
USED: Final = (BUSINESS, "musique", "2wiki", "dragonball-zh", "dragonball-en", "locomo")
"""Short passages, long documents and talks, in both languages, and files of many kinds."""


@dataclass(frozen=True)
class Asked:
    """A question with what it should find: ids of documents, or of chunks; nothing if it has no answer."""

    question_id: str
    text: str
    kind: str
    gold: frozenset[str]
    is_by_chunk: bool


def half_of(question_id: str) -> Half:
    """Which half a question belongs to, whatever else is asked."""
    return HALVES[is_held_out(question_id)]


def release_of(name: str, cache: Path) -> Release:
    """The release of a set, made once per cache."""
    if name != BUSINESS:
        return ingested(name, SETS[name](), cache)
    home = cache / name
    if not (home / "releases").is_dir():
        command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(DATA / BUSINESS / "documents")]
        environment = {"SAG_HOME": str(home), "SAG_CHAT_MODEL": "offline", "SAG_EMBEDDING_MODEL": "hashing"}
        subprocess.run(command, env=os.environ | environment, cwd=cache, check=True, stdout=subprocess.DEVNULL)
    return open_release(home)


def questions_of(name: str, half: Half, release: Release, most: int) -> list[Asked]:
    """At most this number of questions of one half, drawn by a hash so that no kind comes first."""
    found: list[Any] = list(_business() if name == BUSINESS else SETS[name]().questions)
    chosen = sorted((each for each in found if half_of(each.question_id) == half), key=_shuffled)[:most]
    return [each if isinstance(each, Asked) else _asked(each, release) for each in chosen]


def _shuffled(question: Asked | Question) -> str:
    return blake2b(f"order {question.question_id}".encode()).hexdigest()


def _business() -> Iterator[Asked]:
    for line in (DATA / BUSINESS / "questions.jsonl").read_text().splitlines():
        found = json.loads(line)
        gold = frozenset(found["gold_documents"])
        yield Asked(found["id"], found["question"], found["type"], gold, is_by_chunk=False)


def _asked(question: Question, release: Release) -> Asked:
    gold = gold_chunks(release, question) if question.spans else set(question.documents)
    return Asked(question.question_id, question.text, question.kind, frozenset(gold), bool(question.spans))
