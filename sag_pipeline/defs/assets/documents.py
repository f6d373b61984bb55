"""Assets of the tables kept by document: documents, summaries, sections, chunks, events, keys and triples."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import dagster as dg
from pydantic import create_model

from sag_pipeline.defs.config import config_fields, given_options
from sag_pipeline.defs.corpus_assets import CorpusAsset, CorpusSpec, corpus_asset
from sag_pipeline.defs.resources import PipelineResource, now, result_of, table, warn_of
from sag_pipeline.llm.extract import events_work, sections_work, summaries_work, triples_work
from sag_pipeline.llm.key_waves import known_keys_work
from sag_pipeline.llm.known_names import current_index
from sag_pipeline.runs.dagster_runs import is_kept, lacks
from sag_pipeline.sources.folders import SourceOptions, refuse_source
from sag_pipeline.step_runner import RunStats, step_of
from sag_pipeline.store.source_list import ASSET, SourceList
from sag_pipeline.store.store import PURGE
from sag_pipeline.sync.rows import StagedRows, staged_rows
from sag_pipeline.sync.sync import SyncOptions, TooManyRemoved, sync_source, tell_fault
from sag_pipeline.tables import INPUTS
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.options import build_options

_FIELDS = config_fields(SyncOptions, without=frozenset({"source"}))
_Configured = create_model("_Configured", __base__=dg.Config, **_FIELDS)


class SourcesConfig(_Configured):
    """Folders or files to read (empty: SAG_SOURCE), and what of them may be read and removed."""

    sources: list[str] = []
    follow_links_outside: bool = False

    def options(self, bounds: SourceOptions) -> SyncOptions:
        """As options of a sync, with the run's limits on what is read."""
        links = self.follow_links_outside or bounds.follow_links_outside
        source = replace(bounds, follow_links_outside=links)
        return build_options(SyncOptions, {**given_options(self, _FIELDS), "source": source}, what="ingest")


def _by_document(name: str, group: str) -> Callable[[Callable[..., Any]], CorpusAsset]:
    """Decorator of the asset of a table kept by document; what it depends on follows from the table's entry."""
    return corpus_asset(group=group, deps=INPUTS[name], kinds={"parquet", "python"}, reads=(), is_writing=True)


@_by_document("documents", "read")
def documents(
    context: dg.AssetExecutionContext,
    config: SourcesConfig,
    sag: PipelineResource,
    spec: CorpusSpec,
    tables: Mapping[str, object],
) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row per document: new and changed ones are read, missing ones removed, unreadable ones skipped."""
    for fault in lacks(context.instance) if is_kept() else ():
        context.log.warning("this instance of Dagster lacks something: %s", fault)
    settings, ingest = sag.settings(), sag.run_options().steps
    options, step = config.options(ingest.source), step_of("documents", ingest)
    own = spec.sources or (() if tables else (settings.source,))
    given = config.sources or own
    for source in given:
        refuse_source(source, settings, own)
    tally, faults = RunStats(), list[SourceError]()
    with sag.store() as store:
        sag.redo(context, store, "documents")
        for source in (*given, *(f"{ASSET}{key}" for key in tables)):
            try:
                with _rows_of(source, spec, tables) as staged:
                    found = sync_source(store, step, source, options, engine=settings.engine, staged=staged)
            except SourceError as error:
                context.log.warning("%s", error)
                tell_fault(store, source, str(error))
                faults.append(error)
                continue
            SourceList(store).note_ingest(source, now())
            tally.counts.update(found.counts)
            tally.seconds += found.seconds
        refused = [error for error in faults if isinstance(error, TooManyRemoved)]
        if refused or (len(faults) == len(given) + len(tables) and store.ledger.whole(PURGE) is None):
            raise SourceError("; ".join(map(str, refused or faults)))
        warn_of(context, store, "documents")
        skipped = [
            {"source": e.source, "file": e.path, "line": e.line if e.line >= 0 else "", "reason": e.reason}
            for e in store.ledger.entries("step = 'documents' AND kind = 'aside'")
        ]
        return result_of(
            store,
            step,
            tally,
            put_aside=table(skipped, width=200),
            unread_sources=dg.MetadataValue.json([str(error) for error in faults]),
        )


def _rows_of(source: str, spec: CorpusSpec, tables: Mapping[str, object]) -> AbstractContextManager[StagedRows | None]:
    """The rows of an asset, written for a sync; None for a folder or a file."""
    key = source.removeprefix(ASSET)
    return staged_rows(key, tables[key], spec.tables[key]) if source.startswith(ASSET) else nullcontext()


@_by_document("summaries", "read")
def summaries(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row per document: its most representative sentences, or a summary by a language model."""
    run, language = sag.run_options(), sag.settings().language
    options, titles = run.summary, run.header.title_by_model
    return sag.extract(context, "summaries", lambda chat, _: summaries_work(chat, options, language, titles=titles))


@_by_document("sections", "read")
def sections(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row per section; the sections of a document partition its text."""
    run = sag.run_options()
    if not run.sections_by_model:
        return sag.make(context, "sections")
    return sag.extract(context, "sections", lambda chat, _: sections_work(chat, run.steps))


@_by_document("chunks", "read")
def chunks(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row per chunk: whole sentences of one section, with the header that is embedded before them."""
    return sag.make(context, "chunks")


@_by_document("events", "extract")
def events(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row per event, extracted from its chunk, or supplied with the document."""
    language = sag.settings().language
    return sag.extract(context, "events", lambda chat, _: events_work(chat, language))


@_by_document("keys", "extract")
def keys(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row per key of an event, as its document spells it, and one for the main key of each chunk."""
    settings, run = sag.settings(), sag.run_options()
    return sag.extract(
        context, "keys", lambda chat, store: known_keys_work(chat, settings, store, current_index(settings), run)
    )


@_by_document("triples", "extract")
def triples(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row per triple, supplied with the document or derived from the keys of an event."""
    if not sag.run_options().triples_by_model:
        return sag.make(context, "triples")
    language = sag.settings().language
    return sag.extract(context, "triples", lambda chat, _: triples_work(chat, language))
