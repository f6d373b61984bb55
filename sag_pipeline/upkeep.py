"""After each ingest: rewrite parts without dead rows, delete old releases, reports and run records."""

import logging
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
from dagster._core.storage.dagster_run import FINISHED_STATUSES

from sag_pipeline.embed import wanted_vectors
from sag_pipeline.options import Keep
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.parts import of_documents
from sag_pipeline.store.store import PURGE, Store
from sag_pipeline.store.vectors import VectorStore
from sag_pipeline.tables import INPUTS
from sag_retrieval.core.errors import SagError
from sag_retrieval.release.folders import sweep
from sag_retrieval.release.releases import Releases, prune_releases
from sag_retrieval.reports.series import prune_reports

_DEAD_SHARE, _UNUSED_SHARE = 0.3, 0.3
"""Above this share of dead rows a part is rewritten; of unused vectors, their store."""
_SMALL_PART, _MOST_SMALL_PARTS, _ROWS_A_PART = 20_000, 24, 200_000
PROCESS = "sag/process"
"""Tag of a run: its machine and process."""
_log = logging.getLogger(__name__)


def compact(store: Store, table: str, *, purge: bool = False) -> int:
    """Rewrite parts with many dead rows, with `purge` all with any, and delete unused ones; the number deleted."""
    places = store.places(table)
    entries = {
        entry.unit: entry for entry in store.ledger.entries("step = ? AND kind = 'document' AND part <> ''", table)
    }
    counts = {
        part: (sum(entries[unit].row_count for unit in units), store.parts.row_count(table, part))
        for part, units in places.items()
    }
    chosen = wasteful(counts, purge=purge, dead_share=_DEAD_SHARE, small=_SMALL_PART, most=_MOST_SMALL_PARTS)
    for group in _groups(sorted(chosen), counts):
        units = [unit for part in group for unit in places[part]]
        rows = pa.concat_tables([of_documents(store.parts.read(table, part), places[part]) for part in group])
        part = store.parts.write(table, rows, [f"{u}|{entries[u].output_hash}" for u in units])
        store.ledger.commit([replace(entries[unit], part=part) for unit in units])
    unused = store.parts.names(table) - set(store.places(table))
    for part in unused:
        store.parts.delete(table, part)
    return len(unused)


def wasteful(rows: Mapping[str, tuple[int, int]], *, purge: bool, dead_share: float, small: int, most: int) -> set[str]:
    """Parts to rewrite, given each part's (live, all) rows.

    Parts with more than `dead_share` dead rows (with `purge`: with any), and, once more than `most` parts are smaller
    than `small` rows, those small ones together.
    """
    dead = {
        part for part, (live, total) in rows.items() if live < total and (purge or total - live > dead_share * total)
    }
    little = {part for part, (live, _) in rows.items() if live < small}
    return dead | (little if len(little) > most else set())


def _groups(parts: Sequence[str], counts: Mapping[str, tuple[int, int]]) -> Iterator[list[str]]:
    """Parts to be rewritten together: up to about `_ROWS_A_PART` live rows."""
    group: list[str] = []
    rows = 0
    for part in parts:
        group.append(part)
        rows += counts[part][0]
        if rows >= _ROWS_A_PART:
            yield group
            group, rows = [], 0
    if group:
        yield group


def forget(store: Store, vectors: VectorStore) -> None:
    """After a removal, rewrite the vectors without what was removed, before a release links their files."""
    if store.ledger.whole(PURGE) is not None:
        vectors.purge(wanted_vectors(store))


def vacuum(store: Store, vectors: VectorStore) -> None:
    """Rewrite parts and vectors with much unused content; after a removal, everything that still holds removed rows.

    Vectors of another embedder stay as long as a release that uses it.
    """
    sweep_drafts(store.home)
    vectors.drop_others(each.embedder_fingerprint for each in Releases(store.home).manifests())
    purge = store.ledger.whole(PURGE) is not None
    for table in INPUTS:
        if table != "vectors":
            compact(store, table, purge=purge)
    if purge or _is_wasteful(store, vectors):
        vectors.purge(wanted_vectors(store))
        store.ledger.commit([Entry.of_whole(PURGE, "removed")])
    if purge:
        store.ledger.take_snapshot()


def sweep_drafts(home: Path) -> None:
    """Delete drafts of a killed process; the caller holds the lock."""
    sweep(home)
    for kind in ("ledger", "tables/*", "vectors/*"):
        for draft in home.glob(f"{kind}/.*"):
            draft.unlink(missing_ok=True)


def _is_wasteful(store: Store, vectors: VectorStore) -> bool:
    known = vectors.count()
    # One vector per chunk and event, at most one per row of keys.
    return known * (1 - _UNUSED_SHARE) > store.ledger.row_count("chunks", "events", "keys")


def keep_in_size(home: Path, instance: dg.DagsterInstance, keep: Keep) -> dict[str, int]:
    """Prune releases, reports and run records; the number of each deleted. A failure is logged and stops nothing."""
    work: dict[str, Callable[[], int]] = {
        "pruned_releases": lambda: len(prune_releases(home, keep=keep.keep_releases, grace_hours=keep.grace_hours)),
        "pruned_reports": lambda: len(prune_reports(home, keep=keep.keep_reports, grace_hours=keep.grace_hours)),
        "pruned_runs": lambda: prune_runs(instance, keep=keep.keep_runs, days=keep.keep_run_days),
    }
    gone: dict[str, int] = {}
    for name, prune in work.items():
        try:
            gone[name] = prune()
        except (OSError, SagError) as error:
            _log.warning("%s: %s", name, error)
            gone[name] = 0
    return gone


def prune_runs(instance: dg.DagsterInstance, *, keep: int, days: float, now: datetime | None = None) -> int:
    """Delete finished runs beyond the newest `keep` or older than `days`, with events and logs; the number deleted."""
    end_lost_runs(instance)
    oldest = (now or datetime.now(UTC)) - timedelta(days=days)
    finished = instance.get_run_records(dg.RunsFilter(statuses=list(FINISHED_STATUSES)))
    gone = [each for n, each in enumerate(finished) if n >= keep or each.create_timestamp < oldest]
    for each in gone:
        run_id = each.dagster_run.run_id
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        instance.delete_run(run_id)
        for path in _files_of(instance, run_id):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return len(gone)


def _files_of(instance: dg.DagsterInstance, run_id: str) -> Iterator[Path]:
    """Files of a run that Dagster does not delete: its event log if that is a SQLite file, and its outputs."""
    storage = instance.event_log_storage
    shard = getattr(getattr(storage, "event_log_storage", storage), "path_for_shard", None)
    if shard is not None:
        database = Path(shard(run_id))
        yield from (database.with_name(database.name + end) for end in ("", "-wal", "-shm", "-journal"))
    outputs = Path(instance.storage_directory()) / run_id
    if outputs.is_dir():
        yield outputs


def process_tag() -> dict[str, str]:
    """The tag with the machine and process of a run."""
    return {PROCESS: f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"}


def end_lost_runs(instance: dg.DagsterInstance) -> int:
    """Report runs as failed if their process on this machine was killed: Dagster would count them as running."""
    running = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING]))
    lost: Sequence[dg.DagsterRun] = [run for run in running if _is_lost(run.tags.get(PROCESS, ""))]
    for run in lost:
        instance.report_run_failed(run, "its process was killed")
    return len(lost)


def _is_lost(tag: str) -> bool:
    host, _, process = tag.partition(":")
    number, _, started = process.partition(":")
    return host == socket.gethostname() and number.isdigit() and _started(int(number)) != started


def _started(number: int) -> str:
    """Start time of a process in ticks since boot, as numbers are reused; empty if there is no such process."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
