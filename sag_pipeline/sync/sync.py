"""Sync sources: read what is new or changed since the last run, remove what is gone, record what is skipped."""

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Annotated

from sag_pipeline.engines.engine import load_ahead, workers_for
from sag_pipeline.progress import listener, reported
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import FoundDocument, RawDocument, list_source
from sag_pipeline.step_runner import RunStats
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.source_list import SeenFiles, Source, SourceList, rename_documents, unit_of
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Pending, StepSpec, Store
from sag_pipeline.sync.bounded import ReadDocument, read_all, refusal_of
from sag_pipeline.sync.rows import StagedRows
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.options import Bounds, CheckedOptions
from sag_retrieval.core.records import Quarantined, batched

_DOCUMENTS_A_COMMIT = 256


class TooManyRemoved(SourceError):  # noqa: N818  reads better where it is caught
    """So much of a source is gone that removing it needs `--allow-removals`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOptions(CheckedOptions):
    """What of a source is read, and how much of it may be removed without confirmation."""

    source: SourceOptions = field(default_factory=SourceOptions)
    """Bounds on what is read."""
    allow_removals: bool = False
    """Remove what is gone, whatever its share of the source."""
    max_removed_share: Annotated[float, Bounds(0, 1)] = 0.3
    """A larger share of a source's documents is removed only if that is allowed."""
    least_removed: Annotated[int, Bounds(0)] = 10
    """Fewer are removed whatever their share, unless the source would be empty."""


@dataclass(slots=True)
class _Found:
    """The result of listing a source, next to what is stored of it and of other sources."""

    source: Source
    known: Mapping[str, Entry]
    """Of every source, by document."""
    places: list[tuple[str, int, str]]
    """Path, line and document of what is stored of this source, in order."""
    refused: dict[tuple[str, int], Entry]
    """What the last run skipped, by path and line."""
    listed: SeenFiles
    """What the last run saw of its files."""
    staged: StagedRows | None
    """Rows of a table, which are read instead of the source's place."""
    away: Collection[str]
    """Documents that people took out: their source is not asked for them."""
    seen: set[str] = field(default_factory=set)
    aside: dict[str, Entry] = field(default_factory=dict)
    fresh: list[tuple[RawDocument, Pending]] = field(default_factory=list)

    @classmethod
    def before(cls, store: Store, source: Source, staged: StagedRows | None) -> "_Found":
        """Before listing."""
        entries = store.ledger.entries("step = 'documents' AND kind = 'document'")
        places = sorted((e.path, e.line, e.unit) for e in entries if e.source == source.name)
        refused = {(entry.path, entry.line): entry for entry in _faults(store, source)}
        known, listed = {entry.unit: entry for entry in entries}, SeenFiles(store.home, source.name)
        return cls(source, known, places, refused, listed, staged, store.taken_out.keys())

    def gone(self) -> list[str]:
        """Documents of this source that are no longer there, or that a partial table says are deleted."""
        missing = [unit for _, _, unit in self.places if unit not in self.seen]
        if self.staged is None or not self.staged.is_partial:
            return missing
        return [unit for unit in missing if unit in self.staged.deleted]

    def version_of(self, document: str, path: str, state: str) -> str:
        """The version of a document whose file is as it was when the ledger's one was read; empty for others."""
        owner = self.known.get(document)
        return self.listed.version(path, state, owner.input_hash) if owner and owner.source == self.source.name else ""

    def skip(self, skipped: Quarantined, refusal: str = "") -> None:
        """Record a reason, and keep what is stored of a place that could not be listed or read.

        `refusal` marks what need not be read again as long as its bytes, the bounds and the code stay the same.
        """
        line = _line(skipped)
        kept = set(self._known_at(skipped)) if skipped.document_id is not None else set()
        self.seen |= kept
        reason = skipped.reason + ("; its last good version is kept" if kept else "")
        unit = unit_of(self.source.name, skipped.path, line)
        fault = Entry(unit, "documents", "failed", self.source.name, refusal, path=skipped.path, line=line)
        self.aside[unit] = replace(fault, reason=reason, kind="aside")

    def skip_again(self, old: Entry, pending: Pending) -> None:
        """Skip a file again without reading it: neither its bytes nor the bounds nor the code changed."""
        self.aside[old.unit] = old
        if pending.is_new:
            self.seen.discard(pending.document_id)

    def _known_at(self, skipped: Quarantined) -> Iterator[str]:
        owner = self.known.get(skipped.document_id or "")
        if owner is not None and owner.source == self.source.name:
            yield owner.unit
        if self.staged is not None:
            return  # the rows of a table have no order: another document may have stood at this one
        own: tuple[object, ...] = (skipped.path,) if skipped.line is None else (skipped.path, skipped.line)
        yield from self._from(own, lambda place: place[: len(own)] == own)
        if skipped.line is None:
            below = f"{skipped.path}/"
            yield from self._from((below,), lambda place: place[0].startswith(below))

    def _from(self, start: tuple[object, ...], belongs: Callable[[tuple[str, int, str]], bool]) -> Iterator[str]:
        for n in range(bisect_left(self.places, start), len(self.places)):
            if not belongs(self.places[n]):
                break
            yield self.places[n][2]


def sync_source(
    store: Store,
    step: StepSpec,
    given: str,
    options: SyncOptions | None = None,
    *,
    engine: str = "local",
    staged: StagedRows | None = None,
) -> RunStats:
    """Bring the documents of one source up to date; documents of other sources do not change.

    A document that can no longer be read keeps its last good version, and the reason is recorded; one that is no
    longer there is removed with every row made from it. `given` is the path of a folder or file, or `asset://` and the
    key of an asset whose rows are `staged`; `engine` says how many files are converted at a time.

    Raises:
        SourceError: If the source does not exist.
        TooManyRemoved: If too much of it is gone; nothing of it is changed.
    """
    tally, started, options = RunStats(), time.perf_counter(), options or SyncOptions()
    source = one_source(store, given)
    store.remove_deleted()
    found = _Found.before(store, source, staged)
    _list(step, given, found, options)
    SourceList(store).put(source)
    _refuse_many_removed(found, options)
    tally.counts["skipped"] = len(found.seen) - len(found.fresh)
    done = 0
    load_ahead(engine, len(found.fresh))
    under_way = reported((raw for raw, _ in found.fresh), step.name, lambda raw: raw.path, 0, len(found.fresh))
    with closing(read_all(under_way, options.source, workers_for(engine, len(found.fresh)))) as read:
        for batch in batched(found.fresh, _DOCUMENTS_A_COMMIT):
            _commit(store, step, list(zip(batch, read, strict=False)), found, tally, options.source)
            done += len(batch)
            listener()("documents", done, len(found.fresh))
    gone, old = found.gone(), {entry.unit: entry for entry in _faults(store, source)}
    store.remove(gone)
    fresh = [entry for unit, entry in found.aside.items() if old.get(unit) != entry]
    mended = [Entry(unit, "documents", "removed", kind="aside") for unit in old if unit not in found.aside]
    store.ledger.commit(fresh + mended)
    found.listed.save()
    tally.counts["removed"] = len(gone)
    tally.counts["failed"] = len(found.aside)
    tally.seconds = time.perf_counter() - started
    return tally


def one_source(store: Store, given: str) -> Source:
    """The source that a path leads to, under one name even if the ledger has several spellings of it."""
    sources = SourceList(store)
    source = sources.find(given)
    others = sources.spellings(source) - {source.name}
    if others:
        rename_documents(store, others, source.name)
        sources.put(source, instead_of=others)
    return source


def tell_fault(store: Store, given: str, reason: str) -> None:
    """Record why a known source was not synced, until it is synced again; its documents stay."""
    source = SourceList(store).find(given)
    if store.ledger.entries("step = 'documents' AND source = ?", source.name):
        fault = Entry(unit_of(source.name, "", -1), "documents", "failed", source.name, reason=reason, kind="aside")
        if fault not in store.ledger.entries("kind = 'aside' AND source = ?", source.name):
            store.ledger.commit([fault])


def _list(step: StepSpec, given: str, found: _Found, options: SyncOptions) -> None:
    name, rows = found.source.name, found.staged
    listed = _rows(rows, name, options) if rows else list_source(given, options.source, name, found.version_of)
    for raw in reported(listed, step.name, lambda raw: raw.path):
        if isinstance(raw, Quarantined):
            found.skip(raw)
            continue
        if raw.document_id in found.away:
            continue
        owner = found.known.get(raw.document_id)
        if owner is not None and owner.source != name:
            of = f"document_id {raw.document_id!r} already belongs to the source {owner.source!r}"
            reason = f"{of}; rename one of the two"
            found.skip(Quarantined(name, raw.path, raw.line, "documents", reason))
            continue
        found.seen.add(raw.document_id)
        state = f"{step.fingerprint}|{raw.version}"
        if owner is None or owner.input_hash != state:
            pending = Pending(raw.document_id, state, is_new=owner is None)
            old = found.refused.get((raw.path, _line(raw)))
            if old is not None and old.input_hash == refusal_of(state, options.source):
                found.skip_again(old, pending)
            else:
                found.fresh.append((raw, pending))
        elif raw.state:
            found.listed.note(raw.path, raw.state, state)


def _rows(staged: StagedRows, name: str, options: SyncOptions) -> Iterator[FoundDocument]:
    """Documents of a table; a table without any is empty, while an empty file would be a damaged one."""
    if staged.written:
        yield from list_source(str(staged.file), options.source, name)
    for row, (reason, document_id) in staged.skipped.items():
        yield Quarantined(name, staged.file.name, row, "documents", reason, document_id)


def _line(found: RawDocument | Quarantined) -> int:
    return -1 if found.line is None else found.line


def _refuse_many_removed(found: _Found, options: SyncOptions) -> None:
    gone, total = len(found.gone()), len(found.places)
    is_much = gone >= options.least_removed and gone > options.max_removed_share * total
    if options.allow_removals or not (is_much or (gone == total > 0 and not found.seen)):
        return
    in_dagster = "run configuration of `documents`: `allow_removals: true`"
    command = f"run `sag ingest --allow-removals` with this source (in Dagster: {in_dagster})"
    raise TooManyRemoved(
        f"source {found.source.name!r}: {gone:,} of its {total:,} documents are gone from {found.source.path}, "
        f"more than {options.max_removed_share:.0%}; nothing was removed. If they should be removed, "
        f"{command if found.staged is None else f'set in the {in_dagster}'}"
    )


def _commit(
    store: Store,
    step: StepSpec,
    batch: Iterable[tuple[tuple[RawDocument, Pending], ReadDocument]],
    found: _Found,
    tally: RunStats,
    options: SourceOptions,
) -> None:
    results, places = dict[Pending, StepResult](), dict[str, Entry]()
    for (raw, pending), (document, warning) in batch:
        if isinstance(document, Quarantined):
            if pending.is_new:
                found.seen.discard(raw.document_id)
            refusal = "" if document.is_passing else refusal_of(pending.input_hash, options)
            found.skip(document, refusal)
            continue
        results[pending] = StepResult((document,), warning=warning)
        places[raw.document_id] = Entry("", "", "", found.source.name, path=raw.path, line=_line(raw))
        if raw.state:
            found.listed.note(raw.path, raw.state, pending.input_hash)
        tally.counts["new" if pending.is_new else "changed"] += 1
        tally.counts["rows"] += 1
    store.commit(step, results, places)


def _faults(store: Store, source: Source) -> list[Entry]:
    return store.ledger.entries("step = 'documents' AND kind = 'aside' AND source = ?", source.name)
