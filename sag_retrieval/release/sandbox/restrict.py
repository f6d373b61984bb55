"""From the rows that a restriction names to the chunks, events and keys that may be found."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Flags, Rows
from sag_retrieval.release.arrays import Allowed

IdPairs = tuple[Rows, Rows]
"""Links as two arrays of equal length: from row, to row."""


@dataclass(frozen=True, slots=True)
class RowMaps:
    """Where rows belong: the document of each chunk, the chunk of each event, and the links to keys."""

    chunk_document: Rows
    event_chunk: Rows
    event_keys: IdPairs
    chunk_keys: IdPairs
    document_count: int
    key_count: int


@dataclass(frozen=True, slots=True)
class NamedIds:
    """Rows of one table that a restriction names: `events`, `chunks` or `documents`."""

    table: str
    rows: npt.NDArray[np.integer]


def restrict(places: RowMaps, restrictions: list[NamedIds]) -> Allowed:
    """What all restrictions leave: `flags` of chunks, events and keys.

    A restriction on events leaves these events, their chunks and their keys. One on chunks or documents
    leaves them with all their events and keys. Several restrictions leave what each of them leaves; as soon
    as one is on events, a chunk stays only if one of its events does.

    Source:
        docs/algorithm.md §filters.3

    """
    chunks = np.ones(len(places.chunk_document), dtype=np.bool_)
    events = np.ones(len(places.event_chunk), dtype=np.bool_)
    for named in restrictions:
        if named.table == "events":
            events &= _flags(named.rows, len(events))
        elif named.table == "chunks":
            chunks &= _flags(named.rows, len(chunks))
        else:
            chunks &= _flags(named.rows, places.document_count)[places.chunk_document]
    events &= chunks[places.event_chunk]
    by_event = any(named.table == "events" for named in restrictions)
    if by_event:
        chunks &= _flags(places.event_chunk[events], len(chunks))
    keys = _linked(places.event_keys, events, places.key_count)
    if not by_event:
        keys |= _linked(places.chunk_keys, chunks, places.key_count)
    return Allowed(chunks=_frozen(chunks), events=_frozen(events), keys=_frozen(keys))


def _flags(rows: npt.NDArray[np.integer], count: int) -> Flags:
    flags = np.zeros(count, dtype=np.bool_)
    flags[rows] = True
    return flags


def _linked(links: IdPairs, from_flags: Flags, count: int) -> Flags:
    return _flags(links[1][from_flags[links[0]]], count)


def _frozen(flags: Flags) -> Flags:
    flags.setflags(write=False)
    return flags
