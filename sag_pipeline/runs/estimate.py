"""Estimate what `sag ingest` would cost now, for `--estimate`."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from sag_pipeline.llm.cost_model import Estimate, EstimateOptions, estimate
from sag_pipeline.llm.prompts import FURTHER
from sag_pipeline.llm.stored_types import current_index, with_stored_types
from sag_pipeline.options import DOCUMENT, SOURCE, RunOptions
from sag_pipeline.sources.folders import SourceOptions, launched_here, refuse_source
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_pipeline.store.source_list import SourceList
from sag_pipeline.store.store import Store
from sag_pipeline.sync.bounded import BoundedReader
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.records import Document, batched
from sag_retrieval.core.schema_file import default_schema, home_schema
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, Spent
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.open import open_chat
from sag_retrieval.models.protocols import Prices, Request, Usage

_LEAST_MEASURED = 20


def measured(found: Estimate, spent: Sequence[Spent]) -> Estimate:
    """Correct an estimate per step by the expected and the billed tokens of earlier calls."""
    corrected = Estimate()
    for step, usage in found.usage.items():
        rows = [row for row in spent if row.step == step and row.expected_tokens]
        answers = sum(row.answers for row in rows)
        if answers < _LEAST_MEASURED:
            corrected.usage[step] = usage
            continue
        sent = sum(row.input_tokens for row in rows) / sum(row.expected_tokens for row in rows)
        received = sum(row.output_tokens for row in rows) / answers
        corrected.usage[step] = Usage(
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
        return _report("offline", Estimate(), run.chat.prices, faults)
    documents, path = _documents(places, run.source), Path(settings.home) / ANSWERS
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
    index = current_index(settings) if run.known.stored_types else None
    return with_stored_types(found, index.rows["keys"]) if index else found


def _listed(sources: Sequence[str], options: SourceOptions) -> tuple[list[RawDocument], list[str]]:
    """All documents found, in the order of a run; and the reasons why sources could not be read."""
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
    steps = [_row(step, usage, prices) for step, usage in found.usage.items()]
    total = _row("total", sum(found.usage.values(), Usage()), prices)
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


_BATCH: Final = 128
_TABLE_OF = {asked: table for table, further in FURTHER.items() for asked in further}
"""Tables whose steps ask further questions under another name."""


def documents_again(store: Store, table: str, wanted: Sequence[str]) -> frozenset[str]:
    """Stored documents that the step of a table does again.

    Args:
        store: The store.
        table: The table.
        wanted: The option `reprocess`, checked.

    Raises:
        SourceError: If a document or source is not known.

    """
    if not wanted:
        return frozenset()
    stored = {entry.unit: entry.source for entry in store.ledger.entries("step = 'documents' AND kind = 'document'")}
    if table in wanted:
        return frozenset(stored)
    found = {each.removeprefix(DOCUMENT) for each in wanted if each.startswith(DOCUMENT)}
    if missing := sorted(found - set(stored)):
        raise SourceError(f"reprocess {DOCUMENT + missing[0]!r}: no such document is stored; `sag status` counts them")
    listed = SourceList(store)
    for source in (each.removeprefix(SOURCE) for each in wanted if each.startswith(SOURCE)):
        names = listed.spellings(listed.known(source))
        found |= {unit for unit, name in stored.items() if name in names}
    return frozenset(found)


def is_again(store: Store, wanted: Sequence[str]) -> Callable[[Request[Any]], bool]:
    """Whether a request is about what is done again, so that an answer of an earlier run is not used."""
    known: dict[str, frozenset[str]] = {}

    def asks_again(request: Request[Any]) -> bool:
        table = _TABLE_OF.get(request.step, request.step)
        if table not in known:
            known[table] = documents_again(store, table, wanted)
        return request.document_id in known[table]

    return asks_again


def cost_again(
    store: Store, chat: CachedChat, run: RunOptions, language: str, table: str, documents: Collection[str]
) -> str:
    """What asking again about stored documents is expected to cost in the step of one table, as a sentence."""
    from sag_pipeline.llm.cost_model import EstimateOptions, estimate  # noqa: PLC0415  imports every rule

    def stored() -> Iterator[Document]:
        for batch in batched(sorted(documents), _BATCH):
            for records in store.read("documents", batch).values():
                yield from records

    found = estimate(stored(), chat.find, EstimateOptions(run=run, language=language)).usage
    usage = sum((found[step] for step in (table, *FURTHER.get(table, ())) if step in found), Usage())
    prices = run.chat.prices
    money = f", {prices.cost(usage):.4f} in the currency of `prices`" if prices else ""
    tokens = f"{usage.input_tokens:,} tokens sent and {usage.output_tokens:,} received"
    return f"asking again is expected to take {usage.calls:,} calls, {tokens}{money}"
