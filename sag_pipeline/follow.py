"""Following sources: what is new, changed, gone or put aside since the last run, exactly."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sag_pipeline.steps.documents import parse_document
from sag_pipeline.steps.sources import RawDocument, SourceOptions, list_source
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.store import Outcome, Pending, Step, Store
from sag_pipeline.work import Progress, Tally, silent
from sag_retrieval.records import Document, Quarantined

_DOCUMENTS_A_COMMIT = 256
PURGE = "purge"
"""Ledger step that says: a document was removed, so no dead row may stay after this run."""


@dataclass(slots=True)
class _Found:
    """What one look at a source brought."""

    seen: set[str] = field(default_factory=set)
    aside: dict[str, Entry] = field(default_factory=dict)
    fresh: list[tuple[RawDocument, Pending]] = field(default_factory=list)


def follow_source(store: Store, step: Step, source: str, options: SourceOptions, progress: Progress = silent) -> Tally:
    """Bring the documents of one source up to date; documents of other sources stay as they are.

    A document that can no longer be read keeps its last good version, and the reason is put aside; one that is no
    longer there is removed with every row made of it.

    Raises:
        SourceError: If the source itself is not there.

    """
    tally, started = Tally(), time.perf_counter()
    known = {entry.unit: entry for entry in store.ledger.entries("step = 'documents' AND kind = 'document'")}
    found = _look(step, source, options, known)
    tally.counts["skipped"] = len(found.seen) - len(found.fresh)
    done = 0
    for batch in _chunks(found.fresh, _DOCUMENTS_A_COMMIT):
        _commit(store, step, source, batch, found, tally)
        done += len(batch)
        progress("documents", done, len(found.fresh))
    gone = [u for u, e in known.items() if e.source == source and u not in found.seen]
    _remove(store, gone)
    _put_aside(store, source, found.aside)
    tally.counts["removed"] = len(gone)
    tally.counts["failed"] = len(found.aside)
    tally.seconds = time.perf_counter() - started
    return tally


def _look(step: Step, source: str, options: SourceOptions, known: Mapping[str, Entry]) -> _Found:
    found = _Found()
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
            found.fresh.append((raw, Pending(raw.document_id, state, is_new=owner is None)))
    return found


def _note(found: _Found, source: str, put: Quarantined, known: Mapping[str, Entry]) -> None:
    owner = known.get(put.document_id or "")
    kept = put.document_id if owner is not None and owner.source == source else None
    if kept is not None:
        found.seen.add(kept)
    reason = put.reason + ("; its last good version is kept" if kept else "")
    line = -1 if put.line is None else put.line
    unit = f"{source}\x1f{put.path}\x1f{line}"
    found.aside[unit] = Entry(
        unit, "documents", "failed", source, path=put.path, line=line, reason=reason, kind="aside"
    )


def _commit(
    store: Store,
    step: Step,
    source: str,
    batch: list[tuple[RawDocument, Pending]],
    found: _Found,
    tally: Tally,
) -> None:
    outcomes, places = [], {}
    for raw, pending in batch:
        document = _parse(raw)
        if isinstance(document, Quarantined):
            known = {} if pending.is_new else {raw.document_id: Entry(raw.document_id, "documents", "done", source)}
            _note(found, source, document, known)
            if pending.is_new:
                found.seen.discard(raw.document_id)
            continue
        outcomes.append(Outcome(pending, (document,)))
        places[raw.document_id] = Entry("", "", "", source, path=raw.path, line=-1 if raw.line is None else raw.line)
        tally.counts["new" if pending.is_new else "changed"] += 1
        tally.counts["rows"] += 1
    store.commit(step, outcomes, places)


def _parse(raw: RawDocument) -> Document | Quarantined:
    try:
        return parse_document(raw)
    except Exception as error:  # noqa: BLE001  a parser may raise anything on a broken file
        reason = f"could not be read: {type(error).__name__}: {error}"
        return Quarantined(raw.source, raw.path, raw.line, "documents", reason, raw.document_id)


def _remove(store: Store, gone: list[str]) -> None:
    steps = [str(step) for (step,) in store.ledger.select("SELECT DISTINCT step FROM by_document")]
    if gone:
        removed = [Entry(unit, step, "removed") for unit in gone for step in steps]
        store.ledger.commit([*removed, Entry.of_whole(PURGE)])


def _put_aside(store: Store, source: str, aside: Mapping[str, Entry]) -> None:
    old = {
        entry.unit: entry
        for entry in store.ledger.entries("step = 'documents' AND kind = 'aside' AND source = ?", source)
    }
    fresh = [entry for unit, entry in aside.items() if old.get(unit) != entry]
    mended = [Entry(unit, "documents", "removed", kind="aside") for unit in old if unit not in aside]
    store.ledger.commit(fresh + mended)


def _chunks(items: list[tuple[RawDocument, Pending]], size: int) -> Iterator[list[tuple[RawDocument, Pending]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
