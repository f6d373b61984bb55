"""Posts of a REST interface, loaded by dlt, as the documents of a corpus.

    dg launch -f posts_by_dlt.py --job everything

The interface is recorded in the folder `posts`, a file for each page; SAG_EXAMPLE_POSTS names another folder. It only
gives what is new or changed, so a post that it does not mention stays; one with `deleted` is removed.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")

import dagster as dg
import dlt
import duckdb
import pandas as pd

from sag_pipeline import Corpus, DocumentTable, corpus_definitions

PAGES = Path(os.environ.get("SAG_EXAMPLE_POSTS", Path(__file__).with_name("posts")))


@dlt.resource(name="posts", primary_key="id", write_disposition="replace", columns={"tags": {"data_type": "json"}})
def recorded_posts() -> Iterator[list[dict[str, Any]]]:
    """The pages of the interface, from the first to the one that names no next page."""
    number: int | None = 1
    while number is not None:
        page = json.loads((PAGES / f"page-{number}.json").read_text(encoding="utf-8"))
        yield page["posts"]
        number = page["next"]


@dg.asset
def posts() -> pd.DataFrame:
    """What the interface gave this time."""
    target = dlt.destinations.duckdb("posts.duckdb")
    dlt.pipeline("posts", destination=target, dataset_name="blog", pipelines_dir="dlt").run(recorded_posts())
    with duckdb.connect("posts.duckdb", read_only=True) as connection:
        return connection.sql("SELECT id, title, text, date, deleted, tags FROM blog.posts").df()


blog = Corpus(
    name="blog",
    home="homes/blog",
    tables=[DocumentTable(asset="posts", removal="tombstone")],
    schedule="0 * * * *",
)
defs = dg.Definitions.merge(
    dg.Definitions(
        assets=[posts],
        jobs=[
            dg.define_asset_job(
                "everything",
                dg.AssetSelection.assets(["blog", "release"]).upstream(),
                executor_def=dg.in_process_executor,
            )
        ],
    ),
    corpus_definitions(blog),
)
