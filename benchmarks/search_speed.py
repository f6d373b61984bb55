"""Milliseconds of a search, step by step, at growing sizes, next to plain vector search on the same vectors.

    python benchmarks/search_speed.py [--sizes 10000,100000] [--vectors hashing,dense]
    python benchmarks/search_speed.py --sizes 10000000 --vectors dense --dimension 96

One query, one thread, warm; steps in processor time, the rest by the wall. `search` is `expand` and `rank` alone,
`events` the vector step over all events, `plain` the same by an exact scan.
"""

import argparse
import os
import resource
import statistics
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, thread_time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before numpy: one thread a query

import marisa_trie  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import psutil  # noqa: E402
import pyarrow as pa  # noqa: E402
from scipy.sparse import csr_array  # noqa: E402

from sag_retrieval.language.sentences import sentences  # noqa: E402
from sag_retrieval.language.words import normal_name  # noqa: E402
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit, fit  # noqa: E402
from sag_retrieval.release.arrays import GraphParts, Index, graph_arrays, open_arrays, save_graph  # noqa: E402
from sag_retrieval.release.mapped_arrays import group  # noqa: E402
from sag_retrieval.release.text_index import Vocabulary, count_terms, write_mentions  # noqa: E402
from sag_retrieval.release.vectors import DenseVectors, write_vectors  # noqa: E402
from sag_retrieval.search.expand import expand, propagate  # noqa: E402
from sag_retrieval.search.method import Query, best_rows, parse_query  # noqa: E402
from sag_retrieval.search.options import SAG  # noqa: E402
from sag_retrieval.search.rank import rank, walk_trust  # noqa: E402

DATA = Path(__file__).parents[2] / "shared" / "data"
PER_CHUNK = 3
"""Passages joined to one chunk, about ten events."""
SHARED = 3
"""Keys and words of more chunks than this are the same in every copy."""
KEY_COPIES = 4
"""Copies that have their rare names in common: names grow more slowly than texts, to about one for two events."""
DENSE = 384
"""Columns of dense vectors, unless another number is asked for."""


@dataclass(frozen=True)
class Seed:
    """One real corpus as lists: chunks of events, keys of events, and texts."""

    events: list[str]
    event_chunk: np.ndarray
    links: np.ndarray
    keys: list[str]
    chunks: list[str]


def read_seed() -> Seed:
    passages = pd.read_parquet(DATA / "musique_train.docs.parquet")
    recorded = pd.read_parquet(DATA / "musique_train.extraction.parquet").set_index("doc_id")["entities"]
    number: dict[str, int] = {}
    events, event_chunk, links, chunks = [], [], [], []
    for place, row in enumerate(passages.itertuples()):
        if place % PER_CHUNK == 0:
            chunks.append("")
        chunks[-1] += f"{row.title}\n{row.text}\n"
        names = {normal_name(name) for name in [*recorded[row.doc_id], row.title]} - {""}
        for sentence in sentences(row.text):
            within = f" {normal_name(sentence)} "
            own = {name for name in names if f" {name} " in within} | {normal_name(row.title)}
            links.extend((len(events), number.setdefault(name, len(number))) for name in sorted(own))
            events.append(f"{row.title}: {sentence}")
            event_chunk.append(len(chunks) - 1)
    return Seed(events, np.array(event_chunk), np.array(links), list(number), chunks)


def questions() -> list[str]:
    return pd.read_parquet(DATA / "musique_train.questions.parquet")["question"].tolist()


class DenseEmbedder:
    def __init__(self, hashing: HashingEmbedder, dimension: int) -> None:
        self._hashing = hashing
        self.dimension = dimension
        self._matrix = np.random.default_rng(0).normal(size=(hashing.dimension, dimension)).astype(np.float32)
        self.fingerprint = f"projected-{hashing.fingerprint}"

    def embed(self, texts: list[str]) -> np.ndarray:
        return unit(self._hashing.embed(texts) @ self._matrix)


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(length > 0, length, 1)).astype(np.float32)


def grow(folder: Path, events: int, *, dense: int) -> None:
    """Write arrays of about this many events; `dense`: columns of their vectors, 0 for those of hashing."""
    seed = read_seed()
    copies = max(1, round(events / len(seed.events)))
    hashing = HashingEmbedder(fit(seed.chunks))
    hashing.fitted.save(folder)
    _write_graph(folder, seed, copies)
    _write_text(folder / "text", seed, copies)
    embedder = DenseEmbedder(hashing, dense) if dense else hashing
    sizes = {"events": seed.events, "chunks": seed.chunks, "keys": seed.keys}
    for name, texts in sizes.items():
        base, times = embedder.embed(texts), _groups(copies) if name == "keys" else copies
        write_vectors(folder / "vectors", name, _copies_of(base, times), (len(texts) * times, embedder.dimension))


def _groups(copies: int) -> int:
    return -(-copies // KEY_COPIES)


def _copies_of(base: np.ndarray | csr_array, copies: int) -> Iterator[tuple[np.ndarray, np.ndarray | csr_array]]:
    """The base rows, then rows as like it as one text is to another on its subject."""
    for copy in range(copies):
        random = np.random.default_rng(copy)
        rows = np.arange(base.shape[0]) + copy * base.shape[0]
        if copy == 0:
            yield rows, base
        elif isinstance(base, csr_array):
            moved = np.arange(base.shape[1])
            some = random.permutation(base.shape[1])[: base.shape[1] // 2]
            moved[some] = random.permutation(some)
            yield rows, csr_array((base.data, moved[base.indices], base.indptr), shape=base.shape)
        else:
            yield rows, unit(base + random.normal(scale=1 / np.sqrt(base.shape[1]), size=base.shape))


def _write_graph(folder: Path, seed: Seed, copies: int) -> None:
    chunk_links = np.unique(np.stack([seed.event_chunk[seed.links[:, 0]], seed.links[:, 1]], axis=1), axis=0)
    shared = np.bincount(chunk_links[:, 1], minlength=len(seed.keys)) > SHARED
    keys, chunks, events = len(seed.keys), len(seed.chunks), len(seed.events)

    def spread(links: np.ndarray, left: int) -> np.ndarray:
        rare, first = ~shared[links[:, 1]], np.full(len(links), left)
        steps = (np.stack([n * first, rare * (n // KEY_COPIES * keys)], axis=1) for n in range(copies))
        return np.concatenate([links + step for step in steps]).astype(np.int32)

    event_key, chunk_key = spread(seed.links, events), spread(chunk_links, chunks)
    frequency = np.bincount(event_key[:, 1], minlength=keys * _groups(copies))
    main = np.full(chunks * copies, -1)
    main[chunk_key[::-1, 0]] = chunk_key[::-1, 1]
    parts = GraphParts(
        event_keys=group(*event_key.T, events * copies)[0],
        chunk_keys=group(*chunk_key.T, chunks * copies)[0],
        chunk_key_count=np.ones(len(chunk_key), np.int32),
        event_chunk=np.concatenate([seed.event_chunk + copy * chunks for copy in range(copies)]).astype(np.int32),
        chunk_document=np.arange(chunks * copies, dtype=np.int32),
        chunk_main_key=main.astype(np.int32),
        key_idf=np.log(events * copies / np.maximum(frequency, 1)).astype(np.float32),
        document_count=chunks * copies,
    )
    save_graph(folder, graph_arrays(parts))
    names = ((name if group == 0 else f"{name} {group}", group * keys + row) for group in range(_groups(copies))
             for row, name in enumerate(seed.keys))  # fmt: skip
    write_mentions(folder / "names", names)


def _write_text(folder: Path, seed: Seed, copies: int) -> None:
    """Postings of all copies from one reading: rare words get a number of their own in each copy."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = Vocabulary()
    flat, sizes = vocabulary.read(seed.chunks)
    words = list(vocabulary.numbers)
    row = np.repeat(np.arange(len(sizes)), sizes)
    pairs = np.unique(flat.astype(np.int64) * len(sizes) + row) // len(sizes)
    shared = np.bincount(pairs, minlength=len(words)) > SHARED
    own = [words] + [
        [word if shared[t] else f"{word}~{copy}" for t, word in enumerate(words)] for copy in range(1, copies)
    ]
    trie = marisa_trie.Trie([word for listed in own for word in listed])
    trie.save(str(folder / "terms.marisa"))
    numbers = np.concatenate([np.array([trie[word] for word in listed], np.int32)[flat] for listed in own])
    sizes = np.tile(sizes, copies)
    row = np.repeat(np.arange(len(sizes)), sizes)
    postings = count_terms(numbers, row, len(sizes), len(trie)).weighed()
    postings.save(folder / "chunks")
    postings.save(folder / "documents")


def open_grown(folder: Path, *, dense: int) -> Index:
    """The index; of its rows a ranking reads alone whether a key is a flag, and none is."""
    hashing, arrays = HashingEmbedder(HashingFit.load(folder)), open_arrays(folder)
    keys = pa.table({"value_bool": pa.nulls(arrays.key_count, pa.bool_())})
    return Index({"keys": keys}, arrays, DenseEmbedder(hashing, dense) if dense else hashing)


ROUNDS = 3
Milliseconds = list[float]


def percentiles(times: Milliseconds) -> dict[str, float]:
    ordered = sorted(times)
    return {"p50": statistics.median(ordered), "p95": ordered[int(0.95 * (len(ordered) - 1))]}


def timed(work: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    start = clock()
    work()
    return 1000 * (clock() - start)


def worked(work: Callable[[], object]) -> float:
    """Milliseconds the processor worked for one call: what a busy machine cannot lengthen much."""
    return timed(work, thread_time)


def one_search(index: Index, question: str) -> np.ndarray:
    reading = parse_query(index, Query(question))
    expansion = expand(index, reading, SAG)
    keys, trust = propagate(index, reading, expansion.keys, SAG)[-1], walk_trust(index, reading, expansion.seeds, SAG)
    return best_rows(rank(index, reading, keys, trust, SAG).final, 10)


def steps(index: Index) -> dict[str, dict[str, float]]:
    times: dict[str, Milliseconds] = {name: [] for name in ("read", "expand", "rank", "search", "events", "plain")}
    for question in questions() * ROUNDS:
        reading = parse_query(index, Query(question))
        times["read"].append(worked(lambda q=question: parse_query(index, Query(q))))
        expansion = expand(index, reading, SAG)
        keys, trust = expansion.keys, walk_trust(index, reading, expansion.seeds, SAG)
        times["expand"].append(worked(lambda r=reading: expand(index, r, SAG)))
        times["rank"].append(worked(lambda r=reading, k=keys, t=trust: rank(index, r, k, t, SAG)))
        times["search"].append(times["expand"][-1] + times["rank"][-1])
        events = index.arrays.vectors["events"]
        plain = DenseVectors(events.matrix) if isinstance(events, DenseVectors) else events
        times["events"].append(worked(lambda v=events, r=reading: v.top(r.vector, 50)))
        times["plain"].append(worked(lambda v=plain, r=reading: v.top(r.vector, 50)))
    return {name: percentiles(each) for name, each in times.items()}


def resident(task: tuple[str, int]) -> dict[str, float]:
    """Megabytes of a process that opened the arrays and answered every question once: its own, and mapped files."""
    index = open_grown(Path(task[0]), dense=task[1])
    for question in questions():
        one_search(index, question)
    memory = psutil.Process().memory_info()
    return {"own": (memory.rss - memory.shared) / 2**20, "mapped": memory.shared / 2**20}


def measure(size: int, kind: str, dimension: int) -> dict[str, object]:
    dense = dimension if kind == "dense" else 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        built = timed(lambda: grow(folder, size, dense=dense)) / 1000
        opened = [timed(lambda: open_grown(folder, dense=dense)) for _ in range(5)]
        index = open_grown(folder, dense=dense)
        arrays = index.arrays
        first = timed(lambda: one_search(index, questions()[0]))
        found = {
            "sizes": {"events": arrays.event_count, "chunks": arrays.chunk_count, "keys": arrays.key_count},
            "links": len(arrays.event_keys.items),
            "vectors": kind,
            "build_seconds": built,
            "build_peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            "disk_gb": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9,
            "open_ms": min(opened),
            "first_ms": first,
            "steps_ms": steps(index),
        }
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return found | {"resident_mb": pool.submit(resident, (str(folder), dense)).result()}


def show(found: dict[str, object]) -> None:
    print(found["vectors"], found["sizes"])
    print(
        f"  build {found['build_seconds']:.1f} s, peak {found['build_peak_gb']:.1f} GB, disk {found['disk_gb']:.2f} GB"
    )
    resident = ", ".join(f"{name} {figure:.0f}" for name, figure in found["resident_mb"].items())
    print(f"  open {found['open_ms']:.1f} ms, first {found['first_ms']:.0f} ms, resident {resident} MB")
    for name, each in found["steps_ms"].items():  # type: ignore[attr-defined]
        print(f"  {name:8} p50 {each['p50']:8.2f}  p95 {each['p95']:8.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--vectors", default="hashing,dense")
    parser.add_argument("--dimension", type=int, default=DENSE, help="columns of dense vectors")
    chosen = parser.parse_args()
    for size in map(int, chosen.sizes.split(",")):
        for kind in chosen.vectors.split(","):
            show(measure(size, kind, chosen.dimension))


if __name__ == "__main__":
    main()
