"""Answers without a model: the sentences that speak to the question, cited."""

from collections.abc import Sequence

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.cite import Cited
from sag_retrieval.ask.evidence import ScoredSentence, best_sentences, coverage
from sag_retrieval.ask.protocols import FoundPassage
from sag_retrieval.text.words import is_cjk

LEAST_COVERAGE = 0.5
"""Share of the question's terms that the sentences with their titles must hold to count as an answer."""

LEAST_GAIN = 0.3
"""Gain of a sentence beside that of the best one; what adds less is left out."""


def extractive_answer(
    question: str, hits: Sequence[FoundPassage], *, limit: int = 3, budget: int = 600
) -> Cited | None:
    """The best sentences in order of their hits, each with its citation; None where they say too little.

    Source:
        docs/algorithm.md §rag.1

    """
    titles = [hit.title for hit in hits]
    found = best_sentences(question, [hit.text for hit in hits], titles=titles, limit=limit, budget=budget)
    chosen = [sentence for sentence in found if sentence.score >= LEAST_GAIN * found[0].score]
    if coverage(question, chosen, [titles[s.place] for s in chosen]) < LEAST_COVERAGE:
        return None
    citations = tuple(_citation(n, sentence, hits[sentence.place]) for n, sentence in enumerate(chosen, start=1))
    joint = "" if is_cjk(question) else " "
    text = joint.join(f"{_one_line(s.text)}{joint}[{n}]" for n, s in enumerate(chosen, start=1))
    return Cited(text, citations, tuple(dict.fromkeys(s.place for s in chosen)))


def _citation(marker: int, sentence: ScoredSentence, hit: FoundPassage) -> Citation:
    start, end = hit.start + sentence.start, hit.start + sentence.end
    return Citation(marker, hit.chunk_id, hit.document_id, hit.title, start, end, sentence.text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
