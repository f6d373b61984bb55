"""Asset `release`: the published build that searches read."""

import time
from collections.abc import Iterator

import dagster as dg

from sag_pipeline.embed import open_embedding
from sag_pipeline.publish.checks import NAMES
from sag_pipeline.publish.publish import publish
from sag_pipeline.resources import PipelineResource, bars, now
from sag_pipeline.tables import STORED
from sag_pipeline.upkeep import keep_in_size, vacuum


@dg.asset(
    group_name="publish",
    deps=[*(name for name, table in STORED.items() if table.is_published), "event_keys", "idf", "vectors"],
    kinds={"duckdb", "lancedb"},
    owners=["team:sag"],
    check_specs=[dg.AssetCheckSpec(name, asset="release", blocking=True) for name in NAMES],
)
def release(
    context: dg.AssetExecutionContext, sag: PipelineResource
) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:  # type: ignore[type-arg]
    """Tables, graph and vectors as one immutable release, checked, then put in force by one rename."""
    started = time.perf_counter()
    with sag.store() as store:
        embedding = open_embedding(store, sag.settings().embedding_model)
        done = publish(store, embedding, now())
        vacuum(store, embedding.vectors)
    gone = keep_in_size(sag.settings().home, context.instance, sag.run_options().keep)
    manifest = done.manifest
    yield dg.MaterializeResult(
        metadata={
            "release": manifest.release_id,
            "is_new": done.is_new,
            "is_in_force": not done.faults,
            "rows": dg.MetadataValue.md(bars({n: float(c) for n, c in manifest.counts.items()}, "Rows by table")),
            **gone,
            "seconds": round(time.perf_counter() - started, 3),
        },
        data_version=dg.DataVersion(manifest.content_hash),
    )
    found = {check.name: check for check in done.checks}
    for name in NAMES:  # a release that was in force already passed them when it was made
        check = found.get(name)
        message = check.message if check else str(manifest.checks.get(name, "not known when it was made"))
        yield dg.AssetCheckResult(check_name=name, passed=check is None or check.passed, description=message)
