"""How far and how wide the graph is walked."""

from dataclasses import dataclass
from typing import Annotated, Literal

from sag_retrieval.core.options import Bounds, check_options


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """Bounds of the beam search and who judges; the defaults are the seed's."""

    max_hops: Annotated[int, Bounds(0, 6)] = 2
    """Longest path, in edges."""
    beam_width: Annotated[int, Bounds(1, 100)] = 6
    """Paths kept after each hop."""
    top_docs: Annotated[int, Bounds(1, 10_000)] = 50
    """Documents that the paths may give."""
    max_seeds: Annotated[int, Bounds(1, 100)] = 6
    """Entities where the walk starts."""
    use_llm: bool = True
    """Let the language model prune paths and score documents, where there is one."""
    pruned: Literal["alone", "filled"] = "alone"
    """Whether only the paths that the language model chose go on, or also the best of those it was not shown."""
    shown: Literal["paths", "triples"] = "paths"
    """What the language model reads of a document: whole paths that pass it, or the triples that it says itself."""
    judged: Literal["alone", "mixed"] = "alone"
    """Whether the language model's scores of documents stand alone, or count half beside their path scores."""
    use_multi_hop: bool | None = None
    """More than one hop: True, False, or None to read it off the question's wording."""
    seeds: Literal["words", "linked"] = "words"
    """Where a walk starts: entities named or alike in words; or those of names, aliases and the best passages."""
    relevance: Literal["words", "events", "news"] = "words"
    """What makes an edge relevant: shared words alone; also the likeness of the event that says it; or also what its
    passage answers that the path has not."""
    scale: Literal["range", "rank"] = "range"
    """How path scores of documents come to [0, 1]: by least and greatest, or by place, which keeps the later ones apart
    from those not reached."""
    stop_when_enough: bool = False
    """Ask the language model after each hop whether the paths suffice."""
    language: str | None = None
    """Language of the prompts; None: the question's."""

    def __post_init__(self) -> None:
        """Refuse numbers out of bounds and unknown choices."""
        check_options(self)
