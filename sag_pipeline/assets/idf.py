"""Asset `idf`: how telling each key is."""

import time

import dagster as dg
import numpy as np
import pyarrow as pa

from sag_pipeline.publish.links import event_counts
from sag_pipeline.resources import Workshop
from sag_pipeline.steps.idf import idf as idf_of


@dg.asset(group_name="extract", deps=["events", "event_keys"], kinds={"parquet", "duckdb"}, owners=["team:sag"])
def idf(workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a key: the events that carry it, and ln(events / those events)."""
    started = time.perf_counter()
    with workshop.store() as store:
        state = store.state_hash(["events", "event_keys"])
        linked = store.whole("event_keys")
        if linked is not None and not store.is_current_whole("idf", state):
            ((total,),) = store.ledger.select("SELECT coalesce(sum(row_count), 0) FROM current WHERE step = 'events'")
            counts = event_counts(linked)
            values = [idf_of(count, int(str(total))) for count in counts["event_count"].to_pylist()]
            store.commit_whole("idf", counts.append_column("idf", pa.array(values, pa.float64())), state)
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
