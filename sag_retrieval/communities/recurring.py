"""Find what recurs: sentences that documents say of other names, and matters that talk settles again and again."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from sag_retrieval.communities.events import EventTable
from sag_retrieval.communities.talk import TOLD
from sag_retrieval.communities.topic_words import is_function_word, tagged
from sag_retrieval.core.types import Rows
from sag_retrieval.text.words import is_cjk

_LEAST: Final = 3
"""Documents that settle a matter."""
_LIFT: Final = 5
"""A matter is said in turns that settle something this many times as often as in all: not `time`."""
_SHARED: Final = 0.5
_RUNS: Final = 2
"""Two sentences say alike that share half of the common runs of one, and two of them."""
_NOUNS: Final = 0.5
_AS_A_NOUN: Final = re.compile(
    r"\b(?:the|an?|my|your|our|his|her|their|this|that|next|last|first|for|of|about|at|from|with|during|after|before"
    r"|some|any|no|new) (?:[a-z]+ ){0,2}([a-z]{4,20})"
    r"(?= ?[^\w ]| (?:of|in|for|with|to|on|at|from|by|and|or|is|are|was|were|will|this|next|before|after|around|tonight"
    r"|today|tomorrow)\b)"
)
_WORD: Final = re.compile(r"(?<![\w'’])[a-z]{4,20}(?=\W)")
_RUN: Final = re.compile(r"[\u4e00-\u9fff]+")
_NOUN_PARTS: Final = frozenset({"n", "vn", "an", "nz"})
_SAID: Final = re.compile(r"“([^“”]{1,300})”")


def frames(events: EventTable, runs: Mapping[int, Sequence[str]]) -> tuple[csr_array, Sequence[str]]:
    """What each event has in common with others, as columns, and their names.

    A sentence has the runs that are common; a turn of talk that settles something has the one matter, a noun, that
    most documents settle.

    Args:
        events: The events as a report quotes them.
        runs: The common runs of each sentence that has any, by row.

    """
    found = {row: list(own) for row, own in runs.items()} | {row: [name] for row, name in _matters(events).items()}
    names = sorted({name for own in found.values() for name in own})
    column = {name: number for number, name in enumerate(names)}
    pairs = [(row, column[name]) for row, own in sorted(found.items()) for name in own]
    row, col = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return csr_array((np.ones(len(pairs)), (row, col)), shape=(len(events), max(1, len(names)))), names


def alike_rows(events: EventTable, row: int) -> Rows:
    """The other events that say the same of other names, or settle the same matter."""
    if events.frames is None:
        return np.zeros(0, np.int32)
    own = events.frames[[row]]
    least = 1 if TOLD.match(events.contents[row]) else max(_RUNS, _SHARED * own.nnz)
    shared = np.asarray((events.frames @ own.T).todense()).ravel()
    found = np.flatnonzero(shared >= least)
    return np.asarray(found[found != row], np.int32)


def matter_of(events: EventTable, row: int) -> str:
    """The matter that a turn of talk settles and others do; empty for a sentence."""
    if events.frames is None or not TOLD.match(events.contents[row]):
        return ""
    columns = events.frames[[row]].indices
    return events.frame_names[int(columns[0])] if len(columns) else ""


def _matters(events: EventTable) -> dict[int, str]:
    """Of each turn of talk that settles something, the noun that most documents have in such turns."""
    said = {
        row: match[1] for row, text in enumerate(events.contents) if TOLD.match(text) and (match := _SAID.search(text))
    }
    nouns = _nouns(said.values())
    own = {row: frozenset(word for word in _words(text) if word in nouns) for row, text in said.items()}
    documents: defaultdict[str, set[int]] = defaultdict(set)
    for row, words in own.items():
        for word in words:
            documents[word].add(int(events.document[row]))
    often = {word for word, held in documents.items() if len(held) >= _LEAST}
    everywhere = Counter(word for text in (events.contents if often else ()) for word in often & set(_words(text)))
    settled = Counter(word for words in own.values() for word in words)
    bound = min(_NOUNS, _LIFT * len(own) / max(1, len(events)))
    spread = {word: len(documents[word]) for word in often if settled[word] >= bound * everywhere[word]}
    found = {row: [word for word in words if word in spread] for row, words in own.items()}
    return {row: min(words, key=lambda word: (-spread[word], word)) for row, words in found.items() if words}


def _words(text: str) -> list[str]:
    if is_cjk(text):
        return [word for run in _RUN.findall(text) for word, _ in tagged(run) if len(word) > 1]
    return [word for word in _WORD.findall(text) if not is_function_word(word)]


def _nouns(texts: Iterable[str]) -> frozenset[str]:
    """Words that end a noun phrase after an article or preposition in half of their places; Chinese by dictionary."""
    everywhere: Counter[str] = Counter()
    as_nouns: Counter[str] = Counter()
    for text in texts:
        everywhere.update(_words(text))
        if is_cjk(text):
            as_nouns.update(word for run in _RUN.findall(text) for word, part in tagged(run) if part in _NOUN_PARTS)
        else:
            as_nouns.update(_AS_A_NOUN.findall(text))
    return frozenset(word for word, count in as_nouns.items() if count >= _NOUNS * everywhere[word])
