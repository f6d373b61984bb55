"""The gate before a release becomes current: its questions must be answered about as well as by the current one."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from sag_pipeline.options import GateOptions
from sag_pipeline.publish.checks import QUESTIONS, Check
from sag_retrieval.api import Release, open_release
from sag_retrieval.core.errors import ReleaseError, SagError, SourceError
from sag_retrieval.evaluation.answers import evaluate_answers
from sag_retrieval.evaluation.questions import Question, read_questions
from sag_retrieval.evaluation.runner import evaluate
from sag_retrieval.release.manifest import ANSWERS

DOCUMENTS_LOOKED_AT: Final = 5
"""Recall is that of the first five distinct documents: as many as a reader or a prompt takes."""
_SHOWN: Final = 5
_LONGEST: Final = 200
_ACCEPT: Final = "`sag ingest --accept-recall` (in Dagster: `accept_recall: true` of the resource `sag`)"


@dataclass(frozen=True, slots=True)
class Measured:
    """How a release answers questions: recall of the documents, and whether the answer has the text, by question."""

    recall: Mapping[str, float] = field(default_factory=dict)
    answered: Mapping[str, float] = field(default_factory=dict)

    def numbers(self) -> dict[str, float]:
        """The means of what was measured."""
        means = {"recall": _mean(self.recall), "answer_rate": _mean(self.answered)}
        return {name: round(mean, 4) for name, mean in means.items() if mean is not None}

    def worse_than(self, other: "Measured") -> list[str]:
        """Questions for which less was found, or no longer the answer."""
        pairs = ((self.recall, other.recall), (self.answered, other.answered))
        return sorted({name for own, theirs in pairs for name in own if own[name] < theirs.get(name, 0.0)})


class QuestionError(SagError):
    """A question could not be searched for or answered at all."""


def measure(release: Release, questions: Sequence[Question]) -> Measured:
    """How a release answers questions with the method `sag`; answers are made by rules, so nothing is paid."""
    documents = [question for question in questions if question.gold_documents]
    texts = [question for question in questions if question.answers]
    recall, answered = dict[str, float](), dict[str, float]()
    if documents:
        found = evaluate(_named(release.searcher("sag")), documents, ks=[DOCUMENTS_LOOKED_AT])
        recall = found.recall_by_question(DOCUMENTS_LOOKED_AT)
    if texts:
        scored = evaluate_answers(_named(partial(_ask, release)), texts, ks=[DOCUMENTS_LOOKED_AT])
        answered = {outcome.question.id: outcome.scores["accuracy"] for outcome in scored.outcomes}
    return Measured(recall, answered)


def _named(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same, whose errors name the question: one that cannot be asked is no reason for the run to fail."""

    def asked(question: str, *given: Any, **options: Any) -> Any:  # noqa: ANN401  what the call takes and gives
        try:
            return call(question, *given, **options)
        except Exception as error:
            raise QuestionError(
                f"question {question[:_LONGEST]!r} ended with {type(error).__name__}: {error}"
            ) from error

    return asked


def _ask(release: Release, question: str, keys: Sequence[str] = ()) -> Any:  # noqa: ANN401  an answer
    return release.ask(question, keys=keys or None)


def askable(questions: Sequence[Question], documents: set[str]) -> list[Question]:
    """Questions about documents that are there: of a question about several, those that are left.

    Its answer is expected only where none of them is gone. One without documents is asked for its answer alone.
    """
    found = []
    for question in questions:
        left = tuple(each for each in question.gold_documents if each in documents)
        if question.is_unanswerable or (question.gold_documents and not left):
            continue
        is_whole = len(left) == len(question.gold_documents)
        answers = question.answers if is_whole else ()
        found.append(question.model_copy(update={"gold_documents": left, "answers": answers}))
    return found


def gate_of(home: Path, options: GateOptions, new: str, current: str | None) -> Check:
    """Compare a release with the current one on the questions of the home."""
    path = home / QUESTIONS
    try:
        questions = read_questions(path)
    except SourceError as error:
        fault = f"the questions cannot be used: {error}; correct {path}, or publish all the same: {_ACCEPT}"
        return Check(ANSWERS, passed=options.accept_recall, message=fault)
    with closing(open_release(home, release=new)) as release:
        documents = set(release.index.rows["documents"]["document_id"].to_pylist())
        asked = askable(questions, documents)
        try:
            mine = measure(release, asked)
        except QuestionError as error:
            fault = f"{error}; take it out of {path}, or publish all the same: {_ACCEPT}"
            return Check(ANSWERS, passed=options.accept_recall, message=fault)
    left_out = sum(not question.is_unanswerable for question in questions) - len(asked)
    note = f"; {left_out} left out, as their documents are not in the release" if left_out else ""
    numbers: dict[str, float | int] = {"questions": len(asked), "left_out": left_out, **mine.numbers()}
    if not asked:
        return Check(ANSWERS, passed=True, message=f"no question can be asked{note}", numbers=numbers)
    theirs, why = _measure_current(home, asked, new, current)
    if theirs is None:
        return Check(
            ANSWERS, passed=True, message=f"{_said(mine)} on {len(asked)} questions, {why}{note}", numbers=numbers
        )
    numbers |= {f"{name}_before": value for name, value in theirs.numbers().items()}
    way_out = (
        f"; release {new} is kept beside the current one: `sag evaluate {shlex.quote(str(path))} --release {new}` "
        f"measures it, `sag releases promote {new}` makes it current, {_ACCEPT} publishes all the same"
    )
    return _verdict(options, numbers, mine, theirs, way_out, note)


def _measure_current(
    home: Path, asked: Sequence[Question], new: str, current: str | None
) -> tuple[Measured | None, str]:
    """What the current release answers; None with the reason where there is nothing to compare with."""
    if current is None:
        return None, "compared with none, as it is the first release"
    if current == new:
        return None, "compared with none, as it is the current release"
    try:
        with closing(open_release(home, release=current)) as release:
            return measure(release, asked), ""
    except QuestionError as error:
        return None, f"compared with none: in the current release {error}"
    except (ReleaseError, OSError, ValueError) as error:
        return None, f"compared with none: release {current} cannot be opened ({error})"


def _verdict(
    options: GateOptions, numbers: Mapping[str, float | int], mine: Measured, theirs: Measured, way_out: str, note: str
) -> Check:
    names = {"recall": f"recall@{DOCUMENTS_LOOKED_AT}", "answer_rate": "answer rate"}
    told = [
        f"{shown} {numbers[f'{name}_before']:.3f} → {numbers[name]:.3f}"
        for name, shown in names.items()
        if name in numbers
    ]
    falls = [numbers[f"{name}_before"] - numbers[name] for name in names if name in numbers]
    message = f"{', '.join(told)} on {numbers['questions']} questions{note}"
    if max(falls) <= options.recall_margin + _ROUNDING:
        return Check(ANSWERS, passed=True, message=message, numbers=numbers)
    worse = mine.worse_than(theirs)
    listed = ", ".join(worse[:_SHOWN]) + (f" and {len(worse) - _SHOWN} more" if len(worse) > _SHOWN else "")
    message = f"{message}: more than {options.recall_margin:g} worse (questions {listed})"
    if not options.accept_recall:
        message += way_out
    return Check(ANSWERS, passed=options.accept_recall, message=message, numbers=numbers)


_ROUNDING: Final = 1e-9


def _mean(values: Mapping[str, float]) -> float | None:
    return sum(values.values()) / len(values) if values else None


def _said(measured: Measured) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in measured.numbers().items())
