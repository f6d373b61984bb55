"""Which tiers are searched, how, and who decides to go on."""

from dataclasses import dataclass, field
from typing import Literal

from sag_retrieval.core.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOptions:
    """One tier: whether it is searched, and for how many rows."""

    enabled: bool = True
    top_k: int = 5

    def __post_init__(self) -> None:
        """Refuse a count below 1."""
        if self.top_k < 1:
            raise SettingsError(f"top_k={self.top_k} of a tier is less than 1; switch it off with enabled=False")


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
    item: TierOptions = field(default_factory=TierOptions)
    resource: TierOptions = field(default_factory=TierOptions)
    candidates: int = 100
    """Rows a language model is shown at most; more are preselected by vectors."""
    widen: bool = True
    """Method `llm`: where the tier above found nothing, choose among all rows."""
    language: str | None = None
    """Language of the prompts; None: the question's."""

    def __post_init__(self) -> None:
        """Refuse an unknown method and a count below 1."""
        if self.method not in {"rag", "llm"}:
            raise SettingsError(f"method={self.method!r} of tiers is neither 'rag' nor 'llm'")
        if self.candidates < 1:
            raise SettingsError(f"candidates={self.candidates} is less than 1")
