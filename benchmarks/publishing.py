"""What publishing costs: a store of E events is made, published whole, changed and published again.

    python benchmarks/publishing.py 100000
    python benchmarks/publishing.py 1000000 --dimension 384

Each chunk has a main key, three own keys, five from a pool with a long tail; each event carries four of them. Vectors
are random mixtures, which is harder for an index than text. Prints processor time, also as a share of the whole
publish's, and megabytes of all releases, each linked file once. A removal includes what the asset `release` does then.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sag_pipeline.publish.build import Embedding
from sag_pipeline.publish.distinct_keys import make_links
from sag_pipeline.publish.links import weighing
from sag_pipeline.publish.publish import publish
from sag_pipeline.runs.maintenance import forget, vacuum
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import PURGE, Pending, StepSpec, Store
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
    for start in range(0, len(numbers), DOCUMENTS_A_PART):
        outcomes: dict[str, dict[Pending, StepResult]] = {}
        for number in numbers[start : start + DOCUMENTS_A_PART]:
            made: dict[str, list[object]] = {}
            for table, record in records(number, pool, edition):
                made.setdefault(table, []).append(record)
            for table, rows in made.items():
                outcomes.setdefault(table, {})[Pending(f"document-{number:07d}", f"{edition}")] = StepResult(rows)
        for table, results in outcomes.items():
            store.commit(StepSpec(table), results)
        for kind in KINDS:
            listed = [record for outcome in outcomes[kind].values() for record in outcome.records]
            texts = [r.key.value_string if kind == "keys" else r.indexed_text for r in listed]
            ids, first = np.unique(vector_ids(texts), return_index=True)
            fresh = ~np.isin(ids, embedding.vectors.known(kind))
            embedding.vectors.append(kind, ids[fresh], embedding.embedder.embed([texts[n] for n in first[fresh]]))


def derive(store: Store) -> None:
    """Alignment and weighing, as the assets `event_keys` and `idf` do them."""
    state = store.state_hash(["keys"])
    store.commit_wholes(make_links(store), state)
    store.commit_wholes({"idf": weighing(store, "none")}, store.state_hash(["events", "distinct_keys"]))


def sizes(folder: Path) -> dict[int, int]:
    """Bytes of each file below a folder, by its number on the disk: what is linked counts once."""
    return {path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def own_bytes(home: Path) -> int:
    """Bytes of all releases, without the vectors, which are files of the home that they link."""
    shared = sizes(home / "vectors")
    return sum(size for number, size in sizes(home / "releases").items() if number not in shared)


def told_of(store: Store, embedding: Embedding, name: str) -> dict[str, object]:
    before = own_bytes(store.home)
    started, worked = time.perf_counter(), time.process_time()
    derive(store)
    links = time.process_time() - worked
    is_removal = store.ledger.whole(PURGE) is not None
    if is_removal:
        forget(store, embedding.vectors)
    done = publish(store, embedding, "2026-01-01T00:00:00+00:00")
    if is_removal:
        vacuum(store, embedding.vectors)
    release = store.home / "releases" / done.manifest.release_id
    return {
        f"{name}: processor s, links": round(links, 2),
        f"{name}: processor s": round(time.process_time() - worked, 2),
        f"{name}: s": round(time.perf_counter() - started, 2),
        f"{name}: layers, documents": [layer["documents"] for layer in done.manifest.layer_counts],
        f"{name}: release MB": round(sum(sizes(release).values()) / 1e6, 1),
        f"{name}: all releases without vectors MB": round(own_bytes(store.home) / 1e6, 2),
        f"{name}: grown by MB": round((own_bytes(store.home) - before) / 1e6, 3),
        f"{name}: peak GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", type=int)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--nights", type=int, default=6, help="further publishes of one percent new documents each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options.events, options.dimension, options.nights), indent=1))


def measure(home: Path, events: int, dimension: int, nights: int) -> dict[str, object]:
    documents = events // EVENTS_A_CHUNK // CHUNKS_A_DOCUMENT
    rank = np.arange(1, events // 6 + 1)
    pool = np.repeat(rank, np.maximum(1, events / rank**0.75 / 200).astype(int))
    store, embedder = Store(home), RandomEmbedder(dimension)
    vectors = VectorStore(home, embedder.fingerprint, dimension)
    embedding = Embedding("random", embedder, vectors, lambda folder: folder.mkdir(parents=True))
    percent = max(1, documents // 100)
    fill(store, range(documents), pool, 0, embedding)
    told: dict[str, object] = {"events": events} | told_of(store, embedding, "whole")
    fill(store, range(percent), pool, 1, embedding)
    told |= told_of(store, embedding, "one percent changed")
    next_document = documents
    for night in range(nights + 1):
        count, name = (1, "one document") if not night else (percent, f"night {night}")
        added = range(next_document, next_document + count)
        next_document += count
        fill(store, added, pool, 0, embedding)
        told |= told_of(store, embedding, name)
    store.remove([f"document-{documents // 2:07d}"])
    told |= told_of(store, embedding, "one document removed")
    whole = told["whole: processor s"]
    shares = {name.removesuffix(": processor s"): s / whole for name, s in told.items() if name.endswith("processor s")}
    return told | {"shares of the whole publish": {name: round(share, 2) for name, share in shares.items()}}


if __name__ == "__main__":
    main()
