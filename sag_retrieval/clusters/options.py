"""Options for building communities."""

from dataclasses import dataclass
from typing import Annotated, Literal

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.options import Bounds, Internal, check_options

ClusterMethod = Literal["leiden", "leiden-modularity", "louvain", "key-type", "topics", "sections"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """How events are grouped into communities.

    Raises:
        SettingsError: If a value is out of bounds, with the value and the bound.

    Source: docs/algorithm.md §reports.1 to §reports.4.
    """

    method: ClusterMethod = "leiden"
    """`leiden`: few strong ties, groups keep their size as the corpus grows; `leiden-modularity`; `louvain`;
    `key-type`: by the commonest key of the one type in `key_types`; `topics`: by the words of statements
    to quote, across documents, without regard to keys; `sections`: by the parts of one or two long documents, else as
    `topics`."""
    topics: Annotated[int, Bounds(2, 100)] = 14
    """Topics aimed at, for the method `topics`."""
    pairs: Annotated[Literal["candidates", "all"], Internal()] = "candidates"
    """`all` weighs every pair: exact, for at most 5,000 events."""
    use_idf: bool = True
    """Rare keys tie more than common ones."""
    key_types: tuple[str, ...] = ()
    """Types of keys that tie events together; empty: every type. For `key-type`, the type to group by."""
    without_key_types: tuple[str, ...] = ("title",)
    """Types that tie nothing: a document's title would tie all of its events and no others."""
    alpha: Annotated[float, Bounds(0, 1)] = 0.7
    """Share of the keys in a pair's weight; the rest is cosine similarity."""
    threshold: Annotated[float, Bounds(-1, 1)] = 0.1
    """A pair of events counts from this weight."""
    common_key_limit: Annotated[int, Bounds(2, 1_000_000), Internal()] = 100
    """A key with more events than this proposes no pairs; it still counts in the weight of a pair."""
    neighbours_by_meaning: Annotated[int, Bounds(0, 1_000), Internal()] = 5
    """Events nearest in meaning that each event is paired with."""
    strongest: Annotated[int, Bounds(1, 1_000), Internal()] = 8
    """Pairs kept for each event."""
    resolution: Annotated[float, Bounds(0, 1_000_000)] | None = None
    """Weight per pair that a community must hold to stay together: larger gives smaller communities.
    None: .005, and more for less than 600 events."""
    levels: Annotated[int, Bounds(1, 8)] = 3
    """Most levels of communities."""
    level_ratio: Annotated[float, Bounds(0, 1), Internal()] = 0.2
    """Resolution of each level above, relative to the one below."""
    iterations: Annotated[int, Bounds(1, 1_000), Internal()] = 4
    """Rounds in which communities are refined."""
    seed: Annotated[int, Internal()] = 0
    """Of the random numbers of the clustering."""

    def resolution_for(self, size: int) -> float:
        """The resolution for `size` events: as given, else `max(.005, 3 / events)` (docs/algorithm.md §reports.3)."""
        return max(0.005, 3 / max(size, 1)) if self.resolution is None else self.resolution

    def __post_init__(self) -> None:
        check_options(self)
        if self.method == "key-type" and len(self.key_types) != 1:
            raise SettingsError(f"method 'key-type' groups by one key type, got {list(self.key_types)}")
