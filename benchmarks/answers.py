"""How well `fast` mode answers and refuses without a model: 150 questions over four corpora, half of them in Chinese.

    python -m benchmarks.answers [--cache FOLDER] [--held-out] [--show] [--out FILE]

100 questions have an answer, 50 have none. Each set gives the questions with the lowest hashes of their ids, a fixed
number for each language; another hash divides them into questions for development and held-out ones, which are asked
only with `--held-out`. An answer is right if the quoted sentences hold nine tenths of its terms and all its numbers,
or the evidence itself; a comparison needs the evidence of both sides. Questions without an answer: those marked so in
the business set and DragonBall, and MuSiQue questions whose passages are left out of the corpus. There are three
outcomes: answered (`is_found`), closest passages, and nothing but that the documents hold no answer.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.answer_sets import COMPARISONS, Asked, candidates, choose, released
from sag_retrieval import Answer
from sag_retrieval.language.words import tokens

LEAST_SHARE: Final = 0.9
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_PART = re.compile(r"[;；/]|[,，、](?!\d)")


@dataclass(frozen=True)
class Judged:
    """What became of a question."""

    asked: Asked
    answer: Answer
    is_retrieved: bool
    is_right: bool
    is_first_right: bool

    @property
    def says_none(self) -> bool:
        """Whether it says that the documents hold no answer and quotes nothing."""
        return not self.answer.citations

    def to_dict(self) -> dict[str, Any]:
        """One line of the file written with `--out`."""
        return {
            "set": self.asked.set_name,
            "id": self.asked.id,
            "question": self.asked.text,
            "answers": list(self.asked.answers),
            "is_found": self.answer.is_found,
            "answer": self.answer.text,
            "is_retrieved": self.is_retrieved,
            "is_right": self.is_right,
            "is_first_right": self.is_first_right,
        }


def main() -> None:
    """Ask every question of one half, or of both, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--held-out", action="store_true", help="ask the held-out half as well")
    parser.add_argument("--show", action="store_true", help="print each question for development with its answer")
    parser.add_argument("--out", type=Path, help="write every outcome there as JSON Lines")
    given = parser.parse_args()
    questions = [q for q in choose(candidates()) if given.held_out or q.is_for_development]
    with tempfile.TemporaryDirectory() as scratch:
        cache = (given.cache or Path(scratch)).resolve()
        judged = [outcome for name in dict.fromkeys(q.set_name for q in questions) for outcome in
                  ask_set(name, [q for q in questions if q.set_name == name], cache)]  # fmt: skip
    if given.show:
        for outcome in judged:
            if outcome.asked.is_for_development:
                print(shown(outcome))
    print("\n".join(table(judged)))
    if given.out:
        lines = [json.dumps(outcome.to_dict(), ensure_ascii=False) for outcome in judged]
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def ask_set(name: str, questions: Sequence[Asked], cache: Path) -> list[Judged]:
    """The outcomes of a set, over its release."""
    with released(name, cache) as release:
        return [judge(question, release.ask(question.text)) for question in questions]


def judge(asked: Asked, answer: Answer) -> Judged:
    """Whether evidence was retrieved, and whether all quoted sentences, and the first one, hold what is right."""
    quotes = [citation.quote for citation in answer.citations]
    passages = "\n".join(hit.text for hit in answer.hits if not asked.documents or hit.document_id in asked.documents)
    if not asked.is_answerable:
        return Judged(asked, answer, is_retrieved=False, is_right=False, is_first_right=False)
    return Judged(
        asked, answer, holds(asked, passages), holds(asked, "\n".join(quotes)),
        bool(quotes) and holds_part(asked, quotes[0]),
    )  # fmt: skip


def holds(asked: Asked, text: str) -> bool:
    """Whether a text holds all of the answer that the question does not say itself, or all its evidence."""
    by_evidence = bool(asked.evidence) and all(_covers(text, piece) for pieces in asked.evidence for piece in pieces)
    if asked.kind in COMPARISONS and len(asked.evidence) > 1:
        return by_evidence
    every: Callable[[Iterable[bool]], bool] = all if asked.kind == "list" else any
    return by_evidence or every(_covers_parts(text, answer, asked.text) for answer in asked.answers)


def holds_part(asked: Asked, text: str) -> bool:
    """Whether a sentence holds the answer, one of its parts, or a piece of its evidence."""
    parts = [part for answer in asked.answers for part in [answer, *_parts(answer)]]
    return any(_covers(text, part, asked.text) for part in parts) or any(
        all(_covers(text, piece) for piece in pieces) for pieces in asked.evidence
    )


def _parts(answer: str) -> list[str]:
    return [part.strip() for part in _PART.split(answer) if tokens(part) or _numbers(part)]


def _covers_parts(text: str, answer: str, question: str) -> bool:
    return _covers(text, answer, question) or all(_covers(text, part, question) for part in _parts(answer))


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
    ("first", "the first quotation holds it, a part of it, or a piece of its evidence"),
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
        _share([j.is_first_right for j in answerable]),
        _share([not j.answer.is_found for j in others]),
        _share([j.says_none for j in others]),
        _share([not j.answer.is_found for j in answerable]),
        _share([j.says_none for j in answerable]),
        _share([not j.answer.is_found and not j.is_right for j in answerable]),
    ]
    return f"{name:20}{len(judged):6}" + "".join(f"{cell:>10}" for cell in cells)


def _share(values: Sequence[bool]) -> str:
    return f"{100 * sum(values) / len(values):.0f} %" if values else "-"


def shown(outcome: Judged) -> str:
    """A question, its right answer and what was answered, to read."""
    asked, marks = outcome.asked, [outcome.is_retrieved, outcome.is_right, outcome.is_first_right]
    signs = "".join(sign if mark else "-" for sign, mark in zip("ERF", marks, strict=True))
    wanted = " | ".join(asked.answers) or "nothing"
    lines = [f"[{signs}] {asked.set_name} {asked.id} ({asked.kind})", f"  ? {asked.text}", f"  = {wanted}"]
    return "\n".join([*lines, f"  > {outcome.answer.text}", ""])


if __name__ == "__main__":
    main()
