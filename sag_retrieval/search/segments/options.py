"""Options of segment extraction, with three presets."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from sag_retrieval.core.errors import SettingsError, nearest, shown
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal, build_options
from sag_retrieval.core.types import Floats

RelevanceScale = Literal["constant", "raw", "minmax", "calibrated"]
Scaling = Literal["floor", "linear"]
SegmentPreset = Literal["balanced", "precision", "find_all"]

CANDIDATES = 200
"""Hits to pass per query: lower ranks have no weight in any preset but `find_all`."""

_PRESETS_ARE = "presets: balanced, precision, find_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOptions(CheckedOptions):
    """How segments are scored and chosen; lengths are numbers of chunks. The defaults are the preset `balanced`."""

    max_length: Annotated[int, Bounds(1)] = 15
    """Longest segment."""
    overall_max_length: Annotated[int, Bounds(0)] = 30
    """Chunks of all segments together, for one query."""
    overall_max_length_extension: Annotated[int, Bounds(0), Internal()] = 5
    """Added to `overall_max_length` for every query after the first."""
    minimum_value: float = 0.5
    """Segments with a lower value are not returned."""
    irrelevant_chunk_penalty: Annotated[float, Bounds(0)] = 0.18
    """Subtracted from each value. Higher: shorter segments (0.05: 20 to 50 chunks, 0.2: 4 to 10, 0.4: 1 to 3)."""
    decay_rate: Annotated[float, Bounds(0, above=True)] = 30.0
    """Ranks over which the value of a hit falls to 1/e."""
    top_k_for_document_selection: Annotated[int, Bounds(1), Internal()] = 10
    """Only documents of this number of first hits per query are considered."""
    chunk_length_adjustment: Annotated[bool, Internal()] = True
    """Whether longer chunks have more weight."""
    length_scaling: Annotated[Scaling, Internal()] = "floor"
    """`floor`: chunks up to `reference_length` count alike; `linear`: in proportion to their characters."""
    reference_length: Annotated[int, Bounds(1), Internal()] = 700
    """Characters of a chunk that counts once."""
    relevance: Annotated[RelevanceScale | Callable[[Floats], Floats], Internal()] = "calibrated"
    """How a query's scores, best first, become relevance in 0 to 1."""
    fallback_top_k: Annotated[int, Bounds(0), Internal()] = 1
    """Best hits to return as segments if no segment reaches the minimum value; 0: none."""

    def within(self, characters: int, chunk_length: float) -> "SegmentOptions":
        """These options for a budget of characters, a third of it for one segment; chunks have a mean length."""
        count = max(1, round(characters / max(chunk_length, 1.0)))
        return replace(
            self,
            overall_max_length=min(self.overall_max_length, count),
            max_length=min(self.max_length, math.ceil(count / 3)),
        )


PRESETS: dict[str, SegmentOptions] = {
    "balanced": SegmentOptions(),
    "precision": SegmentOptions(minimum_value=0.7, irrelevant_chunk_penalty=0.2),
    "find_all": SegmentOptions(
        max_length=40,
        overall_max_length=200,
        overall_max_length_extension=0,
        minimum_value=0.4,
        decay_rate=200.0,
        top_k_for_document_selection=200,
    ),
}


def segment_options(given: SegmentOptions | Mapping[str, object] | str = "balanced") -> SegmentOptions:
    """The options of a preset, or those of `balanced` with some values replaced."""
    if isinstance(given, str):
        if given not in PRESETS:
            raise SettingsError(f"unknown preset of segments {shown(given)}; {_PRESETS_ARE}{nearest(given, PRESETS)}")
        return PRESETS[given]
    try:
        return build_options(SegmentOptions, given, what="segments")
    except SettingsError as error:
        raise SettingsError(f"{error}; {_PRESETS_ARE}") from None
