"""Events of sentences, each in a document of its own, with the keys that a test gives them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sag_retrieval.communities.events import EventTable

Key = tuple[str, str, float | None, str | None]
"""Type, value, number and unit."""


def named(value: str, kind: str = "organisation") -> Key:
    """A key that is a name."""
    return kind, value, None, None


def amount(number: float, unit: str, kind: str = "money") -> Key:
    """A key that is an amount."""
    return kind, f"{number:,.0f} {unit}", number, unit


def said_events(
    base: EventTable, said: Sequence[tuple[str, Sequence[Key]]], dates: Sequence[str | None] = ()
) -> EventTable:
    """One event for each sentence, in the document of the same number; `base` has as many documents or more."""
    count = len(said)
    keys = list(dict.fromkeys(key for _, own in said for key in own))
    links = sorted((row, keys.index(key)) for row, (_, own) in enumerate(said) for key in own)
    return replace(
        base,
        event_ids=[f"e{row}" for row in range(count)],
        contents=[text for text, _ in said],
        chunk=np.arange(count, dtype=np.int32),
        spans=np.full((count, 2), -1, np.int32),
        dates=list(dates) or [None] * count,
        keys=replace(
            base.keys,
            types=[kind for kind, *_ in keys],
            values=[value for _, value, *_ in keys],
            is_text=np.array([number is None for *_, number, _ in keys]),
            numbers=[number for *_, number, _ in keys],
            units=[unit for *_, unit in keys],
        ),
        links=replace(
            base.links,
            event=np.array([row for row, _ in links], np.int32),
            key=np.array([key for _, key in links], np.int32),
        ),
        vectors=np.eye(count, dtype=np.float32),
    )
