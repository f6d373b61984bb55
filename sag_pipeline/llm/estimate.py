"""`sag ingest --estimate`: what an ingest would cost now."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sag_pipeline.llm.answer_cache import AnswerCache, Spent
from sag_pipeline.llm.cached_chat import CachedChat
from sag_pipeline.llm.cost_model import Estimate, estimate
from sag_pipeline.reading.bounded import BoundedReader
from sag_pipeline.steps.sources import RawDocument, SourceOptions, list_source
from sag_retrieval.core.records import Document
from sag_retrieval.core.settings import load_settings
from sag_retrieval.models.open import open_chat
from sag_retrieval.models.prices import Prices
from sag_retrieval.models.protocols import Usage
from sag_retrieval.models.rate_limits import ChatOptions

ANSWERS = "answers.sqlite"
"""File of the answers below SAG_HOME."""
_LEAST_MEASURED = 20


def measured(found: Estimate, spent: Sequence[Spent]) -> Estimate:
    """The estimate corrected by what former calls were expected to need and did need, by step."""
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


def estimate_run(sources: Sequence[str] = (), prices: Prices | None = None) -> dict[str, Any]:
    """What `sag ingest` with these sources would cost now: nothing is asked and nothing changed."""
    settings = load_settings()
    chat = open_chat(settings)
    documents = _documents(sources or [settings.source])
    if chat is None:
        return _report("offline", Estimate(), prices)
    options: ChatOptions | None = getattr(chat, "options", None)
    prices = prices or (options.prices if options else None)
    path = Path(settings.home) / ANSWERS
    if not path.is_file():
        return _report(chat.model_id, estimate(documents), prices)
    with AnswerCache(path) as cache:
        found = estimate(documents, kept=CachedChat(chat, cache).find)
        own = [row for row in cache.spent() if row.model == chat.model_id]
        return _report(chat.model_id, measured(found, own), prices)


def _documents(sources: Sequence[str]) -> Iterator[Document]:
    with BoundedReader(SourceOptions()) as reader:
        for source in sources:
            for found in list_source(source):
                document = reader.read(found) if isinstance(found, RawDocument) else found
                if isinstance(document, Document):
                    yield document


def _report(model: str, found: Estimate, prices: Prices | None) -> dict[str, Any]:
    steps = [_row(step, usage, prices) for step, usage in found.usage.items()]
    total = _row("total", sum(found.usage.values(), Usage()), prices)
    return {"model": model, "steps": [*steps, total], "prices": None if prices is None else asdict(prices)}


def _row(step: str, usage: Usage, prices: Prices | None) -> dict[str, Any]:
    return {
        "step": step,
        "calls": usage.calls,
        "cached": usage.cached_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": prices.cost(usage) if prices else None,
    }
