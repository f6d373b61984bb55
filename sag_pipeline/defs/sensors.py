"""Sensors: they start an ingest when its sources changed, a report when its events changed, and alert of failed runs.

An alert is a web hook, an e-mail or a file in a folder; one that cannot be sent stops nothing.
"""

import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.events import JobFailureData, RunFailureReason
from dagster._core.storage.tags import RUN_KEY_TAG
from dagster_shared.error import SerializableErrorInfo

from sag_pipeline.defs.corpus_assets import CorpusSpec, home_of
from sag_pipeline.runs.delivery import Message, send
from sag_pipeline.sources.bucket_source import state_of_bucket
from sag_retrieval.core.errors import SagError, system_fault
from sag_retrieval.core.home_urls import names_bucket, names_web
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.models.open import open_embedder
from sag_retrieval.release.releases import Releases

if TYPE_CHECKING:
    from sag_retrieval.reports.scope import Scope


def state_of(source: Path) -> str:
    """Hash of the names, sizes and times of the files of a source; empty if the source does not exist."""
    if not source.exists():
        return ""
    digest = blake2b(digest_size=12)
    for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
        if path.is_file():
            stat = path.stat()
            digest.update(f"{path}\x1f{stat.st_size}\x1f{stat.st_mtime_ns}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def sensors_of(spec: CorpusSpec, ingest: UnresolvedAssetJobDefinition) -> Iterator[dg.SensorDefinition]:
    """The sensors of what a corpus reads: its folders and files, and each asset that feeds it."""
    if spec.sources or not spec.tables:
        yield _inbox(spec, ingest)
    for table in spec.tables:
        yield _fed(spec, ingest, table)


def changed_sensor(spec: CorpusSpec, job: UnresolvedAssetJobDefinition, scope: "Scope") -> dg.SensorDefinition:
    """A sensor that starts the job of a report after a release that changes what the report is about."""

    @dg.sensor(
        name=f"{job.name}_changed",
        job=job,
        minimum_interval_seconds=60,
        description="Starts the report after a release that changes what it is about.",
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def changed(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        home = spec.resource.settings().home
        current = Releases(home).current()
        if current is None:
            return dg.SkipReason("there is no release yet; `sag ingest` makes one")
        before = json.loads(context.cursor) if context.cursor else {}
        if before.get("release") == current:
            return dg.SkipReason(f"no release since {current}")
        from sag_retrieval.release.reader import open_reader  # noqa: PLC0415  definitions are loaded by every command
        from sag_retrieval.reports.scope import selection_hash  # noqa: PLC0415

        try:
            with closing(open_reader(home, None, open_embedder)) as reader:
                selected = selection_hash(reader, scope)
        except (SagError, OSError) as error:
            return dg.SkipReason(f"release {current} cannot be read: {error}")
        cursor = json.dumps({"release": current, "selected": selected})
        if before.get("selected") == selected:
            told = f"release {current} changes nothing that the report is about"
            return dg.SensorResult(skip_reason=dg.SkipReason(told), cursor=cursor)
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=f"{current}:{selected}")], cursor=cursor)

    return changed


def _inbox(spec: CorpusSpec, ingest: UnresolvedAssetJobDefinition) -> dg.SensorDefinition:
    @dg.sensor(
        name=spec.named("inbox"),
        job=ingest,
        minimum_interval_seconds=60,
        description="Starts an ingest when a source has changed.",
    )
    def inbox(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        sources = spec.sources or (load_settings().source,)
        local = [source for source in sources if not names_web(source)]  # a schedule reads the web, no look a minute
        states = [state_of_bucket(source) if names_bucket(source) else state_of(Path(source)) for source in local]
        shown = ", ".join(sources)
        if not any(states):
            hint = "create it" if spec.sources else "set SAG_SOURCE to a folder or file of documents"
            return dg.SkipReason(f"{shown} does not exist; {hint}")
        last = _Watched.read(context.cursor)
        watched = last.next("".join(states), time.time(), lambda: _has_failed(context.instance, last.run_key))
        if watched.number > last.number:
            requests = [dg.RunRequest(run_key=watched.run_key)]
            return dg.SensorResult(run_requests=requests, cursor=watched.text())
        reason = "has not changed" if watched.seen == watched.asked else "is changing; it is read once it rests"
        return dg.SensorResult(skip_reason=dg.SkipReason(f"{shown} {reason}"), cursor=watched.text())

    return inbox


_LONGEST_WAIT: Final = 15
"""Looks, a minute apart, after which sources that never rest are read all the same."""
_FIRST_PAUSE: Final = 600.0
_LONGEST_PAUSE: Final = 86_400.0
"""Seconds before the run of unchanged sources that failed is asked for again; doubled each time."""


@dataclass(frozen=True, slots=True)
class _Watched:
    """What the sensor of a source remembers from one look to the next."""

    asked: str = ""
    seen: str = ""
    looks: int = 0
    """Looks since a change that was not requested yet."""
    number: int = 0
    """Runs requested so far: a state that comes back is a new request."""
    tries: int = 0
    at: float = 0.0

    @classmethod
    def read(cls, cursor: str | None) -> "_Watched":
        """What a cursor holds; those of versions before 0.3 were the state alone."""
        if not cursor or not cursor.startswith("{"):
            return cls(asked=cursor or "", seen=cursor or "")
        return cls(**json.loads(cursor))

    @property
    def run_key(self) -> str:
        return f"{self.asked}:{self.number}" if self.number else self.asked

    def text(self) -> str:
        return json.dumps(asdict(self))

    def next(self, state: str, now: float, has_failed: Callable[[], bool]) -> "_Watched":
        """What is remembered after a look; a greater number asks for a run."""
        if state == self.asked:
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** max(0, self.tries - 1))
            is_again = self.number > 0 and abs(now - self.at) >= pause and has_failed()
            return self._requested(state, now, self.tries + 1) if is_again else replace(self, seen=state, looks=0)
        if state == self.seen or self.looks + 1 >= _LONGEST_WAIT:
            return self._requested(state, now, 1)
        return replace(self, seen=state, looks=self.looks + 1)

    def _requested(self, state: str, now: float, tries: int) -> "_Watched":
        return _Watched(state, state, 0, self.number + 1, tries, now)


def _has_failed(instance: dg.DagsterInstance, run_key: str) -> bool:
    """Whether the last run of a key failed or was never launched."""
    runs = instance.get_runs(dg.RunsFilter(tags={RUN_KEY_TAG: run_key}), limit=1)
    return bool(runs) and runs[0].status is dg.DagsterRunStatus.FAILURE


def _fed(spec: CorpusSpec, ingest: UnresolvedAssetJobDefinition, table: str) -> dg.SensorDefinition:
    @dg.asset_sensor(
        asset_key=dg.AssetKey.from_user_string(table),
        name=spec.named(f"fed_by_{table.replace('/', '_')}"),
        job=ingest,
        description=f"Starts an ingest when {table} was materialized.",
    )
    def fed(context: dg.SensorEvaluationContext, event: dg.EventLogEntry) -> dg.RunRequest:  # noqa: ARG001  Dagster's
        return dg.RunRequest(run_key=f"{event.run_id}:{event.timestamp}")

    return fed


_ERROR: Final = dg.AssetCheckSeverity.ERROR
_log = logging.getLogger(__name__)
TOLD_BY: Final = "sag/told_by"
"""Tag of a run whose own process tells of its failure."""
_OWN: Final = ("sag_pipeline.", "sag_retrieval.")
"""Start of the message of an error of this project in Dagster's record. Such a message names the next command, so its
cause is not shown."""


def tell(settings: Settings, told: Mapping[str, Any]) -> str:
    """Send a message to where SAG_ALERT says; why it could not be sent, empty if it was or nobody is named."""
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
    """A sensor that tells of failed runs of a corpus."""
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
