"""The options of graph search: one frozen dataclass, two presets."""

from dataclasses import dataclass, fields
from typing import Final, Literal

from sag_retrieval.core.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How the three stages weigh what they find; the defaults are the preset `sag`.

    Every number is explained where its formula stands, docs/algorithm.md §search.
    """

    # stage 1: from the query to keys
    key_count: int = 10
    """Keys taken by similarity to the query, and to each given key."""
    event_count: int = 50
    """Events taken by similarity to the query."""
    use_mentions: bool = True
    """Names that stand in the query are seed keys of similarity 1."""
    join_given_keys: bool = True
    """Given keys join those of the query; off: they take their place."""
    sharpness: float = 4.0
    """Power to which similarities are raised, since raw cosines are flat."""
    seed_idf: float = 0.5
    """Power of idf / highest idf in the weight of a seed key; 0: idf plays no part."""
    back_idf: float = 1.0
    """The same where event weights flow back to keys."""
    final_count: int = 30
    """Keys kept by pruning."""
    final_threshold: float = 0.0
    """Least weight of a kept key, as a share of the highest."""
    normalise: bool = True
    """Divide key weights by their maximum at every hop."""
    event_merges: int = 0
    """Times the vectors of the best events are merged into the query to look for further events."""

    # stage 2: further hops
    hops: int = 1
    """Passes key → event → key, stage 1 included; at most 4."""
    least_gain: int = 1
    """Fewer new keys than this end the hops."""

    # stage 3: from keys to chunks
    text_count: int = 50
    """Chunks taken by similarity of text."""
    similarity_share: float = 1.0
    """Weight of the text similarity in a chunk's initial weight."""
    use_bm25: bool = True
    """Text similarity is half cosine, half BM25, each scaled to [0, 1]; off: the cosine alone."""
    exact_gain: float = 0.3
    """Added to BM25's half where documents are long: their chunks are alike but for exact words."""
    graph: Literal["whole", "candidates"] = "whole"
    """PageRank runs on the whole key–chunk graph, or on candidates and final keys alone."""
    damping: float = 0.7
    key_share: float | None = 0.6
    """Share of the restart that goes to keys; None: by weight alone."""
    key_trust: float = 2.0
    """Power of the best seed key's weight by which PageRank counts; 0: it always counts in full."""
    text_share: float = 0.25
    """What text similarity adds to PageRank, before it adapts to documents; 0: nothing."""
    document_context: float = 0.5
    """Weight of the whole document's BM25 in the text route of a chunk of a long document."""
    neighbour_context: float = 0.2
    """Weight of the better of the two neighbouring chunks in the text route."""

    # documents that the query names
    named_floor: float = 0.5
    """Least score, as a share of the best, of the best chunk about a thing that the query names, nearer to 1 on long
    documents; 0: none."""
    named_documents: int = 2
    """Names that more documents are about lift nothing."""

    # the bridge
    bridge_strength: float = 2.0
    """0: no bridge."""
    bridge_starts: int = 4
    bridge_starts_per_document: int = 2
    bridge_documents: int = 30
    """Keys of more documents than this build no bridge."""
    bridge_floor: float = 0.15
    """What a bridge carries without any new query term at its end."""
    bridge_doubt: float = 0.3
    """Share of the strength kept on long documents when the query names no chunk's main key."""

    # joint coverage of the query
    coverage: float = 0.5
    """What a chunk gains by query terms that no better one holds; less on long documents, 0: nothing."""
    coverage_pool: int = 30
    """Chunks that are put in order by it."""

    def __post_init__(self) -> None:
        """Refuse numbers out of bounds."""
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise SettingsError(f"{name}={value} is not in [{low}, {high}]; choose a value between them")


_SHARE: Final = (0.0, 1.0)
_COUNT: Final = (1, 10_000)
_WEIGHT: Final = (0.0, 100.0)
_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "key_count": _COUNT,
    "event_count": _COUNT,
    "final_count": _COUNT,
    "text_count": _COUNT,
    "coverage_pool": (1, 1000),
    "bridge_documents": (0, 1_000_000),
    "named_documents": (1, 1_000_000),
    "bridge_starts": (1, 100),
    "bridge_starts_per_document": (1, 100),
    "hops": (1, 4),
    "event_merges": (0, 4),
    "least_gain": _COUNT,
    "sharpness": (0.1, 20.0),
    "final_threshold": _SHARE,
    "damping": (0.0, 0.99),
    "key_share": _SHARE,
    "named_floor": _SHARE,
    "exact_gain": (0.0, 0.5),
    "bridge_floor": _SHARE,
    "bridge_doubt": _SHARE,
} | {
    field.name: _WEIGHT
    for field in fields(SearchOptions)
    if field.name
    in {
        "seed_idf",
        "back_idf",
        "similarity_share",
        "key_trust",
        "text_share",
        "document_context",
        "neighbour_context",
        "bridge_strength",
        "coverage",
    }
}

SAG: Final = SearchOptions()
"""The default: the repaired formulas, adapting to long documents by themselves."""

SAG_LITERAL: Final = SearchOptions(
    use_mentions=False,
    join_given_keys=False,
    sharpness=1.0,
    seed_idf=0.0,
    back_idf=0.0,
    normalise=False,
    similarity_share=0.5,
    use_bm25=False,
    exact_gain=0.0,
    graph="candidates",
    damping=0.85,
    key_share=None,
    key_trust=0.0,
    text_share=0.0,
    document_context=0.0,
    neighbour_context=0.0,
    named_floor=0.0,
    bridge_strength=0.0,
    coverage=0.0,
)
"""The formulas to the letter; what they leave open is settled in docs/algorithm.md §search.15."""
