"""What a run does again although nothing changed: a step, a document, or all of a source."""

from collections.abc import Callable, Sequence
from typing import Any

from sag_pipeline.llm.prompts import FURTHER
from sag_pipeline.options import DOCUMENT, SOURCE
from sag_pipeline.store.source_list import SourceList
from sag_pipeline.store.store import Store
from sag_retrieval.core.errors import SourceError
from sag_retrieval.models.protocols import Request

_TABLE_OF = {asked: table for table, further in FURTHER.items() for asked in further}
"""Tables whose steps ask further questions under another name."""


def documents_again(store: Store, table: str, wanted: Sequence[str]) -> frozenset[str]:
    """Stored documents that the step of a table does again."""
    if not wanted:
        return frozenset()
    stored = {entry.unit: entry.source for entry in store.ledger.entries("step = 'documents' AND kind = 'document'")}
    if table in wanted:
        return frozenset(stored)
    found = {each.removeprefix(DOCUMENT) for each in wanted if each.startswith(DOCUMENT)}
    if missing := sorted(found - set(stored)):
        raise SourceError(f"reprocess {DOCUMENT + missing[0]!r}: no such document is stored; `sag status` counts them")
    listed = SourceList(store)
    for source in (each.removeprefix(SOURCE) for each in wanted if each.startswith(SOURCE)):
        names = listed.spellings(listed.known(source))
        found |= {unit for unit, name in stored.items() if name in names}
    return frozenset(found)


def is_again(store: Store, wanted: Sequence[str]) -> Callable[[Request[Any]], bool]:
    """Whether a request is about what is done again, so that an answer of an earlier run is not used."""
    known: dict[str, frozenset[str]] = {}

    def asks_again(request: Request[Any]) -> bool:
        table = _TABLE_OF.get(request.step, request.step)
        if table not in known:
            known[table] = documents_again(store, table, wanted)
        return request.document_id in known[table]

    return asks_again
