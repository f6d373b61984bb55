"""Tell somebody that a run failed: a web hook, an e-mail or a file in a folder; what cannot be told stops nothing."""

import json
import logging
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import dagster as dg

from sag_pipeline.corpus_assets import CorpusSpec, home_of
from sag_retrieval.core import durable
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.release.releases import Releases

_SECONDS: Final = 10
"""A hook that does not answer must not hold up the daemon, which also starts schedules."""
_MAIL: Final = "mailto:"
_SUBMISSION, _ENCRYPTED = 587, 465
_ERROR: Final = dg.AssetCheckSeverity.ERROR
_log = logging.getLogger(__name__)
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
    try:
        if target.startswith(_MAIL):
            _mail(target.removeprefix(_MAIL), settings.smtp, told)
        elif target.startswith(("http://", "https://")):
            _post(target, told)
        else:
            _write(Path(target), told)
    except (OSError, ValueError) as error:  # an SMTPException is an OSError
        fault = f"the failure of run {told['run_id']} could not be told: {type(error).__name__}: {error}"
        _log.warning("%s; check SAG_ALERT", fault)
        return fault
    return ""


def _post(address: str, told: Mapping[str, Any]) -> None:
    import urllib.request  # noqa: PLC0415  most runs tell nobody

    body = json.dumps({"text": told["subject"], **told}, ensure_ascii=False).encode()  # chat services read `text`
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, body, headers)  # noqa: S310  http or https, as `tell` has seen
    with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310
        pass


def _mail(receiver: str, server: str, told: Mapping[str, Any]) -> None:
    import smtplib  # noqa: PLC0415  most runs tell nobody
    import ssl  # noqa: PLC0415
    from email.message import EmailMessage  # noqa: PLC0415

    place = urlsplit(server)
    message = EmailMessage()
    message["Subject"] = " ".join(str(told["subject"]).split())
    message["From"] = message["To"] = receiver
    message.set_content("\n".join(f"{name}: {value}" for name, value in told.items()))
    host, is_encrypted = place.hostname or "localhost", place.scheme == "smtps"
    safe = ssl.create_default_context()
    opened = (
        smtplib.SMTP_SSL(host, place.port or _ENCRYPTED, timeout=_SECONDS, context=safe)
        if is_encrypted
        else smtplib.SMTP(host, place.port or _SUBMISSION, timeout=_SECONDS)
    )
    with opened as connection:
        if place.username:
            if not is_encrypted:
                connection.starttls(context=safe)  # a password is never sent in the clear
            connection.login(unquote(place.username), unquote(place.password or ""))
        connection.send_message(message)


def _write(folder: Path, told: Mapping[str, Any]) -> None:
    durable.make_folder(folder)
    durable.write_text(folder / f"{told['run_id']}.json", json.dumps(told, ensure_ascii=False, indent=1) + "\n")


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
        fault = tell(load_settings(), told_of(context, home_of(spec.resource)))
        if fault:
            context.log.warning("%s", fault)
        return dg.SkipReason(fault or f"told of run {run.run_id}")

    return failure


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
    return {
        "subject": f"sag: {run.job_name} failed: {reason}",
        "run_id": run.run_id,
        "job": run.job_name,
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
        error = event.step_failure_data.error
        while error is not None and error.cause is not None and not error.message.startswith(_OWN):
            error = error.cause
        return f"{asset_of(event.step_key or '')}: {_without_class((error.message if error else '').strip())}"
    return ""


def _without_class(message: str) -> str:
    """The message of an error as users read it: without its class if it is of this project, else without its module."""
    name, colon, said = message.partition(": ")
    if not colon or not all(part.isidentifier() for part in name.split(".")):
        return message
    return said if name.startswith(_OWN) else f"{name.rpartition('.')[2]}: {said}"


def asset_of(step: str) -> str:
    """The asset that a step makes; the operation of the asset `report` is called otherwise."""
    return step.rpartition("__")[2].removeprefix("write_")
