"""How fast, how right and how large each way to find the nearest vectors is: mapped arrays, and the indexes of Lance.

    python benchmarks/vector_readers.py                      97,000 generated vectors of 384 columns
    python benchmarks/vector_readers.py 20000 --queries 50
    python benchmarks/vector_readers.py 10000000 --dimension 96 --mapped     in blocks, without Lance

Vectors are mixtures of 512 centres with noise; a query is the mean of two of them. First: reading the candidates of a
query for their exact cosines, in milliseconds. Then: the fifty nearest by each reader, recall against the exact scan,
milliseconds of one query by the wall and of the processor (ours has one thread, Lance its own), seconds of the
processor to build, megabytes besides the vectors. Signs choose candidates, whose cosines are exact from three places.
"""

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Protocol

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before numpy: one thread a query

import numpy as np  # noqa: E402

from sag_pipeline.store.vectors import VectorStore, vector_ids  # noqa: E402
from sag_retrieval.release.lance_vectors import METRIC, VECTOR, open_lance  # noqa: E402
from sag_retrieval.release.placed import LANCE, open_placed, write_placed, write_runs  # noqa: E402
from sag_retrieval.release.topk import (  # noqa: E402
    BinaryIndex,
    Matrix,
    describe_binary_index,
    exact_nearest,
    read_binary_index,
    top_k,
    write_binary_index,
)
from sag_retrieval.release.vectors import DenseVectors, open_vectors, write_vectors  # noqa: E402

K = 50
BLOCK = 100_000
CANDIDATES = (400, 1000, 4000)
INDEXES = ("flat", "IvfSq", "IvfRq", "IvfPq", "IvfHnswSq", "IvfHnswPq")
"""Classes of `lancedb.index`."""


def generated(count: int, dimension: int) -> Iterator[np.ndarray]:
    """Blocks of mixtures of centres with noise, of length 1."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((512, dimension)).astype(np.float32)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        rows = centres[random.integers(0, 512, size)] + centres[random.integers(0, 512, size)]
        rows += 0.7 * random.standard_normal((size, dimension), dtype=np.float32)
        yield rows / np.linalg.norm(rows, axis=1, keepdims=True)


def asked(matrix: Matrix, count: int) -> np.ndarray:
    """Queries, each half way between two rows."""
    sampled = matrix[np.linspace(0, len(matrix) - 1, count).astype(np.int64)]
    queries = np.asarray(sampled + np.roll(sampled, 1, axis=0))
    return queries / np.linalg.norm(queries, axis=1, keepdims=True)


def mapped(folder: Path, count: int, dimension: int, queries: int) -> Iterator[dict[str, object]]:
    """The readers of an array that is too large for memory."""
    blocks = (
        (np.arange(at * BLOCK, at * BLOCK + len(rows)), rows) for at, rows in enumerate(generated(count, dimension))
    )
    start = perf_counter()
    write_vectors(folder, "events", blocks, (count, dimension))
    built = perf_counter() - start
    start = perf_counter()
    vectors = open_vectors(folder)["events"]
    opened = 1000 * (perf_counter() - start)
    assert isinstance(vectors, DenseVectors)
    questions = asked(vectors.matrix, queries)
    truth = [*exact_nearest(vectors.matrix, questions, K)]
    size = sum(path.stat().st_size for path in folder.glob("*.signs.*")) / 1e6
    told = {"reader": "mapped, signs", "build": built, "MB": size, "open ms": opened}
    yield told | describe_binary_index(folder, "events") | searched(vectors, questions, truth)


def release_of(folder: Path, vectors: np.ndarray) -> Path:
    """The vectors as a release has them; its folder of arrays."""
    store = VectorStore(folder / "home", "generated", vectors.shape[1])
    ids = vector_ids(str(n) for n in range(len(vectors)))
    for start in range(0, len(ids), 16_384):
        store.append("events", ids[start : start + 16_384], vectors[start : start + 16_384])
    arrays, table = folder / "release" / "arrays" / "vectors", store.sealed("events")
    store.link("events", folder / "release" / LANCE / "events.lance")
    write_placed(arrays, "events", store.row_ids("events", ids))
    write_runs(arrays, "events", table.runs if table else [], vectors.shape[1])
    return arrays


def spread(work: Callable[[Any], object], inputs: list[Any]) -> tuple[float, float]:
    """Milliseconds, p50 and p95, of one call."""
    times = []
    for each in [inputs[0], *inputs]:
        start = perf_counter()
        work(each)
        times.append(1000 * (perf_counter() - start))
    ordered = sorted(times[1:])
    return statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]


def rescoring(arrays: Path, vectors: np.ndarray, queries: np.ndarray) -> Iterator[dict[str, object]]:
    """Exact or nearly exact cosines of the candidates of a query."""
    small, scale = as_int8(arrays, vectors)
    placed = open_placed(arrays, "events")
    lance = open_lance(arrays.parent.parent, "events", placed, read_binary_index(arrays, "events"))
    random = np.random.default_rng(1)
    for count in CANDIDATES:
        inputs = [
            (query, np.sort(random.choice(len(vectors), count, replace=False)).astype(np.int32)) for query in queries
        ]
        ways: dict[str, Callable[[Any], object]] = {
            "mapped float32": lambda given: np.vecdot(placed[given[1]], given[0]),
            "mapped int8 and scale": lambda given: (small[given[1]].astype(np.float32) @ given[0]) * scale[given[1]],
            "taken from Lance": lambda given: lance.scores(*given),
        }
        for name, work in ways.items():
            p50, p95 = spread(work, inputs)
            yield {"candidates": count, "read": name, "p50": p50, "p95": p95}


class Finder(Protocol):
    """What finds the rows nearest to a query."""

    def top(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and their cosines, best first."""
        ...


@dataclass(frozen=True)
class Chosen:
    """Candidates by signs, and their cosines from somewhere."""

    signs: BinaryIndex
    cosines: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def top(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The best of the candidates."""
        rows = self.signs.candidates(query, self.signs.oversampling_for(k), None)
        return top_k(np.asarray(self.cosines(query, rows), np.float32), k, rows)


def searched(reader: Finder, queries: np.ndarray, truth: list[np.ndarray]) -> dict[str, object]:
    """Recall and milliseconds of a reader."""
    found = [reader.top(query, K)[0] for query in queries]
    recall = np.mean([len(np.intersect1d(*pair)) / K for pair in zip(found, truth, strict=True)])
    start = process_time()
    p50, p95 = spread(lambda query: reader.top(query, K), [*queries])
    worked = 1000 * (process_time() - start) / (len(queries) + 1)
    return {"recall@50": float(recall), "p50": p50, "p95": p95, "cpu ms": worked}


def by_signs(arrays: Path, vectors: np.ndarray) -> Iterator[tuple[str, float, float, Finder]]:
    """Our binary index, with exact cosines from three places: name, seconds to build, megabytes."""
    placed, start = open_placed(arrays, "events"), process_time()
    write_binary_index(arrays, "events", placed)
    built, size = process_time() - start, (arrays / "events.signs.npy").stat().st_size / 1e6
    signs = read_binary_index(arrays, "events")
    if signs is None:
        return
    yield "signs, floats mapped", built, size, Chosen(signs, lambda query, rows: np.vecdot(placed[rows], query))
    start = process_time()
    small, scale = as_int8(arrays, vectors)
    built_too, more = process_time() - start, (small.nbytes + scale.nbytes) / 1e6

    def rounded(query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.asarray((small[rows].astype(np.float32) @ query) * scale[rows])

    yield "signs, int8 mapped", built + built_too, size + more, Chosen(signs, rounded)
    lance = open_lance(arrays.parent.parent, "events", placed, signs)
    yield "signs, floats from Lance", built, size, Chosen(signs, lance.scores)


def as_int8(arrays: Path, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vectors as bytes, mapped, and the scale of each."""
    scale = np.abs(vectors).max(axis=1) / 127
    np.save(arrays.parent / "int8.npy", np.round(vectors / scale[:, None]).astype(np.int8))
    return np.load(arrays.parent / "int8.npy", mmap_mode="r"), scale


def readers(
    arrays: Path, vectors: np.ndarray, queries: np.ndarray, indexes: tuple[str, ...]
) -> Iterator[dict[str, object]]:
    """Each reader of the same vectors."""
    placed = open_placed(arrays, "events")
    truth = [*exact_nearest(placed, queries, K)]
    exact = {"reader": "mapped, exact", "build cpu s": 0.0, "MB": 0.0}
    yield exact | searched(DenseVectors(placed), queries, truth)
    for name, built, size, finder in by_signs(arrays, vectors):
        yield {"reader": name, "build cpu s": built, "MB": size} | searched(finder, queries, truth)
    import lancedb.index  # noqa: PLC0415  after what does not need it

    for kind in indexes:
        table = lancedb.connect(arrays.parent.parent / LANCE).open_table("events")
        before, start = _megabytes(arrays), process_time()
        if kind != "flat":
            table.create_index(VECTOR, config=getattr(lancedb.index, kind)(distance_type=METRIC), replace=True)
        told = {"reader": f"Lance, {kind}", "build cpu s": process_time() - start, "MB": _megabytes(arrays) - before}
        searcher = open_lance(arrays.parent.parent, "events", placed, read_binary_index(arrays, "events"))
        yield told | searched(searcher, queries, truth)


def _megabytes(arrays: Path) -> float:
    return sum(path.stat().st_size for path in arrays.parent.parent.rglob("*") if path.is_file()) / 1e6


def show(rows: Iterator[dict[str, object]]) -> list[dict[str, object]]:
    """Print a table, a row as soon as it is there."""
    kept = []
    for row in rows:
        if not kept:
            print(" | ".join(row))
        kept.append(row)
        print(" | ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()), flush=True)
    return kept


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=97_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--indexes", default=",".join(INDEXES))
    parser.add_argument("--mapped", action="store_true", help="our own readers alone, written in blocks")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    if chosen.mapped:
        with tempfile.TemporaryDirectory() as folder:
            show(mapped(Path(folder), chosen.count, chosen.dimension, chosen.queries))
        return
    vectors = np.concatenate([*generated(chosen.count, chosen.dimension)])
    queries = asked(vectors, chosen.queries)
    with tempfile.TemporaryDirectory() as folder:
        arrays = release_of(Path(folder), vectors)
        found = [
            show(rescoring(arrays, vectors, queries)),
            show(readers(arrays, vectors, queries, tuple(chosen.indexes.split(",")))),
        ]
    if chosen.out:
        chosen.out.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
