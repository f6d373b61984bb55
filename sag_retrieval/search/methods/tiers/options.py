"""Options of tiered retrieval: which tiers are searched, how, and what decides to continue."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from sag_retrieval.core.options import Bounds, CheckedOptions, Internal


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOptions(CheckedOptions):
    """Options of one tier."""

    enabled: bool = True
    """Whether this tier is searched."""
    top_k: Annotated[int, Bounds(1)] = 5
    """Number of hits in this tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TiersOptions(CheckedOptions):
    """Options of all tiers, see docs/algorithm.md §tiers."""

    method: Literal["rag", "llm"] = "rag"
    """Choose rows by vectors, with scores; or by the language model among the rows below its earlier choice."""
    route_intention: bool = True
    """Ask first whether retrieval is needed, and resolve references in the question."""
    sufficiency_check: bool = True
    """Ask after categories and after events whether they suffice."""
    category: TierOptions = field(default_factory=TierOptions)
    """The tier of communities."""
    item: TierOptions = field(default_factory=TierOptions)
    """The tier of events."""
    resource: TierOptions = field(default_factory=TierOptions)
    """The tier of documents."""
    candidates: Annotated[int, Bounds(1), Internal()] = 100
    """Highest number of rows shown to a language model; more are preselected by vectors."""
    categories: str = "communities"
    """What the categories are: `communities`, or `key:TYPE` for one per text key of a type, such as `key:person`."""
    widen: Annotated[bool, Internal()] = True
    """Method `llm`: if the tier above found nothing, choose among all rows."""
    language: str | None = None
    """Language of the prompts; None: the question's."""
