"""Assets of your own downstream of a corpus: its chunks by dagster-duckdb, their vectors by LanceDB.

    dg launch -f chunks_downstream.py --job everything

The release says in its metadata where its tables lie, so `ReleaseTables` reads those of the newest one. No asset below
imports anything of the corpus.
"""

import dagster as dg
import lancedb
import pandas as pd
from dagster_duckdb import DuckDBResource

from sag_pipeline import Corpus, corpus_definitions

RELEASE = dg.AssetKey(["news", "release"])


class ReleaseTables(dg.ConfigurableIOManager):
    """Loads a table of the newest release: from DuckDB, or from Lance with its vectors."""

    def load_input(self, context: dg.InputContext) -> pd.DataFrame:
        """What the input's metadata asks for."""
        event = context.instance.get_latest_materialization_event(context.asset_key)
        paths = {name: value.value for name, value in event.asset_materialization.metadata.items()}
        asked = context.definition_metadata
        if "lance" in asked:
            return lancedb.connect(paths["lance"]).open_table(asked["lance"]).to_pandas()
        config = {"file_search_path": paths["release_folder"], "access_mode": "READ_ONLY"}
        with DuckDBResource(database=paths["duckdb"], connection_config=config).get_connection() as tables:
            return tables.sql(asked["sql"]).to_df()

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Nothing: a release is written by the pipeline alone."""
        raise NotImplementedError


def release_input(**asked: str) -> dg.AssetIn:
    """Rows of the release as an input: `sql`, or a table of `lance`."""
    return dg.AssetIn(RELEASE, metadata=asked, input_manager_key="release_tables")


@dg.asset(ins={"chunks": release_input(sql="SELECT language, c.text FROM chunks c JOIN documents USING (document_id)")})
def characters(chunks: pd.DataFrame) -> pd.DataFrame:
    """Chunks and characters by language."""
    return chunks.groupby("language")["text"].agg(chunks="count", characters=lambda texts: texts.str.len().sum())


@dg.asset(ins={"chunks": release_input(lance="chunks")})
def dimensions(chunks: pd.DataFrame) -> int:
    """Numbers of a vector."""
    return len(chunks["vector"][0])


defs = dg.Definitions.merge(
    dg.Definitions(
        assets=[characters, dimensions],
        resources={"release_tables": ReleaseTables()},
        jobs=[
            dg.define_asset_job(
                "everything",
                dg.AssetSelection.assets(characters, dimensions).upstream(),
                executor_def=dg.in_process_executor,
            )
        ],
    ),
    corpus_definitions(Corpus(name="news", home="homes/news", sources=["documents"])),
)
