"""What a user of the package writes: checked by mypy and pyright, never run."""

from collections.abc import Mapping
from typing import Any, assert_type

import numpy as np
import pandas as pd
import pyarrow as pa

import sag_retrieval
from sag_retrieval import (
    METHODS,
    MODES,
    Answer,
    AskOptions,
    ChunkResult,
    Citation,
    ClusterOptions,
    DocumentResult,
    FilterError,
    GraphOptions,
    Hit,
    HybridOptions,
    Index,
    KeySchema,
    KeyType,
    KeyTypes,
    Manifest,
    Method,
    PipelineFile,
    Progress,
    Query,
    RAGData,
    Ranking,
    Release,
    ReleaseInfo,
    Report,
    ReportOptions,
    SagError,
    SearchFunction,
    SearchOptions,
    SearchResult,
    SegmentOptions,
    Settings,
    SqlResult,
    TierOptions,
    TiersOptions,
    list_releases,
    load_pipeline,
    load_settings,
    open_release,
    read_schema,
)


def first_chunks(index: Index, query: Query) -> Ranking:
    """A method of the user's own."""
    rows = np.arange(min(query.top_k, index.arrays.chunk_count), dtype=np.int32)
    return Ranking(rows, np.ones(len(rows)))


own: Method = first_chunks


def searches(release: Release) -> list[Hit]:
    result = release.search("Who?", ["Heron"], "language = 'en'", 5)
    assert_type(result, SearchResult)
    assert_type(result[0], Hit)
    assert_type(result[:2], SearchResult)
    assert_type(result.to_dict(), dict[str, Any])
    assert_type(result.to_json(indent=1), str)
    assert_type(result.to_pandas(), pd.DataFrame)
    table: pa.Table = result.to_arrow()
    release.search("Who?", method="sag", options=SearchOptions(hops=2), segments=SegmentOptions(max_length=3))
    release.search("Who?", method="hybrid", options=HybridOptions(graph=GraphOptions()), segments="find_all")
    release.search("Who?", method="tiers", options=TiersOptions(item=TierOptions(top_k=3)))
    release.search("Who?", method=own, options={"hops": 2}, where={"key.amount__gte": 3}, explain=True)
    release.search("Who?", [], None, 3, "sag")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    return [hit for hit in result if hit.score > table.num_rows]


def asks(release: Release) -> Citation:
    def watch(event: Progress) -> None:
        print(event.kind, event)

    answer = release.ask(
        "Who?",
        mode="deep",
        method="bm25",
        where={"language": "zh"},
        options=AskOptions(max_calls=3),
        search_options={"hops": 2},
        on_event=watch,
    )
    assert_type(answer, Answer)
    assert_type(answer.to_dict(), dict[str, Any])
    release.ask("Who?", mode="quick")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return answer.citations[0]


def runs(release: Release) -> RAGData:
    pipeline = load_pipeline("pipeline.yaml")
    assert_type(pipeline, PipelineFile)
    assert_type(release.run(pipeline, "Who?"), RAGData)
    return release.run("pipeline.yaml", {"query": "Who?", "references": ["Ada"]})


def reads(release: Release) -> None:
    assert_type(release.tables, dict[str, int])
    assert_type(release.table("events"), pd.DataFrame)
    assert_type(release.document("d"), DocumentResult)
    assert_type(release.chunk("c"), ChunkResult)
    found = release.sql("SELECT title FROM documents")
    assert_type(found, SqlResult)
    assert_type(found[0], dict[str, Any])
    manifest: Manifest = release.manifest
    find: SearchFunction = release.searcher("dense", where={"language": "en"})
    print(manifest.counts, find("Who?").hits, release.path.name)


def types_of_keys() -> KeyType | None:
    schema = read_schema({"types": ["person", {"name": "fine", "kind": "number"}]})
    assert_type(schema, KeySchema)
    assert_type(schema.of_source("contracts"), KeyTypes)
    return schema.default.named("fine")


def reports(release: Release) -> Report:
    options = ReportOptions(title="March", cluster=ClusterOptions(levels=2))
    return release.report(where={"date__gte": "2024"}, options=options)


def main() -> None:
    settings: Settings = load_settings(home="data")
    listed: tuple[ReleaseInfo, ...] = list_releases(settings.home)
    methods: Mapping[str, object] = METHODS
    try:
        with open_release(settings.home, release=listed[0].release_id) as release:
            print(searches(release), asks(release).quote, reports(release).page)
    except FilterError as error:
        print(error)
    except SagError:
        print(sag_retrieval.__version__, MODES, list(methods))
