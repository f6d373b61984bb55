"""Read questions with their right answers and gold documents from JSON Lines, reporting each fault with its line."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from sag_retrieval.core.errors import QueryError, SourceError
from sag_retrieval.evaluation.metrics import find_quote

_LARGEST = 50_000_000
"""Bytes of a file."""
_SHOWN_FAULTS = 10


class Evidence(BaseModel):
    """What a document says about a question: a sentence as written, the cells of a table row, or a place in its text.

    A place is `start` to before `end`, in characters of the document's text; quotes are looked for.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)

    document: str = ""
    text: tuple[str, ...] = ()
    start: int | None = Field(default=None, ge=0)
    end: int | None = None

    @field_validator("text", mode="before")
    @classmethod
    def _one_or_many(cls, text: Any) -> Any:  # noqa: ANN401  any JSON
        return (text,) if isinstance(text, str) else text

    @model_validator(mode="after")
    def _is_text_or_place(self) -> Self:
        if (self.start is None) != (self.end is None) or (self.start is None and not self.text):
            raise ValueError("evidence needs `text`, or `document` with `start` and `end`")
        if self.start is not None and self.end is not None and (not self.document or self.end <= self.start):
            raise ValueError(f"evidence from {self.start} to {self.end} needs a `document` and an end after its start")
        return self


class Question(BaseModel):
    """A question and what is known about its answer; other fields of the line are ignored.

    One with neither answers nor gold documents has no answer in the documents: a mode should refuse it.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)

    id: str = ""
    question: str = Field(min_length=1)
    answers: tuple[str, ...] = ()
    gold_documents: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    type: str = ""

    @field_validator("evidence", mode="before")
    @classmethod
    def _bare_texts(cls, evidence: Any) -> Any:  # noqa: ANN401  any JSON
        if not isinstance(evidence, list | tuple):
            return evidence
        return [{"text": piece} if isinstance(piece, str) else piece for piece in evidence]

    @property
    def is_unanswerable(self) -> bool:
        """Whether the documents hold no answer."""
        return not self.answers and not self.gold_documents

    @field_validator("question")
    @classmethod
    def _is_not_blank(cls, question: str) -> str:
        if not question.strip():
            raise ValueError("the question is blank")
        return question


def read_questions(path: Path | str, on_fault: Callable[[str], None] | None = None) -> list[Question]:
    """The questions of a file, one JSON object per line; one without `id` gets its line's number.

    Lines that are no question are left out and given to `on_fault`.

    Raises:
        SourceError: If the file cannot be read or holds no question; without `on_fault` also if it repeats an id or
            has a line that is no question. The message names each such line and its fault.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST + 1)
        text = content.decode("utf-8-sig") if len(content) <= _LARGEST else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"questions {str(path)!r} cannot be read: {error}") from error
    if len(content) > _LARGEST:
        raise SourceError(f"questions {str(path)!r} have more than {_LARGEST:,} bytes, which is the bound; divide them")
    questions, faults = _divided(text)
    if (faults and on_fault is None) or not questions:
        raise SourceError(f"{path}: {_faults(faults)}")
    if on_fault is not None:
        for fault in faults:
            on_fault(fault)
    return questions


def _divided(text: str) -> tuple[list[Question], list[str]]:
    """The questions of a text, and what is wrong with its other lines."""
    line_of: dict[str, int] = {}
    questions, faults = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        read = _read(number, line) if line.strip() else ""
        if isinstance(read, Question) and read.id in line_of:
            read = f"id {read.id!r} is that of line {line_of[read.id]}"
        if isinstance(read, Question):
            line_of[read.id] = number
            questions.append(read)
        elif read:
            faults.append(f"line {number}: {read}")
    return questions, faults


def _read(number: int, line: str) -> Question | str:
    try:
        given = json.loads(line)
    except json.JSONDecodeError as error:
        return f"not JSON ({error.msg} at character {error.pos})"
    except (ValueError, RecursionError) as error:
        return f"cannot be read ({str(error).partition(';')[0]})"
    if not isinstance(given, dict):
        return f"expected a JSON object, got {type(given).__name__}"
    try:
        return Question.model_validate({"id": str(number)} | given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg'].removeprefix('Value error, ')}"


def _faults(faults: list[str]) -> str:
    if not faults:
        return "holds no question; expected one JSON object with `question` per line"
    rest = len(faults) - _SHOWN_FAULTS
    return "; ".join(faults[:_SHOWN_FAULTS]) + (f"; and {rest} more" if rest > 0 else "")


def locate_evidence(questions: Iterable[Question], text_of: Callable[[str], str | None]) -> list[Question]:
    """The questions with a place for every piece of evidence in a document that there is a text of.

    Cells of a table row are no run of text and stay as they are.

    Raises:
        QueryError: If a quote or a place is not in its document; the message names question and document.
    """
    return [
        question.model_copy(update={"evidence": tuple(_placed(question, each, text_of) for each in question.evidence)})
        for question in questions
    ]


def _placed(question: Question, evidence: Evidence, text_of: Callable[[str], str | None]) -> Evidence:
    text = text_of(evidence.document) if evidence.document else None
    if text is None:
        return evidence
    if evidence.end is not None:
        if evidence.end > len(text):
            raise _missing(question, evidence, f"ends at {evidence.end:,}, but the text has {len(text):,} characters")
        return evidence
    places = [find_quote(text, quote) for quote in evidence.text]
    if None in places:
        raise _missing(question, evidence, f"quotes {evidence.text[places.index(None)]!r}, which is not in its text")
    if len(places) > 1 or places[0] is None:
        return evidence
    return evidence.model_copy(update={"start": places[0][0], "end": places[0][1]})


def _missing(question: Question, evidence: Evidence, fault: str) -> QueryError:
    return QueryError(
        f"question {question.id!r}: evidence of {evidence.document!r} {fault}; "
        f"copy it from `release.document({evidence.document!r}).text`, or leave the evidence out"
    )
