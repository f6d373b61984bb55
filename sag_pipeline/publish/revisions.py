"""The table of revisions: made from the events of all documents, after a change from those that it touches."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.extract.claims import Claim, Revision, folded_name, sentences_of, silences, unsure_from
from sag_pipeline.extract.compared import STATEMENTS, changed
from sag_pipeline.extract.revision_decisions import decided, decisions_digest, read_revision_decisions
from sag_pipeline.extract.revisions import REVISIONS_VERSION, compared, settled, statement_rows
from sag_pipeline.publish.links import whole_table
from sag_pipeline.store.store import Store
from sag_retrieval.core.types import Rows64
from sag_retrieval.language.words import fold
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.table import rows_of

REVISIONS: Final = "revisions"
_MADE_FROM: Final = ("documents", "events", "keys")
_VALUE_TYPES: Final = ("date", "day", "quantity", "money", "percentage", "number", "title", "topic")
"""Types of keys that name no subject."""
_OF_EVENT: Final = ("event_id", "document_id", "chunk_id", "content", "title", "context_date", "start")
_OF_KEY: Final = ("event_id", "key_id", "key_type", "value_string")
_OF_DOCUMENT: Final = ("document_id", "language", "text")
_NOT_KNOWN: Final = 2**31
_DOCUMENTS: Final = "compared_documents"
_STATEMENTS: Final = "compared_statements"
_PAIRS: Final = "compared_pairs"
_NAMES: Final = "compared_names"
"""Tables kept whole: documents with the hash of what was read of them, their statements, what was found of each pair
alone, and the key that each aligned one stood for."""


class RevisionJudge(Protocol):
    """Says how statements stand to each other; `sag_pipeline.llm.revised_pairs` asks a model."""

    @property
    def fingerprint(self) -> str:
        """What its answers depend on besides the statements."""
        ...

    def __call__(self, found: Sequence[Revision], contents: Mapping[str, str], events: int) -> list[Revision]:
        """The same revisions, some of them of another kind or more or less certain."""
        ...


def revisions_state(store: Store, judge: RevisionJudge | None = None) -> str:
    """Hash of everything that the table is made from."""
    decisions = decisions_digest(read_revision_decisions(store.home))
    decided_by = f"{decisions}{judge.fingerprint if judge else ''}"
    return f"{decided_by}|{store.state_hash([*_MADE_FROM, 'canonical'])}|{REVISIONS_VERSION}"


def decided_by(store: Store) -> str:
    """What else than documents made the table, of the decisions of people and the answers of a model; often nothing."""
    made = store.ledger.whole(REVISIONS)
    return made.input_hash.rsplit("|", 2)[0] if made else ""


def make_revisions(store: Store, judge: RevisionJudge | None = None) -> dict[str, pa.Table]:
    """The table `revisions`, and those that say what it was made from, for the next time.

    They depend on the current state of the store alone; what an ingest left as it was is not compared again.
    """
    names = whole_table(store, "canonical")
    documents, before = _documents(store), _before(store)
    is_same = np.zeros(len(documents), np.bool_)
    if before:
        line = pc.binary_join_element_wise(*before.documents.columns, "\n").combine_chunks()
        is_same = np.asarray(pc.is_in(pc.binary_join_element_wise(*documents.columns, "\n"), line))
        is_same &= ~np.asarray(pc.is_in(documents["document_id"], _renamed(store, before.names, names)))
    ids, known = documents["document_id"], before.statements if before else STATEMENTS.empty_table()
    does_stay = pc.is_in(known["document_id"], ids.filter(pa.array(is_same)).combine_chunks())
    new = _claims(store, names, ids.filter(pa.array(~is_same)).to_pylist() if is_same.any() else None)
    change = changed(known.filter(does_stay), statement_rows(new), known.filter(pc.invert(does_stay)))
    statements = _of_rows(store, names, change.statements, change.together, new)
    pairs = [*_kept(before, change.statements, change.apart)] if before else []
    pairs += compared(statements, change)
    found = settled(pairs)
    if judge and found:
        ends = {document for one in found for document in (one.earlier_document_id, one.later_document_id)}
        contents = dict(_rows(store, "events", ("event_id", "content"), sorted(ends)))
        found = judge(found, contents, store.ledger.row_count("events"))
    return {
        REVISIONS: revision_rows([*decided(found, read_revision_decisions(store.home))]),
        _PAIRS: revision_rows(sorted(pairs, key=lambda one: (one.earlier_event_id, one.later_event_id))),
        _DOCUMENTS: documents,
        _STATEMENTS: change.statements,
        _NAMES: names,
    }


def said_times(store: Store, today: str) -> dict[str, Any]:
    """When events were said: oldest and newest day, how many have none or one after today, and where the days stand."""
    columns = ("context_date", "context_source")
    rows = pa.concat_tables([each.select(columns) for each in store.scan("events", columns)])
    days, sources = (
        {each["values"]: each["counts"] for each in pc.value_counts(rows[name]).to_pylist()} for name in columns
    )
    said = sorted(filter(None, days))
    return {
        "oldest_said": said[0] if said else "unknown",
        "newest_said": said[-1] if said else "unknown",
        "said_after_today": sum(days[day] for day in said if day > today),
        "share_without_day": round(days.get(None, 0) / max(1, len(rows)), 3),
        "days_from": dict(sorted((str(source or "unknown"), count) for source, count in sources.items())),
    }


def revision_rows(found: Sequence[Revision]) -> pa.Table:
    """Revisions as rows in the columns of the release's table."""
    return rows_of(TABLES[REVISIONS].remove_metadata(), found)


class _Before(NamedTuple):
    """What was compared last."""

    documents: pa.Table
    statements: pa.Table
    pairs: pa.Table
    names: pa.Table


def _before(store: Store) -> _Before | None:
    found = [rows for name in (_DOCUMENTS, _STATEMENTS, _PAIRS, _NAMES) if (rows := store.whole(name)) is not None]
    is_known = len(found) == len(_Before._fields) and found[1].schema.equals(STATEMENTS)
    return _Before(*found) if is_known else None


def _documents(store: Store) -> pa.Table:
    """Every document with statements, and a hash of what they are read from."""
    steps = ", ".join(f"'{name}'" for name in _MADE_FROM)
    rows = store.ledger.select(
        f"""SELECT unit, md5(string_agg(step || output_hash, '|' ORDER BY step) || '{REVISIONS_VERSION}')
            FROM by_document WHERE step IN ({steps}) AND status <> 'failed'
            GROUP BY 1 HAVING bool_or(step = 'events') ORDER BY 1"""
    )
    columns = zip(*rows, strict=True) if rows else ((), ())
    return pa.table([pa.array(each, pa.string()) for each in columns], ["document_id", "hash"])


def _renamed(store: Store, before: pa.Table, now: pa.Table) -> pa.Array:
    """Documents with a key that stands for another one than before."""
    lines = [pc.binary_join_element_wise(*rows.select(["key_id", "canonical"]).columns, "\n") for rows in (before, now)]
    keys = [
        rows["key_id"].filter(pc.invert(pc.is_in(own, others.combine_chunks())))
        for rows, own, others in ((before, *lines), (now, *lines[::-1]))
    ]
    spellings, carried, documents = (
        whole_table(store, n) for n in ("spellings", "carried_spellings", "counted_documents")
    )
    wanted = pa.chunked_array([chunk for each in keys for chunk in each.chunks], pa.string()).combine_chunks()
    rows = np.flatnonzero(np.asarray(pc.is_in(spellings["key_id"], wanted)))
    found = carried["document"].filter(pc.is_in(carried["spelling"], pa.array(rows, carried["spelling"].type)))
    return documents["document_id"].take(found.unique()).combine_chunks()


def _kept(before: _Before, statements: pa.Table, apart: Rows64) -> Iterator[Revision]:
    """What was found of pairs that are compared still, of statements that stay."""
    ids = statements["event_id"]
    rows = before.pairs.filter(
        pc.and_(*(pc.is_in(before.pairs[f"{end}_event_id"], ids.combine_chunks()) for end in ("earlier", "later")))
    )
    gone = {frozenset(pair) for pair in zip(*(ids.take(pa.array(side)).to_pylist() for side in apart.T), strict=True)}
    for row in rows.to_pylist():
        if frozenset((row["earlier_event_id"], row["later_event_id"])) not in gone:
            yield Revision(**row)


def _of_rows(
    store: Store, names: pa.Table, statements: pa.Table, pairs: Rows64, new: Sequence[Claim]
) -> dict[int, Claim]:
    """The statements of some pairs by their rows; those that are not new are read again."""
    first, rows = len(statements) - len(new), np.unique(pairs)
    old = statements.take(pa.array(rows[rows < first]))
    documents = old["document_id"].unique().to_pylist()
    known = {one.event_id: one for one in (_claims(store, names, documents) if documents else ())}
    found = dict(zip(rows.tolist(), (known[event] for event in old["event_id"].to_pylist()), strict=False))
    return found | dict(enumerate(new, first))


def _claims(store: Store, names: pa.Table, wanted: Collection[str] | None) -> list[Claim]:
    """The statements of some documents, or of all."""
    stands_for = dict(zip(names["key_id"].to_pylist(), names["canonical"].to_pylist(), strict=True))
    named, persons = _names(store, stands_for, wanted)
    documents = {
        document: (language, unsure_from(text))
        for document, language, text in _rows(store, "documents", _OF_DOCUMENT, wanted)
    }
    events = [*_rows(store, "events", _OF_EVENT, wanted)]
    of_document: dict[str, dict[str, str]] = defaultdict(dict)
    for event, document, *_ in events:
        of_document[document] |= named.get(event, {})
    found, about = [], dict[tuple[str, str], frozenset[str]]()
    silent = silences([content for _, _, _, content, *_ in events])
    for (event, document, chunk, content, title, said, start), unsaid in zip(events, silent, strict=True):
        language, unsure = documents.get(document, ("en", _NOT_KNOWN))
        if (document, title) not in about:
            folded = fold(title)
            about[document, title] = frozenset(
                key for key, name in of_document[document].items() if folded_name(name) in folded
            )
        found += sentences_of(
            Claim(
                *(event, document, chunk, content, title, said or "", language, named.get(event, {})),
                persons=persons.get(event, frozenset()),
                about=about[document, title],
                is_unsure=start is not None and start >= unsure,
                silent=unsaid,
            )
        )
    return found


def _rows(
    store: Store,
    table: str,
    columns: tuple[str, ...],
    wanted: Collection[str] | None,
    among: pc.Expression | None = None,
) -> Iterator[tuple[Any, ...]]:
    """Rows of some documents, or of all."""
    for rows in store.scan(table, columns) if wanted is None else (store.rows(table, [*wanted]),):
        kept = rows if among is None else rows.filter(among)
        yield from zip(*(kept[name].to_pylist() for name in columns), strict=True)


def _names(
    store: Store, stands_for: Mapping[str, str], wanted: Collection[str] | None
) -> tuple[dict[str, dict[str, str]], dict[str, frozenset[str]]]:
    """The names of each event, by the id of the key that each stands for, and which of these are persons."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    persons: dict[str, frozenset[str]] = {}
    is_name = pc.field("value_string").is_valid() & ~pc.field("key_type").isin(_VALUE_TYPES)
    for event, key, kind, value in _rows(store, "keys", _OF_KEY, wanted, is_name):
        found[event][stands_for.get(key, key)] = value
        if kind == "person":
            persons[event] = persons.get(event, frozenset()) | {stands_for.get(key, key)}
    return found, persons
