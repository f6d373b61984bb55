"""How likely the best sentence answers a part of a question: a logistic model of four features."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from sag_retrieval.ask.extract import NamedThing, terms_of, title_terms
from sag_retrieval.ask.forms import has_form
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart
from sag_retrieval.ask.quotable import Sentence
from sag_retrieval.language.words import tokens

CONSTANT: Final = -0.80
WEIGHTS: Final = (3.06, -0.35, -0.65, 0.87)
"""Of the features in their order, as `benchmarks/refusals.py` at v0.2.0 fitted them."""
LEAST_ANSWER: Final = 0.5
"""A less likely sentence is shown as the closest one, not as the answer."""
LEAST_CLOSEST: Final = 0.3
"""A less likely one is not shown: on the questions for development none of them held the answer."""


@dataclass(frozen=True, slots=True)
class Features:
    """What tells an answer from a sentence that only shares words with the question; each from 0 to 1."""

    score: float
    """Of the best sentence (docs/algorithm.md §answers.2)."""
    in_passage: float
    """Idf share of the terms that name nothing which its passage or title holds: scattered words are no answer."""
    is_named: float
    """Whether the part names something: names are shared by every sentence about them."""
    is_compared: float
    """Whether it compares: each side holds but a part of what is asked."""


def features_of(
    part: QuestionPart,
    best: Sentence,
    hit: FoundPassage,
    named: Sequence[NamedThing],
    weights: Mapping[str, float],
) -> Features:
    """The features of a part's best sentence, which stands in `hit`."""
    wanted = part.terms - terms_of(named)
    there = frozenset(tokens(hit.text)) | title_terms(hit.title)
    total = math.fsum(weights[term] for term in wanted)
    held = math.fsum(weights[term] for term in wanted if term in there or has_form(term, there))
    return Features(best.score, held / total if total else 0.0, float(bool(named)), float(part.kind == "comparison"))


def likelihood(features: Features) -> float:
    """How likely the sentence answers, from 0 to 1.

    Source:
        docs/algorithm.md §answers.5

    """
    values = astuple(features)
    return 1 / (1 + math.exp(-CONSTANT - sum(w * value for w, value in zip(WEIGHTS, values, strict=True))))
