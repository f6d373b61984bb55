"""Running the job `ingest` from the command line or from code, as Dagster runs it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg

from sag_pipeline.config import run_config
from sag_pipeline.definitions import defs
from sag_pipeline.options import RunOptions
from sag_pipeline.steps.folders import launched_here
from sag_pipeline.upkeep import process_tag
from sag_retrieval.core.errors import SagError, SettingsError
from sag_retrieval.core.options import build_options


@contextmanager
def _instance() -> Iterator[dg.DagsterInstance]:
    """The instance that `dagster dev` shows from this folder; one in memory where there is none."""
    if Path("dagster.yaml").is_file():
        with dg.DagsterInstance.from_config(".") as instance:
            yield instance
    else:
        with dg.DagsterInstance.ephemeral() as instance:
            yield instance


def run_job(name: str, run_config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Run a job in this process; the metadata of each asset it made.

    Raises:
        SagError: If an asset or a check failed, with its reason.

    """
    with _instance() as instance, launched_here():
        job = defs.resolve_job_def(name)
        config = {**run_config, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        try:
            result = job.execute_in_process(
                run_config=config, instance=instance, raise_on_error=False, tags=process_tag()
            )
        except dg.DagsterInvalidConfigError as error:
            raise SettingsError(f"job {name!r}: " + "; ".join(e.message for e in error.errors)) from error
    if not result.success:
        raise SagError(f"job {name!r} failed: {_reason(result)}")
    found: dict[str, dict[str, Any]] = {}
    for event in result.get_asset_materialization_events():
        made = event.step_materialization_data.materialization
        found[made.asset_key.to_user_string()] = {n: _plain(value) for n, value in made.metadata.items()}
    return found


_OWN = ("sag_pipeline.", "sag_retrieval.")
"""How the message of an error of our own begins in Dagster's record: it says what to do, its cause need not."""


def _reason(result: dg.ExecuteInProcessResult) -> str:
    checks = [c for c in result.get_asset_check_evaluations() if not c.passed]
    if checks:
        return "; ".join(f"check {c.check_name}: {c.description}" for c in checks)
    for event in result.filter_events(lambda e: e.is_step_failure):
        error = event.step_failure_data.error
        while error is not None and error.cause is not None and not error.message.startswith(_OWN):
            error = error.cause
        return f"{event.step_key}: {(error.message if error else '').strip()}"
    return "see the log of the run"


def _plain(value: Any) -> Any:  # noqa: ANN401  metadata of any type
    return getattr(value, "value", getattr(value, "text", None))


def run_ingest(
    sources: Sequence[str],
    options: RunOptions | Mapping[str, Any] | None = None,
    follow: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Follow the sources and publish; counts and seconds of every step, and the release in force.

    A source that is not there does not stop the others: `unread_sources` says why, and its documents stay.

    Args:
        sources: Folders and files; none: SAG_SOURCE.
        options: Options of a run, such as `{"en_size": 500, "header.sentences": True}`.
        follow: Fields of the asset `documents`, such as `{"allow_removals": True}`.

    Raises:
        SagError: If no source is there, too much of one is gone, an option is unknown, or a step failed.

    """
    config: dict[str, Any] = {
        "resources": {"sag": {"config": run_config(build_options(RunOptions, options, what="ingest"))}},
        "ops": {"documents": {"config": {"sources": list(sources), **(follow or {})}}},
    }
    made = run_job("ingest", config)
    counts = ("new", "changed", "removed", "skipped", "failed", "rows", "seconds")
    return {
        "release": made["release"]["release"],
        "is_new": made["release"]["is_new"],
        "put_aside": made["documents"]["failed"],
        "unread_sources": made["documents"]["unread_sources"],
        "steps": {
            name: {c: values[c] for c in counts if isinstance(values.get(c), int | float)}
            for name, values in made.items()
        },
    }


def run_report(config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Write the report of the release in force; what the assets `communities` and `report` said of it."""
    return run_job("report", {"ops": {"write_report": {"config": dict(config)}}} if config else {})
