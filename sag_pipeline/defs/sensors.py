"""Sensors that start the ingest of a corpus when what it reads has changed, and a report when what it tells has."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.storage.tags import RUN_KEY_TAG

from sag_pipeline.defs.corpus_assets import CorpusSpec
from sag_pipeline.sources.bucket_source import state_of_bucket
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.home_urls import names_bucket
from sag_retrieval.core.settings import load_settings
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


def changed_sensor(
    spec: CorpusSpec, job: UnresolvedAssetJobDefinition, scope: "Scope", *, is_on: bool = True
) -> dg.SensorDefinition:
    """A sensor that starts the job of a report after a release that changes what the report is about.

    Args:
        spec: The corpus.
        job: It writes the report.
        scope: What the report is about.
        is_on: Whether it runs as soon as it is defined.

    """

    @dg.sensor(
        name=f"{job.name}_changed",
        job=job,
        minimum_interval_seconds=60,
        description="Starts the report after a release that changes what it is about.",
        default_status=dg.DefaultSensorStatus.RUNNING if is_on else dg.DefaultSensorStatus.STOPPED,
    )
    def changed(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        """Compare what the report selects in the current release with what it selected in the last one."""
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
    """A sensor that starts an ingest when a source has changed."""

    @dg.sensor(
        name=spec.named("inbox"),
        job=ingest,
        minimum_interval_seconds=60,
        description="Starts an ingest when a source has changed.",
    )
    def inbox(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        """Request a run for each change of the sources, once they rest, and again for one whose run failed."""
        sources = spec.sources or (load_settings().source,)
        states = [state_of_bucket(source) if names_bucket(source) else state_of(Path(source)) for source in sources]
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
    """State for which a run was requested last."""
    seen: str = ""
    """State at the last look."""
    looks: int = 0
    """Looks since a change that was not requested yet."""
    number: int = 0
    """Runs requested so far: a state that comes back is a new request."""
    tries: int = 0
    at: float = 0.0
    """When the last run was requested."""

    @classmethod
    def read(cls, cursor: str | None) -> "_Watched":
        """What a cursor holds; those of versions before 0.3 were the state alone."""
        if not cursor or not cursor.startswith("{"):
            return cls(asked=cursor or "", seen=cursor or "")
        return cls(**json.loads(cursor))

    @property
    def run_key(self) -> str:
        """One for each request."""
        return f"{self.asked}:{self.number}" if self.number else self.asked

    def text(self) -> str:
        """The cursor."""
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
    """A sensor that starts an ingest when an asset that feeds the corpus was made."""

    @dg.asset_sensor(
        asset_key=dg.AssetKey.from_user_string(table),
        name=spec.named(f"fed_by_{table.replace('/', '_')}"),
        job=ingest,
        description=f"Starts an ingest when {table} was materialized.",
    )
    def fed(context: dg.SensorEvaluationContext, event: dg.EventLogEntry) -> dg.RunRequest:  # noqa: ARG001  Dagster's
        """Request one run per materialization."""
        return dg.RunRequest(run_key=f"{event.run_id}:{event.timestamp}")

    return fed
