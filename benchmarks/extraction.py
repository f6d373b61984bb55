"""Extraction by a language model, measured at a scripted server: throughput, faults, tokens, estimate.

python benchmarks/extraction.py [throughput] [faults] [tokens] [cost] [questions] [rules]

`questions`: what it costs that sources share no call, and that a question about keys has few events.
`rules` measures extraction without a model: the names it finds against the entities that a model listed.
"""

import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from scripted_server import ROOT, served

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.model_keys import KeyOptions
from sag_pipeline.extract.rules.keys import read_mentions
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.llm.cost_model import EstimateOptions, estimate
from sag_pipeline.llm.extract import events_work, summaries_work
from sag_pipeline.llm.key_waves import KeyWork
from sag_pipeline.llm.known_keys import BatchSource
from sag_pipeline.options import RunOptions
from sag_pipeline.table import StepInput
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import Document
from sag_retrieval.language.words import language_of, normal_name
from sag_retrieval.models.answer_cache import AnswerCache
from sag_retrieval.models.batching import BatchLimits
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.protocols import Reply, Request
from sag_retrieval.models.rate_limits import ChatOptions
from tests.support.chat_server import count_tokens

DATA = ROOT.parent / "shared" / "data"
BATCH = 128
NAME_TYPES = frozenset({"person", "organisation", "place", "product", "work", "entity"})


def chat_of(base_url: str, **options: Any) -> OpenAIChat:  # noqa: ANN401  ChatOptions
    """A client of the scripted server."""
    return OpenAIChat("scripted", base_url=base_url, api_key="none", options=ChatOptions(**options))


def throughput(count: int = 1_000, delay: float = 0.2, concurrency: int = 32) -> dict[str, float]:
    """Wall time against the ideal, with and without the cache, and our CPU time a call."""
    from sag_pipeline.extract.events import ExtractedEvents  # noqa: PLC0415

    found: dict[str, float] = {"ideal_seconds": count * delay / concurrency}
    for name in ("bare", "cached"):
        with served(delay=delay) as server, TemporaryDirectory() as folder, AnswerCache(Path(folder) / "a") as cache:
            chat = chat_of(server.base_url, concurrency=concurrency)
            model = CachedChat(chat, cache) if name == "cached" else chat
            model.ask(Request('Read.\n\nPassages:\n[1, "Warm up."]', ExtractedEvents, "events"))
            requests = [
                Request(
                    f'Read.\n\nPassages:\n[1, "Chunk {n} says that Ada met Bob. ' + "More of it follows. " * 30 + '"]',
                    ExtractedEvents,
                    "events",
                )
                for n in range(count)
            ]
            wall, cpu = time.perf_counter(), time.process_time()
            replies = list(model.ask_all(requests))
            found[f"{name}_seconds"] = time.perf_counter() - wall
            found[f"{name}_cpu_ms_per_call"] = 1_000 * (time.process_time() - cpu) / count
            assert sum(isinstance(reply, Reply) for reply in replies) == count
        found[f"{name}_to_ideal"] = found[f"{name}_seconds"] / found["ideal_seconds"]
    return found


def faults(count: int = 500) -> dict[str, Any]:
    """Chunks of which 30 % get a faulty reply: what became of each, and whether totals tie up."""
    documents = [
        Document(f"d{n}", "s", "Ada", f"Ada met Bob in {1800 + n}. 第{n}次会面在伦敦。", "zh" if n % 2 else "en")
        for n in range(count)
    ]
    with served(faulty=0.3) as server, TemporaryDirectory() as folder, AnswerCache(Path(folder) / "a") as cache:
        inner = chat_of(server.base_url, concurrency=16, first_pause_seconds=0.02, tries=3)
        chat = CachedChat(inner, cache)
        made = list(events_work(chat)([_inputs(document) for document in documents]))
        calls = chat.take_calls()
        kept = len(cache)
    billed = sum(count["input"] for count in server.seen["steps"].values())
    return {
        "chunks": len(made),
        "extracted": sum(bool(one.records) for one in made),
        "put_aside": sum(bool(one.reason) for one in made),
        "reasons": Counter(one.reason.split("first: ")[-1][:60] for one in made if one.reason),
        "kept": kept,
        "server": {name: server.seen[name] for name in ("calls", "status", "input")},
        "tokens_billed": billed,
        "of_them_cut_on_the_way": server.seen["cut_input"],
        "tokens_in_ledger": sum(call.input_tokens for call in calls),
        "tokens_of_the_client": inner.spent.input_tokens,
    }


def tokens() -> dict[str, Any]:
    """Input tokens a million corpus tokens, by step, and the estimate against what was measured."""
    return {
        name: _tokens_of(documents) for name, documents in (("musique_train", _musique()), ("long documents", _long()))
    }


def _tokens_of(documents: Sequence[Document]) -> dict[str, Any]:
    corpus = sum(count_tokens(document.text) for document in documents)
    expected = estimate(documents).usage
    with served() as server, TemporaryDirectory() as folder, AnswerCache(Path(folder) / "a") as cache:
        chat = CachedChat(chat_of(server.base_url, concurrency=16), cache)
        keys = KeyWork(chat=chat, before=BatchSource(HashingEmbedder()))
        for start in range(0, len(documents), BATCH):
            inputs = [_inputs(document) for document in documents[start : start + BATCH]]
            for table, work in (("summaries", summaries_work(chat)), ("events", events_work(chat)), ("keys", keys)):
                made = list(work(inputs))
                inputs = [
                    replace(one, tables={**one.tables, table: m.records}) for one, m in zip(inputs, made, strict=True)
                ]
    names = {"summaries": "ExtractedSummary", "events": "ExtractedEvents", "keys": "ExtractedKeys"}
    steps = {
        step: {
            "calls": (seen := server.seen["steps"].get(name, {})).get("calls", 0),
            "input_per_million": seen.get("input", 0) / corpus,
            "expected_to_measured": expected[step].input_tokens / max(1, seen.get("input", 0)),
            "expected_calls": expected[step].calls,
        }
        for step, name in names.items()
    }
    sent = sum(usage.input_tokens for usage in expected.values())
    return {
        "corpus_tokens": corpus,
        "input_per_million": server.seen["input"] / corpus,
        "output_per_million": server.seen["output"] / corpus,
        "expected_to_measured": sent / server.seen["input"],
        "steps": steps,
    }


def questions(count: int = 300) -> list[dict[str, Any]]:
    """Expected calls, and input tokens a corpus token, for passages of many sources and by events a question."""
    documents = _musique(count)
    corpus = sum(count_tokens(document.text) for document in documents)
    found = []
    cases = (1, False, 20), (30, False, 20), (count, False, 20), (count, True, 20), (1, False, 200)
    for sources, mixed, events in cases:
        owned = [replace(one, source=str(place % sources)) for place, one in enumerate(documents)]
        run = RunOptions(
            batch=BatchLimits(mixed_sources=mixed), key=KeyOptions(most_events=events), triples_by_model=False
        )
        usage = estimate(owned, options=EstimateOptions(run=run)).usage
        found.append(
            {
                "sources": sources,
                "mixed": mixed,
                "events a question": events,
                **{f"{step} calls": one.calls for step, one in usage.items() if one.calls},
                "input_per_million": round(sum(one.input_tokens for one in usage.values()) / corpus, 2),
            }
        )
    return found


def cost(count: int = 300, reports: int = 8) -> list[dict[str, Any]]:
    """Expected calls, and tokens sent and received a corpus token, by corpus and step."""
    rows = pq.read_table(DATA / "dragonball.docs.parquet").to_pylist()
    corpora = {"musique_train": _musique(count)}
    for language in ("zh", "en"):
        own = [row for row in rows if row["language"] == language][:reports]
        corpora[f"dragonball {language}"] = [
            Document(row["doc_id"], "dragonball", row["name"], row["text"], language) for row in own
        ]
    found = []
    for name, documents in corpora.items():
        corpus = sum(count_tokens(document.text) for document in documents)
        for step, usage in estimate(documents).usage.items():
            sent, received = usage.input_tokens / corpus, usage.output_tokens / corpus
            row = {"corpus": name, "step": step, "calls": usage.calls, "sent": round(sent, 2)}
            found.append(row | {"received": round(received, 2)})
    return found


def rules(count: int = 500) -> dict[str, float]:
    """Precision and recall, in percent, of the names that rules find against entities recorded for the passages.

    Dates, amounts and topics are left out of what is found; all that a model listed counts as wanted.
    """
    recorded = pq.read_table(DATA / "musique_train.extraction.parquet").to_pylist()
    wanted = {row["doc_id"]: {normal_name(name) for name in row["entities"]} - {""} for row in recorded}
    pairs = []
    for document in _musique(count):
        mentions, _ = read_mentions(f"{document.title}\n{document.text}")
        found = {normal_name(str(mention.value)) for mention in mentions if mention.key_type in NAME_TYPES}
        pairs.append((found, wanted[document.document_id]))
    right = sum(len(found & gold) for found, gold in pairs)
    return {
        "precision": 100 * right / sum(len(found) for found, _ in pairs),
        "recall": 100 * right / sum(len(gold) for _, gold in pairs),
    }


def _inputs(document: Document) -> StepInput:
    chunks = split_chunks(document, offline_sections(document))
    return StepInput(document.document_id, {"documents": [document], "chunks": chunks})


def _musique(count: int = 600) -> list[Document]:
    rows = pq.read_table(DATA / "musique_train.docs.parquet").to_pylist()[:count]
    return [Document(row["doc_id"], "musique", row["title"], row["text"], "en") for row in rows]


def _long() -> list[Document]:
    found = []
    for name in ("a_christmas_carol.txt.gz", "alibaba_fy2025_interim_zh.md.gz"):
        text = gzip.decompress((DATA / "longdocs" / name).read_bytes()).decode()
        found.append(Document(name, "longdocs", name.split(".")[0], text, language_of(text)))
    return found


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["throughput", "faults", "tokens"]
    try:
        results = {name: globals()[name]() for name in wanted}
    except ModelError as error:
        sys.exit(str(error))
    print(json.dumps(results, indent=1, ensure_ascii=False, default=str))
