"""Questions on four corpora for answers without a model, half of them in Chinese, some without an answer."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.sets import DATA, read, write_source
from sag_retrieval import Release, open_release

DEMO: Final = Path(__file__).parents[1] / "data"
COUNTS: Final[Mapping[tuple[str, bool, bool], int]] = {
    # (set, is it Chinese, has it an answer): questions
    ("business", True, True): 20, ("business", False, True): 20,
    ("business", True, False): 4, ("business", False, False): 21,
    ("demo", True, True): 5, ("demo", False, True): 5,
    ("dragonball", True, True): 25, ("dragonball", False, True): 10, ("dragonball", True, False): 21,
    ("musique", False, True): 15, ("musique", False, False): 4,
}  # fmt: skip
COMPARISONS = {"comparison", "Multi-document Comparison Question", "多文档对比问题"}
COMPARISONS |= {"Multi-document Time Sequence Question", "多文档时间序列问题"}
_DRAGONBALL_KINDS = COMPARISONS | {"Factual Question", "事实性问题"}
_DRAGONBALL_KINDS |= {"Multi-document Information Integration Question", "多文档信息整合问题"}


@dataclass(frozen=True)
class Asked:
    """A question of the benchmark; without answers and evidence it has to be refused."""

    set_name: str
    id: str
    text: str
    is_chinese: bool
    kind: str
    answers: tuple[str, ...] = ()
    evidence: tuple[tuple[str, ...], ...] = ()
    documents: tuple[str, ...] = ()

    @property
    def is_answerable(self) -> bool:
        """Whether the corpus holds the answer."""
        return bool(self.answers)

    @property
    def is_for_development(self) -> bool:
        """Whether it may be looked at while rules are written."""
        return hash_of(f"split {self.id}") < 1 << 255


def candidates() -> list[Asked]:
    """Every question that may be chosen."""
    return [*business(), *demo(), *dragonball(), *musique()]


def choose(questions: Iterable[Asked]) -> list[Asked]:
    """The questions with the lowest hashes, as many of each sort as `COUNTS` says."""
    found = sorted(questions, key=lambda q: hash_of(q.id))
    chosen = []
    for (name, is_chinese, is_answerable), count in COUNTS.items():
        sort = (name, is_chinese, is_answerable)
        fitting = [q for q in found if (q.set_name, q.is_chinese, q.is_answerable) == sort]
        assert len(fitting) >= count, f"{name} has {len(fitting)} questions, {count} are wanted"
        chosen.extend(fitting[:count])
    return chosen


def business() -> Iterator[Asked]:
    """The questions on the mixed files of an invented firm."""
    for line in (DATA / "business" / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        pieces = [piece["text"] for piece in given["evidence"]]
        yield Asked(
            "business", given["id"], given["question"], given["language"] == "zh", given["type"],
            tuple(given["answers"]), tuple((p,) if isinstance(p, str) else tuple(p) for p in pieces),
            tuple(given["gold_documents"]),
        )  # fmt: skip


def demo() -> Iterator[Asked]:
    """The questions of the demo."""
    for line in (DEMO / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        is_chinese = any("一" <= c <= "鿿" for c in given["question"])
        yield Asked(
            "demo", given["id"], given["question"], is_chinese, "", tuple(given["answers"]), (),
            tuple(given["gold_documents"]),
        )  # fmt: skip


def dragonball() -> Iterator[Asked]:
    """Questions that name the company, court or patient of their documents, and those marked as without an answer."""
    names: dict[str, str] = dict(read("dragonball.docs")[["doc_id", "name"]].itertuples(index=False))
    rows: list[Any] = list(read("dragonball.questions").itertuples())
    for row in rows:
        if not all(names[document] in row.question for document in row.gold_doc_ids):
            continue
        pieces = tuple((piece["text"],) for piece in json.loads(row.evidence))
        made = Asked("dragonball", row.qid, row.question, row.language == "zh", row.type)
        if row.unanswerable and not pieces:
            yield made
        elif not row.unanswerable and row.type in _DRAGONBALL_KINDS:
            yield replace(made, answers=(row.answer,), evidence=pieces, documents=tuple(row.gold_doc_ids))


def musique() -> Iterator[Asked]:
    """Questions over several passages; those with the lowest hashes lose their passages, and so their answers."""
    rows = _musique_rows()
    left_out = _left_out()
    count = COUNTS["musique", False, False]
    for place, row in enumerate(rows):
        gold = tuple(row.gold_doc_ids)
        if place < count:
            yield Asked("musique", row.qid, row.question, is_chinese=False, kind=row.type)
        elif not left_out & set(gold):
            answers = (row.answer, *row.answer_aliases)
            yield Asked(
                "musique", row.qid, row.question, is_chinese=False, kind=row.type, answers=answers, documents=gold
            )


def _musique_rows() -> list[Any]:
    rows: list[Any] = list(read("musique_train.questions").itertuples())
    return sorted(rows, key=lambda row: hash_of(row.qid))


def _left_out() -> set[str]:
    rows = _musique_rows()
    return {document for row in rows[: COUNTS["musique", False, False]] for document in row.gold_doc_ids}


def source_of(name: str, cache: Path) -> Path:
    """What is ingested for a set."""
    if name == "business":
        return DATA / "business" / "documents"
    if name == "demo":
        return DEMO / "documents"
    path, gone = cache / "sources" / f"{name}.jsonl", _left_out() if name == "musique" else set()
    table = read("musique_train.docs" if name == "musique" else "dragonball.docs")
    title = "title" if name == "musique" else "name"
    rows = [row for row in table.to_dict("records") if row["doc_id"] not in gone]
    write_source([{"id": row["doc_id"], "title": row[title], "text": row["text"]} for row in rows], path)
    return path


def released(name: str, cache: Path) -> Release:
    home = cache / name
    if not (home / "releases").is_dir():
        command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(source_of(name, cache))]
        models = {"SAG_HOME": str(home), "SAG_CHAT_MODEL": "offline", "SAG_EMBEDDING_MODEL": "hashing"}
        # a file that cannot be read is part of the business set, and makes the exit code 1
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(command, env=os.environ | models, cwd=cache, check=False, stdout=subprocess.DEVNULL)
    return open_release(home)


def hash_of(text: str) -> int:
    """A number that a text always has, by which questions are drawn and divided."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest(), "big")
