"""Think-on-Graph's rank_docs on a graph of a million triples, next to dictionaries of strings as in plain Python.

    python benchmarks/graph_speed.py [--triples 1000000] [--questions 40] [--json FILE]

Also how long a new process needs to map the written graph and to answer once, from disk and from memory. Arrays and
dictionaries get the same graph (names of two or three words, hubs as in real text) and the same questions, and must
agree.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import numpy.typing as npt
import psutil

sys.path.insert(0, str(Path(__file__).parent))
from timing import forget, timed

from sag_retrieval.think_on_graph import GraphOptions, KnowledgeGraph, build_graph, walk

Column = npt.NDArray[np.int32]
Columns = tuple[Column, Column, Column]
Beam = tuple[float, tuple[int, ...], tuple[tuple[int, float], ...]]
WORDS = 20_000
RELATIONS = 400
OPTIONS = GraphOptions(max_hops=2, use_multi_hop=True, use_llm=False)


def make(triples: int, seed: int = 7) -> tuple[list[str], list[str], Columns, Column]:
    """Entities (one for every 2.5 triples), relations, the triples' columns and their documents."""
    draw = np.random.default_rng(seed)
    count = max(10, int(triples / 2.5))
    common = np.minimum(draw.zipf(1.3, (count, 2)), WORDS)
    entities = [f"w{a} w{b} n{i}" for i, (a, b) in enumerate(common.tolist())]
    relations = [f"r{i % 40}_w{i}" for i in range(RELATIONS)]
    ends = np.minimum(draw.zipf(1.6, (2, triples)) * draw.integers(1, count // 50 + 2, (2, triples)), count) - 1
    columns = (
        ends[0].astype(np.int32),
        draw.integers(0, RELATIONS, triples).astype(np.int32),
        ends[1].astype(np.int32),
    )
    return entities, relations, columns, draw.integers(0, triples // 10 + 1, triples).astype(np.int32)


class PlainGraph:
    """The same walk over dictionaries: names are scanned for seeds, token sets are made at every edge."""

    def __init__(self, entities: list[str], relations: list[str], columns: Columns, documents: Column) -> None:
        self.names, self.edges = entities, defaultdict(list)
        for head, relation, tail, document in zip(*(c.tolist() for c in (*columns, documents)), strict=True):
            self.edges[head].append((tail, relations[relation], document))
            self.edges[tail].append((head, relations[relation], document))

    def rank(self, query: str) -> dict[int, float]:
        """Raw document scores."""
        asked = tokens(query)
        kept = sorted(((s, (e,), ()) for e, s in self.seeds(query, asked)), key=lambda b: -b[0])[: OPTIONS.beam_width]
        beams = list(kept)
        for hop in range(1, OPTIONS.max_hops + 1):
            grown = [new for beam in kept for new in self.grow(beam, asked, hop)]
            if not grown:
                break
            kept, seen = [], set()
            for beam in sorted(grown, key=lambda b: -b[0]):
                if beam[1][-1] not in seen and len(kept) < OPTIONS.beam_width:
                    seen.add(beam[1][-1])
                    kept.append(beam)
            beams += kept
        scores = defaultdict(float)
        for score, _, edges in beams:
            for document, relevance in edges:
                scores[document] += 0.6 * score + 0.4 * relevance
        return dict(scores)

    def seeds(self, query: str, asked: set[str]) -> Iterable[tuple[int, float]]:
        """Entities to start from."""
        low = f" {query.lower()} "
        exact = [e for e, name in enumerate(self.names) if f" {name} " in low]
        exact = sorted(exact, key=lambda e: -len(self.names[e]))[: OPTIONS.max_seeds]
        found = {e: min(1.0, 0.35 + 0.02 * len(self.names[e])) for e in exact}
        if len(found) < OPTIONS.max_seeds:
            alike = ((jaccard(asked, tokens(name)), e) for e, name in enumerate(self.names))
            for score, e in sorted((a for a in alike if a[0] > 0), key=lambda a: (-a[0], a[1]))[: OPTIONS.max_seeds]:
                found[e] = max(found.get(e, 0.0), 0.8 * score)
        return found.items()

    def grow(self, beam: Beam, asked: set[str], hop: int) -> Iterator[Beam]:
        """The beam, longer by each relevant edge."""
        score, path, edges = beam
        source = jaccard(asked, tokens(self.names[path[-1]]))
        for target, relation, document in self.edges[path[-1]]:
            if target not in path:
                relevance = (
                    0.45 * jaccard(asked, tokens(relation))
                    + 0.45 * jaccard(asked, tokens(self.names[target]))
                    + 0.10 * source
                )
                if relevance > 0:
                    yield score + 0.75 ** (hop - 1) * relevance, (*path, target), (*edges, (document, relevance))


def tokens(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9']+", text.lower()))


def jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def questions(entities: list[str], graph: KnowledgeGraph, count: int) -> list[str]:
    """One or two entities, a third of them hubs, and words of relations."""
    draw = np.random.default_rng(11)
    hubs = np.argsort(-graph.edges_of.sizes())[: 3 * count]
    picks = np.where(draw.random((count, 2)) < 0.33, hubs[draw.integers(0, len(hubs), (count, 2))],
                     draw.integers(0, len(entities), (count, 2)))  # fmt: skip
    return [f"which r{i % 40} w{i} did {entities[a]} have before {entities[b]}" for i, (a, b) in enumerate(picks)]


def cold(graph: KnowledgeGraph, question: str) -> dict[str, float]:
    """Open and first answer of a written graph in a new process, its files not in memory and once more."""
    with TemporaryDirectory() as folder:
        graph.save(Path(folder))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        command = [sys.executable, __file__, "--open", folder, "--ask", question]
        forget(Path(folder))
        runs = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in "12"]
    return {"megabytes": size / 2**20, "from_disk": runs[0], "from_memory": runs[1]}


def open_and_ask(folder: Path, question: str) -> dict[str, float]:
    """Milliseconds to map a written graph, to answer for the first time and for the second, and memory after."""
    start = perf_counter()
    graph = KnowledgeGraph.open(folder)
    opened = perf_counter()
    walk(graph, question, OPTIONS)
    first = perf_counter()
    walk(graph, question, OPTIONS)
    times = {"open_ms": opened - start, "first_ms": first - opened, "second_ms": perf_counter() - first}
    resident = psutil.Process().memory_info().rss / 2**20
    return {name: 1e3 * seconds for name, seconds in times.items()} | {"resident_mb": resident}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--plain", type=int, default=8, help="questions also asked of the plain graph")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--open", type=Path, help="only map this written graph and answer --ask")
    parser.add_argument("--ask", default="")
    given = parser.parse_args()
    if given.open:
        print(json.dumps(open_and_ask(given.open, given.ask)))
        return
    made = make(given.triples)
    start = perf_counter()
    graph = build_graph(*made)
    built = perf_counter() - start
    asked = questions(made[0], graph, given.questions)
    walk(graph, asked[0], OPTIONS)
    ours = timed(lambda q: walk(graph, q, OPTIONS), asked)
    same = timed(lambda q: walk(graph, q, OPTIONS), asked[: given.plain])
    plain_graph = PlainGraph(*made)
    plain = timed(plain_graph.rank, asked[: given.plain])
    agree = sum(set(walk(graph, q, OPTIONS).raw) == set(plain_graph.rank(q)) for q in asked[: min(4, given.plain)])
    result = {
        "triples": given.triples,
        "entities": len(made[0]),
        "build_seconds": built,
        "new_process": cold(graph, asked[0]),
        "arrays": ours,
        "arrays_same_questions": same,
        "plain_python": plain,
        "ratio_p50": plain["p50_ms"] / same["p50_ms"],
        "questions_with_the_same_documents": f"{agree} of {min(4, given.plain)}",
    }
    print(json.dumps(result, indent=1))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
