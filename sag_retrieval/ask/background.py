"""What a first search by the question alone brings: background for the model that rewrites or plans."""

from dataclasses import dataclass
from typing import Any

from sag_retrieval.ask.protocols import FoundPassage
from sag_retrieval.ask.session import Session, documents_of
from sag_retrieval.prompts.passages import as_lines, numbered

_PASSAGES = 6
_KEYS = 20
_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Background:
    """Hits of the first search, and the text of both as prompts show them."""

    hits: tuple[FoundPassage, ...]
    passages: str
    keys: str
    trace: dict[str, Any]


def find_background(session: Session) -> Background:
    """The background of the session's question.

    Raises:
        FilterError: If the caller's restriction was refused.

    """
    result = session.find(session.question)
    top = result.hits[:_PASSAGES]
    passages = numbered([hit.text for hit in top], [hit.title for hit in top], longest=_CHARACTERS) or "-"
    named = [{"type": str(key.type), "value": str(key.value)} for key in result.keys[:_KEYS]]
    trace = {"documents": documents_of(result.hits), "keys": [key["value"] for key in named]}
    session.tell("background", **trace)
    return Background(tuple(result.hits), passages, as_lines(named) or "-", trace)
