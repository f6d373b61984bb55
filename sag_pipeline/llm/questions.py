"""Questions to a language model about a batch of documents, and the records of each document from the replies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sag_pipeline.llm.checked import Refusals
from sag_pipeline.step_runner import Work
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.table import StepInput
from sag_retrieval.core.errors import ModelError
from sag_retrieval.models.protocols import ChatModel, Reply, Request

Replies = Sequence[Reply[Any] | ModelError]
"""One reply or error per request, in the order of the requests."""


@dataclass(frozen=True, slots=True)
class Questions:
    """The requests about one document, if any, and what to make of the replies."""

    requests: Sequence[Request[Any]]
    then: Callable[[Replies], "Sequence[Any] | Questions"]
    """Returns the records of the document, or a further round of questions about it."""
    refused: Refusals | None = None
    """Where `then` notes what it leaves out of the replies."""


def no_questions(records: Sequence[Any]) -> Questions:
    """The records of a document about which nothing is asked."""
    return Questions((), lambda _: records)


def model_work(chat: ChatModel, table: str, ask: Callable[[Sequence[StepInput]], Iterable[Questions]]) -> Work:
    """Work by a model: all requests of a batch at once, then the records of each document in turn.

    Args:
        chat: The model.
        table: The table to be made; named in the reason of a document with unanswered questions.
        ask: Returns the questions about each document of a batch, in order.

    """

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        asked = list(ask(batch))
        replies = iter(chat.ask_all([request for questions in asked for request in questions.requests]))
        for questions in asked:
            got = list(islice(replies, len(questions.requests)))
            made = questions.then(got)
            while isinstance(made, Questions):
                further = list(chat.ask_all(made.requests))
                got += further
                made = made.then(further)
            yield result_of_replies(table, tuple(made), got, questions.refused)

    return work


def result_of_replies(table: str, records: tuple[Any, ...], got: Replies, refused: Refusals | None) -> StepResult:
    """The records; without an answer to some question they are incomplete, what was left out is a warning."""
    missing, warning = _missing(table, got), refused.reason(table) if refused else ""
    return StepResult(records, "; ".join(filter(None, (missing, warning))) if missing else "", warning)


def _missing(table: str, got: Replies) -> str:
    """Why rows are missing; empty if every question was answered."""
    errors = [reply for reply in got if isinstance(reply, ModelError)]
    return f"{table}: {len(errors)} of {len(got)} questions without an answer, the first: {errors[0]}" if errors else ""
