"""Following sources: what is new, changed, gone or put aside since the last run, exactly."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sag_pipeline.bounded import BoundedReader, refusal_of
from sag_pipeline.steps.sources import RawDocument, SourceOptions, list_source
from sag_pipeline.store.ledger import WHOLE, Entry
from sag_pipeline.store.store import Outcome, Pending, Step, Store
from sag_pipeline.work import Progress, Tally, silent
from sag_retrieval.records import Quarantined

_DOCUMENTS_A_COMMIT = 256
PURGE = "purge"
"""Ledger step that says: a document was removed, so no dead row may stay after this run."""
_ASIDE = "!"
"""First character of the ledger unit of something put aside; no document's id starts with it there."""


@dataclass(slots=True)
class _Found:
    """What one look at a source brought."""

    seen: set[str] = field(default_factory=set)
    aside: dict[str, Entry] = field(default_factory=dict)
    refused: dict[tuple[str, int], Entry] = field(default_factory=dict)
    """What the last run put aside, by path and line."""
    fresh: list[tuple[RawDocument, Pending]] = field(default_factory=list)


def follow_source(store: Store, step: Step, source: str, options: SourceOptions, progress: Progress = silent) -> Tally:
    """Bring the documents of one source up to date; documents of other sources stay as they are.

    A document that can no longer be read keeps its last good version, and the reason is put aside; one that is no
    longer there is removed with every row made of it.

    Raises:
        SourceError: If the source itself is not there.

    """
    tally, started = Tally(), time.perf_counter()
    known = {entry.unit: entry for entry in store.ledger.entries("step = 'documents' AND status = 'done'")}
    found = _Found(refused={(entry.path, entry.line): entry for entry in _faults(store, source)})
    _look(step, source, options, known, found)
    tally.counts["skipped"] = len(found.seen) - len(found.fresh)
    done = 0
    with BoundedReader(options) as reader:
        for batch in _chunks(found.fresh, _DOCUMENTS_A_COMMIT):
            _commit(store, step, batch, found, tally, reader)
            done += len(batch)
            progress("documents", done, len(found.fresh))
    gone = [u for u, e in known.items() if e.source == source and u not in found.seen]
    _remove(store, gone)
    _put_aside(store, source, found.aside)
    tally.counts["removed"] = len(gone)
    tally.counts["failed"] = len(found.aside)
    tally.seconds = time.perf_counter() - started
    return tally


def _look(step: Step, source: str, options: SourceOptions, known: Mapping[str, Entry], found: _Found) -> None:
    for raw in list_source(source, options):
        if isinstance(raw, Quarantined):
            _note(found, source, raw, known)
            continue
        owner = known.get(raw.document_id)
        if owner is not None and owner.source != source:
            reason = (
                f"document_id {raw.document_id!r} already belongs to the source {owner.source!r}; rename one of the two"
            )
            _note(found, source, Quarantined(source, raw.path, raw.line, "documents", reason), known)
            continue
        found.seen.add(raw.document_id)
        state = f"{step.fingerprint}|{raw.version}"
        if owner is None or owner.input_hash != state:
            pending = Pending(raw.document_id, state, is_new=owner is None)
            old = found.refused.get((raw.path, _line(raw)))
            if old is not None and old.input_hash == refusal_of(state, options):
                _leave_aside(found, old, pending)
            else:
                found.fresh.append((raw, pending))


def _leave_aside(found: _Found, old: Entry, pending: Pending) -> None:
    """What was put aside is not read again: neither its bytes nor the bounds nor the code changed."""
    found.aside[old.unit] = old
    if pending.is_new:
        found.seen.discard(pending.document_id)


def _line(found: RawDocument | Quarantined) -> int:
    return -1 if found.line is None else found.line


def _note(found: _Found, source: str, put: Quarantined, known: Mapping[str, Entry], refusal: str = "") -> None:
    owner = known.get(put.document_id or "")
    kept = put.document_id if owner is not None and owner.source == source else None
    if kept is not None:
        found.seen.add(kept)
    reason = put.reason + ("; its last good version is kept" if kept else "")
    line = _line(put)
    unit = f"{_ASIDE}{source}\x1f{put.path}\x1f{line}"
    found.aside[unit] = Entry(unit, "documents", "failed", source, refusal, path=put.path, line=line, reason=reason)


def _commit(
    store: Store,
    step: Step,
    batch: list[tuple[RawDocument, Pending]],
    found: _Found,
    tally: Tally,
    reader: BoundedReader,
) -> None:
    outcomes, places = [], {}
    for raw, pending in batch:
        document, source = reader.read(raw), raw.source
        if isinstance(document, Quarantined):
            known = {} if pending.is_new else {raw.document_id: Entry(raw.document_id, "documents", "done", source)}
            refusal = "" if document.is_passing else refusal_of(pending.input_hash, reader.options)
            _note(found, source, document, known, refusal)
            if pending.is_new:
                found.seen.discard(raw.document_id)
            continue
        outcomes.append(Outcome(pending, (document,)))
        places[raw.document_id] = Entry("", "", "", source, path=raw.path, line=_line(raw))
        tally.counts["new" if pending.is_new else "changed"] += 1
        tally.counts["rows"] += 1
    store.commit(step, outcomes, places)


def _remove(store: Store, gone: list[str]) -> None:
    steps = [str(step) for (step,) in store.ledger.select("SELECT DISTINCT step FROM current WHERE unit <> '*'")]
    if gone:
        removed = [Entry(unit, step, "removed") for unit in gone for step in steps]
        store.ledger.commit([*removed, Entry(WHOLE, PURGE, "done")])


def _put_aside(store: Store, source: str, aside: Mapping[str, Entry]) -> None:
    old = {entry.unit: entry for entry in _faults(store, source)}
    fresh = [entry for unit, entry in aside.items() if old.get(unit) != entry]
    mended = [Entry(unit, "documents", "removed") for unit in old if unit not in aside]
    store.ledger.commit(fresh + mended)


def _faults(store: Store, source: str) -> list[Entry]:
    return store.ledger.entries("step = 'documents' AND status = 'failed' AND source = ?", source)


def _chunks(items: list[tuple[RawDocument, Pending]], size: int) -> Iterator[list[tuple[RawDocument, Pending]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
