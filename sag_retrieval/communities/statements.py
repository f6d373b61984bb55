"""Judge which events read as statements that a report can quote: whole sentences about something, not fragments."""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Final, Literal

import numpy as np

from sag_retrieval.communities.events import EventTable, Floats, Rows
from sag_retrieval.communities.titles import names_something
from sag_retrieval.text.words import is_cjk

Fault = Literal[
    "length", "end", "start", "speech", "row", "heading", "address", "time", "figures", "reference", "key", "plan"
]
_LENGTHS: Final = (30, 320)
"""Characters of a sentence in an alphabet."""
_LENGTHS_CJK: Final = (10, 140)
_ENDS: Final = re.compile(r"[.。…][”’\"'」』）)\]]*$")
_SPEECH: Final = re.compile(
    r"[!?！？]|^[^\s.。:：]{1,30}[:：]\s*[\"“]?(?:I|we|you)\b|\bI\b|\b(?i:my|me|you|your|we|our|us|let['’]s)\b|[我你您咱]"
)
_ROW: Final = re.compile(r"\||\t|(?:[^:：;；]{1,40}[:：][^:：;；]{1,80}[;；]\s*){2}")
_LABELLED: Final = re.compile(r"(?:(?:^|[\s。.;；])[^\s:：。.;；]{1,30}[:：]\s*){2}|^[^:：。.]{1,40}[:：]")
_NUMBERED: Final = re.compile(
    r"^\s*(?:[#*•·>-]+|\d+(?:\.\d+)*[.)、]|[(（]?[一二三四五六七八九十\divx]+[)）、])\s*", re.IGNORECASE
)
_ADDRESS: Final = re.compile(r"https?://|www\.|\S@[^\s@]{1,80}\.\w|(?:^|\s)/\w+/\w+|\w\.(?:html?|php|pdf|docx?)\b")
_TIME: Final = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?|^\W*(?:19|20)\d{6}|^\[")
_JOINED: Final = re.compile(
    r"^(?:In (?:conclusion|summary|short|addition|contrast|particular|other words|fact|turn|general|terms of)"
    r"|On the other hand|As (?:a result|a consequence|such|well)|For (?:example|instance)|At the same time|To this end"
    r"|接着|接下来|进一步|综合来看|总体而言|总的来说)"
)
"""Beginnings that continue what was said before."""
_LETTER: Final = re.compile(r"[^\W\d_]")
_SPACE: Final = re.compile(r"\s+")
_LETTERS: Final = 0.6
_FIRST: Final = re.compile(r"^[\"“'‘(（「『]*([^\W\d_]+)")


def faults(text: str) -> tuple[Fault, ...]:
    """What keeps a text from being quoted as a statement; empty for a good one.

    Examples:
        >>> faults("Marlow Seals delivered 400 O-rings to the shipyard in May 2022.")
        ()
        >>> faults("It rose by 3 %.")
        ('length', 'reference')
        >>> faults("Looking forward to it!")
        ('length', 'end', 'speech')

    """
    cjk = is_cjk(text)
    low, high = _LENGTHS_CJK if cjk else _LENGTHS
    bare = text.strip()
    checks: dict[Fault, bool] = {
        "length": not low <= len(bare) <= high,
        "end": not _ENDS.search(bare),
        "start": bare[:1].islower(),
        "speech": _SPEECH.search(bare) is not None,
        "row": _ROW.search(bare) is not None,
        "heading": _LABELLED.search(bare) is not None or _NUMBERED.match(bare) is not None,
        "address": _ADDRESS.search(bare) is not None,
        "time": _TIME.search(bare) is not None,
        "figures": len(_LETTER.findall(bare)) < _LETTERS * len(_SPACE.sub("", bare)),
        "reference": _refers_back(bare, cjk),
    }
    return tuple(name for name, holds in checks.items() if holds)


def _refers_back(text: str, cjk: bool) -> bool:  # noqa: FBT001  a property of the text
    """Whether the first word stands for something said before."""
    if cjk:
        return bool(_JOINED.match(text)) or text.lstrip("“”\"'「『（(").startswith(tuple(_referring()))
    first = _FIRST.match(text)
    return bool(_JOINED.match(text)) or (first is not None and first[1].casefold() in _referring())


@lru_cache
def _referring() -> frozenset[str]:
    """Words that stand for something said before, and words that join a sentence to the one before."""
    text = resources.files("sag_retrieval.communities").joinpath("referring_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def fault_counts(events: EventTable, rows: Rows) -> Floats:
    """Faults of each event's text; one more for a plan, half a one for a text that names nobody and nothing."""
    starts = np.searchsorted(events.links.event, np.stack([rows, rows + 1])).T
    counted = np.zeros(len(rows))
    for place, (row, (start, end)) in enumerate(zip(rows.tolist(), starts.tolist(), strict=True)):
        text = events.contents[row]
        is_plan = len(events.is_forecast) > 0 and bool(events.is_forecast[row])
        keys = events.links.key[start:end].tolist()
        counted[place] = len(faults(text)) + is_plan + (0.0 if _names(events, keys, text) else 0.5)
    return counted


def _names(events: EventTable, keys: Sequence[int], text: str) -> bool:
    """Whether the text itself holds the name of one of its keys."""
    return any(
        events.keys.types[key] != "title" and names_something(events.keys, key) and events.keys.values[key] in text
        for key in keys
    )


def good_rows(events: EventTable, rows: Rows, least: int) -> Rows:
    """The rows without a fault, in their order; where they are fewer than `least`, those with the fewest faults."""
    counted = fault_counts(events, rows)
    clean = rows[counted == 0]
    if len(clean) >= min(least, len(rows)):
        return np.asarray(clean)
    order = np.lexsort((np.arange(len(rows)), counted))[: min(least, len(rows))]
    return np.asarray(rows[np.sort(order)])


def is_prose(text: str) -> bool:
    """Whether a text is made of words: no row of a table, no figures alone, no address."""
    return not {"row", "figures", "address"} & set(faults(text))


def share_of_filler(texts: Sequence[str]) -> float:
    """Share of texts with a fault; 0 for none."""
    return sum(1 for text in texts if faults(text)) / len(texts) if texts else 0.0
