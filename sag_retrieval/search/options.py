"""Options of the method `sag`, and the constants of its formulas in three presets."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from sag_retrieval.core.options import Bounds, CheckedOptions, Internal

Count = Annotated[int, Bounds(1, 10_000)]
Share = Annotated[float, Bounds(0, 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """Constants of the three stages, which a method fixes; the defaults are those of `sag`.

    docs/algorithm.md §search explains each number with its formula.
    """

    # stages 1 and 2: from the query to keys
    start: Literal["keys", "events"] = "keys"
    """What the query is first compared with: keys and events, or events alone, whose keys then lead."""
    use_mentions: bool = True
    """Names in the query become seed keys with similarity 1."""
    join_given_keys: bool = True
    """Given keys are added to those of the query; off: they replace them."""
    sharpness: float = 4.0
    """Power to which similarities are raised, since raw cosines are flat."""
    seed_idf: float = 0.5
    """Power of idf / highest idf in the weight of a seed key; 0: idf is not used."""
    back_idf: float = 1.0
    """The same where event weights pass back to keys."""
    normalise: bool = True
    """Divide key weights by their maximum at every hop."""

    # stage 3: from keys to chunks
    similarity_share: float = 1.0
    """Weight of the text similarity in a chunk's initial weight."""
    dense_share: float | None = None
    """Share of the cosine in the text similarity; None: by the embedder's kind and the length of documents."""
    graph: Literal["whole", "candidates", "none"] = "whole"
    """Graph of PageRank: all keys and chunks, or only candidates and final keys; none: initial weights instead."""
    damping: float = 0.7
    """Share of a PageRank step that follows links; the rest restarts."""
    key_share: float | None = 0.6
    """Share of the restart that goes to keys; None: by weight alone."""
    key_trust: float = 2.0
    """Power of the highest seed key weight that scales PageRank; 0: PageRank is not scaled."""
    named_share: float = 0.3
    """Share of the query, by idf, that its names must make up for full trust in their keys; 0: names alone suffice."""
    text_share: float = 0.25
    """Weight of text similarity added to PageRank, before it adapts to document length; 0: none."""
    document_context: float = 0.75
    """Weight of the whole document's BM25 in the text route of a chunk of a long document."""
    neighbour_context: float = 0.2
    """Weight of the better of the two neighbouring chunks in the text route of a chunk of a long document."""

    # what the query names
    named_weight: float = 1.5
    """Weight in BM25 of the terms of names that the query mentions; other terms weigh 1."""
    named_floor: float = 0.5
    """Lowest score, as a share of the best, of the best chunk about a subject that the query names; nearer to 1 for
    long documents; 0: none."""
    named_documents: int = 2
    """Names that more documents are about raise nothing."""

    # the bridge
    bridge_strength: float = 2.0
    """Weight of a bridge in the score of a chunk; 0: no bridges."""
    bridge_need: float = 2.0
    """Where the query names no subject, bridges count by this times its share that the best chunk lacks, at most 1."""
    bridge_starts: int = 4
    """Best chunks from which bridges start."""
    bridge_starts_per_document: int = 2
    """Highest number of these chunks per document."""
    bridge_documents: int = 30
    """Keys found in more documents form no bridge."""
    bridge_floor: float = 0.15
    """Gain of a bridge without any new query term at its end; less for long documents."""
    bridge_limit: float = 0.9
    """Highest score of a bridge's end, as a share of its start's: what is reached stands behind what led there."""

    # joint coverage of the query
    coverage: float = 0.5
    """Gain of a chunk for query terms that no better chunk contains; less for long documents; 0: none."""
    coverage_pool: int = 30
    """Number of chunks reordered by coverage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions(CheckedOptions):
    """How far a search goes, in the order of its stages."""

    key_count: Count = 10
    """Keys taken by similarity to the query, and to each given key."""
    event_count: Count = 50
    """Events taken by similarity to the query."""
    final_count: Count = 30
    """Keys kept by pruning."""
    final_threshold: Share = 0.0
    """Lowest weight of a kept key, as a share of the highest."""
    event_merges: Annotated[int, Bounds(0, 4)] = 0
    """How often the vectors of the best events are merged into the query to find further events."""
    hops: Annotated[int, Bounds(1, 4)] = 1
    """Passes key → event → key, stage 1 included; at most 4."""
    least_gain: Count = 1
    """Hops stop if fewer new keys are found."""
    text_count: Count = 50
    """Chunks taken by similarity of text."""
    rerank: str = ""
    """Cross-encoder that reorders the best 30 chunks: `fastembed:<name or folder>`, or one of sentence-transformers."""
    formula: Annotated[Formula, Internal()] = Formula()
    """The constants of the method."""


SAG: Final = SearchOptions()
"""The default: the corrected formulas, which adapt to long documents."""

SAG_LITERAL: Final = SearchOptions(
    formula=Formula(
        use_mentions=False,
        join_given_keys=False,
        sharpness=1.0,
        seed_idf=0.0,
        back_idf=0.0,
        normalise=False,
        similarity_share=0.5,
        dense_share=0.5,
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
)
"""The original formulas; docs/algorithm.md §search.15 defines what they leave open."""

SAG_EVENTS: Final = SearchOptions(
    formula=Formula(
        start="events",
        graph="none",
        key_trust=0.0,
        text_share=0.0,
        named_floor=0.0,
        bridge_strength=0.0,
        coverage=0.0,
    )
)
"""The simplified form: events lead to keys, and chunks are ranked by their initial weights, without PageRank."""
