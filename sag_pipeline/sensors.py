"""Sensors that start the ingest of a corpus when what it reads has changed."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from sag_pipeline.corpus_assets import CorpusSpec
from sag_pipeline.steps.bucket_source import state_of_bucket
from sag_retrieval.core.home_urls import names_bucket
from sag_retrieval.core.settings import load_settings


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


def _inbox(spec: CorpusSpec, ingest: UnresolvedAssetJobDefinition) -> dg.SensorDefinition:
    """A sensor that starts an ingest when a source has changed."""

    @dg.sensor(
        name=spec.named("inbox"),
        job=ingest,
        minimum_interval_seconds=60,
        description="Starts an ingest when a source has changed.",
    )
    def inbox(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        """Request one run per state of the sources; a known state starts nothing."""
        sources = spec.sources or (load_settings().source,)
        states = [state_of_bucket(source) if names_bucket(source) else state_of(Path(source)) for source in sources]
        shown = ", ".join(sources)
        if not any(states):
            hint = "create it" if spec.sources else "set SAG_SOURCE to a folder or file of documents"
            return dg.SkipReason(f"{shown} does not exist; {hint}")
        state = "".join(states)
        if state == context.cursor:
            return dg.SkipReason(f"{shown} has not changed")
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=state)], cursor=state)

    return inbox


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
