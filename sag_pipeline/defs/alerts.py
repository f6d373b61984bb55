"""Tell somebody that a run failed: a web hook, an e-mail or a file in a folder; what cannot be told stops nothing."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import dagster as dg
from dagster._core.events import JobFailureData, RunFailureReason
from dagster_shared.error import SerializableErrorInfo

from sag_pipeline.defs.corpus_assets import CorpusSpec, home_of
from sag_pipeline.runs.delivery import Message, send
from sag_retrieval.core.errors import system_fault
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.release.releases import Releases

_ERROR: Final = dg.AssetCheckSeverity.ERROR
_log = logging.getLogger(__name__)
TOLD_BY: Final = "sag/told_by"
"""Tag of a run whose own process tells of its failure."""
_OWN: Final = ("sag_pipeline.", "sag_retrieval.")
"""Start of the message of an error of this project in Dagster's record. Such a message names the next command, so its
cause is not shown."""


def tell(settings: Settings, told: Mapping[str, Any]) -> str:
    """Send a message to where SAG_ALERT says; why it could not be sent, empty if it was or nobody is named.

    Args:
        settings: The settings.
        told: Plain values, with `subject` and `run_id`.

    """
    target = settings.alert
    if not target:
        return ""
    message = Message(name=str(told["run_id"]), subject=str(told["subject"]), told=told)
    fault = send(target, settings.smtp, message)
    if fault:
        fault = f"the failure of run {told['run_id']} could not be told: {fault}"
        _log.warning("%s; check SAG_ALERT", fault)
    return fault


def failure_sensor(spec: CorpusSpec, keys: Collection[dg.AssetKey]) -> dg.SensorDefinition:
    """A sensor that tells of failed runs of a corpus.

    Args:
        spec: The corpus.
        keys: Its assets.

    """
    is_on = bool(load_settings().alert)

    @dg.run_failure_sensor(
        name=spec.named("failure"),
        minimum_interval_seconds=30,
        description="Tells of failed runs where SAG_ALERT says: a web hook, an e-mail or a folder.",
        default_status=dg.DefaultSensorStatus.RUNNING if is_on else dg.DefaultSensorStatus.STOPPED,
    )
    def failure(context: dg.RunFailureSensorContext) -> dg.SkipReason | None:
        run = context.dagster_run
        if not _assets_of(context) & set(keys):
            return dg.SkipReason(f"the run of {run.job_name} has no asset of this corpus")
        if TOLD_BY in run.tags and _failed_by_itself(context.failure_event):
            return dg.SkipReason(f"the command that started run {run.run_id} tells of it")
        fault = tell(load_settings(), told_of(context, home_of(spec.resource)))
        if fault:
            context.log.warning("%s", fault)
        return dg.SkipReason(fault or f"told of run {run.run_id}")

    return failure


def _failed_by_itself(event: dg.DagsterEvent) -> bool:
    """Whether the process of the run saw its failure; one that was killed is found by somebody else."""
    given = event.event_specific_data
    return isinstance(given, JobFailureData) and given.failure_reason is RunFailureReason.STEP_FAILURE


def _assets_of(context: dg.RunFailureSensorContext) -> set[dg.AssetKey]:
    """The assets that a run was to make: those it was started for, else those that it planned."""
    chosen = context.dagster_run.asset_selection
    if chosen:
        return set(chosen)
    planned = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
    records = context.instance.all_logs(context.dagster_run.run_id, of_type=planned)
    return {each.dagster_event.asset_key for each in records if each.dagster_event and each.dagster_event.asset_key}


def told_of(context: dg.RunFailureSensorContext, home: str) -> dict[str, Any]:
    """What is said of a failed run: its job, the reason, and which release is still current."""
    run = context.dagster_run
    records = context.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    checks = [each.dagster_event.asset_check_evaluation_data for each in records if each.dagster_event]
    reason = reason_of(checks, context.get_step_failure_events()) or context.failure_event.message or "unknown"
    return told_in(run.job_name, run.run_id, home, reason)


def told_in(job: str, run_id: str, home: str, reason: str) -> dict[str, Any]:
    """What is said of a failed run of a job in a home."""
    return {
        "subject": f"sag: {job} failed: {reason}",
        "run_id": run_id,
        "job": job,
        "home": home,
        "reason": reason,
        "release": Releases(Path(home)).current() or "",
    }


def reason_of(checks: Iterable[dg.AssetCheckEvaluation], failures: Iterable[dg.DagsterEvent]) -> str:
    """Why a run failed: its failed checks, else the error of the first step that failed; empty if neither is known."""
    wrong = [check for check in checks if not check.passed and check.severity is _ERROR]
    if wrong:
        return "; ".join(f"check {check.check_name}: {check.description}" for check in wrong)
    for event in failures:
        messages = [error.message for error in causes(event.step_failure_data.error)]
        first = next((n for n, message in enumerate(messages) if message.startswith(_OWN)), len(messages) - 1)
        below = (system_fault(message) for message in messages[max(first, 0) :] if not message.startswith(_OWN))
        told = next(filter(None, below), "") or _without_class((messages[first] if messages else "").strip())
        return f"{asset_of(event.step_key or '')}: {told}"
    return ""


def causes(error: SerializableErrorInfo | None) -> Iterator[SerializableErrorInfo]:
    """An error of a step as Dagster records it, and what caused it."""
    while error:
        yield error
        error = error.cause


def _without_class(message: str) -> str:
    """The message of an error as users read it: without its class if it is of this project, else without its module."""
    name, colon, said = message.partition(": ")
    if not colon or not all(part.isidentifier() for part in name.split(".")):
        return message
    return said if name.startswith(_OWN) else f"{name.rpartition('.')[2]}: {said}"


def asset_of(step: str) -> str:
    """The asset that a step makes; the operation of the asset `report` is called otherwise."""
    return step.rpartition("__")[2].removeprefix("write_")
