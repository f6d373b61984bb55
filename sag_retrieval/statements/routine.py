"""Tell statements of routine: sentences that many documents say with other names in them, and without an amount."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.core.types import Flags
from sag_retrieval.language.words import STOP_WORDS, is_cjk
from sag_retrieval.statements.talk import TOLD, told
from sag_retrieval.topics.titles import names_something

_WORD: Final = re.compile(r"(?<![\w-])[a-z][a-z'’-]{2,}")
_OF_DAYS: Final = re.compile(
    r"\d{1,2}[-./ ](?:\d{1,2}|[A-Z][a-z]{2,8})[-./ ]\d{2,4}|\b(?:19|20)\d\d(?:[-/]\d+)*\b|\d{0,4}[年月日]"
    r"|\b(?:[Ss]ection|[Cc]lause|[Aa]rticle|[Cc]hapter|[Nn]o\.) \d[\d.]*|第\d+[条章节款]"
)
_FIGURE: Final = re.compile(r"(?<![A-Za-z\d-])\d[\d.,]*%?")
"""A figure that is no part of a name, as in `X2` or `Area-51`."""
_NO_CHARACTER: Final = re.compile(r"[^\u4e00-\u9fff]+")
_WORDS: Final = 2
_CHARACTERS: Final = 4
_MOSTLY: Final = 0.6
_HALF: Final = 0.5
_OFTEN: Final = 3
"""Documents, and sets of names, that say a sentence."""


def as_quoted(events: EventTable) -> EventTable:
    """The events as a report quotes them: talk that settles something as statements, routine marked."""
    return with_routine(told(events))


def with_routine(events: EventTable) -> EventTable:
    """The same events, each with whether it is routine.

    What is left of a sentence without its names and figures is read as pairs of words, or runs of four Chinese
    characters. A run is common if three documents say it of three sets of names. A sentence is routine if most of its
    runs are common, and it has no amount.

    Source:
        docs/algorithm.md §reports.6.

    """
    names = _names_by_event(events)
    runs = [_runs(text, own) for text, own in zip(events.contents, names, strict=True)]
    said: defaultdict[str, list[int]] = defaultdict(list)
    for row, own in enumerate(runs):
        for run in own:
            said[run].append(row)
    common = {run for run, rows in said.items() if len(rows) >= _OFTEN and _is_common(events, rows, names)}
    figures = [_figures(text) for text in events.contents]
    with_figure = Counter(
        (run, figure)
        for own, said_too in zip(runs, figures, strict=True)
        if said_too
        for run in own & common
        for figure in said_too
    )
    flags = np.array(
        [
            len(own) > 1
            and len(own & common) >= _MOSTLY * len(own)
            and all(_is_usual(figure, own & common, with_figure, said) for figure in own_figures)
            for own, own_figures in zip(runs, figures, strict=True)
        ],
        np.bool_,
    )
    return replace(events, is_routine=_flags(flags))


def _is_common(events: EventTable, rows: Sequence[int], names: Sequence[Sequence[str]]) -> bool:
    document = {int(events.chunks.document[events.chunk[row]]) for row in rows}
    return len(document) >= _OFTEN and len({tuple(sorted(names[row])) for row in rows}) >= _OFTEN


def _flags(flags: Flags) -> Flags:
    return flags if flags.any() else np.zeros(0, np.bool_)


def _figures(text: str) -> frozenset[str]:
    """The amounts of a text: its figures but for dates and numbers of clauses."""
    return frozenset(_FIGURE.findall(_OF_DAYS.sub("", text)))


def _is_usual(
    figure: str, runs: frozenset[str], with_figure: Mapping[tuple[str, str], int], said: Mapping[str, Sequence[int]]
) -> bool:
    """Whether what else says the runs of a sentence mostly has the same figure: a term in every contract is no news."""
    same = sum(max(_OFTEN, _HALF * len(said[run])) <= with_figure[run, figure] for run in runs)
    return same >= _HALF * len(runs)


def _names_by_event(events: EventTable) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in range(len(events))]
    is_name = [names_something(events.keys, key) for key in range(len(events.keys.values))]
    for event, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        if is_name[key]:
            found[event] += [name for name in events.keys.names_of(key) if name in events.contents[event]]
    return found


def _runs(text: str, names: Sequence[str]) -> frozenset[str]:
    """What neighbours in a sentence without its names and figures; nothing for talk that settles something."""
    if TOLD.match(text):
        return frozenset()
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    if is_cjk(text):
        bare = _NO_CHARACTER.sub("", _OF_DAYS.sub("", text))
        return frozenset(bare[at : at + _CHARACTERS] for at in range(len(bare) - _CHARACTERS + 1))
    words = [word for word in _WORD.findall(text) if word not in STOP_WORDS]
    return frozenset(" ".join(words[at : at + _WORDS]) for at in range(len(words) - _WORDS + 1))
