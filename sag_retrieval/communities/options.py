"""Options of clustering."""

from dataclasses import dataclass
from typing import Literal

from sag_retrieval.core.errors import SettingsError

ClusterMethod = Literal["leiden", "leiden-modularity", "louvain", "key-type"]
_METHODS = ("leiden", "leiden-modularity", "louvain", "key-type")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """How events are grouped into communities.

    Raises:
        SettingsError: If a value is out of bounds, with the value and the bound.

    Source:
        docs/algorithm.md §reports.1 to §reports.4.

    """

    method: ClusterMethod = "leiden"
    pairs: Literal["candidates", "all"] = "candidates"
    """`all` weighs every pair, as the seed does: exact, at most 5,000 events."""
    use_idf: bool = True
    key_types: tuple[str, ...] = ()
    """Types of keys that tie events together; empty: every type. For `key-type`, the type to group by."""
    without_key_types: tuple[str, ...] = ("title",)
    """Types that tie nothing: a document's title would tie all of its events and no others."""
    alpha: float = 0.7
    """Share of the keys in a pair's weight; the rest is cosine similarity."""
    threshold: float = 0.1
    common_key_limit: int = 100
    """A key with more events than this proposes no pairs; it still counts in the weight of a pair."""
    neighbours_by_meaning: int = 5
    strongest: int = 8
    """Pairs kept for each event."""
    resolution: float | None = None
    """Weight per pair that a community must hold to stay together: larger gives smaller communities.
    None: .005, and more for less than 600 events."""
    levels: int = 3
    level_ratio: float = 0.2
    """Resolution of each level above, relative to the one below."""
    iterations: int = 4
    seed: int = 0

    def resolution_for(self, size: int) -> float:
        """The resolution for so many events: as given, else `max(.005, 3 / events)`.

        Source:
            docs/algorithm.md §reports.3.

        """
        return max(0.005, 3 / max(size, 1)) if self.resolution is None else self.resolution

    def __post_init__(self) -> None:
        """Check every bound once."""
        for name, value, low, high in (
            ("alpha", self.alpha, 0.0, 1.0),
            ("threshold", self.threshold, -1.0, 1.0),
            ("common_key_limit", self.common_key_limit, 2, 1_000_000),
            ("neighbours_by_meaning", self.neighbours_by_meaning, 0, 1_000),
            ("strongest", self.strongest, 1, 1_000),
            ("resolution", self.resolution or 0.0, 0.0, 1e6),
            ("levels", self.levels, 1, 8),
            ("level_ratio", self.level_ratio, 0.0, 1.0),
            ("iterations", self.iterations, 1, 1_000),
        ):
            if not low <= value <= high:
                raise SettingsError(f"{name} is {value}, allowed are {low} to {high}")
        if self.method not in _METHODS:
            raise SettingsError(f"method is {self.method!r}, allowed are {', '.join(_METHODS)}")
        if self.method == "key-type" and len(self.key_types) != 1:
            raise SettingsError(f"method 'key-type' groups by one key type, got {list(self.key_types)}")
