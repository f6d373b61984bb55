"""The fast mode, one search, and the normal mode, one more with the question rewritten by what the first one found."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from sag_retrieval.ask.cited import extract_answer, write_answer
from sag_retrieval.ask.modes import ModeResult, merge_hits
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.plan import LONGEST_QUESTION, NamedKey, keys_from_texts, usable_keys
from sag_retrieval.ask.session import Session, documents_of
from sag_retrieval.core.errors import ModelError
from sag_retrieval.prompts import as_lines, numbered

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


class Rewrite(BaseModel):
    """The model's form of the question, and where a search for it should start."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(description="the question, complete on its own")
    keys: list[NamedKey] = Field(default_factory=list, description="what the search starts from")
    sql: str = Field(default="", description="a condition that the question itself states, or empty")

    _texts = field_validator("keys", mode="before")(keys_from_texts)


def ask_normal(session: Session) -> ModeResult:
    """The outcome of a search with the rewritten question."""
    background = find_background(session)
    rewrite = _rewritten(session, background)
    if rewrite is None:
        return ModeResult(write_answer(session, background.hits), background.hits, {"background": background.trace})
    asked = rewrite.question.strip()[:LONGEST_QUESTION] or session.question
    result = session.find(asked, usable_keys(rewrite.keys), rewrite.sql.strip())
    hits = merge_hits(result.hits, background.hits)
    told = rewrite.model_dump() | {"documents": documents_of(result.hits)}
    return ModeResult(write_answer(session, hits), hits, {"background": background.trace, "rewrite": told})


def _rewritten(session: Session, background: Background) -> Rewrite | None:
    if session.chat is None:
        session.note("there is no language model: the question was searched as it stands")
        return None
    values = {"passages": background.passages, "keys": background.keys, "question": session.question}
    try:
        rewrite = session.ask("rewrite", Rewrite, values)
    except ModelError as error:
        session.note(f"the question was not rewritten: {error}")
        return None
    session.tell("rewrite", **rewrite.model_dump())
    return rewrite


def ask_fast(session: Session) -> ModeResult:
    """The outcome of one search."""
    result = session.find(session.question)
    session.tell("background", documents=documents_of(result.hits), keys=[])
    return ModeResult(extract_answer(session, result.hits), tuple(result.hits), {"search": dict(result.trace)})
