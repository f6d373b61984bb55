"""The fast mode: one search and the best sentences of what it found; no model takes part."""

from sag_retrieval.ask.generated import extract_answer
from sag_retrieval.ask.mode_result import ModeResult
from sag_retrieval.ask.session import Session, documents_of


def ask_fast(session: Session) -> ModeResult:
    """The outcome of one search."""
    result = session.find(session.question)
    session.tell("background", documents=documents_of(result.hits), keys=[])
    return ModeResult(extract_answer(session, result.hits), tuple(result.hits), {"search": dict(result.trace)})
