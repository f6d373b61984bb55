"""Count what is stored, pending and skipped with errors below a home."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sag_pipeline.llm.answer_cache import ANSWERS, AnswerCache, CacheError
from sag_pipeline.options import IngestOptions
from sag_pipeline.runner import step_of
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import stored_vectors
from sag_pipeline.tables import INPUTS
from sag_retrieval.core.settings import Settings
from sag_retrieval.release.releases import Releases


@dataclass(frozen=True, slots=True)
class Kept:
    """What a home holds after a run, whatever ended it."""

    documents: int
    """Documents that are read."""
    release: str | None
    """The current release."""


def kept_of(settings: Settings) -> Kept:
    """What is stored below the home."""
    return Kept(Store(settings.home).ledger.document_count("documents"), Releases(settings.home).current())


def status_of(settings: Settings) -> dict[str, Any]:
    """Counts by table, all skipped and failed with reasons, warnings, and the current release; nothing is changed."""
    store = Store(settings.home)
    return {
        "home": str(settings.home),
        "release": Releases(settings.home).current(),
        "megabytes": store.bytes_used() / 1e6,
        "tables": [_table(store, name) for name in INPUTS],
        "put_aside": _entries(store, "status IN ('failed', 'partial')"),
        "warnings": _entries(store, "status = 'done' AND kind = 'document' AND reason <> ''"),
        "calls": _calls(store),
    }


def _table(store: Store, name: str) -> dict[str, Any]:
    documents, rows, failed = store.ledger.counts(name)
    if name == "vectors":  # documents share them, so the ledger counts none
        rows = stored_vectors(store.home)
    pending = 0
    if INPUTS[name]:  # pending by changed input only: the options of the next run are not known here
        done = {e.unit for e in store.ledger.entries("step = ? AND status <> 'failed'", name)}
        pending = sum(p.document_id not in done for p in store.pending(step_of(name, IngestOptions())))
    return {
        "table": name,
        "documents": documents,
        "rows": rows,
        "pending": pending,
        "failed": failed,
    }


def _entries(store: Store, condition: str) -> list[dict[str, Any]]:
    """Where the files of some entries are, and what is said of them."""
    return [
        {
            "step": entry.step,
            "source": entry.source,
            "file": entry.path or (entry.source if entry.kind == "aside" else entry.unit),
            "line": entry.line if entry.line >= 0 else None,
            "reason": entry.reason,
            "attempts": entry.attempts,
        }
        for entry in store.ledger.entries(condition)
    ]


def _calls(store: Store) -> list[dict[str, Any]]:
    """Requests, tokens and cost by step; several answers of one request count as one request."""
    requests = _requests(Path(store.home) / ANSWERS)
    totals: dict[str, dict[str, Any]] = {}
    for rows in store.scan("calls"):
        for row in rows.to_pylist():
            total = totals.setdefault(row["step"], {"step": row["step"], **dict.fromkeys(_NUMBERS, 0), "cost": 0.0})
            if row["is_cached"]:
                total["cached"] += 1
                continue
            total["calls"] += requests.get(row["call_id"], 1)
            total["input_tokens"] += row["input_tokens"]
            total["output_tokens"] += row["output_tokens"]
            total["cost"] += row["cost"] or 0.0
    return [totals[step] for step in sorted(totals)]


_NUMBERS = ("calls", "cached", "input_tokens", "output_tokens")


def _requests(path: Path) -> dict[str, int]:
    """Requests by answer, where it was not one; empty where the file of answers is missing or unreadable."""
    if not path.is_file():
        return {}
    try:
        with AnswerCache(path) as cache:
            return cache.requests()
    except CacheError:
        return {}
