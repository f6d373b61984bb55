"""How far and how wide the graph is walked."""

from dataclasses import dataclass, fields
from typing import Final, Literal

from sag_retrieval.core.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """Bounds of the beam search and who judges; the defaults are the seed's."""

    max_hops: int = 2
    beam_width: int = 6
    top_docs: int = 50
    max_seeds: int = 6
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
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise SettingsError(f"{name}={getattr(self, name)!r} is none of {', '.join(known)}")
        for field in fields(self):
            bounds = _BOUNDS.get(field.name)
            value = getattr(self, field.name)
            if bounds and not bounds[0] <= value <= bounds[1]:
                raise SettingsError(f"{field.name}={value!r} is not between {bounds[0]} and {bounds[1]}")


_BOUNDS: Final = {"max_hops": (0, 6), "beam_width": (1, 100), "top_docs": (1, 10_000), "max_seeds": (1, 100)}
_CHOICES: Final = {
    "seeds": ("words", "linked"),
    "relevance": ("words", "events", "news"),
    "scale": ("range", "rank"),
    "shown": ("paths", "triples"),
    "judged": ("alone", "mixed"),
}
