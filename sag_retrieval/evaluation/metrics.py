"""Compare an answer with its references and a ranking with the gold documents; Chinese is counted by characters."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import fold, is_cjk, normal_form

Match = Literal["contains", "exact", "overlap"]

OVERLAP_THRESHOLD = 0.3
"""Share of a reference's words that counts as a right answer under `match="overlap"`, as in SAGE."""

_ARTICLES = patterns("en")["article"]
_ASCII_MARKS = str.maketrans("", "", string.punctuation)
_LETTERS_OR_DIGITS = re.compile(r"[^\W_]+")
_APOSTROPHES = str.maketrans("", "", "‘’")


def normalise(text: str) -> str:
    """Text for comparing answers: no case, punctuation, articles or spare spaces.

    Source: docs/algorithm.md §evaluation.1.

    Examples:
        >>> normalise("The  Eiffel Tower, it’s in Paris。")
        'eiffel tower its in paris'
    """
    characters = text.translate(_APOSTROPHES)
    spaced = "".join(c if c.isascii() or unicodedata.category(c)[0] != "P" else " " for c in characters)
    folded = normal_form("NFKC", spaced).lower().translate(_ASCII_MARKS)
    return " ".join(_ARTICLES.sub(" ", folded).split())


def plain_words(text: str) -> list[str]:
    """Lower-case words between white space, marks included; each Chinese character is one word."""
    return "".join(f" {c} " if is_cjk(c) else c for c in text).lower().split()


def answer_words(text: str) -> list[str]:
    """Words of the normalised text."""
    return plain_words(normalise(text))


def exact_match(generated: str, reference: str) -> float:
    """1 if the normalised texts are equal, also when both are empty; else 0."""
    return float(normalise(generated) == normalise(reference))


def f1(generated: str, reference: str) -> float:
    """Harmonic mean of precision and recall of words with their counts; both empty 1, one empty 0."""
    left, right = answer_words(generated), answer_words(reference)
    if not left or not right:
        return float(left == right)
    return 2 * _shared(left, right) / (len(left) + len(right))


def recall(generated: str, reference: str) -> float:
    """Share of the reference's words, with their counts, that the answer has; an empty reference gives 0."""
    left, right = answer_words(generated), answer_words(reference)
    return _shared(left, right) / len(right) if right else 0.0


def rouge_l(generated: str, reference: str) -> float:
    """F1 of the longest common subsequence of words; 0 if either text has none (docs/algorithm.md §evaluation.2)."""
    left, right = (_LETTERS_OR_DIGITS.findall(" ".join(plain_words(t))) for t in (generated, reference))
    if not left or not right:
        return 0.0
    return 2 * _longest_common_subsequence(left, right) / (len(left) + len(right))


def accuracy(generated: str, reference: str, match: Match = "contains") -> float:
    """1 if the answer is right: it contains the reference, equals it, or has 30 % of its distinct words."""
    if match == "overlap":
        return float(context_recall(generated, reference) >= OVERLAP_THRESHOLD)
    if match == "exact":
        return exact_match(generated, reference)
    if match == "contains":
        text, run = (" ".join(["", *answer_words(each), ""]) for each in (generated, reference))
        return float(bool(run.strip()) and run in text)
    raise SettingsError(f"match {match!r} is none of 'contains', 'exact', 'overlap'")


def context_recall(generated: str, reference: str) -> float:
    """Share of the reference's distinct plain words found in a text; an empty reference gives 0."""
    wanted = set(plain_words(reference))
    return len(wanted & set(plain_words(generated))) / len(wanted) if wanted else 0.0


def character_recall(generated: str, reference: str) -> float:
    """Share of the reference's distinct characters in a text (SAGE's BRS); an empty reference gives 0."""
    wanted = set(reference)
    return len(wanted & set(generated)) / len(wanted) if wanted else 0.0


def best(metric: Callable[[str, str], float], generated: str, references: Iterable[str]) -> float:
    """The highest value over the references; 0 without any."""
    return max((metric(generated, reference) for reference in references), default=0.0)


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    return (Counter(left) & Counter(right)).total()


def _longest_common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """Its length, computed on integers with one bit per word of one side."""
    places: dict[str, int] = {}
    for at, word in enumerate(right):
        places[word] = places.get(word, 0) | 1 << at
    every = (1 << len(right)) - 1
    unused = every
    for word in left:
        used = unused & places.get(word, 0)
        unused = ((unused + used) | (unused - used)) & every
    return len(right) - unused.bit_count()


_NOT_LETTERS = re.compile(r"[\W_]+")


def distinct(documents: Iterable[str]) -> list[str]:
    """Each document once, at its first place."""
    return list(dict.fromkeys(documents))


def recall_at(documents: Iterable[str], gold: Iterable[str], k: int) -> float:
    """Share of the gold documents, at least one, among k distinct documents (docs/algorithm.md §evaluation.3)."""
    wanted = set(gold)
    if not wanted:
        raise ValueError("recall needs at least one gold document")
    return len(wanted & set(distinct(documents)[:k])) / len(wanted)


def has_all_at(documents: Iterable[str], gold: Iterable[str], k: int) -> float:
    """1 if every gold document is among the first k distinct documents, else 0."""
    return float(set(gold) <= set(distinct(documents)[:k]))


def recall_scores(documents: Sequence[str], gold: Sequence[str], ks: Iterable[int]) -> dict[str, float]:
    """`recall@k` and `all_gold@k` for each k; nothing without gold documents."""
    if not gold:
        return {}
    shares = {f"recall@{k}": recall_at(documents, gold, k) for k in ks}
    return shares | {f"all_gold@{k}": has_all_at(documents, gold, k) for k in ks}


def evidence_coverage(texts: Sequence[str], evidence: Sequence[str | Sequence[str]], characters: int) -> float:
    """Share of evidence sentences within the first `characters` returned characters.

    White space, case and marks are ignored; a sentence counts when all of it is inside, the cells of a table row when
    every cell is. No evidence gives 0. Source: docs/algorithm.md §evaluation.4.
    """
    pieces = [(piece,) if isinstance(piece, str) else piece for piece in evidence]
    wanted = [piece for piece in pieces if any(map(_bare, piece))]
    returned = "\n".join(texts)[:characters]
    return sum(holds(returned, piece) for piece in wanted) / len(wanted) if wanted else 0.0


def holds(text: str, quotes: Iterable[str]) -> bool:
    """Whether a text holds every quote; white space, case and marks are ignored."""
    bare = _bare(text)
    return all(_bare(quote) in bare for quote in quotes)


def find_quote(text: str, quote: str) -> tuple[int, int] | None:
    """Where a quote stands: first character and after the last; white space, case and marks are ignored.

    Examples:
        >>> find_quote("It is Monday. Bread costs 3 euros.", "bread  costs 3 Euros")
        (14, 33)
    """
    kept = [(place, letter) for place, character in enumerate(text) for letter in _bare(character)]
    wanted = _bare(quote)
    first = "".join(letter for _, letter in kept).find(wanted) if wanted else -1
    return None if first < 0 else (kept[first][0], kept[first + len(wanted) - 1][0] + 1)


def _bare(text: str) -> str:
    return _NOT_LETTERS.sub("", fold(text))
