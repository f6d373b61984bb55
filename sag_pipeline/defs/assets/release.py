"""Assets made from all documents together: links of events and keys, weights of keys, vectors, the release."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import dagster as dg
import numpy as np
import pyarrow.compute as pc

from sag_pipeline.defs.checks import few_names_are_one, few_statements_are_revised, rows_are_steady, weights_are_finite
from sag_pipeline.defs.corpus_assets import corpus_asset
from sag_pipeline.defs.dagster_metadata import check_result, kept_check
from sag_pipeline.defs.resources import PipelineResource, now, place_of, result_of
from sag_pipeline.embed.embed import embed_names, embed_pending, embedder_of_home, open_embedding
from sag_pipeline.extract.name_decisions import decisions_file, read_decisions
from sag_pipeline.llm.revised_pairs import LIMITS as REVISION_LIMITS
from sag_pipeline.llm.revised_pairs import RevisionQuestions
from sag_pipeline.llm.same_names import LIMITS, PairQuestions
from sag_pipeline.options import GateOptions, IngestOptions
from sag_pipeline.publish.checks import MEANINGS, QUESTIONS, Check
from sag_pipeline.publish.distinct_keys import make_links
from sag_pipeline.publish.links import DECIDED_BY, LINK_TABLES, weighing, whole_table
from sag_pipeline.publish.publish import publish
from sag_pipeline.publish.revisions import REVISIONS, make_revisions, revisions_state, said_times
from sag_pipeline.runs.maintenance import forget, prune_all, vacuum
from sag_pipeline.step_runner import step_of
from sag_pipeline.tables import STORED, to_table
from sag_retrieval.models.cached_chat import open_cached_chat
from sag_retrieval.release.manifest import ANSWERS
from sag_retrieval.release.releases import paths_of


@corpus_asset(group="extract", deps=["keys"], kinds={"parquet", "duckdb"}, reads=("events", "keys"), is_writing=True)
def event_keys(sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Which keys events link, and how often; names with the same meaning are one key, kept with the evidence."""
    started, settings, run = time.perf_counter(), sag.settings(), sag.run_options()
    decisions = read_decisions(decisions_file(settings))
    with sag.store() as store, open_cached_chat(settings, run.chat, LIMITS) as chat:
        asker = PairQuestions(chat, store, run.align, settings.language) if chat and run.align.by_model else None
        others = (decisions.digest, asker.fingerprint if asker else "")
        state = store.state_hash(["keys"]) + "".join(f"{DECIDED_BY}{one}" for one in others if one)
        is_new = not all(store.is_current_whole(name, state) for name in LINK_TABLES)
        if is_new:
            try:
                store.commit_wholes(make_links(store, decisions, asker), state)
            finally:  # paid calls are recorded whatever ends the step
                if chat:
                    store.append("calls", to_table("calls", chat.take_calls()))
        tables = {name: store.whole(name) for name in LINK_TABLES}
        counts = {name: rows.num_rows if rows is not None else 0 for name, rows in tables.items()}
        distinct = tables["distinct_keys"]
        links = int(pc.sum(distinct["event_count"]).as_py() or 0) if distinct is not None else 0
        checks = [
            few_names_are_one(counts["canonical"], counts["distinct_keys"]),
            rows_are_steady(store, "event_keys", links),
        ]
        place = place_of(store.home, "event_keys")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": links,
            "keys": counts["distinct_keys"],
            "aligned": counts["canonical"],
            "is_new": is_new,
            **place,
            "seconds": round(time.perf_counter() - started, 3),
        },
        data_version=dg.DataVersion(state or "empty"),
        check_results=[check_result(check) for check in checks],
    )


@corpus_asset(group="extract", deps=["events", "event_keys"], kinds={"parquet"}, reads=("keys",), is_writing=True)
def idf(sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """What a key weighs: one row per number of events that carry one, and ln(all events / those events)."""
    started = time.perf_counter()
    smoothing = sag.run_options().idf_smoothing
    with sag.store() as store:
        state = f"{store.state_hash(['events', 'distinct_keys'])}|{smoothing}"
        if not store.is_current_whole("idf", state):
            store.commit_wholes({"idf": weighing(store, smoothing)}, state)
        rows, place = store.whole("idf"), place_of(store.home, "idf")
    # Not by `ChunkedArray.to_numpy`, which imports pandas.
    weights = (
        np.zeros(0)
        if rows is None or not rows.num_rows
        else np.from_dlpack(rows["idf"].combine_chunks()).astype(np.float64)
    )
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(weights),
            "smoothing": smoothing,
            **place,
            "seconds": round(time.perf_counter() - started, 3),
        },
        data_version=dg.DataVersion(state),
        check_results=[check_result(weights_are_finite(weights))],
    )


@corpus_asset(
    group="extract", deps=["events", "event_keys"], kinds={"parquet"}, reads=("events", "keys"), is_writing=True
)
def revisions(sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Which statements later ones correct, replace, update or contradict, with both values and the evidence."""
    started, settings, run = time.perf_counter(), sag.settings(), sag.run_options()
    with sag.store() as store, open_cached_chat(settings, run.chat, REVISION_LIMITS) as chat:
        judge = RevisionQuestions(chat, settings.language) if chat and run.revisions_by_model else None
        state = revisions_state(store, judge)
        if is_new := not store.is_current_whole(REVISIONS, state):
            try:
                store.commit_wholes(make_revisions(store, judge), state)
            finally:  # paid calls are recorded whatever ends the step
                if chat:
                    store.append("calls", to_table("calls", chat.take_calls()))
        rows, place = whole_table(store, REVISIONS), place_of(store.home, REVISIONS)
        events, said = store.ledger.row_count("events"), said_times(store, now()[: len("2025-01-01")])
    kinds = {str(each["values"]): int(each["counts"]) for each in pc.value_counts(rows["kind"]).to_pylist()}
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(rows),
            "kinds": dg.MetadataValue.json(dict(sorted(kinds.items()))),
            **said,
            "is_new": is_new,
            **place,
            "seconds": round(time.perf_counter() - started, 3),
        },
        data_version=dg.DataVersion(state),
        check_results=[check_result(few_statements_are_revised(len(pc.unique(rows["earlier_event_id"])), events))],
    )


@corpus_asset(group="publish", deps=["chunks", "events", "keys"], kinds={"lancedb"}, is_writing=True)
def vectors(sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row per distinct text of chunks, events and text keys; each is embedded once."""
    with sag.store() as store:
        embedding = open_embedding(store, embedder_of_home(sag.settings()), sag.engine_for)
        step = step_of("vectors", IngestOptions(), embedding.embedder.fingerprint)
        tally = embed_pending(store, step, embedding, engine=sag.engine_for)
        named = [one.other for one in read_decisions(decisions_file(sag.settings())).lines if one.verb == "rename"]
        is_kept = embedding.computed is None
        tally.counts["rows"] += embed_names(embedding, named, engine=sag.engine_for) if named and is_kept else 0
        rows = {"dagster/row_count": embedding.vectors.count()} if is_kept else {}  # the ledger has none
        return result_of(store, step, tally, embedder=embedding.embedder.fingerprint, **rows)


def _gate(home: Path, options: GateOptions, new: str, current: str | None) -> Check:
    """What the questions of the home say of a release; without questions nothing of retrieval is imported."""
    path = home / QUESTIONS
    if not path.is_file():
        return Check(ANSWERS, passed=True, message=f"not measured: {path} does not exist")
    from sag_pipeline.runs.recall_gate import gate_of  # noqa: PLC0415

    return gate_of(home, options, new, current)


@corpus_asset(
    group="publish",
    deps=[*(name for name, table in STORED.items() if table.is_published), "event_keys", "idf", "revisions", "vectors"],
    kinds={"duckdb", "lancedb"},
    is_writing=True,
    is_release=True,
    output_required=False,  # of a release that a check refused nothing is shown, or it would look fresh
)
def release(
    context: dg.AssetExecutionContext, sag: PipelineResource
) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:  # type: ignore[type-arg]
    """Tables, graph and vectors as one immutable release, checked, then made current by one rename."""
    started, options = time.perf_counter(), sag.run_options()
    with sag.store() as store:
        embedding = open_embedding(store, embedder_of_home(sag.settings()), sag.engine_for)
        embedding = replace(embedding, is_indexed=options.lance_index)
        forget(store, embedding.vectors)
        done = publish(store, embedding, now(), partial(_gate, store.home, options.gate), schema=options.key.schema)
        vacuum(store, embedding.vectors)
    gone, faults = prune_all(sag.settings().home, context.instance, options.keep)
    for fault in faults:
        context.log.warning("%s", fault)
    manifest = done.manifest
    folder = sag.settings().home.resolve() / "releases" / manifest.release_id
    if not done.faults:
        yield dg.MaterializeResult(
            metadata={
                "release": manifest.release_id,
                "is_new": done.is_new,
                "dagster/row_count": sum(manifest.counts.values()),
                "dagster/uri": folder.as_uri(),
                "release_folder": dg.MetadataValue.path(str(folder)),
                **{name: dg.MetadataValue.path(str(path)) for name, path in paths_of(folder).items()},
                "row_counts": dg.MetadataValue.json(dict(manifest.counts)),
                **gone,
                "seconds": round(time.perf_counter() - started, 3),
            },
            data_version=dg.DataVersion(manifest.content_hash),
        )
    found = {check.name: check for check in done.checks}
    for name in MEANINGS:  # a release that is current already passed them when it was built
        check = found.get(name) or kept_check(name, manifest.checks.get(name))
        yield check_result(check, release=manifest.release_id)
