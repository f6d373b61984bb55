"""Which tiers are searched, how, and who decides to go on."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from sag_retrieval.core.options import Bounds, check_options


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOptions:
    """One tier: whether it is searched, and for how many rows."""

    enabled: bool = True
    """Whether this tier is searched."""
    top_k: Annotated[int, Bounds(1)] = 5
    """Rows of this tier that are hits."""

    def __post_init__(self) -> None:
        """Refuse a count below 1."""
        check_options(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TiersOptions:
    """How the tiers are searched; the defaults are the seed's."""

    method: Literal["rag", "llm"] = "rag"
    """Rows by vectors, with scores; or chosen by the language model among those below its earlier choice."""
    route_intention: bool = True
    """Ask first whether anything must be looked up, and resolve what the question refers to."""
    sufficiency_check: bool = True
    """Ask after categories and after events whether they suffice."""
    category: TierOptions = field(default_factory=TierOptions)
    """The tier of communities."""
    item: TierOptions = field(default_factory=TierOptions)
    """The tier of events."""
    resource: TierOptions = field(default_factory=TierOptions)
    """The tier of documents."""
    candidates: Annotated[int, Bounds(1)] = 100
    """Rows a language model is shown at most; more are preselected by vectors."""
    widen: bool = True
    """Method `llm`: where the tier above found nothing, choose among all rows."""
    language: str | None = None
    """Language of the prompts; None: the question's."""

    def __post_init__(self) -> None:
        """Refuse an unknown method and a count below 1."""
        check_options(self)
