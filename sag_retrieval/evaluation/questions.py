"""Read questions with their right answers and gold documents from JSON Lines, reporting each fault with its line."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sag_retrieval.core.errors import SourceError

_SHOWN_FAULTS = 10


class Question(BaseModel):
    """A question and what is known about its answer; other fields of the line are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)

    id: str = ""
    question: str = Field(min_length=1)
    answers: tuple[str, ...] = ()
    gold_documents: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    type: str = ""

    @field_validator("question")
    @classmethod
    def _is_not_blank(cls, question: str) -> str:
        if not question.strip():
            raise ValueError("the question is blank")
        return question


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    question: Question | None = None
    fault: str = ""


def read_questions(path: Path | str, on_fault: Callable[[str], None] | None = None) -> list[Question]:
    """The questions of a file, one JSON object per line; one without `id` gets its line's number.

    Args:
        path: The file.
        on_fault: Called with the number and fault of each line that is no question; such lines are then left out.

    Raises:
        SourceError: If the file cannot be read or holds no question; without `on_fault` also if it repeats an id or
            has a line that is no question. The message names each such line and its fault.

    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"questions {str(path)!r} cannot be read: {error}") from error
    lines = [_read(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    checked = list(_with_repeats(lines))
    faults = [f"line {line.number}: {line.fault}" for line in checked if line.fault]
    if (faults and on_fault is None) or len(faults) == len(lines):
        raise SourceError(f"{path}: {_faults(faults)}")
    if on_fault is not None:
        for fault in faults:
            on_fault(fault)
    return [line.question for line in checked if line.question is not None]


def _read(number: int, line: str) -> _Line:
    try:
        given = json.loads(line)
    except json.JSONDecodeError as error:
        return _Line(number, fault=f"not JSON ({error.msg} at character {error.pos})")
    except (ValueError, RecursionError) as error:
        return _Line(number, fault=f"cannot be read ({str(error).partition(';')[0]})")
    if not isinstance(given, dict):
        return _Line(number, fault=f"expected a JSON object, got {type(given).__name__}")
    try:
        question = Question.model_validate({"id": str(number)} | given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return _Line(number, fault=f"{place}: {first['msg'].removeprefix('Value error, ')}")
    return _Line(number, question)


def _with_repeats(lines: Iterable[_Line]) -> Iterable[_Line]:
    seen: dict[str, int] = {}
    for line in lines:
        if line.question is not None and line.question.id in seen:
            first = seen[line.question.id]
            yield _Line(line.number, fault=f"id {line.question.id!r} is that of line {first}")
        else:
            if line.question is not None:
                seen[line.question.id] = line.number
            yield line


def _faults(faults: list[str]) -> str:
    if not faults:
        return "holds no question; expected one JSON object with `question` per line"
    rest = len(faults) - _SHOWN_FAULTS
    return "; ".join(faults[:_SHOWN_FAULTS]) + (f"; and {rest} more" if rest > 0 else "")
