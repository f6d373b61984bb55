"""Estimate what `sag ingest` would cost now, for `--estimate`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sag_pipeline.llm.cost_model import Estimate, EstimateOptions, estimate
from sag_pipeline.llm.known_names import current_index, with_stored_types
from sag_pipeline.options import RunOptions
from sag_pipeline.runs.reprocess import is_again
from sag_pipeline.sources.folders import SourceOptions, launched_here, refuse_source
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_pipeline.store.store import Store
from sag_pipeline.sync.bounded import BoundedReader
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.records import Document
from sag_retrieval.core.schema_file import default_schema, home_schema
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, Spent
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.open import open_chat
from sag_retrieval.models.protocols import Prices, Usage
from sag_retrieval.release.taken_out import read_taken_out

_LEAST_MEASURED = 20


def measured(found: Estimate, spent: Sequence[Spent]) -> Estimate:
    """Correct an estimate per step by the expected and the billed tokens of earlier calls."""
    corrected: Estimate = {}
    for step, usage in found.items():
        rows = [row for row in spent if row.step == step and row.expected_tokens]
        answers = sum(row.answers for row in rows)
        if answers < _LEAST_MEASURED:
            corrected[step] = usage
            continue
        sent = sum(row.input_tokens for row in rows) / sum(row.expected_tokens for row in rows)
        received = sum(row.output_tokens for row in rows) / answers
        corrected[step] = Usage(
            usage.calls, usage.cached_calls, round(usage.input_tokens * sent), round(usage.calls * received)
        )
    return corrected


def estimate_run(sources: Sequence[str] = (), options: RunOptions | None = None) -> dict[str, Any]:
    """Estimate the cost of `sag ingest` with these sources and options; no model is asked and nothing is changed.

    Args:
        sources: Folders and files; empty: SAG_SOURCE.
        options: Options of the run.

    Raises:
        SourceError: If no source can be read.
    """
    settings, run = load_settings(), options or RunOptions()
    run = replace(run, key=replace(run.key, schema=_schema_of(run, settings)))
    chat = open_chat(settings, run.chat)
    given = list(sources) or [settings.source]
    with launched_here():
        for source in given:
            refuse_source(source, settings)
    places, faults = _listed(given, run.source)
    chosen = EstimateOptions(run=run, language=settings.language)
    if chat is None:
        return _report("offline", {}, run.chat.prices, faults)
    away, path = read_taken_out(Path(settings.home)), Path(settings.home) / ANSWERS
    documents = _documents([each for each in places if each.document_id not in away], run.source)
    if not path.is_file():
        return _report(chat.model_id, estimate(documents, options=chosen), run.chat.prices, faults)
    with AnswerCache(path) as cache:
        cached, store = CachedChat(chat, cache), Store(settings.home)
        cached.ask_again(is_again(store, run.reprocess))
        chosen = replace(chosen, known_events=store.ledger.row_count("events") if store.ledger.row_count("keys") else 0)
        found = estimate(documents, cached.find, chosen)
        own = [row for row in cache.spent() if row.model == chat.model_id]
        return _report(chat.model_id, measured(found, own), run.chat.prices, faults)


def _schema_of(run: RunOptions, settings: Settings) -> KeySchema:
    """The schema of the run's options, else of the home, with the stored types that its questions show."""
    own = run.key.schema
    found = home_schema(settings.home, settings.schema) if own == default_schema() else own
    index = current_index(settings)
    return with_stored_types(found, index.rows["keys"]) if index else found


def _listed(sources: Sequence[str], options: SourceOptions) -> tuple[list[RawDocument], list[str]]:
    found: list[RawDocument] = []
    faults: list[str] = []
    for source in sources:
        try:
            found += [one for one in list_source(source, options) if isinstance(one, RawDocument)]
        except SourceError as error:
            faults.append(str(error))
    if len(faults) == len(sources):
        raise SourceError("; ".join(faults))
    return sorted(found, key=lambda one: one.document_id), faults


def _documents(places: Sequence[RawDocument], options: SourceOptions) -> Iterator[Document]:
    with BoundedReader(options) as reader:
        for place in places:
            document = reader.read(place)
            if isinstance(document, Document):
                yield document


def _report(model: str, found: Estimate, prices: Prices | None, faults: Sequence[str]) -> dict[str, Any]:
    steps = [_row(step, usage, prices) for step, usage in found.items()]
    total = _row("total", sum(found.values(), Usage()), prices)
    shown = None if prices is None else asdict(prices)
    return {"model": model, "steps": [*steps, total], "prices": shown, "unread_sources": list(faults)}


def _row(step: str, usage: Usage, prices: Prices | None) -> dict[str, Any]:
    return {
        "step": step,
        "calls": usage.calls,
        "cached": usage.cached_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": prices.cost(usage) if prices else None,
    }
