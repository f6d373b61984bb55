"""Milliseconds of a search, step by step, at growing sizes, next to plain vector search on the same vectors.

    python benchmarks/search_speed.py [--sizes 10000,100000] [--vectors hashing,dense] [--out FILE]
    python benchmarks/search_speed.py --sizes 10000000 --vectors dense --dimension 96

One query, one thread, warm; steps in processor time, the rest by the wall. `search` is `expand` and `rank` alone,
`events` the vector step over all events, `plain` the same by an exact scan, `hits` reading the texts of a hundred
events from all of them, `joined` the same by Arrow's own `take`. Prints a table, writes JSON.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, thread_time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before numpy: one thread a query

import numpy as np  # noqa: E402
import psutil  # noqa: E402
import pyarrow as pa  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from grown import DENSE, describe, grow, open_grown, questions  # noqa: E402

from sag_retrieval.release.arrays import Index  # noqa: E402
from sag_retrieval.release.csr import map_rows, take_rows  # noqa: E402
from sag_retrieval.release.vectors import DenseVectors  # noqa: E402
from sag_retrieval.search.expand import expand, propagate  # noqa: E402
from sag_retrieval.search.method import Query, best_rows, parse_query  # noqa: E402
from sag_retrieval.search.options import SAG  # noqa: E402
from sag_retrieval.search.rank import rank, walk_trust  # noqa: E402

ROUNDS = 3
BATCH = 65_536
"""Rows of a batch of a release's Arrow files."""
Milliseconds = list[float]


def percentiles(times: Milliseconds) -> dict[str, float]:
    """p50 and p95."""
    ordered = sorted(times)
    return {"p50": statistics.median(ordered), "p95": ordered[int(0.95 * (len(ordered) - 1))]}


def timed(work: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Milliseconds of one call, by the wall or by the processor."""
    start = clock()
    work()
    return 1000 * (clock() - start)


def worked(work: Callable[[], object]) -> float:
    """Milliseconds the processor worked for one call: what a busy machine cannot lengthen much."""
    return timed(work, thread_time)


def one_search(index: Index, question: str) -> np.ndarray:
    """The whole search without hydrating."""
    reading = parse_query(index, Query(question))
    expansion = expand(index, reading, SAG)
    keys, trust = propagate(index, reading, expansion.keys, SAG)[-1], walk_trust(index, reading, expansion.seeds, SAG)
    return best_rows(rank(index, reading, keys, trust, SAG).final, 10)


def steps(index: Index) -> dict[str, dict[str, float]]:
    """Processor time of each step over all questions, several rounds."""
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


def reading(folder: Path, count: int) -> dict[str, dict[str, float]]:
    """Processor time of reading the text of a hundred events from the Arrow file of all."""
    texts = pa.table({"content": [f"{number} " + "what happened " * 8 for number in range(BATCH)]})
    with pa.OSFile(str(folder / "events.arrow"), "wb") as sink, pa.ipc.new_file(sink, texts.schema) as writer:
        for start in range(0, count, BATCH):
            writer.write_table(texts[: count - start])
    table, random = map_rows(folder / "events.arrow"), np.random.default_rng(0)
    chosen = [np.sort(random.integers(0, count, 100)) for _ in range(10)]
    ways: dict[str, Callable[[np.ndarray], object]] = {
        "hits": lambda rows: take_rows(table, rows),
        "joined": lambda rows: table.take(pa.array(rows)),
    }
    return {name: percentiles([worked(lambda r=r, w=way: w(r)) for r in chosen]) for name, way in ways.items()}


def agreement(index: Index) -> float:
    """Share of the final ten that whole-graph PageRank gives as well."""
    import sag_retrieval.search.rank as module  # noqa: PLC0415

    found, usual = {}, module.SMALL_GRAPH
    for limit in (0, sys.maxsize):  # always push, always whole
        module.SMALL_GRAPH = limit  # type: ignore[misc]  measured against each other in one process
        found[limit] = [set(one_search(index, question).tolist()) for question in questions()]
    module.SMALL_GRAPH = usual  # type: ignore[misc]  or all later figures would be those of whole graphs
    return statistics.mean(len(near & exact) / max(1, len(exact)) for near, exact in zip(*found.values(), strict=True))


def recall(index: Index) -> float:
    """Share of the fifty nearest events that the vector step finds, against the exact scan."""
    vectors = index.arrays.vectors["events"]
    if not isinstance(vectors, DenseVectors):
        return 1.0
    exact, found = DenseVectors(vectors.matrix), []
    for question in questions():
        asked = index.embedder.embed([question])
        found.append(len(np.intersect1d(vectors.top(asked, 50)[0], exact.top(asked, 50)[0])) / 50)
    return statistics.mean(found)


def resident(task: tuple[str, int]) -> dict[str, float]:
    """Megabytes of a process that opened the arrays and answered every question once: its own, and mapped files."""
    index = open_grown(Path(task[0]), dense=task[1])
    for question in questions():
        one_search(index, question)
    memory = psutil.Process().memory_info()
    return {"own": (memory.rss - memory.shared) / 2**20, "mapped": memory.shared / 2**20}


_held: dict[str, Index] = {}


def _many(task: tuple[str, int, int]) -> int:
    folder, dense, count = task
    index = _held.setdefault(folder, open_grown(Path(folder), dense=dense))
    listed = questions()
    for number in range(count):
        one_search(index, listed[number % len(listed)])
    return count


def throughput(folder: Path, *, dense: int, count: int) -> dict[str, float]:
    """Queries per second of one thread, two threads and two processes, embedding included."""
    task = (str(folder), dense, count)
    found = {}
    _many((str(folder), dense, 10))
    found["one"] = 1000 * count / timed(lambda: _many(task))
    with ThreadPoolExecutor(2) as pool:
        found["two threads"] = 2000 * count / timed(lambda: list(pool.map(_many, [task] * 2)))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_many, [(str(folder), dense, 10)] * 4))
        found["two processes"] = 2000 * count / timed(lambda: list(pool.map(_many, [task] * 2)))
    return found


def measure(size: int, kind: str, dimension: int) -> dict[str, object]:
    """All figures at one size."""
    dense = dimension if kind == "dense" else 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        built = timed(lambda: grow(folder, size, dense=dense)) / 1000
        opened = [timed(lambda: open_grown(folder, dense=dense)) for _ in range(5)]
        index = open_grown(folder, dense=dense)
        first = timed(lambda: one_search(index, questions()[0]))
        found = {
            "sizes": json.loads(describe(index)),
            "vectors": kind,
            "build_seconds": built,
            "build_peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            "disk_gb": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9,
            "open_ms": min(opened),
            "first_ms": first,
            "steps_ms": steps(index) | reading(folder, index.arrays.event_count),
            "queries_per_second": throughput(folder, dense=dense, count=60 if size > 200_000 else 200),
            "agreement_top_10": agreement(index),
            "recall_at_50": recall(index),
        }
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return found | {"resident_mb": pool.submit(resident, (str(folder), dense)).result()}


def spoken(figures: dict[str, float]) -> str:
    """Names and rounded figures."""
    return ", ".join(f"{name} {figure:.0f}" for name, figure in figures.items())


def show(found: dict[str, object]) -> None:
    """One block a measurement."""
    print(found["vectors"], found["sizes"])
    print(
        f"  build {found['build_seconds']:.1f} s, peak {found['build_peak_gb']:.1f} GB, disk {found['disk_gb']:.2f} GB"
    )
    print(f"  open {found['open_ms']:.1f} ms, first {found['first_ms']:.0f} ms,"
          f" resident {spoken(found['resident_mb'])} MB, agreement {found['agreement_top_10']:.3f},"
          f" recall@50 {found['recall_at_50']:.3f}")  # fmt: skip
    for name, each in found["steps_ms"].items():  # type: ignore[attr-defined]
        print(f"  {name:8} p50 {each['p50']:8.2f}  p95 {each['p95']:8.2f} ms")
    rates = {name: round(rate, 1) for name, rate in found["queries_per_second"].items()}  # type: ignore[attr-defined]
    print(f"  queries per second {rates}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--vectors", default="hashing,dense")
    parser.add_argument("--dimension", type=int, default=DENSE, help="columns of dense vectors")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    results = []
    for size in map(int, chosen.sizes.split(",")):
        for kind in chosen.vectors.split(","):
            results.append(measure(size, kind, chosen.dimension))
            show(results[-1])
    if chosen.out:
        chosen.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
