"""Find kinds of statements: sentences of several documents that say the same of other names and figures."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.cluster.hierarchy import average, fcluster
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

from sag_retrieval.communities.common_phrases import SHOWN, common_phrase, said_share, telling_words
from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.communities.registers import has_figure
from sag_retrieval.communities.statements import faults
from sag_retrieval.communities.tagging import tagged
from sag_retrieval.communities.talk import TOLD
from sag_retrieval.communities.titles import names_something
from sag_retrieval.text.words import STOP_WORDS, is_cjk

DOCUMENTS: Final = 3
"""Documents that say a kind, and a word that kinds are found by."""
_ALIKE: Final = 0.3
"""Average cosine of what the statements of a kind say without their names and figures."""
_LONGEST_POOL: Final = 3_000
"""Statements among which kinds are looked for; those of a larger pile join them."""
_DIGIT: Final = re.compile(r"\d")
_LOWER: Final = re.compile(r"(?<![\w'’-])[a-zà-öø-ÿ]{3,}(?![\w-])")
_RUN: Final = re.compile(r"[\u4e00-\u9fff]+")
_DAY_LENGTH: Final = len("2024-01-01")
_MASK: Final = "|"


@dataclass(frozen=True, slots=True, eq=False)
class StatementKind:
    """Statements that say the same of other names and figures, the most typical one first."""

    rows: Rows
    documents: int
    exact: Rows
    """Those that say every telling word of the phrase: their amounts compare."""
    phrase: str
    """The words that most of them say, `…` between them where they differ; empty for fewer than two."""


def recurring_kinds(events: EventTable, most: int) -> list[StatementKind]:
    """The kinds of statements that most documents say, the widest first.

    What is left of a statement without its names and figures is its words, and the sorts of its figures: an amount of
    money or of a unit, a day, a person. Words and sorts of fewer than three documents are left out. Kinds are groups
    by average linkage of the cosines of the idf weights, down to .3; statements without a word in common are not
    alike. Of a kind those count that say most of what its most typical statement has in common with most.

    Source:
        docs/algorithm.md §reports.6.

    """
    rows = _pool(events)
    if len(rows) < DOCUMENTS:
        return []
    names = [names_in(events, row) for row in rows]
    said = [frozenset(_words(events.contents[row], own)) for row, own in zip(rows, names, strict=True)]
    sorts = [_sorts(events, row) for row in rows]
    document = events.document[rows]
    weighed, shares = _incidence(said, sorts, document)
    made = (
        _kind(
            events,
            np.array([rows[place] for place in members], np.int32),
            [masked(events.contents[rows[place]], names[place]) for place in members],
        )
        for members in _grouped(weighed, shares, most)
    )
    return sorted((each for each in made if each), key=lambda each: -each.documents)


def _kind(events: EventTable, own: Rows, texts: Sequence[str]) -> StatementKind | None:
    """The kind of these statements, without those that say other words; None where few documents are left."""
    phrase, telling = common_phrase(texts, events.document[own].tolist())
    share = np.array([said_share(text, telling) for text in texts])
    exact = np.array([said_share(text, telling_words(phrase)) for text in texts]) == 1
    own, exact = own[share > SHOWN], own[exact]
    wide = len(np.unique(events.document[own]))
    return StatementKind(own, wide, exact, phrase) if wide >= DOCUMENTS and phrase else None


def names_in(events: EventTable, row: int) -> list[str]:
    """The names of an event that its text says, the longest first."""
    start, end = np.searchsorted(events.links.event, [row, row + 1]).tolist()
    text = events.contents[row]
    keys = (key for key in events.links.key[start:end].tolist() if names_something(events.keys, key))
    found = {name for key in keys for name in events.keys.names_of(key)}
    return sorted((name for name in found if name in text), key=lambda name: (-len(name), name))


def _pool(events: EventTable) -> list[int]:
    """Statements without a fault and with a figure that are neither talk nor a plan."""
    planned = events.is_forecast if len(events.is_forecast) else np.zeros(len(events), np.bool_)
    return [
        row
        for row, text in enumerate(events.contents)
        if not planned[row] and _DIGIT.search(text) and not TOLD.match(text) and _holds_figure(events, row)
        if not faults(text)
    ]


def _holds_figure(events: EventTable, row: int) -> bool:
    """Whether a text holds figures besides those of its names and of places in documents."""
    bare = masked(events.contents[row], names_in(events, row))
    return _DIGIT.search(bare) is not None and has_figure(bare)


def masked(text: str, names: Sequence[str]) -> str:
    """A text with a mark in place of each name."""
    for name in names:
        text = text.replace(name, f" {_MASK} ")
    return text


def _words(text: str, names: Sequence[str]) -> list[str]:
    bare = masked(text, names)
    if is_cjk(bare):
        return [word for run in _RUN.findall(bare) for word, _ in tagged(run) if len(word) > 1]
    return [word for word in _LOWER.findall(bare) if word not in STOP_WORDS]


def _sorts(events: EventTable, row: int) -> frozenset[str]:
    """The sorts of figures of a statement, as words that no text has."""
    start, end = np.searchsorted(events.links.event, [row, row + 1]).tolist()
    keys, found = events.keys, set[str]()
    for key in events.links.key[start:end].tolist():
        kind = keys.types[key]
        if kind == "date":
            found.add("#day" if len(keys.values[key]) >= _DAY_LENGTH else "#date")
        elif kind in {"money", "percentage", "person"}:
            found.add(f"#{kind}")
        elif keys.numbers and keys.numbers[key] is not None:
            found.add(f"#{keys.units[key] or ''}")
    return frozenset(found - {"#date"} if "#day" in found else found)


def _incidence(
    said: Sequence[frozenset[str]], sorts: Sequence[frozenset[str]], document: Rows
) -> tuple[csr_array, csr_array]:
    """Idf weights of words and sorts, of length 1; and the words alone, 1 where a statement says one."""
    documents: defaultdict[str, set[int]] = defaultdict(set)
    counts: Counter[str] = Counter()
    for own, kinds, row in zip(said, sorts, document.tolist(), strict=True):
        for word in own | kinds:
            documents[word].add(row)
            counts[word] += 1
    names = sorted(word for word, held in documents.items() if len(held) >= DOCUMENTS)
    column = {word: place for place, word in enumerate(names)}
    pairs = [(row, column[word]) for row, own in enumerate(said) for word in own | sorts[row] if word in column]
    row, col = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    idf = np.log1p(len(said) / np.array([counts[word] for word in names], np.float64))
    is_word = np.array([not word.startswith("#") for word in names], np.float64)
    shape = (len(said), max(1, len(names)))
    weighed = csr_array((idf[col], (row, col)), shape=shape)
    length = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    weighed = csr_array(weighed.multiply(1 / np.maximum(length, 1e-12)[:, None]))
    return weighed, csr_array((is_word[col], (row, col)), shape=shape)


def _grouped(weighed: csr_array, words: csr_array, most: int) -> list[list[int]]:
    """The statements of each kind, the most typical one first; the largest kinds first.

    Average linkage over a sample of large piles; the others belong to the kind that they are most like on average.
    """
    count = weighed.shape[0]
    pool = np.arange(count, dtype=np.int32)[:: max(1, -(-count // _LONGEST_POOL))]
    if len(pool) < DOCUMENTS:
        return []
    alike = (weighed[pool] @ weighed[pool].T).toarray()
    alike[(words[pool] @ words[pool].T).toarray() < 1] = 0
    apart = squareform(1 - np.clip(alike, 0, 1), checks=False)
    label = fcluster(average(apart), 1 - _ALIKE, "distance") - 1
    sizes = np.bincount(label)
    largest = [number for number in np.argsort(-sizes, kind="stable")[:most].tolist() if sizes[number] >= DOCUMENTS]
    if not largest:
        return []
    place = np.full(len(sizes), -1)
    place[largest] = np.arange(len(largest))
    own = np.full(count, -1)
    own[pool] = place[label]
    rows = np.flatnonzero(own >= 0)
    mean = csr_array((1 / sizes[largest][own[rows]], (own[rows], rows)), shape=(len(largest), count)) @ weighed
    likeness = np.asarray((weighed @ mean.T).todense())
    others = np.ones(count, np.bool_)
    others[pool] = False
    own[others] = np.where(likeness.max(axis=1) >= _ALIKE, likeness.argmax(axis=1), -1)[others]
    order = np.lexsort((np.arange(count), -np.round(likeness[np.arange(count), own], 9)))
    return [order[own[order] == number].tolist() for number in range(len(largest))]
