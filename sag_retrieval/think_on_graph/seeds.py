"""Where a walk starts: entities that the question names, or shares words with; and whether it goes on."""

import re
from typing import Final

import numpy as np

from sag_retrieval.release.knowledge_graph import KnowledgeGraph, Overlap
from sag_retrieval.text.words import fold

Seed = tuple[int, float]
"""Entity row and score."""

_ENGLISH: Final = re.compile(
    r"\b(?:timelines?|chronolog\w+|before and after|over time|step by step|sequence of|series of|chain of"
    r"|history of|evolution of|development of|evolved?|led to|leading to|followed by|and then|and later"
    r"|after which|since then|result(?:ed|ing) in|relationship between|connection between|trace)\b"
)
_CHINESE: Final = re.compile(
    "时间线|时间轴|时间顺序|前后|先后|历程|演变|演化|来龙去脉|经过|过程|依次|逐步|随后|接着|多次|导致|之间的关系"
    "|時間線|時間軸|前後|先後|歷程|演變|來龍去脈|經過|過程|導致|關係"
)


def find_seeds(graph: KnowledgeGraph, query: str, overlap: Overlap, count: int) -> list[Seed]:
    """At most 2·`count` entities to start from, with scores in (0, 1].

    A named entity scores `min(1, 0.35 + 0.02 · length of its name)`. If fewer than `count` are named, the
    `count` entities that share most words with the question join, at `0.8 · Jaccard`; the higher score
    counts.

    Source:
        docs/algorithm.md §think-on-graph.3

    """
    named = graph.mentioned(query)[:count]
    seeds = {int(row): name_score(graph, row) for row in named}
    if len(seeds) >= count:
        return list(seeds.items())
    sharing = overlap.above_zero()
    likeness = overlap.of(sharing)
    for place in np.lexsort((sharing, -likeness))[:count]:
        row, score = int(sharing[place]), 0.8 * float(likeness[place])
        seeds[row] = max(seeds.get(row, 0.0), score)
    return list(seeds.items())


def name_score(graph: KnowledgeGraph, row: int) -> float:
    """What a named entity scores: the longer its name, the less likely by chance."""
    return min(1.0, 0.35 + 0.02 * len(graph.entities.texts[row]))


def asks_many_hops(query: str) -> bool:
    """Whether the wording of a question asks for a chain of facts; English phrases count as whole words.

    Example:
        >>> asks_many_hops("A timeline of Acme"), asks_many_hops("authentic reviews")
        (True, False)

    """
    text = fold(query)
    return bool(_ENGLISH.search(text) or _CHINESE.search(text))
