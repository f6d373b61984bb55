"""Tiered retrieval without a model next to plain vector search over events, on a made-up release.

python benchmarks/tiers_speed.py [--events 100000] [--dimension 384] [--questions 60] [--json FILE]
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before numpy: one thread a query

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from timing import timed  # noqa: E402

from sag_retrieval.release.arrays import Index, open_arrays, write_arrays  # noqa: E402
from sag_retrieval.release.schema import TABLES  # noqa: E402
from sag_retrieval.release.vectors import write_vectors  # noqa: E402
from sag_retrieval.search.method import Query, parse_query  # noqa: E402
from sag_retrieval.tiers.method import tiers_method  # noqa: E402
from tests.support.graph_parts import graph_parts  # noqa: E402

EVENTS_PER_CHUNK = 5
EVENTS_PER_COMMUNITY = 50
CHUNKS_PER_DOCUMENT = 4


class SeededEmbedder:
    """A direction drawn for each text: the cost of looking up, without the cost of a model."""

    fingerprint = "seeded"

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = [np.random.default_rng(crc32(text.encode())).normal(size=self.dimension) for text in texts]
        vectors = np.array(rows, np.float32).reshape(-1, self.dimension)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def make_index(folder: Path, events: int, dimension: int) -> Index:
    """A release of `events` events over 2,000 keys, with random vectors."""
    draw = np.random.default_rng(3)
    chunks, keys = max(1, events // EVENTS_PER_CHUNK), 2_000
    documents = max(1, chunks // CHUNKS_PER_DOCUMENT)
    words = np.array([f"word{n}" for n in range(5_000)])
    texts = [" ".join(words[row]) for row in np.minimum(draw.zipf(1.3, (chunks, 40)), 4_999)]
    document = np.sort(draw.integers(0, documents, chunks))
    chunk = np.sort(draw.integers(0, chunks, events))
    key = np.minimum(draw.zipf(1.4, events), keys) - 1
    rows = {
        "documents": {"document_id": ids("d", documents), "title": ids("title ", documents)},
        "chunks": {"chunk_id": ids("c", chunks), "document_id": ids("d", document), "text": texts},
        "events": {
            "event_id": ids("e", events),
            "document_id": ids("d", document[chunk]),
            "chunk_id": ids("c", chunk),
            "content": [texts[c][:60] for c in chunk],
        },
        "keys": {"key_id": ids("k", keys), "value_string": ids("key ", keys), "name": ids("key ", keys)},
        "event_keys": {"event_id": ids("e", events), "key_id": ids("k", key)},
        "chunk_keys": {"chunk_id": ids("c", chunk), "key_id": ids("k", key), "count": [1] * events},
    }
    tables = {name: table(name, rows.get(name, {})) for name in TABLES}
    unique = tables["chunk_keys"].group_by(["chunk_id", "key_id"], use_threads=False).aggregate([("count", "sum")])
    pairs = unique.select(["chunk_id", "key_id"]).to_pydict()
    tables["chunk_keys"] = table("chunk_keys", {**pairs, "count": [1] * unique.num_rows})
    write_arrays(folder, graph_parts(tables), tables)
    for name, count in (("events", events), ("chunks", chunks), ("keys", keys)):
        vectors = draw.normal(size=(count, dimension)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        write_vectors(folder / "vectors", name, [(range(count), vectors)], (count, dimension))
    return Index(tables, open_arrays(folder), SeededEmbedder(dimension))


def write_communities(folder: Path, events: int) -> None:
    """Communities of neighbouring events, as a clustering leaves them next to a release."""
    count = max(1, events // EVENTS_PER_COMMUNITY)
    summaries = [f"word{n % 5_000} and word{n * 7 % 5_000}" for n in range(count)]
    rows = {"community_id": ids("g", count), "title": ids("group ", count), "summary": summaries, "level": [0] * count}
    rows["size"] = [EVENTS_PER_COMMUNITY] * count
    member = np.minimum(np.arange(events) // EVENTS_PER_COMMUNITY, count - 1)
    folder.mkdir()
    pq.write_table(pa.table(rows), folder / "communities.parquet")
    members = {"community_id": ids("g", member), "event_id": ids("e", events)}
    pq.write_table(pa.table(members), folder / "community_events.parquet")


def ids(prefix: str, numbers: int | npt.NDArray[np.int64]) -> list[str]:
    """Ids that sort as their numbers do."""
    return [f"{prefix}{n:07}" for n in (range(numbers) if isinstance(numbers, int) else numbers.tolist())]


def table(name: str, columns: dict[str, list[Any]]) -> pa.Table:
    size = len(next(iter(columns.values()), []))
    empty = {pa.string(): "", pa.bool_(): False}
    return pa.table(
        {
            f.name: pa.array(columns.get(f.name, [None if f.nullable else empty.get(f.type, 0)] * size), f.type)
            for f in TABLES[name]
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        index = make_index(Path(folder), given.events, given.dimension)
        write_communities(Path(folder) / "communities", given.events)
        method, events = tiers_method(home=Path(folder)), index.arrays.vectors["events"]
        asked = [f"word{n * 7 % 5000} of word{n * 13 % 300} in word{n}" for n in range(given.questions)]

        def plain(text: str) -> None:
            events.top(parse_query(index, Query(text)).vector, 10)

        for warm in asked[:3]:
            plain(warm)
            method(index, Query(warm))
        result: dict[str, Any] = {
            "events": given.events,
            "communities": max(1, given.events // EVENTS_PER_COMMUNITY),
            "chunks": index.arrays.chunk_count,
            "vector_search": timed(plain, asked),
            "tiers": timed(lambda text: method(index, Query(text)), asked),
        }
    result["added_p50_ms"] = result["tiers"]["p50_ms"] - result["vector_search"]["p50_ms"]
    print(json.dumps(result, indent=1))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
