"""The fast mode: one search and the best sentences of what it found; no model takes part."""

from sag_retrieval.query.outcome import Outcome
from sag_retrieval.query.session import Session, documents_of
from sag_retrieval.query.written import extract_answer


def ask_fast(session: Session) -> Outcome:
    """The outcome of one search."""
    result = session.find(session.question)
    session.tell("background", documents=documents_of(result.hits), keys=[])
    return Outcome(extract_answer(session, result.hits), tuple(result.hits), {"search": dict(result.trace)})
