"""Repair a home without a model: damaged files are removed or restored, and the next ingest makes the rest again."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sag_pipeline.embed.embed import load_fit, save_fit
from sag_pipeline.integrity.verify import (
    fetch_home,
    known_calls,
    lost_ledger,
    missing_vectors,
    open_anyway,
    paid_calls,
    parts_in_use,
    release_folders,
    report_folders,
    salvage_answers,
    send_home,
    unused_parts,
    vector_folders,
    wrong_answers,
    wrong_locks,
    wrong_parts,
    wrong_pointer,
    wrong_release,
    wrong_report,
    wrong_vectors,
)
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_pipeline.store.lance_tables import SEALED, LanceTables
from sag_pipeline.store.ledger import Entry, Ledger, breaks, is_doubtful, link_files
from sag_pipeline.store.parts import damage, discard, read_footer
from sag_pipeline.store.source_list import FILE as SOURCES
from sag_pipeline.store.source_list import SourceList
from sag_pipeline.store.store import PURGE, Store
from sag_pipeline.tables import schema_of
from sag_retrieval.core import durable
from sag_retrieval.core.errors import ModelError, SagError, SourceError, StoreError
from sag_retrieval.core.settings import Settings
from sag_retrieval.models.answer_cache import ANSWERS
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit
from sag_retrieval.release.folders import write_lock, wrong_made
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.remote import BESIDE

_PATIENCE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Done:
    """One repair: the file or folder below the home, and what was done."""

    file: str
    what: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """What `sag repair` did, and the next command; both empty if nothing was wrong."""

    done: Sequence[Done]
    next_command: str


@dataclass(frozen=True, slots=True)
class Price:
    """The model calls that lost answers will cost again."""

    lost_answers: int
    calls: int
    """Lost answers of documents that must be processed again."""
    documents: int


def price_of(home: Path, settings: Settings) -> Price:
    """The calls that the ingest after a repair would pay for; nothing is changed or spent."""
    with write_lock(home, _PATIENCE_SECONDS):
        store = open_anyway(home)
        paid = paid_calls(store)
        kept = _kept_answers(home)
        lost = {call for call in paid if call[2] not in kept}
        again = {(entry.unit, entry.step) for each in wrong_parts(store, deep=True) for entry in each.entries}
        is_all = bool(breaks(home / "ledger"))
        needed = {call for call in lost if is_all or call[:2] in again}
    if settings.chat_model == "offline":
        needed = set()
    return Price(len(lost), len(needed), len({document for document, _, _ in needed}))


def repair_home(home: Path) -> Repaired:
    """Repair everything below a home; after a kill a second call continues, and an undamaged home is left as it is."""
    done = [*_repair_lock(home)]
    with write_lock(home, _PATIENCE_SECONDS):
        bucket = fetch_home(home)
        done += _repair_ledger(home)
        store = Store(home)
        sources = sorted(store.ledger.source_names())
        done += _repair_sources(store)
        done += _repair_answers(store)
        done += _repair_embedder(home)
        done += _repair_vectors(store)
        done += _repair_tables(store)
        done += _repair_releases(home)
        done += _repair_reports(home)
        done += [Done(*each) for each in send_home(home, bucket, is_changed=bool(done))]
    return Repaired(done, " ".join(["sag ingest", *map(_quoted, sources)]) if done else "")


def _repair_lock(home: Path) -> Iterator[Done]:
    for fault in wrong_locks(home):
        (home / fault.file).rename(home / f"{fault.file}.aside-{os.getpid()}")
        yield Done(fault.file, "moved away")


def _repair_sources(store: Store) -> Iterator[Done]:
    try:
        SourceList(store)
    except SourceError:
        discard(store.home / SOURCES)
        yield Done(SOURCES, "removed; the next ingest writes it again")


def _repair_ledger(home: Path) -> Iterator[Done]:
    folder = home / "ledger"
    found = breaks(folder)
    if not found and (link_files(folder) or not lost_ledger(Store(home))):
        return
    harmed = {each.path for each in found}
    whole = [path for path in link_files(folder) if path not in harmed]
    ledger = Ledger(folder, whole)
    certain = set(Ledger(folder, [path for path in whole if not is_doubtful(found, path)]).entries())
    doubtful = [entry for entry in ledger.entries("step = 'documents' AND kind = 'document'") if entry not in certain]
    gone = _gone(doubtful)
    steps = [str(step) for (step,) in ledger.select("SELECT DISTINCT step FROM by_document ORDER BY 1")]
    entries = [Entry(unit, step, "removed") for unit in gone for step in steps]
    entries += _calls_again(Store(home, ledger))
    durable.make_folder(folder)
    ledger.rebuild([*entries, Entry.of_whole(PURGE)])
    what = f"the ledger was rebuilt from {len(whole)} undamaged commits; {len(gone)} documents no longer exist"
    for path in [each.path for each in found] or [folder]:
        yield Done(path.relative_to(home).as_posix(), what)


def _gone(doubtful: Sequence[Entry]) -> list[str]:
    """Documents that are no longer in their source: a lost commit may have removed them.

    A source that cannot be listed now keeps its documents.
    """
    gone = []
    for source in sorted({entry.source for entry in doubtful}):
        try:
            there = {raw.document_id for raw in list_source(source) if isinstance(raw, RawDocument)}
        except SagError:
            continue
        gone += [entry.unit for entry in doubtful if entry.source == source and entry.unit not in there]
    return gone


def _calls_again(store: Store) -> list[Entry]:
    """Entries for rows of paid calls that no entry names any more."""
    found = []
    for (table, part), path in unused_parts(store, parts_in_use(store)).items():
        footer = read_footer(path) if table == "calls" and not damage(path) else None
        if footer and footer.schema.to_arrow_schema().equals(schema_of(table)):
            rows = footer.num_rows
            found.append(Entry(part, table, "done", part=part, row_count=rows, output_hash=part, kind="appended"))
    return found


def _kept_answers(home: Path) -> set[str]:
    path = home / ANSWERS
    if not path.exists() or not wrong_answers(path, deep=True)[1]:
        return known_calls(path)
    trial = home / ".answers-trial"
    try:
        salvage_answers(path, trial)
        return known_calls(trial)
    finally:
        trial.unlink(missing_ok=True)


def _repair_answers(store: Store) -> Iterator[Done]:
    path = store.home / ANSWERS
    if path.exists() and not wrong_answers(path, deep=True)[1]:
        return
    paid = len({call for _, _, call in paid_calls(store)})
    if not path.exists() and not paid:
        return
    saved = store.home / f".{ANSWERS}.saved"
    count = salvage_answers(path, saved)
    if path.is_file():
        shutil.copyfile(path, path.with_name(f"{ANSWERS}.damaged"))
    elif path.exists():
        discard(path)
    for name in (f"{ANSWERS}-wal", f"{ANSWERS}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    durable.rename(saved, path)
    of = paid or "an unknown number of"
    yield Done(ANSWERS, f"{count} answers saved of {of} paid ones; the damaged file is kept next to it")


def _repair_embedder(home: Path) -> Iterator[Done]:
    try:
        load_fit(home)
    except StoreError:
        for manifest in reversed(Releases(home).manifests()):
            fitted = None
            with suppress(ModelError, OSError, EOFError, ValueError, TypeError):
                fitted = HashingFit.load(home / "releases" / manifest.release_id / "embedder")
            if fitted is not None and HashingEmbedder(fitted).fingerprint == manifest.embedder_fingerprint:
                discard(home / "embedder" / "hashing.npy")
                save_fit(home, fitted)
                yield Done("embedder/hashing.npy", f"taken from release {manifest.release_id}")
                return
        shutil.rmtree(home / "embedder", ignore_errors=True)
        for folder in (home / "vectors").glob("hashing-*"):
            shutil.rmtree(folder)
        what = "removed with its vectors; fitted again by the next ingest, which gives another release"
        yield Done("embedder/hashing.npy", what)


def _repair_vectors(store: Store) -> Iterator[Done]:
    wrong = wrong_vectors(store.home, deep=True)
    lost = [] if wrong else list(missing_vectors(store, deep=True))
    if not wrong and not lost:
        return
    # Entries first: if the files were deleted first, a kill in between would leave texts that are never embedded.
    store.ledger.commit([replace(entry, status="removed") for entry in store.ledger.entries("step = 'vectors'")])
    for folder in vector_folders(store.home):
        if folder / SEALED not in wrong:
            LanceTables(folder).salvage()
    for path in wrong:
        discard(path)
        yield Done(path.relative_to(store.home).as_posix(), "removed; its texts are embedded again")
    for fingerprint, count in lost:
        yield Done(f"vectors/{fingerprint}", f"{count} texts are embedded again")


def _repair_tables(store: Store) -> Iterator[Done]:
    for wrong in wrong_parts(store, deep=True):
        store.ledger.commit([replace(entry, status="removed") for entry in wrong.entries])
        discard(wrong.path)
        kind = wrong.entries[0].kind
        outcome = {
            "document": f"removed; {len(wrong.entries)} documents are processed again",
            "appended": f"removed; {wrong.entries[0].row_count} rows about calls are lost",
        }.get(kind, "removed; it is made again")
        yield Done(wrong.path.relative_to(store.home).as_posix(), outcome)


def _repair_releases(home: Path) -> Iterator[Done]:
    for folder in release_folders(home):
        if wrong_release(folder, deep=True):
            discard(folder / "manifest.json")  # without it the folder is not a release, whatever interrupts this
            shutil.rmtree(folder)
            yield Done(f"releases/{folder.name}", "removed; the next ingest publishes it again")
            continue
        for below in BESIDE.values():
            if wrong_made(folder / below):
                discard(folder / below)
                yield Done(f"releases/{folder.name}/{below}", "removed; `sag ingest` makes them again")
    good = [manifest.release_id for manifest in Releases(home).manifests()]
    pointer = home / "CURRENT"
    if not wrong_pointer(pointer, [folder.name for folder in release_folders(home)], "release"):
        return
    discard(pointer)
    if good:
        Releases(home).make_current(good[-1])
    yield Done("CURRENT", f"names {good[-1]} until the next ingest" if good else "removed until the next ingest")


def _repair_reports(home: Path) -> Iterator[Done]:
    for folder in report_folders(home):
        if any(wrong_report(folder)):
            discard(folder / "report.json")
            shutil.rmtree(folder)
            yield Done(folder.relative_to(home).as_posix(), "removed; `sag report` writes the next one")
    for series in sorted(path for path in (home / "reports").glob("*") if path.is_dir()):
        left = sorted(series.glob("*/report.json"), key=lambda path: path.stat().st_mtime)
        latest = series / "LATEST"
        if not wrong_pointer(latest, [path.parent.name for path in left], "report"):
            continue
        discard(latest)
        if left:
            durable.write_text(latest, left[-1].parent.name)
        yield Done(latest.relative_to(home).as_posix(), "names the newest report that is left")


def _quoted(source: str) -> str:
    return f"'{source}'" if " " in source else source
