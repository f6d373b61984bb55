"""Tiered retrieval as a search method: from the rows found in the tiers to chunks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.core.types import Floats
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.arrays import Allowed, Index
from sag_retrieval.release.reader import Reader
from sag_retrieval.search.method import Method, ParsedQuery, Query, Ranking, Stopwatch, parse_query, rank_by
from sag_retrieval.search.methods.tiers.explain import explain
from sag_retrieval.search.methods.tiers.result import TiersResult, result_of
from sag_retrieval.search.methods.tiers.source import (
    COMMUNITIES,
    Categories,
    ReleaseTiers,
    load_categories,
    made_at,
)
from sag_retrieval.search.methods.tiers.workflow import (
    TierOptions,
    TiersFound,
    TiersOptions,
    Turn,
    question_text,
    retrieve,
    stand_alone,
)
from sag_retrieval.search.rank import mean_score, structure_share

SEARCH: Final = TiersOptions(item=TierOptions(top_k=50), resource=TierOptions(top_k=20))
"""Options as a search method: more rows per tier than an answer needs."""

_CATEGORY: Final = 0.1
_SAME_CATEGORY: Final = 0.3
_DOCUMENT: Final = 0.5
_TEXT: Final = 0.5

_kept: dict[tuple[int, str, str, int], tuple[Index, Categories]] = {}
_lock = Lock()


def tiers_method(
    options: TiersOptions = SEARCH,
    *,
    chat: ChatModel | None = None,
    home: Path | None = None,
) -> Method:
    """Ranks chunks by the rows of the tiers that they belong to; empty if no retrieval is needed.

    `score(chunk) = i + d/2 + c + t/2`, by its best event, its document, a shared category and its text; without a model
    i, d and c count less the longer documents are. Source: docs/algorithm.md §tiers.3.
    """

    def rank(index: Index, query: Query) -> Ranking:
        stopwatch = Stopwatch()
        with stopwatch("read"):
            reading = parse_query(index, query)
        source = ReleaseTiers(index, categories_of(index, home, options.categories), query.allowed)
        source.vectors[query.text] = reading.vector
        asked = " ".join([query.text, *query.keys]).strip()
        with stopwatch("tiers"):
            response = retrieve([asked], source, options, chat=chat)
        with stopwatch("rank"):
            parts = _parts(source, reading, response)
            is_judged = any(step.calls and not step.note for step in response.trace)
            share = structure_share(index.arrays, parts["text"], is_judged=is_judged)
            parts = {name: part if name == "text" else share * part for name, part in parts.items()}
        scores = sum(parts.values(), np.zeros(index.arrays.chunk_count))
        allowed = query.allowed.chunks if query.allowed and response.needs_retrieval else None
        ranking = rank_by(scores, query.top_k, allowed, parts, stopwatch.seconds)
        trace = {"tiers": [asdict(step) for step in response.trace], "stopped_at": response.stopped_at}
        more = explain(source, query, response, ranking.chunks) if query.explain else {}
        return replace(ranking, trace={**trace, **more})

    return rank


def categories_of(index: Index, home: Path | None, source: str) -> Categories:
    """The categories of a release, read and embedded once per clustering."""
    name = (id(index.arrays), str(home), source, made_at(home) if source == COMMUNITIES else 0)
    with _lock:
        if name not in _kept:
            if len(_kept) >= 8:  # noqa: PLR2004  a process opens few releases; the oldest entry is dropped
                _kept.pop(next(iter(_kept)))
            _kept[name] = (index, load_categories(index, home, source))
        return _kept[name][1]


def _parts(source: ReleaseTiers, reading: ParsedQuery, response: TiersFound) -> dict[str, Floats]:
    arrays = source.index.arrays
    names = ("item", "document", "category", "text")
    parts = {name: np.zeros(arrays.chunk_count) for name in names}
    if not response.needs_retrieval:
        return parts
    items, documents = response.hits["item"], response.hits["resource"]
    events = source.rows_of("item", [row for row, _ in items])
    np.maximum.at(parts["item"], arrays.event_chunk[events], _scores([score for _, score in items]))
    by_document = np.zeros(arrays.document_count)
    rows = source.rows_of("resource", [row for row, _ in documents])
    by_document[rows] = _DOCUMENT * np.maximum(_scores([score for _, score in documents]), 0)
    parts["document"] = by_document[arrays.chunk_document]
    parts["category"] = _by_shared_category(source, events, parts["item"]) if items else _by_category(source, response)
    parts["text"] = _TEXT * _text(source, reading)
    return parts


def _by_shared_category(source: ReleaseTiers, events: npt.NDArray[np.int64], by_item: Floats) -> Floats:
    """Shape (chunks,): 0.3 of the best hit event that shares a category with an event of the chunk."""
    arrays, categories = source.index.arrays, source.categories
    best = np.zeros(len(categories.ids))
    found = np.zeros(arrays.chunk_count)
    if not len(best):
        return found
    owner = np.repeat(np.arange(len(best)), categories.events.sizes())
    is_hit = np.isin(categories.events.items, events)
    np.maximum.at(best, owner[is_hit], by_item[arrays.event_chunk[categories.events.items[is_hit]]])
    np.maximum.at(found, arrays.event_chunk[categories.events.items], best[owner])
    return _SAME_CATEGORY * found


def _by_category(source: ReleaseTiers, response: TiersFound) -> Floats:
    """Shape (chunks,): a tenth of the score of the best hit category with one of its events."""
    found = np.zeros(source.index.arrays.chunk_count)
    hits = response.hits["category"]
    numbers = source.categories.numbers([row for row, _ in hits])
    for number, score in zip(numbers, _scores([score for _, score in hits]), strict=True):
        chunks = source.index.arrays.event_chunk[source.categories.events.row(number)]
        np.maximum.at(found, chunks, max(float(score), 0.0))
    return _CATEGORY * found


def _text(source: ReleaseTiers, reading: ParsedQuery) -> Floats:
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    cosine = source.chunk_scores(reading.vector)
    bm25 = source.index.arrays.chunk_text.scores(reading.terms)
    return mean_score(bm25, cosine, allowed)


def _scores(scores: list[float | None]) -> Floats:
    """Scores as given; for rows chosen by a language model, decreasing evenly from 0.5, the level of cosines."""
    count = len(scores)
    return np.array([0.5 - place / (4 * count) if s is None else s for place, s in enumerate(scores)], np.float64)


Conversation = str | Sequence[str | Mapping[str, Any]]
"""A question, or turns of a conversation as chat models take them: `{"role": …, "content": …}`."""
_USER: Final = "user"
_SPOKEN: Final = (_USER, "assistant")
"""Roles whose turns a question may refer to; others hold instructions."""


def retrieve_tiers(
    reader: Reader,
    messages: Conversation,
    allowed: Allowed | None = None,
    options: TiersOptions | Mapping[str, Any] | None = None,
    *,
    method: Literal["rag", "llm"] | None = None,
    chat: ChatModel | None = None,
) -> TiersResult:
    """Categories, events and documents of a release for the last turn of a conversation.

    `method` replaces that of the options; without a language model, rules and vectors judge and rewrite.
    """
    chosen = build_options(TiersOptions, options, what="tiers")
    if method is not None:
        chosen = build_options(TiersOptions, {"method": method}, what="tiers", base=chosen)
    turns = turns_of(messages)
    question, earlier = turns[-1].text, turns[:-1]
    Query(question)  # its checks are those of every query
    index = reader.index
    source = ReleaseTiers(index, categories_of(index, reader.folder, chosen.categories), allowed)
    response = retrieve(
        [turn.text for turn in turns],
        source,
        chosen,
        chat=chat,
        rewrite=lambda asked: stand_alone(index, asked, earlier, allowed),
    )
    return result_of(response, reader.manifest.release_id)


def turns_of(messages: Conversation, *, is_asked: bool = True) -> list[Turn]:
    """The turns of user and assistant; `is_asked`: the last one is the question."""
    listed = [messages] if isinstance(messages, str | Mapping) else messages
    if not isinstance(listed, Sequence):
        raise QueryError(f"messages must be a question or a list of messages, got {shown(messages)}")
    spoken = [(_role(message), message) for message in listed]
    turns = [Turn(question_text(message), role == _USER) for role, message in spoken if role in _SPOKEN]
    if not is_asked:
        return turns
    if not turns:
        raise QueryError("no question given; the last message must be one of the user")
    if not turns[-1].is_user:
        raise QueryError("the last message is of the assistant; it must be the user's question")
    return turns


def _role(message: object) -> str:
    role = message.get("role", _USER) if isinstance(message, Mapping) else _USER
    return role if isinstance(role, str) else _USER
