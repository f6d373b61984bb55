"""After each ingest: old releases, reports and records of runs go, so that disks do not fill up."""

import logging
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
from dagster._core.storage.dagster_run import FINISHED_STATUSES
from sag_retrieval.release.releases import prune_releases

from sag_pipeline.options import Keep
from sag_retrieval.core.errors import SagError
from sag_retrieval.reports.series import prune_reports

PROCESS = "sag/process"
"""Tag of a run: the machine and process it is in."""
_log = logging.getLogger(__name__)


def keep_in_size(home: Path, instance: dg.DagsterInstance, keep: Keep) -> dict[str, int]:
    """Prune releases, reports and Dagster's records; how many of each went. What cannot be deleted is only logged."""
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
    """Delete finished runs beyond the newest `keep` or older than so many days, with events and logs; how many went."""
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
    """Files of a run that Dagster leaves behind: its event log where each run has a SQLite file, and its outputs."""
    storage = instance.event_log_storage
    shard = getattr(getattr(storage, "event_log_storage", storage), "path_for_shard", None)
    if shard is not None:
        database = Path(shard(run_id))
        yield from (database.with_name(database.name + end) for end in ("", "-wal", "-shm", "-journal"))
    outputs = Path(instance.storage_directory()) / run_id
    if outputs.is_dir():
        yield outputs


def process_tag() -> dict[str, str]:
    """The tag that says in which process a run is."""
    return {PROCESS: f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"}


def end_lost_runs(instance: dg.DagsterInstance) -> int:
    """Tell Dagster that runs have failed whose process on this machine was killed: it would count them as running."""
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
    """When a process started, in ticks since the machine did; empty if there is none. Numbers are used again."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
