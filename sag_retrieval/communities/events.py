"""The events of a report, with all that clustering and writing read about them, as one value."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.models.protocols import Vectors

__all__ = ["Chunks", "Documents", "EventLinks", "EventTable", "Flags", "Floats", "Keys", "Rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Documents by row; `languages` are `zh` or `en`."""

    document_ids: Sequence[str]
    titles: Sequence[str]
    languages: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks:
    """Chunks by row; `document` is the row of each one's document."""

    chunk_ids: Sequence[str]
    texts: Sequence[str]
    document: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Keys by row: type, value as a reader sees it, and whether it is a text (None: all are), not a figure."""

    types: Sequence[str]
    values: Sequence[str]
    is_text: Flags | None = None

    def can_name(self, row: int) -> bool:
        """Whether a community may be named by this key."""
        return self.is_text is None or bool(self.is_text[row])


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLinks:
    """Event-key pairs by row number, each listed once."""

    event: Rows
    key: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTable:
    """Events by row. `vectors` has one row an event, of length 1 or all zero.

    `spans` has shape (events, 2): first character and end in the text of its chunk, or -1 where unknown.
    `dates` are ISO days, months or years, or None.
    """

    event_ids: Sequence[str]
    contents: Sequence[str]
    chunk: Rows
    spans: Rows
    dates: Sequence[str | None]
    chunks: Chunks
    documents: Documents
    keys: Keys
    links: EventLinks
    vectors: Vectors

    def __len__(self) -> int:
        """Count of events."""
        return len(self.event_ids)

    @property
    def document(self) -> Rows:
        """Row of each event's document."""
        return self.chunks.document[self.chunk]

    def incidence(self, key_types: Sequence[str] = (), without: Sequence[str] = ()) -> csr_array:
        """Shape (events, keys), 1 where the event carries the key.

        Args:
            key_types: Only keys of these types; empty: of every type.
            without: No keys of these types.

        """
        event, key = self.links.event, self.links.key
        if key_types or without:
            chosen_types = set(key_types or self.keys.types) - set(without)
            wanted = np.array([kind in chosen_types for kind in self.keys.types], dtype=bool)
            chosen = wanted[key] if len(key) else np.zeros(0, dtype=bool)
            event, key = event[chosen], key[chosen]
        shape = (len(self), len(self.keys.values))
        matrix = csr_array(coo_array((np.ones(len(event)), (event, key)), shape=shape))
        matrix.sum_duplicates()
        matrix.data[:] = 1.0
        return matrix
