"""Measures of RAGData records: each scores one, leaves it untouched, and keeps its own means."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.sparse import issparse

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.evaluation import metrics
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.rag.stages import RAGData, check_record, docs_of, references_of

Scores = Mapping[str, float]

Score = Callable[[RAGData], Scores]

_TIMES = ("retrieval_time", "reranking_time", "refining_time", "generation_time")


@dataclass
class Evaluator:
    """Scores records one by one; `summary` is the mean of what this one has seen."""

    score: Score
    seen: list[Scores] = field(default_factory=list)

    def execute(self, data: RAGData) -> RAGData:
        """The record as it was, after scoring it."""
        self.seen.append(self.score(check_record(data)))
        return data

    __call__ = execute

    def summary(self) -> dict[str, float]:
        """Mean of every score over the records that had it; empty before the first record."""
        names = dict.fromkeys(name for scores in self.seen for name in scores)
        return {name: float(np.mean([s[name] for s in self.seen if name in s])) for name in names}


def answer_score(name: str, metric: Callable[[str, str], float]) -> Score:
    """A measure of `generated` beside the best of the references."""

    def score(data: RAGData) -> Scores:
        return {name: metrics.best(metric, data.get("generated") or "", references_of(data))}

    return score


def accuracy_score(match: metrics.Match = "contains") -> Score:
    """Whether the answer is right, by one of three ways to match."""
    return answer_score("accuracy", partial(metrics.accuracy, match=match))


def embedding_similarity_score(embedder: Embedder) -> Score:
    """Cosine of the answer and the most similar reference; 0 without any."""

    def score(data: RAGData) -> Scores:
        references = references_of(data)
        if not references:
            return {"embedding_similarity": 0.0}
        vectors = embedder.embed([data.get("generated") or "", *references])
        cosines = vectors[1:] @ vectors[:1].T
        dense = cast("Any", cosines).toarray() if issparse(cosines) else np.asarray(cosines)
        return {"embedding_similarity": float(dense.max())}

    return score


def token_count_score(words: metrics.Tokens = metrics.plain_words) -> Score:
    """Words of the best documents."""
    return lambda data: {"token_count": float(_count(docs_of(data), words))}


def retrieval_recall_score(data: RAGData) -> Scores:
    """Share of a reference's distinct words found in the best documents together."""
    joined = "\n".join(docs_of(data))
    return {"retrieval_recall": metrics.best(metrics.context_recall, joined, references_of(data))}


def compression_score(words: metrics.Tokens = metrics.plain_words) -> Score:
    """How much refining left: `compression_rate` in words, its inverse, and `doc_ratio` in documents.

    Each is 0 where its denominator is empty.
    """

    def score(data: RAGData) -> Scores:
        before, after = data.get("retrieval_docs") or [], data.get("refining_docs") or []
        was, left = _count(before, words), _count(after, words)
        return {
            "compression_rate": _ratio(left, was),
            "compression_factor": _ratio(was, left),
            "doc_ratio": _ratio(len(after), len(before)),
        }

    return score


def latency_score(data: RAGData) -> Scores:
    """Seconds of each stage, of all, and of refining with generation alone, as the seed adds them."""
    parts = {name: float(cast("Any", data).get(name) or 0.0) for name in _TIMES}
    return parts | {
        "total": sum(parts.values()),
        "refining_plus_generation": parts["refining_time"] + parts["generation_time"],
    }


ANSWER_SCORES: dict[str, Score] = {
    "exact_match": answer_score("exact_match", metrics.exact_match),
    "f1": answer_score("f1", metrics.f1),
    "answer_recall": answer_score("answer_recall", metrics.recall),
    "rouge_l": answer_score("rouge_l", metrics.rouge_l),
    "accuracy": accuracy_score(),
    "context_recall": answer_score("context_recall", metrics.context_recall),
    "character_recall": answer_score("character_recall", metrics.character_recall),
}
"""Measures that need the answer and its references alone."""

RECORD_SCORES: dict[str, Score] = ANSWER_SCORES | {
    "token_count": token_count_score(),
    "retrieval_recall": retrieval_recall_score,
    "compression": compression_score(),
    "latency": latency_score,
}
"""Measures of a whole record; `embedding_similarity_score` needs an embedder besides."""


def evaluators(names: Iterable[str] = RECORD_SCORES) -> list[Evaluator]:
    """A fresh evaluator for each name.

    Raises:
        ValueError: If a name is unknown; the message lists those there are.

    """
    chosen = list(names)
    unknown = [name for name in chosen if name not in RECORD_SCORES]
    if unknown:
        raise SettingsError(f"unknown measures {unknown}; there are {list(RECORD_SCORES)}")
    return [Evaluator(RECORD_SCORES[name]) for name in chosen]


def _count(docs: Sequence[str], words: metrics.Tokens) -> int:
    return sum(len(words(text)) for text in docs)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
