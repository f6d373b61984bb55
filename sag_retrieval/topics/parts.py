"""Group the events of one or two long documents by their parts: sections with a title, in reading order."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Floats, Rows
from sag_retrieval.clusters.groups import Communities, Quality, Tie, community_id, members_of, on_one_level
from sag_retrieval.topics.said import SaidNames
from sag_retrieval.topics.titles import TakenTitles, distinctive_keys, fits, naming_keys, shorten

_DOCUMENTS: Final = 3
"""From this number of documents on, themes go across documents."""
_PARTS: Final = (3, 40)
_SHARE: Final = 0.02
_LEAST: Final = 3
_COVERED: Final = 0.6
_NAMES: Final = 2
_ROMAN: Final = re.compile(r"[IVXLC]+\.?")
_AT_COLON: Final = re.compile(r"[:：]\s*")
_LETTERS: Final = re.compile(r"[^\W\d_]")
_NUMBERED: Final = re.compile(
    r"^\W*(?:[a-z]+\W+)?(?:\d+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|first|second|third|last)\W*$"
    r"|^\W*第?[一二三四五六七八九十百\d]+[章节回部卷篇]?\W*$",
    re.IGNORECASE,
)
"""Titles that only count: `STAVE ONE`, `Chapter 4`, `第三章`."""


def build_parts(events: EventTable) -> Communities | None:
    """The parts of one or two documents as communities of one level, with titles; None where they have no such parts.

    A section without words in its title belongs to the part before it. A part has at least three events and 2 % of all;
    parts are used if there are 3 to 40 of them with 60 % of the events.

    Source:
        docs/algorithm.md §reports.3.

    """
    if len(set(events.document.tolist())) >= _DOCUMENTS or not events.chunks.sections:
        return None
    number, titles = _numbered(events)
    sizes = np.bincount(number, minlength=len(titles))
    kept = [
        place for place in range(len(titles)) if sizes[place] >= max(_LEAST, _SHARE * len(events)) and titles[place]
    ]
    if not _PARTS[0] <= len(kept) <= _PARTS[1] or sizes[kept].sum() < _COVERED * len(events):
        return None
    group = np.full(len(titles), -1, np.int32)
    group[kept] = np.arange(len(kept), dtype=np.int32)
    return _communities(events, group[number], [titles[place] for place in kept])


def _numbered(events: EventTable) -> tuple[Rows, list[str]]:
    """Number of each event's part, and the titles of the parts."""
    titles: list[str] = [""]
    places: dict[tuple[int, str], int] = {}
    of_chunk: list[int] = []
    last = -1
    for document, title in zip(events.chunks.document.tolist(), events.chunks.sections, strict=True):
        is_titled = bool(_LETTERS.search(title)) and not title.startswith("[")
        if is_titled or document != last:
            key = (document, title if is_titled else "")
            if key not in places:
                places[key] = len(titles)
                titles.append(key[1])
            current = places[key]
        last = document
        of_chunk.append(current)
    return np.array(of_chunk, np.int32)[events.chunk], titles


def _communities(events: EventTable, part: Rows, titles: Sequence[str]) -> Communities:
    alone = np.flatnonzero(part < 0)
    number = part.copy()
    number[alone] = len(titles) + np.arange(len(alone), dtype=np.int32)
    centrality = _centralities(events, part, len(titles))
    members = members_of(number, centrality)
    ids = [community_id(0, [events.event_ids[row] for row in rows.tolist()]) for rows in members]
    named = _titles(events, members[: len(titles)], titles)
    return Communities(
        communities=on_one_level(ids, members, named, centrality=centrality, weight=np.ones(len(part))),
        quality=(
            Quality(
                level=0, communities=len(members), modularity=0.0, coverage=float((part >= 0).mean()), conductance=0.0
            ),
        ),
        ties=tuple(_ties(events, members[: len(titles)], ids)),
        is_ordered=True,
    )


def _centralities(events: EventTable, part: Rows, count: int) -> Floats:
    """Similarity of each event to the mean of its part, relative to the best; 1 for an event without a part."""
    found = np.ones(len(part))
    for number in range(count):
        rows = np.flatnonzero(part == number)
        vectors = events.vectors[rows]
        likeness = np.asarray(vectors @ np.asarray(vectors.mean(axis=0)).ravel(), dtype=np.float64)
        best = float(likeness.max(initial=0.0))
        found[rows] = np.maximum(likeness, 0) / best if best > 0 else 1.0
    return np.round(found, 9)


def _titles(events: EventTable, members: Sequence[Rows], titles: Sequence[str]) -> list[str]:
    """The titles of the parts; one that only counts is followed by the names that distinguish its part."""
    taken, found, said = TakenTitles(), [], SaidNames(events)
    for title, keys in zip(titles, distinctive_keys(events, members), strict=True):
        last = title.rsplit(" / ", 1)[-1]
        whole = _in_small_letters(last) if last.isupper() else last
        if _NUMBERED.match(title):
            named = (events.keys.values[key.row] for key in naming_keys(events, keys) if key.row in said)
            names = list(dict.fromkeys(named))[:_NAMES]
            whole = f"{whole}: {' · '.join(names)}" if names else whole
        else:
            whole = whole if fits(whole) else shorten(_AT_COLON.sub(" ", whole))
        whole = whole if whole not in taken else taken.numbered(whole)
        taken.add(whole)
        found.append(whole)
    return found


def _in_small_letters(title: str) -> str:
    """`STAVE ONE` as `Stave One`; Roman numerals stay."""
    return " ".join(word if _ROMAN.fullmatch(word) else word.title() for word in title.split(" "))


def _ties(events: EventTable, members: Sequence[Rows], ids: Sequence[str]) -> Iterator[Tie]:
    """Pairs of parts with the count of keys that occur in both."""
    incidence = events.incidence(without=("title", "date"))
    keys = [set(incidence[rows].indices.tolist()) for rows in members]
    for one, other in combinations(range(len(members)), 2):
        if both := len(keys[one] & keys[other]):
            yield Tie(ids[one], ids[other], float(both))
