"""Every feature of the five systems that sag brings together, used once, by its commands and by `import sag_retrieval`.

`python -m tests.support.tour` makes a fresh release of the demo documents and one of long documents, prints a table
*feature · command or call · what came out*, and exits with 1 if something came out empty. `--small` leaves out the long
documents. Without a language model in the settings, features that can use one run by rules.
"""

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import sag_retrieval
from tests.support import forked

ROOT = Path(__file__).parents[2]
LONG = ROOT.parent / "shared" / "data" / "longdocs"
LONG_FILES = ("operation_dulce.md.gz", "alibaba_fy2025_interim_zh.md.gz", "nike_2023_annual_report.txt.gz")
ENGLISH = "Which company made the O-ring that leaked?"
CHINESE = "502ai的创始人和海澜的创始人都是哪位教授的学生？"
HOPS = "Who accepted the rings made by Marlow Seals without a new test?"
TALK = [
    {"role": "user", "content": "Who made the O-ring of the Kestrel-7?"},
    {"role": "assistant", "content": "Marlow Seals."},
    {"role": "user", "content": "When did they deliver it?"},
]
CONVERSATION = ("search", "--method", "tiers", "--messages", "{talk}")
PIPELINE = """stages:
  - retrieve: {method: bm25, top_k: 20}
  - retrieve: {method: sag, top_k: 20, found_keys: 5}
  - rerank
  - rerank_model
  - segments: balanced
  - refine: 1000
  - prompt
  - generate
  - evaluate: [recall, exact_match, f1, accuracy, context_recall, token_count, compression, latency]
"""
DETAIL = 60
NAMING = ("path", "quote", "document_id", "key_type", "value", "name", "step", "stage", "text")
"""Fields of a record that say best what it is."""
_SLOWEST = 1_800


class Visit:
    """A home with one fresh release, and the two ways into it: commands, and the opened release."""

    def __init__(self, folder: Path, documents: Path) -> None:
        self.folder, self.documents = folder, documents
        (folder / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
        (folder / "talk.json").write_text(json.dumps(TALK), encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a command: the fresh home, and no source of the caller's."""
        kept = {name: value for name, value in os.environ.items() if name not in ("SAG_HOME", "SAG_SOURCE")}
        return kept | {"SAG_HOME": str(self.folder / "home")}

    def sag(self, *words: str) -> object:
        """What a command prints with `--json`.

        Raises:
            RuntimeError: If it failed, with its last line of errors.
        """
        at = {"documents": self.documents, "pipeline": self.folder / "pipeline.yaml", "folder": self.folder}
        at |= {"talk": self.folder / "talk.json"}
        at |= {"questions": ROOT / "data" / "questions.jsonl", "data": ROOT / "data"}
        given = (word.format(**at) for word in words)
        ran = forked.sag(*given, "--json", cwd=self.folder, env=self.environment, seconds=_SLOWEST)
        if ran.returncode:
            raise RuntimeError((ran.stderr.strip().splitlines() or ["no message"])[-1])
        return json.loads(ran.stdout)

    @cached_property
    def release(self) -> sag_retrieval.Release:
        """The release, opened once."""
        return sag_retrieval.open_release(self.folder / "home")


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of a seed, how it is called, and what makes it."""

    place: str
    """System and paragraph."""
    name: str
    call: str
    run: Callable[[Visit], object]


def command(place: str, name: str, words: Sequence[str], pick: str) -> Feature:
    """A feature by a command; `pick` is the path to what must not be empty in its JSON."""
    shown = "sag " + " ".join(
        f'"{word}"' if " " in word or word in (ENGLISH, CHINESE, HOPS) else word for word in words
    )
    return Feature(place, name, shown, lambda visit: picked(visit.sag(*words), pick))


def call(place: str, name: str, text: str, run: Callable[[sag_retrieval.Release], object]) -> Feature:
    """A feature by a call in Python."""
    return Feature(place, name, text, lambda visit: run(visit.release))


def picked(value: object, path: str) -> object:
    """The value at a path such as `hits.0.keys`; None where there is none."""
    for name in filter(None, path.split(".")):
        if isinstance(value, list):
            value = value[int(name)] if len(value) > int(name) else None
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


def rows(release: sag_retrieval.Release, sql: str) -> list[dict[str, Any]]:
    return release.sql(sql).rows


def traced(release: sag_retrieval.Release, query: str, method: str, name: str, **options: object) -> object:
    found = release.search(query, method=method, options=options or None, explain=True)
    return picked(dict(found.trace), name)


def tier(release: sag_retrieval.Release, step: str, **options: object) -> object:
    steps = traced(release, ENGLISH, "tiers", "tiers", **options)
    return next((each["hits"] for each in steps if each["step"] == step), None)


def migrated(release: sag_retrieval.Release, visit: Path) -> object:
    record = release.run(visit, {"query": ENGLISH, "golds": ["Marlow Seals"]})
    return record["references"]


DEMO = [command("000 §1.1", "documents to a release, its communities and a report", ["demo"], "")]
"""First of all: what makes the release; the job `report` also makes the communities that tiers read."""

SAG = [
    call(
        "000 §1.2.1",
        "summaries of documents",
        "release.document(id).summary",
        lambda r: r.document("flood-night-2023.md").summary,
    ),
    call("000 §1.2.2", "chunks", 'release.table("chunks")', lambda r: list(r.table("chunks")["text"])),
    call("000 §1.2.3", "atomic events", 'release.table("events")', lambda r: list(r.table("events")["content"])),
    call(
        "000 §1.2.4",
        "keys by type",
        "release.sql(…)",
        lambda r: rows(r, "SELECT key_type, count(*) n FROM keys GROUP BY key_type"),
    ),
    call(
        "000 §1.2.5",
        "links of events and keys",
        'release.table("event_keys")',
        lambda r: list(r.table("event_keys")["key_id"]),
    ),
    call(
        "000 §1.3",
        "one key for several names",
        'release.table("key_aliases")',
        lambda r: list(r.table("key_aliases")["alias"]),
    ),
    call(
        "000 §1.4",
        "numbers as keys",
        "release.sql(…)",
        lambda r: rows(r, "SELECT * FROM keys WHERE value_number IS NOT NULL LIMIT 5"),
    ),
    call(
        "000 §2",
        "restriction by typed keys",
        'release.search(where={"key.money__gte": 1})',
        lambda r: r.search("Prize", where={"key.money__gte": 1}).hits,
    ),
    command(
        "000 §2",
        "restriction by SQL",
        ["search", ENGLISH, "--sql", "SELECT document_id FROM documents WHERE language = 'en'"],
        "hits",
    ),
    command("000 §2.1", "query → keys → events → chunks", ["search", ENGLISH, "--explain"], "keys"),
    call(
        "000 §2.1",
        "several hops",
        'release.search(options={"hops": 3})',
        lambda r: r.search(HOPS, options={"hops": 3}).hits,
    ),
    call(
        "000 §2",
        "the original formulas",
        'release.search(method="sag-literal")',
        lambda r: r.search(CHINESE, method="sag-literal").hits,
    ),
    call(
        "000 §2.1",
        "the simplified form: events alone",
        'release.search(method="sag-events")',
        lambda r: r.search(ENGLISH, method="sag-events").hits,
    ),
    call("000 §2", "given keys", "release.search(keys=[…])", lambda r: r.search(CHINESE, ["顾明远"]).keys),
    command("000 §2", "fast", ["ask", CHINESE], "citations"),
    command(
        "000 §2.4",
        "an answer from joined passages, with keys, a method and a budget",
        ["ask", ENGLISH, "--key", "Marlow Seals", "--method", "bridge", "--segments", "balanced", "--max-calls", "3"],
        "citations",
    ),
    command(
        "000 §2.4",
        "answers measured with a method",
        ["evaluate", "{questions}", "--answers", "fast", "--method", "bm25"],
        "questions",
    ),
    command("000 §2", "normal: a rewritten question", ["ask", CHINESE, "--mode", "normal"], "answer"),
    command("000 §2", "deep: a plan of sub-questions", ["ask", ENGLISH, "--mode", "deep"], "citations"),
    command("000 §3", "communities and a report", ["report", "--period", "2019.."], "page"),
    command("000 §1.2.5", "what is stored", ["status"], "release"),
]
GRAPH = [
    call(
        "001 §1",
        "entities and relations of documents",
        'release.table("triples")',
        lambda r: list(r.table("triples")["relation"]),
    ),
    call(
        "001 §3.1",
        "seed entities",
        'trace["graph"]["seeds"]',
        lambda r: traced(r, ENGLISH, "think-on-graph", "graph.seeds"),
    ),
    call(
        "001 §3.2",
        "beam search over paths",
        'trace["graph"]["beams"]',
        lambda r: traced(r, ENGLISH, "think-on-graph", "graph.beams"),
    ),
    command("001 §3", "think on graph", ["search", HOPS, "--method", "think-on-graph"], "hits"),
    call(
        "001 §3.4",
        "evidence of a hit: paths",
        "hit.paths",
        lambda r: [path for hit in r.search(HOPS, method="think-on-graph").hits for path in hit.paths],
    ),
    command("001 §3", "the settings of the seed", ["search", HOPS, "--method", "think-on-graph-literal"], "hits"),
    command("001 §2", "the graph as a file", ["export", "kg", "--out", "{folder}/kg_output.json"], ""),
    command(
        "001 §2",
        "a graph from elsewhere",
        ["import", "kg", "{folder}/kg_output.json", "--out", "{folder}/kg.jsonl"],
        "",
    ),
    call(
        "001 §3.5",
        "scores of documents in 0 to 1",
        'hit.parts["graph"]',
        lambda r: r.search(ENGLISH, method="think-on-graph").hits[0].parts["graph"],
    ),
    call("001 §4.1", "BM25 alone", 'release.search(method="bm25")', lambda r: r.search(ENGLISH, method="bm25").hits),
    call(
        "001 §4.1", "vectors alone", 'release.search(method="dense")', lambda r: r.search(ENGLISH, method="dense").hits
    ),
    command(
        "001 §4.2",
        "BM25, vectors, keywords and the graph's boost",
        ["search", ENGLISH, "--method", "hybrid", "--set", "kg_boost=1.2"],
        "hits.0.parts.kg",
    ),
    call(
        "001 §4.2", "which parts a score has", "hit.parts", lambda r: r.search(ENGLISH, method="hybrid").hits[0].parts
    ),
]
RAGDATA = [
    command(
        "002 §1–5",
        "retrieval, rerankings, refining, prompt, answer",
        ["ask", ENGLISH, "--pipeline", "{pipeline}"],
        "generated",
    ),
    command(
        "002 §1",
        "retrieval_results, _docs and _time",
        ["ask", CHINESE, "--pipeline", "{pipeline}"],
        "retrieval_results",
    ),
    Feature(
        "002 §2",
        "two rerankers, segments",
        'record["sag_steps"]',
        lambda v: v.release.run(v.folder / "pipeline.yaml", ENGLISH)["sag_steps"],
    ),
    Feature(
        "002 §3",
        "what refining left of a text",
        'record["refining_results"][0]',
        lambda v: v.release.run(v.folder / "pipeline.yaml", ENGLISH)["refining_results"][0]["compression_ratio"],
    ),
    Feature(
        "002 §4",
        "the prompt with its context",
        'record["prompt"]',
        lambda v: v.release.run(v.folder / "pipeline.yaml", CHINESE)["prompt"],
    ),
    Feature(
        "002 migration",
        "old names of fields",
        'release.run(file, {"golds": …})',
        lambda v: migrated(v.release, v.folder / "pipeline.yaml"),
    ),
    Feature(
        "002",
        "a pipeline read and checked",
        "sag_retrieval.load_pipeline(file)",
        lambda v: sag_retrieval.load_pipeline(v.folder / "pipeline.yaml").measures,
    ),
    command(
        "002 evaluation",
        "recall, exact match, F1, tokens, compression, seconds",
        ["evaluate", "{questions}", "--pipeline", "{pipeline}"],
        "counts",
    ),
    command("002", "stages and their options", ["settings", "--options", "pipeline"], ""),
    command("002", "evaluators of answers", ["evaluate", "{questions}", "--answers", "fast"], "f1"),
]
TIERS = [
    call("003 step 2", "categories", "tiers: recall_category", lambda r: tier(r, "recall_category")),
    call("003 step 4", "items", "tiers: recall_item", lambda r: tier(r, "recall_item")),
    call("003 step 6", "resources", "tiers: recall_resource", lambda r: tier(r, "recall_resource")),
    call(
        "003",
        "where, before ranking",
        'release.search(method="tiers", where=…)',
        lambda r: r.search(CHINESE, method="tiers", where={"language": "zh"}).hits,
    ),
    call(
        "003",
        "ranked by a model, else by rules",
        'options={"method": "llm"}',
        lambda r: r.search(ENGLISH, method="tiers", options={"method": "llm"}).hits,
    ),
    command("003", "tiered retrieval", ["search", ENGLISH, "--method", "tiers", "--explain"], "trace.tiers"),
    command("003", "categories, items and resources", [*CONVERSATION], "items"),
    call(
        "003 step 1",
        "the end of a conversation, rewritten",
        "release.retrieve(messages)",
        lambda r: r.retrieve(TALK).rewritten_query,
    ),
    command("003", "categories by key", [*CONVERSATION, "--set", "categories=key:organisation"], "categories"),
]
SEGMENTS = [
    command(
        "004 sections",
        "options of sections and headers, titles by a model among them",
        ["settings", "--options", "ingest"],
        "",
    ),
    call(
        "004 sections",
        "sections with titles",
        'release.table("sections")',
        lambda r: [t for t in r.table("sections")["title"] if t],
    ),
    call(
        "004 context",
        "headers of chunks",
        'release.table("chunks")["header"]',
        lambda r: [h for h in r.table("chunks")["header"] if h],
    ),
    command("004 segments", "relevant segments", ["search", ENGLISH, "--segments", "balanced"], "segments"),
    call(
        "004 segments",
        "presets and their options",
        'segments={"irrelevant_chunk_penalty": 0.05}',
        lambda r: r.search(ENGLISH, segments={"irrelevant_chunk_penalty": 0.05}).segments,
    ),
    call(
        "004 segments",
        "the document of a segment",
        "release.document(id).spans",
        lambda r: r.document("flood-night-2023.md").spans,
    ),
]
FEATURES = [*SAG, *GRAPH, *RAGDATA, *TIERS, *SEGMENTS]
"""Features over the demo documents; a new one is one line in its list."""

LONG_FEATURES = [
    command("000 §1.1", "long documents to a release", ["ingest", "{documents}"], "release"),
    call(
        "004 sections",
        "sections of a long document",
        'release.table("sections")',
        lambda r: [t for t in r.table("sections")["title"] if t],
    ),
    call(
        "004 sections",
        "no section is longer than three times the limit",
        "release.sql(…)",
        lambda r: rows(r, 'SELECT max("end" - start) AS longest FROM sections HAVING max("end" - start) < 18000'),
    ),
    command(
        "004 segments",
        "segments of a long report",
        ["search", "What is Nike's net cash provided by operations?", "--segments", "balanced"],
        "segments",
    ),
    command(
        "004 segments",
        "segments, Chinese",
        ["search", "阿里巴巴云智能集团的收入增长", "--segments", "balanced"],
        "segments",
    ),
    command("000 §2", "an answer from a long report", ["ask", "What are Nike's principal products?"], "citations"),
    command("001 §3", "think on graph", ["search", "Who leads Operation Dulce?", "--method", "think-on-graph"], "hits"),
    command("003", "tiered retrieval", ["search", "Who leads Operation Dulce?", "--method", "tiers"], "hits"),
    command(
        "002 §1–5",
        "a pipeline",
        ["ask", "What are Nike's principal products?", "--pipeline", "{pipeline}"],
        "generated",
    ),
    command("000 §3", "a report", ["report"], "page"),
]
"""The same systems over documents of up to 375,000 characters."""


def said(value: object) -> str:
    """What came out, in a few words: of a list its length and its first entry."""
    if isinstance(value, list | tuple):
        return f"{len(value)}: {_short(value[0])}" if value else ""
    return _short(value)


def _short(value: object) -> str:
    """A value in a few words; of a record one of the fields that name it."""
    fields = value if isinstance(value, dict) else getattr(value, "to_dict", dict)() or _slots(value)
    named = next((str(fields[name]) for name in NAMING if fields.get(name)), "")
    text = named or (json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else str(value))
    text = " ".join(text.split())
    return f"{text[:DETAIL]}…" if len(text) > DETAIL else text


def _slots(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in NAMING if hasattr(value, name) and not isinstance(value, str)}


def is_empty(value: object) -> bool:
    """Whether nothing came out; False and 0 count as nothing."""
    return value is None or not value


def visited(features: Sequence[Feature], visit: Visit) -> Iterator[tuple[Feature, str, bool]]:
    """Each feature with what came out, and whether that was something."""
    for feature in features:
        try:
            value = feature.run(visit)
        except (sag_retrieval.SagError, RuntimeError, TimeoutError, LookupError, TypeError) as error:
            yield feature, f"{type(error).__name__}: {error}", False
            continue
        yield feature, said(value) or "nothing", not is_empty(value)


@contextmanager
def long_documents(folder: Path) -> Iterator[Path]:
    """A folder with the long documents, unpacked."""
    texts = folder / "documents"
    texts.mkdir(parents=True)
    for name in LONG_FILES:
        (texts / name.removesuffix(".gz")).write_bytes(gzip.decompress((LONG / name).read_bytes()))
    yield texts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if something came out empty."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="the demo documents alone")
    is_small = parser.parse_args(arguments).small
    table, empty = Table("system", "feature", "command or call", "what came out", box=None), 0
    with tempfile.TemporaryDirectory() as base:
        tours = [("demo", [*DEMO, *FEATURES], ROOT / "data" / "documents")]
        has_long = LONG.is_dir() and not is_small
        if has_long:
            with long_documents(Path(base) / "unpacked") as texts:
                tours.append(("long", LONG_FEATURES, texts))
        for name, features, documents in tours:
            (Path(base) / name).mkdir()
            for feature, text, is_something in visited(features, Visit(Path(base) / name, documents)):
                empty += not is_something
                mark = "" if is_something else "[red]empty[/red] "
                table.add_row(feature.place, feature.name, escape(feature.call), mark + escape(text))
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    if not has_long:
        reason = "--small" if is_small else f"no ../{LONG.relative_to(ROOT.parent)} beside the project"
        console.print(f"long documents skipped: {reason}")
    console.print(f"{table.row_count} features, {empty} empty")
    return 1 if empty else 0


if __name__ == "__main__":
    sys.exit(main())
