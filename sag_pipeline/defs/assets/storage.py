"""The asset that keeps a home in size: old releases, reports and run records are deleted, what is left is measured."""

import time
from pathlib import Path
from shutil import disk_usage

import dagster as dg

from sag_pipeline.defs.checks import disk_has_room
from sag_pipeline.defs.corpus_assets import corpus_asset
from sag_pipeline.defs.dagster_metadata import check_result
from sag_pipeline.defs.resources import PipelineResource, bars
from sag_pipeline.runs.maintenance import prune_all
from sag_pipeline.runs.status import age_hours, growth_of, mean_growth, sizes_of
from sag_retrieval.core.errors import StoreError


@corpus_asset(group="publish", deps=["release"], kinds={"python"}, is_writing=True)
def storage(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """What lies below the home after pruning: megabytes by kind, age of the release, growth of one release.

    What is kept are options of the resource `sag`: `keep_releases`, `keep_reports`, `grace_hours`, `keep_runs` and
    `keep_run_days`. The current release and those held open always stay.
    """
    started, home = time.perf_counter(), Path(sag.settings().home)
    gone, faults = prune_all(home, context.instance, sag.run_options().keep)
    if faults:
        raise StoreError(f"{'; '.join(faults)}; free the cause, then run the job `prune` again")
    sizes, age = sizes_of(home), age_hours(home)
    return dg.MaterializeResult(
        metadata={
            **gone,
            **{f"megabytes_{kind}": size for kind, size in sizes.items()},
            "megabytes": round(sum(sizes.values()), 3),
            "sizes": dg.MetadataValue.md(bars(sizes, "Megabytes by kind")),
            **({} if age is None else {"release_age_hours": age}),
            **{f"mean_growth_{name}": value for name, value in mean_growth(growth_of(home)).items()},
            "seconds": round(time.perf_counter() - started, 3),
        },
        check_results=[check_result(disk_has_room(disk_usage(home).free / 1e6, sizes.get("releases", 0.0)))],
    )
