"""Options of the method `sag`, with three presets."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from sag_retrieval.core.options import Bounds, check_options

Count = Annotated[int, Bounds(1, 10_000)]
Share = Annotated[float, Bounds(0, 1)]
Weight = Annotated[float, Bounds(0, 100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Options of the three stages; the defaults are the preset `sag`.

    docs/algorithm.md §search explains each number with its formula.
    """

    # stage 1: from the query to keys
    start: Literal["keys", "events"] = "keys"
    """What the query is first compared with: keys and events, or events alone, whose keys then lead."""
    key_count: Count = 10
    """Keys taken by similarity to the query, and to each given key."""
    event_count: Count = 50
    """Events taken by similarity to the query."""
    use_mentions: bool = True
    """Names in the query become seed keys with similarity 1."""
    join_given_keys: bool = True
    """Given keys are added to those of the query; off: they replace them."""
    sharpness: Annotated[float, Bounds(0.1, 20)] = 4.0
    """Power to which similarities are raised, since raw cosines are flat."""
    seed_idf: Weight = 0.5
    """Power of idf / highest idf in the weight of a seed key; 0: idf is not used."""
    back_idf: Weight = 1.0
    """The same where event weights pass back to keys."""
    final_count: Count = 30
    """Keys kept by pruning."""
    final_threshold: Share = 0.0
    """Lowest weight of a kept key, as a share of the highest."""
    normalise: bool = True
    """Divide key weights by their maximum at every hop."""
    event_merges: Annotated[int, Bounds(0, 4)] = 0
    """How often the vectors of the best events are merged into the query to find further events."""

    # stage 2: further hops
    hops: Annotated[int, Bounds(1, 4)] = 1
    """Passes key → event → key, stage 1 included; at most 4."""
    least_gain: Count = 1
    """Hops stop if fewer new keys are found."""

    # stage 3: from keys to chunks
    text_count: Count = 50
    """Chunks taken by similarity of text."""
    similarity_share: Weight = 1.0
    """Weight of the text similarity in a chunk's initial weight."""
    use_bm25: bool = True
    """Text similarity is half cosine, half BM25, each scaled to [0, 1]; off: cosine only."""
    exact_gain: Annotated[float, Bounds(0, 0.5)] = 0.5
    """Added to the share of BM25 for long documents: their chunks differ mostly in exact words."""
    graph: Literal["whole", "candidates", "none"] = "whole"
    """Graph of PageRank: all keys and chunks, or only candidates and final keys; none: initial weights instead."""
    damping: Annotated[float, Bounds(0, 0.99)] = 0.7
    """Share of a PageRank step that follows links; the rest restarts."""
    key_share: Share | None = 0.6
    """Share of the restart that goes to keys; None: by weight alone."""
    key_trust: Weight = 2.0
    """Power of the highest seed key weight that scales PageRank; 0: PageRank is not scaled."""
    named_share: Share = 0.3
    """Share of the query, by idf, that its names must make up for full trust in their keys; 0: names alone suffice."""
    text_share: Weight = 0.25
    """Weight of text similarity added to PageRank, before it adapts to document length; 0: none."""
    document_context: Weight = 0.75
    """Weight of the whole document's BM25 in the text route of a chunk of a long document."""
    neighbour_context: Weight = 0.2
    """Weight of the better of the two neighbouring chunks in the text route of a chunk of a long document."""

    # what the query names
    named_weight: Annotated[float, Bounds(1, 100)] = 1.5
    """Weight in BM25 of the terms of names that the query mentions; other terms weigh 1."""
    named_floor: Share = 0.5
    """Lowest score, as a share of the best, of the best chunk about a subject that the query names; nearer to 1 for
    long documents; 0: none."""
    named_documents: Annotated[int, Bounds(1, 1_000_000)] = 2
    """Names that more documents are about raise nothing."""

    # the bridge
    bridge_strength: Weight = 2.0
    """Weight of a bridge in the score of a chunk; 0: no bridges."""
    bridge_starts: Annotated[int, Bounds(1, 100)] = 4
    """Best chunks from which bridges start."""
    bridge_starts_per_document: Annotated[int, Bounds(1, 100)] = 2
    """Highest number of these chunks per document."""
    bridge_documents: Annotated[int, Bounds(0, 1_000_000)] = 30
    """Keys found in more documents form no bridge."""
    bridge_floor: Share = 0.15
    """Gain of a bridge without any new query term at its end; less for long documents."""

    # joint coverage of the query
    coverage: Weight = 0.5
    """Gain of a chunk for query terms that no better chunk contains; less for long documents; 0: none."""
    coverage_pool: Annotated[int, Bounds(1, 1000)] = 30
    """Number of chunks reordered by coverage."""

    def __post_init__(self) -> None:
        """Refuse values out of bounds."""
        check_options(self)


SAG: Final = SearchOptions()
"""The default: the corrected formulas, which adapt to long documents."""

SAG_LITERAL: Final = SearchOptions(
    use_mentions=False,
    join_given_keys=False,
    sharpness=1.0,
    seed_idf=0.0,
    back_idf=0.0,
    normalise=False,
    similarity_share=0.5,
    exact_gain=0.0,
    graph="candidates",
    damping=0.85,
    key_share=None,
    key_trust=0.0,
    named_share=0.0,
    text_share=0.0,
    document_context=0.0,
    neighbour_context=0.0,
    named_weight=1.0,
    named_floor=0.0,
    bridge_strength=0.0,
    coverage=0.0,
)
"""The original formulas; docs/algorithm.md §search.15 defines what they leave open."""

SAG_EVENTS: Final = SearchOptions(
    start="events",
    graph="none",
    key_trust=0.0,
    text_share=0.0,
    named_floor=0.0,
    bridge_strength=0.0,
    coverage=0.0,
)
"""The simplified form: events lead to keys, and chunks are ranked by their initial weights, without PageRank."""
