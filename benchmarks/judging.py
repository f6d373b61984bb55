"""What a method reaches on a set of questions: recall of gold, and evidence within what a reader is shown."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS
from lancedb.query import MatchQuery
from lancedb.rerankers import RRFReranker
from scipy.sparse import issparse

from benchmarks.sets import Question, QuestionSet, bare, write_source
from sag_retrieval import Release, open_release
from sag_retrieval.evaluation.runner import Interval, bootstrap, paired_difference
from sag_retrieval.models.protocols import embed_queries
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.hits import build_result
from sag_retrieval.search.method import Query, Ranking, parse_query, rank_by
from sag_retrieval.search.options import SAG
from sag_retrieval.search.rank import read_texts
from sag_retrieval.search.result import Hit

LANCE = "lancedb"


def asking_lance(release: Release, depth: int) -> Callable[[str], Sequence[Hit]]:
    """How to ask: the table is made once and kept as long as the function is."""
    folder = tempfile.TemporaryDirectory(prefix="lancedb-")
    table = _filled(Path(folder.name), release)

    def ask(text: str, _kept: object = folder) -> Sequence[Hit]:
        vector = _dense(embed_queries(release.index.embedder, [text]))[0]
        query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        found = query.vector(vector).text(MatchQuery(text, "text")).rerank(RRFReranker()).limit(depth).to_arrow()
        rows = found["row"].to_numpy().astype(np.int32)
        scores = np.asarray(found["_relevance_score"].to_numpy(), float)
        ranking = Ranking(chunks=rows, scores=scores)
        return build_result(release.index, Query(text, top_k=depth), ranking, release="", method=LANCE).hits

    return ask


def _filled(folder: Path, release: Release) -> Any:  # noqa: ANN401  lancedb has no types
    chunks = release.index.rows["chunks"]
    texts = [
        "\n".join(parts)
        for parts in zip(*(chunks[name].to_pylist() for name in ("header", "document_id", "text")), strict=True)
    ]
    vectors = _dense(release.index.arrays.vectors["chunks"].take(np.arange(len(texts), dtype=np.int32)))
    flat = pa.array(vectors.ravel())
    table = lancedb.connect(folder).create_table(
        "chunks",
        pa.table(
            {
                "row": pa.array(np.arange(len(texts), dtype=np.int32)),
                "text": texts,
                "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
            }
        ),
    )
    table.create_index("text", config=FTS(base_tokenizer="icu"))
    return table


def _dense(vectors: Any) -> np.ndarray:  # noqa: ANN401  sparse or dense
    return np.ascontiguousarray(vectors.toarray() if issparse(vectors) else vectors, dtype=np.float32)


CUTS = (1, 2, 3, 5, 10)
DEPTH = 60
BUDGET = 3000
BOTH = "bm25+dense"
"""BM25 and cosine, each scaled to [0, 1] for the question and joined as `sag` joins them: a baseline."""
UNITS = ("document", "passage")
LETTERS = {"document": "D", "passage": "P"}
"""What is counted, and its letter in measures: `D@5` is recall of documents among the first five of them."""

Ask = Callable[[str], Sequence[Hit]]
Gold = Mapping[str, set[str]]
"""What answers a question, by unit; without a unit that nobody knows."""


@dataclass
class Outcome:
    """What one method reached on one set: `recall[unit, cut]` by question."""

    recall: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)
    all_gold: dict[str, float] = field(default_factory=dict)
    in_budget: dict[str, float] = field(default_factory=dict)
    main: str = "document"
    """The unit of `R@k`, of the floors and of `all@5`."""

    def note(self, question_id: str, unit: str, gold: set[str], ranked: Sequence[str]) -> None:
        """Add what one question gave: gold and what was ranked, each name once."""
        for cut in CUTS:
            share = len(gold.intersection(ranked[:cut])) / len(gold)
            self.recall.setdefault((unit, cut), {})[question_id] = share
        if unit == self.main:
            self.all_gold[question_id] = float(gold <= set(ranked[:5]))

    def units(self) -> list[str]:
        """Those that any question has, the main one first."""
        found = [unit for unit in UNITS if self.recall.get((unit, CUTS[0]))]
        return sorted(found, key=lambda unit: unit != self.main)

    def measures(self) -> dict[str, dict[str, float]]:
        found = {f"R@{cut}": self.recall.get((self.main, cut), {}) for cut in CUTS}
        for unit in self.units():
            if unit != self.main:
                found |= {f"{LETTERS[unit]}@{cut}": self.recall[unit, cut] for cut in CUTS}
        return found | {"all@5": self.all_gold} | ({str(BUDGET): self.in_budget} if self.in_budget else {})

    def means(self) -> dict[str, float]:
        return {measure: 100 * float(np.mean(list(each.values()))) for measure, each in self.measures().items()}

    def half_widths(self) -> dict[str, float]:
        """Half of each 95 % interval in percentage points, by measure."""
        found = {measure: bootstrap(list(each.values())) for measure, each in self.measures().items()}
        return {measure: 50 * (interval.high - interval.low) for measure, interval in found.items()}

    def of(self, questions: Iterable[Question]) -> "Outcome":
        ids = {question.question_id for question in questions}

        def kept(each: Mapping[str, float]) -> dict[str, float]:
            return {name: value for name, value in each.items() if name in ids}

        recall = {place: kept(each) for place, each in self.recall.items()}
        return Outcome(recall, kept(self.all_gold), kept(self.in_budget), self.main)


def gain(ours: Outcome, theirs: Outcome, cut: int, unit: str = "") -> Interval:
    place = (unit or ours.main, cut)
    return paired_difference(ours.recall[place], theirs.recall[place])


def spoken(interval: Interval) -> str:
    return f"{100 * interval.mean:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


@contextmanager
def cached(folder: Path | None) -> Iterator[Path]:
    """Where releases are kept between runs; without a folder, for this run alone."""
    with tempfile.TemporaryDirectory() as scratch:
        cache = (folder or Path(scratch)).resolve()
        cache.mkdir(parents=True, exist_ok=True)
        yield cache


def ingested(name: str, questions: QuestionSet, cache: Path, embedding: str = "hashing") -> Release:
    """The release of a set by an embedder, made once per cache."""
    home = cache / (name if embedding == "hashing" else f"{name}-{re.sub(r'[^A-Za-z0-9.-]+', '_', embedding)}")
    if not (home / "releases").is_dir():
        source = questions.folder or cache / "sources" / f"{name}.jsonl"
        if questions.folder is None:
            write_source(questions.lines, source)
        command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(source)]
        environment = os.environ | {
            "SAG_HOME": str(home),
            "SAG_CHAT_MODEL": "offline",
            "SAG_EMBEDDING_MODEL": embedding,
        }
        # among the files of a folder some cannot be read, which makes the exit code 1
        subprocess.run(command, env=environment, cwd=cache, check=questions.folder is None, stdout=subprocess.DEVNULL)
    return open_release(home)


def asking(release: Release, method: str) -> Ask:
    if method == LANCE:
        return asking_lance(release, DEPTH)
    if method != BOTH:
        return lambda text: release.search(text, top_k=DEPTH, method=method).hits

    def ask(text: str) -> Sequence[Hit]:
        query = Query(text, top_k=DEPTH)
        return build_result(release.index, query, both_texts(release.index, query), release="", method=BOTH).hits

    return ask


def both_texts(index: Index, query: Query) -> Ranking:
    return rank_by(read_texts(index, parse_query(index, query), SAG).similarity, query.top_k)


def gold_chunks(release: Release, question: Question) -> set[str]:
    rows = {document: row for row, document in enumerate(release.index.rows["documents"]["document_id"].to_pylist())}
    found = set()
    for document, start, end in question.spans:
        for chunk in _chunks_of(release, rows[document]):
            if chunk["start"] < end and chunk["end"] > start:
                found.add(chunk["chunk_id"])
    for document, *parts in question.quotes:
        chunks = _chunks_of(release, rows[document]) if document in rows else []
        found |= {chunk["chunk_id"] for chunk in chunks if all(bare(part) in bare(chunk["text"]) for part in parts)}
    return found


def _chunks_of(release: Release, document: int) -> list[dict[str, Any]]:
    first, last = (int(place) for place in release.index.arrays.document_chunks[document : document + 2])
    table = release.index.rows["chunks"].slice(first, last - first)
    return table.select(["chunk_id", "start", "end", "text"]).to_pylist()


def gold_of(release: Release, questions: Sequence[Question]) -> dict[str, Gold]:
    """What answers each question, by unit: its documents, and the passages that hold its evidence.

    Questions without any in the release are left out: every method would get the same zero for them.
    """
    read = set(release.index.rows["documents"]["document_id"].to_pylist())
    owner = dict(
        zip(*(release.index.rows["chunks"][name].to_pylist() for name in ("chunk_id", "document_id")), strict=True)
    )
    found: dict[str, Gold] = {}
    for question in questions:
        passages = gold_chunks(release, question)
        named = set(question.documents)
        documents = (named if named <= read else set()) or {owner[chunk] for chunk in passages}
        gold = {"document": documents, "passage": passages}
        if documents and not (named and documents != named):
            found[question.question_id] = {unit: each for unit, each in gold.items() if each}
    return found


def measure(release: Release, questions: Sequence[Question], methods: Sequence[str]) -> dict[str, Outcome]:
    """Every method on one set, over the questions whose evidence is in the release."""
    gold = gold_of(release, questions)
    questions = [question for question in questions if question.question_id in gold]
    main = "document" if any(question.documents for question in questions) else "passage"
    outcomes = {}
    for method in methods:
        ask, outcomes[method] = asking(release, method), Outcome(main=main)
        for question in questions:
            _judge(ask(question.text), question, gold[question.question_id], outcomes[method])
    return outcomes


def _judge(hits: Sequence[Hit], question: Question, gold: Gold, outcome: Outcome) -> None:
    ranked = {
        "passage": [hit.chunk_id for hit in hits],
        "document": list(dict.fromkeys(hit.document_id for hit in hits)),
    }
    for unit, wanted in gold.items():
        outcome.note(question.question_id, unit, wanted, ranked[unit])
    if question.spans:
        outcome.in_budget[question.question_id] = _within_budget(question, hits)


def _within_budget(question: Question, hits: Sequence[Hit]) -> float:
    left, found = BUDGET, set()
    for hit in hits:
        kept = min(len(hit.text), left)
        for place, (document, start, end) in enumerate(question.spans):
            overlap = min(end, hit.start + kept) - max(start, hit.start)
            if hit.document_id == document and 2 * overlap >= end - start:
                found.add(place)
        left -= kept
        if left <= 0:
            break
    return len(found) / len(question.spans)
