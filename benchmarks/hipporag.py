"""Paired comparison with HippoRAG 2's ranking, written from its paper, on the same keys, facts and vectors.

    python benchmarks/hipporag.py [--sets musique,musique-rules] [--cache DIR]

Personalised PageRank over phrases and passages. A fact is an event, its phrases are its keys; edges between the phrases
of a fact, from a passage to its phrases, and between phrases of cosine above .8. Restart: phrases of the five facts
most like the question, each by the mean score of its facts over the number of its passages; every passage by .05 of its
scaled cosine. Damping .5. Its filter by a language model is left out, as no model takes part here.
"""

import argparse
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array

sys.path.insert(0, str(Path(__file__).parent))
from judging import CUTS, Outcome, cached, gain, gold_chunks, ingested, spoken
from sets import SETS, Question

from sag_retrieval import Release
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.method import Query
from sag_retrieval.search.registry import method_named
from sag_retrieval.search.weights import min_max

FACTS = 5
PASSAGE_SHARE = 0.05
SYNONYM = 0.8
DAMPING = 0.5
ROUNDS = 40
BLOCK = 500


def walk_of(index: Index) -> csr_array:
    """The column-stochastic graph of phrases, then passages."""
    arrays = index.arrays
    keys, size = arrays.key_count, arrays.key_count + arrays.chunk_count
    chunk = np.repeat(np.arange(arrays.chunk_count), arrays.chunk_keys.sizes()) + keys
    facts, synonyms = _within_facts(index), _synonyms(index)
    left = np.concatenate([facts[:, 0], chunk, synonyms[:, 0]])
    right = np.concatenate([facts[:, 1], arrays.chunk_keys.items, synonyms[:, 1]])
    weight = np.concatenate([np.ones(len(facts) + len(chunk)), synonyms[:, 2]])
    places = np.concatenate([left, right]).astype(int), np.concatenate([right, left]).astype(int)
    graph = csr_array(coo_array((np.concatenate([weight, weight]), places), shape=(size, size)))
    total = graph.sum(axis=0)
    graph.data /= np.where(total > 0, total, 1)[graph.indices]
    return graph


def _within_facts(index: Index) -> np.ndarray:
    lists = index.arrays.event_keys
    pairs = [pair for event in range(len(lists)) for pair in combinations(lists.row(event).tolist(), 2)]
    return np.array(pairs, int).reshape(-1, 2)


def _synonyms(index: Index) -> np.ndarray:
    vectors = csr_array(index.arrays.vectors["keys"].take(np.arange(index.arrays.key_count, dtype=np.int32)))
    found = [np.zeros((0, 3))]
    for start in range(0, vectors.shape[0], BLOCK):
        alike = (vectors[start : start + BLOCK] @ vectors.T).tocoo()
        row, column = alike.coords[0] + start, alike.coords[1]
        near = (alike.data > SYNONYM) & (row < column)
        found.append(np.stack([row[near], column[near], alike.data[near]], axis=1))
    return np.concatenate(found)


def rank(index: Index, walk: csr_array, text: str) -> np.ndarray:
    """Score of every passage."""
    arrays, query = index.arrays, index.embedder.embed([text])
    cosine = np.asarray(arrays.vectors["chunks"].scores(query), float)
    facts, alike = arrays.vectors["events"].top(query, FACTS)
    phrases, count = np.zeros(arrays.key_count), np.zeros(arrays.key_count)
    passages = arrays.key_chunks.sizes()
    for fact, score in zip(facts.tolist(), alike.tolist(), strict=True):
        own = arrays.event_keys.row(fact)
        phrases[own] += score / np.maximum(1, passages[own])
        count[own] += 1
    if not count.any():
        return cosine
    restart = np.concatenate([phrases / np.maximum(count, 1), PASSAGE_SHARE * min_max(cosine)])
    restart /= restart.sum()
    mass = restart
    for _ in range(ROUNDS):
        mass = (1 - DAMPING) * restart + DAMPING * (walk @ mass)
    return mass[arrays.key_count :]


def judged(release: Release, questions: list[Question], scores: Callable[[str], np.ndarray]) -> Outcome:
    """Recall of a ranking of all passages."""
    rows, outcome = release.index.rows["chunks"], Outcome()
    chunk_ids, documents = rows["chunk_id"].to_pylist(), rows["document_id"].to_pylist()
    for question in questions:
        order = np.argsort(-scores(question.text), kind="stable")[:200]
        gold = gold_chunks(release, question) or set(question.documents)
        listed = chunk_ids if question.spans else documents
        ranked = list(dict.fromkeys(listed[row] for row in order))
        outcome.note(question.question_id, gold, ranked)
    return outcome


def ours(release: Release, text: str) -> np.ndarray:
    """The default search, as scores of all passages."""
    found = method_named("sag")(release.index, Query(text, top_k=200))
    scores = np.zeros(release.index.arrays.chunk_count)
    scores[found.chunks] = np.arange(len(found.chunks), 0, -1)
    return scores


def compare(name: str, cache: Path) -> None:
    """Print both and the paired difference."""
    asked = SETS[name]()
    release = ingested(name, asked, cache)
    walk = walk_of(release.index)
    theirs = judged(release, asked.questions, lambda text: rank(release.index, walk, text))
    own = judged(release, asked.questions, lambda text: ours(release, text))
    for label, outcome in (("HippoRAG 2", theirs), ("sag", own)):
        figures = "  ".join(f"{measure} {value:5.1f}" for measure, value in outcome.means().items())
        print(f"{name:14} {label:12} {figures}")
    for cut in CUTS:
        print(f"{name:14} R@{cut} gain {spoken(gain(own, theirs, cut))}", flush=True)


def main() -> None:
    """Compare on the chosen sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="musique,musique-rules,2wiki,hotpot")
    parser.add_argument("--cache", type=Path)
    chosen = parser.parse_args()
    with cached(chosen.cache) as cache:
        for name in chosen.sets.split(","):
            compare(name, cache)


if __name__ == "__main__":
    main()
