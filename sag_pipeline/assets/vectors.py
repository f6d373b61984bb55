"""Asset `vectors`: what texts mean, as numbers."""

import dagster as dg

from sag_pipeline.embed import embed_pending, open_embedding
from sag_pipeline.options import IngestOptions
from sag_pipeline.resources import PipelineResource, progress_of, result_of
from sag_pipeline.runner import step_of


@dg.asset(group_name="publish", deps=["chunks", "events", "keys"], kinds={"parquet"}, owners=["team:sag"])
def vectors(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a distinct text of chunks, events and text keys; each is embedded once."""
    with sag.store() as store:
        embedding = open_embedding(store, sag.settings().embedding_model)
        step = step_of("vectors", IngestOptions(), embedding.embedder.fingerprint)
        tally = embed_pending(store, step, embedding, progress_of(context))
        return result_of(store, step, tally, embedder=embedding.embedder.fingerprint)
