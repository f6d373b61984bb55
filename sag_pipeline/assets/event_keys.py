"""Asset `event_keys`: which event carries which key, after keys are aligned over all documents."""

import time

import dagster as dg

from sag_pipeline.publish.links import LINK_TABLES, make_links
from sag_pipeline.resources import PipelineResource


@dg.asset(group_name="extract", deps=["keys"], kinds={"parquet", "duckdb"}, owners=["team:sag"])
def event_keys(sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a link of event and key; names that mean the same are one key, with the evidence kept beside."""
    started = time.perf_counter()
    with sag.store() as store:
        state = store.state_hash(["keys"])
        is_new = not all(store.is_current_whole(name, state) for name in LINK_TABLES)
        if is_new:
            made = make_links(store)
            for name in LINK_TABLES:
                store.commit_whole(name, made[name], state)
        tables = {name: store.whole(name) for name in LINK_TABLES}
        counts = {name: rows.num_rows if rows is not None else 0 for name, rows in tables.items()}
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": counts["event_keys"],
            "keys": counts["distinct_keys"],
            "aligned": counts["canonical"],
            "is_new": is_new,
            "seconds": round(time.perf_counter() - started, 3),
        },
        data_version=dg.DataVersion(state or "empty"),
    )
