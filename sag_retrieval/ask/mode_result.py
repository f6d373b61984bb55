"""What a mode brings back, before it becomes an answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any

from sag_retrieval.ask.answer import Answer, not_found
from sag_retrieval.ask.cited import Cited
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.session import Session


@dataclass(frozen=True, slots=True)
class ModeResult:
    """A cited text or None, all hits in their order of worth, and what is to be told of the way."""

    cited: Cited | None
    hits: tuple[FoundPassage, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)


def merge_hits(first: Iterable[FoundPassage], *lists: Sequence[FoundPassage]) -> tuple[FoundPassage, ...]:
    """The first hits, then the others in turn by rank; each chunk once (docs/algorithm.md §rag.5)."""
    turns = (hit for tier in zip_longest(*lists) for hit in tier if hit is not None)
    merged: dict[str, FoundPassage] = {}
    for hit in [*first, *turns]:
        merged.setdefault(hit.chunk_id, hit)
    return tuple(merged.values())


def to_answer(session: Session, mode: str, outcome: ModeResult) -> Answer:
    """The answer; hits that a model cites come first."""
    cited = outcome.cited
    by_chunk = {hit.chunk_id: hit for hit in outcome.hits}
    named = cited.citations if cited and cited.is_generated else ()
    first = [by_chunk[citation.chunk_id] for citation in named if citation.chunk_id in by_chunk]
    trace = {"mode": mode, **outcome.trace, "calls": session.calls, "usage": asdict(session.usage)}
    answer = Answer(
        session.question,
        cited.text if cited else not_found(session.language),
        mode,
        cited is not None,
        cited.citations if cited else (),
        merge_hits(first, outcome.hits),
        tuple(session.notes),
        session.usage,
        session.seconds,
        trace,
    )
    session.tell("done", is_found=answer.is_found, text=answer.text)
    return answer
