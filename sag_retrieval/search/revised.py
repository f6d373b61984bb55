"""What holds now: passages stand behind those that revised a statement of theirs, and each names the other."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.public import public
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.spans import UNCONFIRMED, first_day, last_day, revising, subject_terms
from sag_retrieval.release.arrays import Allowed, Index
from sag_retrieval.release.mapped_arrays import take_rows
from sag_retrieval.search.method import Query, Ranking
from sag_retrieval.search.question_words import without_question_words

_ASKED_SHARE: Final = 0.5
"""Share of the words of a question that a statement and what it is about hold, for it to be what is asked."""
_ORDERED: Final = frozenset({"corrects", "replaces", "updates"})
"""Kinds that say which of two statements holds."""
_LONGEST_CHAIN: Final = 20
"""Revisions followed one after the other: a figure of a yearly report has a chain of years."""


@public
@dataclass(frozen=True, slots=True)
class HitRevision:
    """A revision between a statement of a hit and one elsewhere, whose place and words it has.

    `kind` is `corrects`, `replaces`, `updates` or `contradicts`; `start:end` is the place of the hit's statement in its
    document, `other_start:other_end` that of the other one in its own; `said` is when the other was said, or empty.
    """

    kind: str
    own_value: str
    other_value: str
    event_id: str
    start: int
    end: int
    said: str
    other_event_id: str
    document_id: str
    chunk_id: str
    title: str
    quote: str
    other_start: int
    other_end: int
    evidence: str
    confidence: float
    own_said: str = ""
    """When the hit's statement was said; empty: unknown."""
    is_weak: bool = False
    """Whether the hit's statement is the unconfirmed one of the two."""


@dataclass(frozen=True, slots=True, eq=False)
class _Revisions:
    rows: Sequence[Mapping[str, Any]]
    by_earlier: Mapping[int, Sequence[int]]
    by_later: Mapping[int, Sequence[int]]
    terms: Sequence[frozenset[str]]
    """What each is about, as index terms."""


def has_revisions(index: Index) -> bool:
    """Whether any statement of a release revises another."""
    return "revisions" in index.rows and index.rows["revisions"].num_rows > 0


def said_later(index: Index) -> dict[str, str]:
    """By id of each revised event: what was said last in its place, and when; a contradiction is none."""
    rows = _by_day(index.rows["revisions"].to_pylist(), "later_said") if has_revisions(index) else []
    told = {row["earlier_event_id"]: (row["later_value"], row["later_said"]) for row in rows if row["kind"] in _ORDERED}
    return {event: f"{value} ({day})" if day else value for event, (value, day) in told.items() if value}


_read: WeakKeyDictionary[Index, _Revisions] = WeakKeyDictionary()


def _revisions_of(index: Index) -> _Revisions:
    found = _read.get(index)
    if found is None:
        found = _read[index] = _read_revisions(index)
    return found


def _read_revisions(index: Index) -> _Revisions:
    table = index.rows["revisions"]
    rows = table.to_pylist()
    by_earlier: dict[int, list[int]] = defaultdict(list)
    by_later: dict[int, list[int]] = defaultdict(list)
    if rows:
        ids = index.rows["chunks"]["chunk_id"].combine_chunks()
        for side, listed in (("earlier", by_earlier), ("later", by_later)):
            for number, chunk in enumerate(pc.index_in(table[f"{side}_chunk_id"], ids).to_pylist()):
                if chunk is not None:
                    rows[number][f"{side}_chunk"] = chunk
                    listed[chunk].append(number)
    terms = [frozenset(row["attribute"].split()) | subject_terms(row["subject"]) for row in rows]
    return _Revisions(rows, by_earlier, by_later, terms)


def asks_past(question: str) -> bool:
    """Whether a question asks how something was, or was said to be, before.

    Examples:
        >>> asks_past("What was the price originally?"), asks_past("原定哪天发布？"), asks_past("What is the price?")
        (True, True, False)
    """
    return bool(revising("asks_past").search(question)) and not revising("asks_present").search(question)


def asked_day(question: str) -> str:
    """The last day of the first date that a question names, ISO; empty for none.

    Examples:
        >>> asked_day("Who was the manager in March 2019?")
        '2019-03-31'
    """
    found = next((str(each.value) for each in dates(question) if each.key_type == DATE), "")
    return last_day(found) if found else ""


def wants_earlier(question: str, earlier_said: str | None, later_said: str | None) -> bool:
    """Whether a question means the earlier of two statements: it asks for the past, or for a day between both."""
    day = asked_day(question)
    if day and earlier_said and later_said and first_day(earlier_said) <= day:
        return day < first_day(later_said)
    return asks_past(question)


def with_revisions(index: Index, query: Query, ranking: Ranking) -> Ranking:
    """A ranking in which what is asked stands before what it revised (docs/algorithm.md §search.20)."""
    if not has_revisions(index) or not len(ranking.chunks):
        return ranking
    known = _revisions_of(index)
    asked = subject_terms(without_question_words(query.text))
    order: list[tuple[int, int]] = []  # a chunk, and the place whose score it takes
    places = {chunk: place for place, chunk in enumerate(ranking.chunks.tolist())}
    done: set[int] = set()
    for place, chunk in enumerate(ranking.chunks.tolist()):
        better = _standing(known, chunk, query, asked)
        for each in (better, chunk):
            if each is not None and each not in done:
                done.add(each)
                order.append((each, place if each not in places or places[each] > place else places[each]))
    if [chunk for chunk, _ in order] == list(places):
        return ranking
    taken = np.array([place for _, place in order[: max(query.top_k, len(places))]])
    rows = np.array([chunk for chunk, _ in order[: len(taken)]], ranking.chunks.dtype)
    own = np.array([places.get(int(chunk), int(place)) for chunk, place in zip(rows, taken, strict=True)])
    scores = np.minimum.accumulate(ranking.scores[taken])
    parts = {name: part[own] for name, part in ranking.parts.items()}
    return replace(ranking, chunks=rows, scores=scores, parts=parts)


def _standing(known: _Revisions, chunk: int, query: Query, asked: frozenset[str]) -> int | None:
    """The chunk whose statement is meant in place of one of a chunk, at the end of the chain; None for none."""
    found, seen, allowed = None, {chunk}, query.allowed
    for _ in range(_LONGEST_CHAIN):
        steps = [*_steps(known, chunk, query.text, asked)]
        steps = [each for each in steps if each[0] not in seen and (allowed is None or allowed.chunks[each[0]])]
        if not steps:
            break
        chunk = found = max(steps, key=lambda each: each[1:])[0]
        seen.add(chunk)
    return found


def _steps(known: _Revisions, chunk: int, question: str, asked: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """Chunks that stand in place of one, each with when its statement was said, the one that is meant most last."""
    for by, other, is_back in ((known.by_earlier, "later", False), (known.by_later, "earlier", True)):
        for number in by.get(chunk, ()):
            row = known.rows[number]
            is_asked = asked and len(known.terms[number] & asked) >= _ASKED_SHARE * len(asked)
            if f"{other}_chunk" not in row or not is_asked:
                continue
            if row["kind"] not in _ORDERED and (row["evidence"] != UNCONFIRMED or is_back):
                continue
            if wants_earlier(question, row["earlier_said"], row["later_said"]) is is_back:
                yield row[f"{other}_chunk"], row[f"{other}_said"] or "", row[f"{other}_event_id"]


def hit_revisions(
    index: Index, chunk: int, allowed: Allowed | None
) -> tuple[tuple[HitRevision, ...], tuple[HitRevision, ...]]:
    """What revises statements of a chunk, latest first, and what they revise themselves; contradictions are in both."""
    if not has_revisions(index):
        return (), ()
    known = _revisions_of(index)
    later = [*_told(index, known, known.by_earlier.get(chunk, ()), "earlier", "later", allowed)]
    earlier = [*_told(index, known, known.by_later.get(chunk, ()), "later", "earlier", allowed)]
    for found, others in ((later, earlier), (earlier, later)):
        found += [one for one in others if one.kind == "contradicts" and one not in found]
    return tuple(_latest(later)), tuple(_latest(earlier))


def _latest(found: Sequence[HitRevision]) -> list[HitRevision]:
    return sorted(found, key=lambda one: (one.said, one.other_event_id), reverse=True)


def _told(
    index: Index, known: _Revisions, numbers: Sequence[int], own: str, other: str, allowed: Allowed | None
) -> Iterator[HitRevision]:
    for number in numbers:
        row = known.rows[number]
        chunk = row.get(f"{other}_chunk")
        if chunk is None or (allowed is not None and not allowed.chunks[chunk]):
            continue
        mine = _event(index, row[f"{own}_chunk"], row[f"{own}_event_id"])
        theirs = _event(index, chunk, row[f"{other}_event_id"])
        if mine and theirs:
            yield HitRevision(
                row["kind"],
                row[f"{own}_value"],
                row[f"{other}_value"],
                row[f"{own}_event_id"],
                mine["start"],
                mine["end"],
                row[f"{other}_said"] or "",
                row[f"{other}_event_id"],
                row[f"{other}_document_id"],
                row[f"{other}_chunk_id"],
                theirs["title"],
                theirs["content"],
                theirs["start"],
                theirs["end"],
                row["evidence"],
                row["confidence"],
                row[f"{own}_said"] or "",
                row["evidence"] == UNCONFIRMED and own == "earlier",
            )


def _event(index: Index, chunk: int, event_id: str) -> dict[str, Any] | None:
    """An event of a chunk with its place; that of the chunk where its own is not known."""
    first, last = index.arrays.chunk_events[chunk : chunk + 2].tolist()
    columns = index.rows["events"].select(["event_id", "content", "title", "start", "end"])
    found = next((e for e in columns.slice(first, last - first).to_pylist() if e["event_id"] == event_id), None)
    if found and found["start"] is None:
        (whole,) = take_rows(index.rows["chunks"].select(["start", "end"]), np.array([chunk])).to_pylist()
        found |= whole
    return found


def said_by(where: Mapping[str, Any] | None, as_of: object) -> Mapping[str, Any] | None:
    """A `where` that also asks for what had been said by the end of a day, month or year; None: nothing more.

    Examples:
        >>> said_by({"language": "en"}, "2025-06")
        {'language': 'en', 'said__lte': '2025-06-30'}
    """
    if as_of is None:
        return where
    try:
        day = last_day(date.fromisoformat(first_day(str(as_of))).isoformat()[: max(4, len(str(as_of)))])
    except ValueError:
        raise QueryError(f"as_of takes an ISO date such as 2025-06-30, got {shown(as_of)}") from None
    before = (where or {}).get("said__lte")
    return {**(where or {}), "said__lte": min(str(before), day) if before is not None else day}


_DAY = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


def is_day(since: str) -> bool:
    """Whether what a call gives is a date rather than the id of a release.

    Examples:
        >>> is_day("2025-06"), is_day("r0123456789ab")
        (True, False)
    """
    return _DAY.fullmatch(since) is not None


Seen = tuple[Index, Allowed | None]
"""A release, and what a restriction leaves of it; None: all."""


def changes_since(now: Seen, day: str = "", before: Seen | None = None) -> dict[str, list[dict[str, Any]]]:
    """Statements that were `revised`, are `new`, and were `withdrawn`; sorted by when they were said.

    Args:
        now: The release.
        day: Only what was said on this day, in this month or year, or later; empty: whenever.
        before: Another release: only what that one has not, and what only that one has.
    """
    events = _events(*now)
    known = _events(*before) if before else {}
    revised = now[0].rows["revisions"].to_pylist()
    if now[1] is not None:
        revised = [row for row in revised if row["earlier_event_id"] in events and row["later_event_id"] in events]
    if before:
        old = {(row["earlier_event_id"], row["later_event_id"]) for row in before[0].rows["revisions"].to_pylist()}
        revised = [row for row in revised if (row["earlier_event_id"], row["later_event_id"]) not in old]
    if day:
        revised = [row for row in revised if (row["later_said"] or "") >= day]
    is_asked = bool(day or before)
    new = [event for name, event in events.items() if is_asked and name not in known and (event["said"] or "") >= day]
    gone = [event for name, event in known.items() if name not in events]
    return {"revised": _by_day(revised, "later_said"), "new": _by_day(new, "said"), "withdrawn": _by_day(gone, "said")}


def _events(index: Index, allowed: Allowed | None) -> dict[str, dict[str, Any]]:
    table = index.rows["events"].select(["event_id", "document_id", "content", "said"])
    rows = (table if allowed is None else table.filter(pa.array(allowed.events))).to_pylist()
    return {row["event_id"]: row for row in rows}


def _by_day(rows: Iterable[Mapping[str, Any]], said: str) -> list[dict[str, Any]]:
    return sorted(map(dict, rows), key=lambda row: row[said] or "")
