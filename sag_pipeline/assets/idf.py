"""Asset `idf`: how telling each key is."""

import time

import dagster as dg
import numpy as np

from sag_pipeline.publish.links import weigh_keys
from sag_pipeline.resources import PipelineResource


@dg.asset(group_name="extract", deps=["events", "event_keys"], kinds={"parquet", "duckdb"}, owners=["team:sag"])
def idf(sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a key: the events that carry it, and ln(events / those events)."""
    started = time.perf_counter()
    smoothing = sag.run_options().idf_smoothing
    with sag.store() as store:
        state = store.state_hash(["events", "event_keys"])
        state += "" if smoothing == "none" else f"|{smoothing}"
        if not store.is_current_whole("idf", state):
            store.commit_whole("idf", weigh_keys(store, store.ledger.row_count("events"), smoothing), state)
        rows = store.whole("idf")
    weights = rows["idf"].to_numpy() if rows is not None else np.zeros(0)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(weights),
            "median": float(np.median(weights)) if len(weights) else 0.0,
            "seconds": round(time.perf_counter() - started, 3),
        },
        data_version=dg.DataVersion(state or "empty"),
    )
