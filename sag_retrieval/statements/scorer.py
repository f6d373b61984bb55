"""Score statements: how likely a reader understands one alone, and how likely it is worth a line of a report.

The scorer is a seam: another package adds one as an entry point of the group `sag.statement_scorers`, a report takes it
by name (`statement_scorer`). The one here is a logistic model of eleven features of the characters, fitted on judged
statements by `python benchmarks/judged.py quotes`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, cast

from sag_retrieval.core.errors import SettingsError, nearest, shown
from sag_retrieval.core.plugins import Registry
from sag_retrieval.language.words import is_cjk
from sag_retrieval.statements.form import is_figures, refers_back

_SHORT, _SHORT_CJK = 6, 12
"""Words, and Chinese characters, of a statement that is hardly a sentence."""


_LONGEST, _LONGEST_CJK = 500, 220
"""Characters of a statement that a reader takes in as one line of a report."""


class Judged(NamedTuple):
    """What a scorer says of a statement."""

    quotable: float
    """Probability that a reader understands it without what stands around it; from one half on it is quoted."""
    worth: float
    """Probability that it is worth a line of a report; orders what is quoted."""
    reason: str = ""
    """What lowers `quotable` most; empty where it is one half or more."""


class StatementScorer(Protocol):
    """Scores statements, each by its text alone."""

    def __call__(self, sentences: Sequence[str]) -> Sequence[Judged]:
        """One judgement for each sentence, in their order; the same for the same sentence."""
        ...


@dataclass(frozen=True, slots=True)
class NamedScorer:
    """A scorer by its name for users."""

    name: str
    score: StatementScorer


FEATURES: Final = (
    "short",
    "figure",
    "digits",
    "capitals",
    "stop",
    "label",
    "separators",
    "chinese",
    "refers back",
    "figures",
    "exclaims",
)
"""Names of the features, which are reasons that are given; the others are `start` and `length`."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A bias and a weight for each feature, as `benchmarks/judged.py quotes` prints them."""

    bias: float
    of: tuple[float, ...]


QUOTABLE: Final = Weights(-1.307, (-1.642, 1.214, -3.607, -6.063, 2.496, -0.401, -0.04, 0.463, -2.881, -1.369, -1.401))
WORTH: Final = Weights(-3.051, (-1.888, 1.765, 1.309, -3.778, 2.052, -0.531, -0.929, -0.108, -1.704, -0.752, -1.768))


def features(text: str) -> tuple[float, ...]:
    """The features of a statement, in the order of `FEATURES`."""
    bare, is_chinese = text.strip(), is_cjk(text)
    letters = [each for each in bare if each.isalpha()]
    digits = sum(map(str.isdigit, bare))
    size = len(letters) if is_chinese else len(bare.split())
    return (
        float(size < (_SHORT_CJK if is_chinese else _SHORT)),
        float(digits > 0),
        digits / max(len(bare), 1),
        sum(map(str.isupper, letters)) / max(len(letters), 1),
        float(bare.rstrip("\"'”’)）」").endswith((".", "!", "。", "！"))),
        float(":" in bare[:40] or "：" in bare[:20]),
        float(min(3, sum(map(bare.count, "|;；")))),
        float(is_chinese),
        float(refers_back(bare)),
        float(is_figures(bare)),
        float("!" in bare or "！" in bare),
    )


@lru_cache(maxsize=1 << 15)
def _judged(text: str) -> Judged:
    """The judgement, kept: topics, their order, findings and articles ask about the same sentences."""
    bare, found = text.strip(), features(text)
    quotable, worth = (_probability(weights, found) for weights in (QUOTABLE, WORTH))
    if bare[:1].islower() or len(bare) > (_LONGEST_CJK if is_cjk(bare) else _LONGEST):
        return Judged(0.0, 0.0, "start" if bare[:1].islower() else "length")
    lowered = min(range(len(found)), key=lambda place: QUOTABLE.of[place] * (found[place] - _USUAL[place]))
    return Judged(quotable, worth, "" if quotable >= 1 / 2 else FEATURES[lowered])


_USUAL: Final = tuple(float(name in {"figure", "stop"}) for name in FEATURES)
"""The features of a plain statement: a sentence with a figure, and nothing else."""


def _probability(weights: Weights, found: Sequence[float]) -> float:
    total = weights.bias + math.fsum(weight * value for weight, value in zip(weights.of, found, strict=True))
    return round(1 / (1 + math.exp(-total)), 6)


def by_features(sentences: Sequence[str]) -> list[Judged]:
    """Score statements by the logistic model of their features.

    Examples:
        >>> plain, back = by_features(["Marlow Seals delivered 400 O-rings in May 2022.", "However, it rose!"])
        >>> plain.quotable > 0.5 > back.quotable
        True

    """
    return [_judged(each) for each in sentences]


def _adapted(name: str, found: object) -> NamedScorer:
    if not callable(found):
        raise TypeError(f"{found!r} cannot be called with sentences")
    return NamedScorer(name, cast("StatementScorer", found))


SCORERS: Final = Registry("sag.statement_scorers", [NamedScorer("features", by_features)], _adapted)
"""Scorers by name."""


def scorer_named(name: str) -> StatementScorer:
    """The scorer of a name.

    Raises:
        SettingsError: If there is none of this name.
        PluginError: If the package that adds it cannot be used.

    """
    if name not in SCORERS:
        raise SettingsError(f"statement_scorer {shown(name)} is none of {', '.join(SCORERS)}{nearest(name, SCORERS)}")
    return SCORERS[name].score
