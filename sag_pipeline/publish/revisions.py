"""The table of revisions: made from the events of all documents, with the keys that these stand for."""

from collections import defaultdict
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.extract.revision_decisions import decided, decisions_digest, read_revision_decisions
from sag_pipeline.extract.revisions import REVISIONS_VERSION, Claim, Revision, find_revisions, unsure_from
from sag_pipeline.publish.links import whole_table
from sag_pipeline.store.store import Store
from sag_retrieval.language.words import fold
from sag_retrieval.release.schema import TABLES

REVISIONS: Final = "revisions"
_VALUE_TYPES: Final = ("date", "day", "quantity", "money", "percentage", "number", "title", "topic")
"""Types of keys that name no subject."""
_OF_EVENT: Final = ("event_id", "document_id", "chunk_id", "content", "title", "context_date", "start")
_NOT_KNOWN: Final = 2**31


def revisions_state(store: Store) -> str:
    """Hash of everything that the table is made from."""
    decisions = decisions_digest(read_revision_decisions(store.home))
    return f"{decisions}|{store.state_hash(['documents', 'events', 'keys', 'canonical'])}|{REVISIONS_VERSION}"


def make_revisions(store: Store) -> pa.Table:
    """The rows of the table from the current state of the store; the order of ingests does not matter."""
    decisions = read_revision_decisions(store.home)
    return revision_rows([*decided(find_revisions(_statements(store)), decisions)])


def revision_rows(found: list[Revision]) -> pa.Table:
    """Revisions as rows in the columns of the release's table."""
    schema = TABLES[REVISIONS].remove_metadata()
    columns = [pa.array([getattr(one, field.name) for one in found], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _statements(store: Store) -> list[Claim]:
    (names, persons), documents = _names(store), dict[str, tuple[str, int]]()
    for rows in store.scan("documents", ("document_id", "language", "text")):
        for document, language, text in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            documents[document] = language, unsure_from(text)
    events = [
        row
        for rows in store.scan("events", _OF_EVENT)
        for row in zip(*(rows[name].to_pylist() for name in _OF_EVENT), strict=True)
    ]
    of_document: dict[str, dict[str, str]] = defaultdict(dict)
    for event, document, *_ in events:
        of_document[document] |= names.get(event, {})
    found, about = [], dict[tuple[str, str], frozenset[str]]()
    for event, document, chunk, content, title, said, start in events:
        language, unsure = documents.get(document, ("en", _NOT_KNOWN))
        if (document, title) not in about:
            folded = fold(title)
            about[document, title] = frozenset(
                key for key, name in of_document[document].items() if fold(name) in folded
            )
        claim = Claim(event, document, chunk, content, title, said or "", language, names.get(event, {}))
        is_unsure = start is not None and start >= unsure
        own = persons.get(event, frozenset())
        found.append(replace(claim, persons=own, about=about[document, title], is_unsure=is_unsure))
    return found


def _names(store: Store) -> tuple[dict[str, dict[str, str]], dict[str, frozenset[str]]]:
    """The names of each event, by the id of the key that each stands for, and which of these are persons."""
    canonical = whole_table(store, "canonical")
    stands_for = dict(zip(canonical["key_id"].to_pylist(), canonical["canonical"].to_pylist(), strict=True))
    found: dict[str, dict[str, str]] = defaultdict(dict)
    persons: dict[str, frozenset[str]] = {}
    columns = ("event_id", "key_id", "key_type", "value_string")
    for rows in store.scan("keys", columns):
        kept = rows.filter(
            pc.and_(pc.is_valid(rows["value_string"]), pc.invert(pc.is_in(rows["key_type"], pa.array(_VALUE_TYPES))))
        )
        for event, key, kind, value in zip(*(kept[name].to_pylist() for name in columns), strict=True):
            found[event][stands_for.get(key, key)] = value
            if kind == "person":
                persons[event] = persons.get(event, frozenset()) | {stands_for.get(key, key)}
    return found, persons
