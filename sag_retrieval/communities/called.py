"""Call a name as the sentences of a long document do: in full, or by the word of it that they use."""

from collections import Counter
from dataclasses import replace
from typing import Final

import numpy as np

from sag_retrieval.communities.events import EventTable, Rows

_SEVERAL: Final = 3
"""Sentences that have to say a name, at least."""
_IN_FULL: Final = 4
"""A full name stays, unless a word of it is said more than four times as often."""
_ONCE: Final = 10
"""The same for a whole document, where the full name is better known."""
_OWN: Final = 0.6
"""Share of the sentences that say a word of a name, and mean it."""
_SHORTEST: Final = 3
_PERSON: Final = "person"


def called(events: EventTable, key: int, rows: Rows, in_full: int = _IN_FULL) -> str:
    """What the sentences of some rows call a name; empty if fewer than three say it.

    A name that none of them says is as it is: it was not read from the words.

    Args:
        events: The events.
        key: The name.
        rows: The events that are asked for.
        in_full: How many times as often a word of the name has to be said as the whole of it.

    """
    value, carrying = events.keys.values[key], events.links.event[events.links.key == key]
    texts = [source_of(events, row) for row in rows[np.isin(rows, carrying)].tolist()]
    words = {word for word in value.split() if word[:1].isupper() and len(word) >= _SHORTEST and word != value}
    counted = Counter({word: sum(1 for text in texts if word in text) for word in sorted(words)})
    whole = sum(1 for text in texts if value in text)
    if not whole and not any(counted.values()):
        return value if len(texts) >= _SEVERAL else ""
    if whole >= max(1 if in_full > _IN_FULL else _SEVERAL, max(counted.values(), default=0) / in_full):
        return value
    own = (word for word, count in counted.most_common() if count >= _SEVERAL and _is_own(events, word, carrying))
    return next(own, value if whole >= _SEVERAL else "")


def _is_own(events: EventTable, word: str, carrying: Rows) -> bool:
    """Whether most events that say a word carry the key."""
    saying = [row for row, text in enumerate(events.contents) if word in text]
    return len(set(saying) & set(carrying.tolist())) >= _OWN * len(saying)


def as_called(events: EventTable) -> EventTable:
    """The same events; persons whom a document hardly ever calls in full have the name that it uses."""
    carried, rows = (
        np.bincount(events.links.key, minlength=len(events.keys.values)),
        np.arange(len(events), dtype=np.int32),
    )
    values = [
        (called(events, key, rows, _ONCE) if kind == _PERSON and carried[key] >= _SEVERAL else "") or value
        for key, (kind, value) in enumerate(zip(events.keys.types, events.keys.values, strict=True))
    ]
    return replace(events, keys=replace(events.keys, values=values))


def source_of(events: EventTable, row: int) -> str:
    """An event as its document has it; as it is where that is not known."""
    start, end = events.spans[row].tolist()
    return events.chunks.texts[int(events.chunk[row])][start:end] if start >= 0 else events.contents[row]
