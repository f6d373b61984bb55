"""Articles of a DuckDB database as the documents of a corpus, by dagster-duckdb.

    dg launch -f articles_in_duckdb.py --job everything

`raw_articles` stands for whatever fills your database. `articles` selects what becomes documents: `id` and `text`, and
`title` and `date` if there are any; `author`, like every other column, becomes a field of the metadata. A row that is
gone at the next run is a document removed.
"""

from pathlib import Path

import dagster as dg
import pyarrow as pa
from dagster_duckdb import DuckDBResource

from sag_pipeline import Corpus, DocumentTable, corpus_definitions

CSV = Path(__file__).with_name("articles.csv")


@dg.asset
def raw_articles(database: DuckDBResource) -> None:
    """The table that an editorial system writes."""
    with database.get_connection() as connection:
        connection.execute("CREATE OR REPLACE TABLE raw_articles AS SELECT * FROM read_csv(?)", [str(CSV)])


@dg.asset(deps=[raw_articles])
def articles(database: DuckDBResource) -> pa.Table:
    """What becomes documents, as an Arrow table."""
    with database.get_connection() as connection:
        return connection.sql("SELECT id, title, text, written AS date, author FROM raw_articles").to_arrow_table()


news = Corpus(
    name="news",
    home="homes/news",
    tables=[DocumentTable(asset="articles")],
    schedule="0 3 * * *",
)
defs = dg.Definitions.merge(
    dg.Definitions(
        assets=[raw_articles, articles],
        resources={"database": DuckDBResource(database="articles.duckdb")},
        jobs=[
            dg.define_asset_job(
                "everything",
                dg.AssetSelection.assets(["news", "release"]).upstream(),
                executor_def=dg.in_process_executor,
            )
        ],
    ),
    corpus_definitions(news),
)
