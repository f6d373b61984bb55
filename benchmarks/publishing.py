"""How long a publish takes: a store of E events is made, published whole, changed by one percent and published again.

    python benchmarks/publishing.py 100000
    python benchmarks/publishing.py 1000000 --dimension 384

Each chunk has a main key, three own keys, five from a pool with a long tail; each event carries four of them.
Vectors are random mixtures, which is harder for an index than text. Prints seconds by step, megabytes, and the ratio
of the second publish to the first.
"""

import argparse
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sag_pipeline.publish.links import make_links, weigh_keys
from sag_pipeline.publish.publish import Embedding, publish
from sag_pipeline.store.store import DocumentOutcome, Pending, StepSpec, Store
from sag_pipeline.store.vectors import KINDS, VectorStore, vector_ids
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Key, Section, make_id

EVENTS_A_CHUNK, CHUNKS_A_DOCUMENT, DOCUMENTS_A_PART = 10, 10, 500
WORDS = [f"word{n}" for n in range(20_000)]


@dataclass(frozen=True)
class RandomEmbedder:
    """Vectors from the hash of the text: what they mean is nothing, what they cost is real."""

    dimension: int
    fingerprint: str = "random"

    def embed(self, texts: list[str]) -> np.ndarray:
        centres = np.random.default_rng(0).standard_normal((512, self.dimension)).astype(np.float32)
        seeds = np.frombuffer(vector_ids(texts).tobytes(), np.uint64).reshape(-1, 2)
        noise = np.random.default_rng(int(seeds[0, 0])).standard_normal((len(texts), self.dimension), dtype=np.float32)
        rows = centres[seeds[:, 0] % 512] + centres[seeds[:, 1] % 512] + 0.7 * noise
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def key(value: str) -> Key:
    return Key(make_id("k", "entity", value), "entity", value_string=value)


def records(number: int, pool: np.ndarray, edition: int) -> Iterator[tuple[str, object]]:
    """Everything of one document."""
    random = np.random.default_rng([number, edition])
    name = f"document-{number:07d}"
    words = [WORDS[n] for n in random.integers(0, len(WORDS), 80 * CHUNKS_A_DOCUMENT)]
    text = " ".join(words)
    yield "documents", Document(name, "made", f"Title {number}", text, "en", version=f"{number}-{edition}")
    section = make_id("s", name, 0)
    yield "sections", Section(section, name, 0, "", "", 0, len(text))
    title = key(f"title {number}")
    at = 0
    for index in range(CHUNKS_A_DOCUMENT):
        passage = " ".join(words[80 * index : 80 * (index + 1)])
        chunk = make_id("c", name, edition, index)
        yield "chunks", Chunk(chunk, name, section, index, at, at + len(passage), passage, f"Title {number}")
        yield "keys", EventKey(name, chunk, title)
        own = [key(f"own {number} {index} {n}") for n in range(3)]
        shared = [key(f"shared {n}") for n in pool[random.integers(0, len(pool), 5)]]
        for place in range(EVENTS_A_CHUNK):
            event = make_id("e", chunk, place)
            content = " ".join(words[80 * index + 8 * place : 80 * index + 8 * place + 8])
            yield "events", Event(event, name, chunk, place, content, f"Title {number}", at, at + len(passage))
            chosen = random.choice(8, 3, replace=False)
            for one in [title, *((own + shared)[n] for n in chosen)]:
                yield "keys", EventKey(name, event, one)
        at += len(passage) + 1


def fill(store: Store, numbers: range, pool: np.ndarray, edition: int, embedding: Embedding) -> None:
    """Commit documents, a part at a time, with their vectors."""
    for start in range(0, len(numbers), DOCUMENTS_A_PART):
        outcomes: dict[str, list[DocumentOutcome]] = {}
        for number in numbers[start : start + DOCUMENTS_A_PART]:
            made: dict[str, list[object]] = {}
            for table, record in records(number, pool, edition):
                made.setdefault(table, []).append(record)
            for table, rows in made.items():
                pending = Pending(f"document-{number:07d}", f"{edition}")
                outcomes.setdefault(table, []).append(DocumentOutcome(pending, rows))
        for table, results in outcomes.items():
            store.commit(StepSpec(table), results)
        for kind in KINDS:
            listed = [record for outcome in outcomes[kind] for record in outcome.records]
            texts = [r.key.value_string if kind == "keys" else r.indexed_text for r in listed]
            ids, first = np.unique(vector_ids(texts), return_index=True)
            fresh = ~np.isin(ids, embedding.vectors.known(kind))
            embedding.vectors.append(kind, ids[fresh], embedding.embedder.embed([texts[n] for n in first[fresh]]))


def derive(store: Store) -> dict[str, float]:
    """Alignment and idf, as the assets `event_keys` and `idf` do them."""
    started = time.perf_counter()
    state = store.state_hash(["keys"])
    for name, rows in make_links(store).items():
        store.commit_whole(name, rows, state)
    linked = time.perf_counter()
    store.commit_whole("idf", weigh_keys(store, store.ledger.row_count("events")), state)
    return {"links": linked - started, "idf": time.perf_counter() - linked}


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def allocated(folder: Path) -> float:
    files = {path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    return sum(files.values()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", type=int)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--keep", type=Path, help="keep the home here")
    options = parser.parse_args()
    home = options.keep or Path(tempfile.mkdtemp())
    try:
        print(json.dumps(measure(home, options.events, options.dimension), indent=1))
    finally:
        if not options.keep:
            shutil.rmtree(home)


def measure(home: Path, events: int, dimension: int) -> dict[str, object]:
    documents = events // EVENTS_A_CHUNK // CHUNKS_A_DOCUMENT
    rank = np.arange(1, events // 6 + 1)
    pool = np.repeat(rank, np.maximum(1, events / rank**0.75 / 200).astype(int))
    store, embedder = Store(home), RandomEmbedder(dimension)
    vectors = VectorStore(home, embedder.fingerprint, dimension)
    embedding = Embedding("random", embedder, vectors, lambda folder: folder.mkdir(parents=True))
    fill(store, range(documents), pool, 0, embedding)
    told: dict[str, object] = {"events": events, "tables MB": round(megabytes(home / "tables"), 1)}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = derive(store)
    started, worked = time.perf_counter(), time.process_time()
    first = publish(store, embedding, "2026-01-01T00:00:00+00:00")
    seconds["publish"], worked = time.perf_counter() - started, time.process_time() - worked
    told |= {f"whole: {name} s": round(value, 2) for name, value in seconds.items()}
    told["whole: publish, processor s"] = round(worked, 2)
    told["whole: s"] = round(sum(seconds.values()), 2)
    told["counts"] = first.manifest.counts
    told["index"] = first.manifest.index
    told["release MB"] = round(megabytes(home / "releases" / first.manifest.release_id), 1)
    told["home MB, each file once"] = round(allocated(home), 1)
    told["peak GB (filling, publishing)"] = [
        round(before / 1e6, 2),
        round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    ]
    fill(store, range(max(1, documents // 100)), pool, 1, embedding)
    again = derive(store)
    started, worked = time.perf_counter(), time.process_time()
    publish(store, embedding, "2026-01-02T00:00:00+00:00")
    again["publish"], worked = time.perf_counter() - started, time.process_time() - worked
    told |= {f"one percent: {name} s": round(value, 2) for name, value in again.items()}
    told["one percent: publish, processor s"] = round(worked, 2)
    told["one percent: s"] = round(sum(again.values()), 2)
    told["ratio"] = round(sum(again.values()) / sum(seconds.values()), 3)
    return told


if __name__ == "__main__":
    main()
