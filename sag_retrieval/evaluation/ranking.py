"""How much of what was wanted a ranking brings: by documents, and by evidence within so many characters."""

import re
from collections.abc import Iterable, Sequence

from sag_retrieval.text.words import fold

_NOT_LETTERS = re.compile(r"[\W_]+")


def distinct(documents: Iterable[str]) -> list[str]:
    """Each document once, at its first place."""
    return list(dict.fromkeys(documents))


def recall_at(documents: Iterable[str], gold: Iterable[str], k: int) -> float:
    """Share of the gold documents among the first k distinct documents (docs/algorithm.md §evaluation.3).

    Raises:
        ValueError: If there is no gold document, for a share of nothing says nothing.

    """
    wanted = set(gold)
    if not wanted:
        raise ValueError("recall needs at least one gold document")
    return len(wanted & set(distinct(documents)[:k])) / len(wanted)


def has_all_at(documents: Iterable[str], gold: Iterable[str], k: int) -> float:
    """1 if every gold document is among the first k distinct documents, else 0."""
    return float(set(gold) <= set(distinct(documents)[:k]))


def evidence_coverage(texts: Sequence[str], evidence: Sequence[str], characters: int) -> float:
    """Share of evidence sentences within the first so many returned characters.

    White space, case and marks are ignored; a sentence counts when all of it is inside. No evidence gives 0.

    Source:
        docs/algorithm.md §evaluation.4

    """
    wanted = [_bare(sentence) for sentence in evidence]
    wanted = [sentence for sentence in wanted if sentence]
    returned = _bare("\n".join(texts)[:characters])
    return sum(sentence in returned for sentence in wanted) / len(wanted) if wanted else 0.0


def _bare(text: str) -> str:
    return _NOT_LETTERS.sub("", fold(text))
