"""Retell a part of a long document in a few of its own sentences, spread over it, in reading order."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Final

import numpy as np

from sag_retrieval.communities.events import EventTable, Floats, Rows
from sag_retrieval.communities.narration import Told
from sag_retrieval.communities.similarity import cosines
from sag_retrieval.text.sentences import SumyTokenizer

_STRETCH: Final = 7
"""Events of a stretch at least; a sentence is chosen of each."""
_SAME: Final = 0.6
"""Likeness from which on two sentences say the same."""
_WEIGHED: Final = 200
"""Words of a sentence that are weighed."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A sentence of a document as it is quoted, and the row of its event."""

    row: int
    text: str


def retell(events: EventTable, rows: Rows, told: Sequence[Told], most: int, taken: Collection[str]) -> list[Quoted]:
    """One sentence of each stretch of a part: the one that holds most and names most; none that was taken.

    What holds most is rated by sumy's TextRank over those sentences of the part. A pronoun gives way to the name in
    brackets, unless the sentence before is about the same.

    Source:
        docs/algorithm.md §reports.6.

    """
    ordered = np.sort(rows)
    first = {each.text: each for each in reversed(told) if each.text not in taken}
    told = sorted(first.values(), key=lambda each: each.row)
    value = dict(zip([each.row for each in told], _values(told), strict=True))
    chosen = _spread(events, sorted(value, key=lambda row: (-round(value[row], 9), row)), ordered, most)
    by_row = {each.row: each for each in told}
    found = list[Quoted]()
    for row, before in zip(chosen, [-1, *chosen], strict=False):
        each = by_row[row]
        is_known = each.stands or (before >= 0 and by_row[before].about == each.about)
        text = each.text if is_known else each.quoted(events.keys.values[each.about])
        found.append(Quoted(row, text))
    return found


def _spread(events: EventTable, best: Sequence[int], ordered: Rows, most: int) -> list[int]:
    """The best row of each stretch that says something else; where one has none, the best of those left."""
    count = max(1, min(most, len(ordered) // _STRETCH))
    bounds = [int(ordered[len(ordered) * number // count]) for number in range(count)] + [int(ordered[-1]) + 1]
    chosen: list[int] = []
    for low, high in [*pairwise(bounds), *[(bounds[0], bounds[-1])] * count]:
        own = [row for row in best if low <= row < high and row not in chosen and _is_other(events, row, chosen)]
        chosen += own[:1] if len(chosen) < count else []
    return sorted(chosen)


def _is_other(events: EventTable, row: int, chosen: Sequence[int]) -> bool:
    """Whether a sentence says something else than those that are chosen."""
    others = np.array(chosen, np.int32)
    return not (cosines(events.vectors, np.full(len(chosen), row, np.int32), others) > _SAME).any()


def _values(told: Sequence[Told]) -> list[float]:
    """How much each sentence holds, by its rank among those of the part, and what speaks for quoting it."""
    if not told:
        return []
    ranks = _ranks(central([each.text for each in told]))
    return [rank + each.weight for each, rank in zip(told, ranks, strict=True)]


def _ranks(values: Floats) -> list[float]:
    """The place of each value among all: 0 the lowest, 1 the highest."""
    place = np.argsort(np.argsort(np.round(values, 9), kind="stable"), kind="stable")
    return [number / max(1, len(values) - 1) for number in place.tolist()]


def central(texts: Sequence[str]) -> Floats:
    """How much each sentence shares with the others, by sumy's TextRank; its length where sumy is not installed."""
    if find_spec("sumy") is None:
        return np.array([float(len(text)) for text in texts])
    dom, text_rank = import_module("sumy.models.dom"), import_module("sumy.summarizers.text_rank")
    tokenizer = SumyTokenizer(_WEIGHED)
    sentences = [dom.Sentence(text, tokenizer) for text in texts]
    rated = text_rank.TextRankSummarizer().rate_sentences(dom.ObjectDocumentModel([dom.Paragraph(sentences)]))
    return np.array([rated[each] for each in sentences])
