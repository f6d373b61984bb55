"""What the tiers are searched in: three kinds of rows with vectors, restricted before anything is ranked."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

Tier = Literal["category", "item", "resource"]
"""Categories hold items, items come from resources: communities, events, documents."""

RowHit = tuple[str, float | None]
"""Row id and score; None where a language model chose it."""


class TierSource(Protocol):
    """Rows of three tiers; only those that pass the caller's restriction are ever seen."""

    def embed(self, text: str) -> Any:  # noqa: ANN401  whatever `nearest` takes
        """The vector of a query."""
        ...

    def nearest(self, tier: Tier, vector: Any, k: int) -> list[tuple[str, float]]:  # noqa: ANN401  of `embed`
        """The k rows most like a vector with their cosines, best first, ties by row."""
        ...

    def members(self, tier: Tier, parents: Sequence[str] | None) -> list[str]:
        """Rows below some rows of the tier above, each once; None: all rows."""
        ...

    def texts(self, tier: Tier, ids: Sequence[str]) -> list[str]:
        """What a language model reads of each row."""
        ...

    def rows(self, tier: Tier, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Whole rows without vectors."""
        ...
