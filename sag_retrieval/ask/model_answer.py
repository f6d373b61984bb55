"""Write the answer to a question with a language model from the evidence, or without one from its sentences."""

from collections.abc import Callable, Iterable, Sequence

from pydantic import Field

from sag_retrieval.ask.cited import Cited, cite, support
from sag_retrieval.ask.fast import extractive_answer
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.release_context import evidence_lines
from sag_retrieval.ask.session import EVIDENCE_CHARACTERS, Session
from sag_retrieval.core.errors import ModelError
from sag_retrieval.models.protocols import AnswerShape
from sag_retrieval.prompts import as_lines, numbered


class ModelAnswer(AnswerShape):
    """The model's answer to a question or a sub-question, and the numbers of the passages that support it."""

    is_found: bool = Field(description="whether the evidence holds the answer")
    answer: str = Field(description="the answer; empty if it is not in the evidence")
    cited: list[int] = Field(default_factory=list, description="numbers of the evidence lines used")


def write_answer(
    session: Session, hits: Sequence[FoundPassage], known: str = "", instead: Callable[[], Cited | None] | None = None
) -> Cited | None:
    """The cited answer to the session's question from the first `evidence` passages; None where they do not hold it.

    `known` are earlier answers as the prompt shows them; `instead` answers where no model can, by default the best
    sentences.
    """
    shown = shown_hits(hits[: session.options.evidence])
    extract = instead or (lambda: extract_answer(session, shown))
    if session.chat is None or not shown:
        return extract()
    try:
        reply = session.ask(
            "answer", ModelAnswer, evidence_values(session, session.question, shown, known), is_last=True
        )
    except ModelError as error:
        session.note(f"the answer was made without the model: {error}")
        return extract()
    return cited_answer(session, session.question, reply, shown)


def extract_answer(session: Session, hits: Sequence[FoundPassage]) -> Cited | None:
    """The sentences that answer the session's question."""
    return extractive_answer(session.question, hits, weigh=session.weigh, limit=session.options.sentences)


def cited_answer(session: Session, question: str, reply: ModelAnswer, shown: Sequence[FoundPassage]) -> Cited | None:
    """The model's answer with its citations; None if it found nothing, or no passage holds any of it."""
    if not reply.is_found or not reply.answer.strip():
        return None
    cited = cite(question, reply.answer, reply.cited, shown)
    if cited.citations:
        return cited
    numbers = support(question, reply.answer, shown)
    if not numbers:
        session.note(f"an answer to {question!r} is supported by no passage: left out")
        return None
    return cite(question, reply.answer, numbers, shown)


def evidence_values(session: Session, question: str, shown: Sequence[FoundPassage], known: str) -> dict[str, object]:
    """Values of the prompts `answer` and `sub_answer`."""
    if session.context is not None and session.options.context:
        evidence = as_lines(evidence_lines(session.context.index, shown))
    else:
        evidence = numbered([hit.text for hit in shown], [hit.title for hit in shown])
    return {"evidence": evidence, "known": known or "-", "question": question}


def shown_hits(hits: Iterable[FoundPassage]) -> list[FoundPassage]:
    """The first hits whose texts fit into a prompt together; the first one always."""
    shown: list[FoundPassage] = []
    used = 0
    for hit in hits:
        used += len(hit.text)
        if shown and used > EVIDENCE_CHARACTERS:
            break
        shown.append(hit)
    return shown
