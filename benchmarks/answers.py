"""How well `fast` mode answers and refuses without a model: 150 questions over four corpora, half of them in Chinese.

    python -m benchmarks.answers [--cache FOLDER] [--held-out]

100 questions have an answer, 50 have none: those marked so, and those of MuSiQue whose passages are left out. Each set
gives those with the lowest hashes of their ids; another hash holds half of them out. An answer is right if the quoted
sentences hold nine tenths of its terms and all its numbers, or the evidence; a comparison needs that of both sides.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.judging import cached, ingested
from benchmarks.sets import DATA, QuestionSet, hash_of, read
from sag_retrieval import Answer
from sag_retrieval.language.words import tokens

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
        return bool(self.answers)

    @property
    def is_for_development(self) -> bool:
        return hash_of(f"split {self.id}") < 1 << 255


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


def listed(name: str, folder: Path) -> Iterator[Asked]:
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        pieces = [piece["text"] for piece in given.get("evidence", ())]
        yield Asked(
            name, given["id"], given["question"], any("一" <= c <= "鿿" for c in given["question"]),
            given.get("type", ""), tuple(given["answers"]),
            tuple((p,) if isinstance(p, str) else tuple(p) for p in pieces), tuple(given["gold_documents"]),
        )  # fmt: skip


def dragonball() -> Iterator[Asked]:
    """Questions that name the company, court or patient of their documents, and those marked as without an answer."""
    names: dict[str, str] = dict(read("dragonball.docs")[["doc_id", "name"]].itertuples(index=False))
    row: Any
    for row in read("dragonball.questions").itertuples():
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
    left_out = _left_out()
    for place, row in enumerate(_musique_rows()):
        asked = Asked("musique", row.qid, row.question, is_chinese=False, kind=row.type)
        if place < COUNTS["musique", False, False]:
            yield asked
        elif not left_out & {*row.gold_doc_ids}:
            yield replace(asked, answers=(row.answer, *row.answer_aliases), documents=tuple(row.gold_doc_ids))


def _musique_rows() -> list[Any]:
    return sorted(read("musique_train.questions").itertuples(), key=lambda row: hash_of(row.qid))


def _left_out() -> set[str]:
    rows = _musique_rows()[: COUNTS["musique", False, False]]
    return {document for row in rows for document in row.gold_doc_ids}


def documents_of(name: str) -> QuestionSet:
    if name in ("business", "demo"):
        return QuestionSet([], [], (DEMO if name == "demo" else DATA / name) / "documents")
    gone = _left_out() if name == "musique" else set()
    table = read("musique_train.docs" if name == "musique" else "dragonball.docs")
    title = "title" if name == "musique" else "name"
    rows = [row for row in table.to_dict("records") if row["doc_id"] not in gone]
    return QuestionSet([{"id": row["doc_id"], "title": row[title], "text": row["text"]} for row in rows], [])


LEAST_SHARE: Final = 0.9
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_PART = re.compile(r"[;；/]|[,，、](?!\d)")


@dataclass(frozen=True)
class Judged:
    asked: Asked
    answer: Answer
    is_retrieved: bool
    is_right: bool

    @property
    def says_none(self) -> bool:
        return not self.answer.citations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--held-out", action="store_true", help="ask the held-out half as well")
    given = parser.parse_args()
    every = [*listed("business", DATA / "business"), *listed("demo", DEMO), *dragonball(), *musique()]
    questions = [q for q in choose(every) if given.held_out or q.is_for_development]
    judged = list[Judged]()
    with cached(given.cache) as cache:
        for name in dict.fromkeys(q.set_name for q in questions):
            with ingested(name, documents_of(name), cache) as release:
                judged += [judge(q, release.ask(q.text)) for q in questions if q.set_name == name]
    print("\n".join(table(judged)))


def judge(asked: Asked, answer: Answer) -> Judged:
    """Whether evidence was retrieved, and whether the quoted sentences hold what is right."""
    quotes = [citation.quote for citation in answer.citations]
    passages = "\n".join(hit.text for hit in answer.hits if not asked.documents or hit.document_id in asked.documents)
    if not asked.is_answerable:
        return Judged(asked, answer, is_retrieved=False, is_right=False)
    return Judged(asked, answer, holds(asked, passages), holds(asked, "\n".join(quotes)))


def holds(asked: Asked, text: str) -> bool:
    """Whether a text holds all of the answer that the question does not say itself, or all its evidence."""
    by_evidence = bool(asked.evidence) and all(_covers(text, piece) for pieces in asked.evidence for piece in pieces)
    if asked.kind in COMPARISONS and len(asked.evidence) > 1:
        return by_evidence
    every: Callable[[Iterable[bool]], bool] = all if asked.kind == "list" else any
    return by_evidence or every(_covers_parts(text, answer, asked.text) for answer in asked.answers)


def _covers_parts(text: str, answer: str, question: str) -> bool:
    parts = (part.strip() for part in _PART.split(answer) if tokens(part) or _numbers(part))
    return _covers(text, answer, question) or all(_covers(text, part, question) for part in parts)


def _covers(text: str, wanted: str, question: str = "") -> bool:
    terms, numbers = {term for term in tokens(wanted) if not term[0].isdigit()}, _numbers(wanted)
    new_terms, new_numbers = terms - set(tokens(question)), numbers - _numbers(question)
    if new_terms or new_numbers:
        terms, numbers = new_terms, new_numbers
    if not terms and not numbers:
        return wanted.strip().lower() in text.lower()
    return numbers <= _numbers(text) and len(terms & set(tokens(text))) >= LEAST_SHARE * len(terms)


def _numbers(text: str) -> set[str]:
    return {found.replace(",", "").rstrip(".").lstrip("0") or "0" for found in _NUMBER.findall(text)}


COLUMNS: Final = (
    ("retrieved", "the passages found hold the answer"),
    ("quoted", "so do the quoted sentences, of an answer or of the closest passages"),
    ("answered", "so do those of an answer"),
    ("of retr.", "quoted, of those that were retrieved"),
    ("no: kept", "not answered, of the questions without an answer: closest passages, or nothing"),
    ("no: none", "answered with nothing but that the documents hold no answer, of the same"),
    ("yes: kept", "not answered, of the questions with an answer"),
    ("yes: none", "answered with nothing but that the documents hold no answer, of the same"),
    ("missed", "not answered, and the closest passages do not hold the answer either, of the same"),
)


def table(judged: Sequence[Judged]) -> Iterator[str]:
    """One row for each half, language and set, and what the columns mean."""
    yield from (f"{name:10} {meaning}" for name, meaning in COLUMNS)
    yield f"{'':20}{'asked':>6}" + "".join(f"{name:>10}" for name, _ in COLUMNS)
    for half, is_development in {"development": True, "held-out": False}.items():
        part = [j for j in judged if j.asked.is_for_development == is_development]
        if not part:
            continue
        yield _row(half, part)
        for language, is_chinese in (("zh", True), ("other languages", False)):
            yield _row(f"  {language}", [j for j in part if j.asked.is_chinese == is_chinese])
        for name in dict.fromkeys(j.asked.set_name for j in part):
            yield _row(f"  {name}", [j for j in part if j.asked.set_name == name])


def _row(name: str, judged: Sequence[Judged]) -> str:
    answerable = [j for j in judged if j.asked.is_answerable]
    others = [j for j in judged if not j.asked.is_answerable]
    cells = [
        _share([j.is_retrieved for j in answerable]),
        _share([j.is_right for j in answerable]),
        _share([j.is_right and j.answer.is_found for j in answerable]),
        _share([j.is_right for j in answerable if j.is_retrieved]),
        _share([not j.answer.is_found for j in others]),
        _share([j.says_none for j in others]),
        _share([not j.answer.is_found for j in answerable]),
        _share([j.says_none for j in answerable]),
        _share([not j.answer.is_found and not j.is_right for j in answerable]),
    ]
    return f"{name:20}{len(judged):6}" + "".join(f"{cell:>10}" for cell in cells)


def _share(values: Sequence[bool]) -> str:
    return f"{100 * sum(values) / len(values):.0f} %" if values else "-"


if __name__ == "__main__":
    main()
