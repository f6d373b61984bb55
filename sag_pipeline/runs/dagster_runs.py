"""Dagster's records of runs: where they are kept, the last run of a home, runs whose process is gone, pruning."""

import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from warnings import catch_warnings

import dagster as dg
from dagster._core.instance.config import PoolGranularity
from dagster._core.storage.dagster_run import FINISHED_STATUSES

from sag_pipeline.runs.unchanged import CONFIG, HISTORY, keeps_history
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.settings import load_settings

PROCESS: Final = "sag/process"
"""Tag of a run that a command started: its machine and process."""
HOME: Final = "sag/home"
"""Tag of a run, and metadata of each of its materializations: the home that it writes to."""


@contextmanager
def open_instance() -> Iterator[dg.DagsterInstance]:
    """The instance that the Dagster page shows: that of `DAGSTER_HOME`, or that of the `dagster.yaml` of this folder.

    In another folder, that of the home if it has runs; else one in memory.

    Raises:
        SettingsError: If `DAGSTER_HOME` is no folder, or the file cannot be used.
    """
    home = os.environ.get("DAGSTER_HOME")
    if not is_kept():
        with dg.DagsterInstance.ephemeral() as instance:
            storage: Any = instance.event_log_storage
            storage.store_event = lambda _: None  # listeners hear each event; nobody could ask for it later
            yield instance
        return
    if home and not Path(home).is_dir():
        raise SettingsError(f"DAGSTER_HOME is {home!r}, which is not a folder; create it or correct the variable")
    folder = home or ("." if Path(CONFIG).is_file() else str(history_folder()))
    try:
        with catch_warnings(action="ignore"):  # that a folder has no dagster.yaml
            opened = dg.DagsterInstance.from_config(folder)
    except Exception as error:  # any class that the file names may raise anything
        place = f"in DAGSTER_HOME ({home})" if home else "in this folder"
        way_out = "change DAGSTER_HOME" if home else "run `sag` in another folder"
        raise SettingsError(f"{CONFIG} {place} cannot be used: {in_words(error)}; correct it, or {way_out}") from error
    with opened as instance:
        yield instance


def history_folder() -> Path:
    """The folder of records below the home of the settings."""
    return load_settings().home.resolve() / HISTORY


def is_kept() -> bool:
    """Whether records of runs are kept."""
    return keeps_history(load_settings().home)


def lacks(instance: dg.DagsterInstance) -> list[str]:
    """What an instance lacks of what docs/deployment.md promises, each with the lines of `dagster.yaml` that add it."""
    pools = instance.get_concurrency_config().pool_config
    found = []
    if pools.default_pool_limit != 1 or pools.pool_granularity != PoolGranularity.RUN:
        found.append(
            "two runs that write to one home may be under way at a time: add "
            "`concurrency: {pools: {granularity: run, default_limit: 1}}` to dagster.yaml"
        )
    if not instance.run_monitoring_enabled:
        found.append(
            "a run whose process is gone stays STARTED: add `run_monitoring: {enabled: true}` and `run_launcher: "
            "{module: sag_pipeline.run_launcher, class: WatchedRunLauncher}` to dagster.yaml"
        )
    elif type(instance.run_launcher) is dg.DefaultRunLauncher:
        found.append(
            "a run whose code server is gone stays STARTED: add `run_launcher: {module: sag_pipeline.run_launcher, "
            "class: WatchedRunLauncher}` to dagster.yaml"
        )
    return found


def in_words(error: Exception) -> str:
    """What is wrong, in one line without the dump of a configuration schema."""
    faults = [found.message for found in error.errors] if isinstance(error, dg.DagsterInvalidConfigError) else []
    return "; ".join(" ".join(fault.split()) for fault in faults or [str(error) or type(error).__name__])


def process_tag() -> dict[str, str]:
    """The tag with the machine and process of a run."""
    return {PROCESS: f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"}


def last_run(instance: dg.DagsterInstance, job: str, home: Path) -> dict[str, Any] | None:
    """The newest run of a job, of whatever corpus, that writes to a home; None if none is recorded."""
    records = instance.get_run_records(dg.RunsFilter(tags={HOME: os.path.realpath(home)}), limit=_LOOKED_AT)
    found = next((each for each in records if f"_{each.dagster_run.job_name}".endswith(f"_{job}")), None)
    if found is None:
        return None
    run = found.dagster_run
    is_gone = not run.is_finished and is_lost(run.tags)
    return {
        "run_id": run.run_id,
        "outcome": "killed" if is_gone else run.status.value.lower(),
        "started_at": _iso(found.start_time or found.create_timestamp.timestamp()),
        "ended_at": _iso(found.end_time) if found.end_time else None,
        "seconds": round(found.end_time - found.start_time, 1) if found.end_time and found.start_time else None,
    }


_LOOKED_AT: Final = 200


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


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


def end_lost_runs(instance: dg.DagsterInstance) -> int:
    """Report runs as failed if their process on this machine was killed: Dagster would count them as running."""
    running = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING]))
    lost: Sequence[dg.DagsterRun] = [run for run in running if is_lost(run.tags)]
    for run in lost:
        instance.report_run_failed(run, "its process was killed")
    return len(lost)


def is_lost(tags: Mapping[str, str]) -> bool:
    """Whether a run's tags name a process of this machine that is gone."""
    host, _, process = tags.get(PROCESS, "").partition(":")
    number, _, started = process.partition(":")
    return host == socket.gethostname() and number.isdigit() and _started(int(number)) != started


def _started(number: int) -> str:
    """Start time of a process in ticks since boot, as numbers are reused; empty if there is no such process."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
