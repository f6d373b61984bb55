"""Asset `communities`: which events belong together."""

import time
from typing import Any

import dagster as dg
from pydantic import Field

from sag_pipeline.metadata import table
from sag_pipeline.resources import PipelineResource
from sag_retrieval.communities.options import ClusterMethod, ClusterOptions
from sag_retrieval.communities.released import release_communities
from sag_retrieval.models.open import open_chat, open_embedder
from sag_retrieval.release.files import Releases
from sag_retrieval.release.reader import open_reader

_SHOWN = 10


_DEFAULTS = ClusterOptions()


class Clustering(dg.Config):
    """How events become communities; the same options and defaults as `ClusterOptions`."""

    method: ClusterMethod = Field(
        default=_DEFAULTS.method,
        description="leiden: few strong ties, groups keep their size as the corpus grows; leiden-modularity; "
        "louvain; key-type: by the commonest key of the one type in key_types.",
    )
    alpha: float = Field(
        default=_DEFAULTS.alpha,
        description="Share of common keys in a pair's weight, 0 to 1; the rest is likeness of meaning.",
    )
    threshold: float = Field(
        default=_DEFAULTS.threshold, description="A pair of events counts above this weight, -1 to 1."
    )
    key_types: list[str] = Field(
        default=list(_DEFAULTS.key_types),
        description="Only keys of these types tie events, such as [person, place]; []: all.",
    )
    levels: int = Field(default=_DEFAULTS.levels, description="At most so many levels of communities, 1 to 8.")
    use_idf: bool = Field(default=_DEFAULTS.use_idf, description="Rare keys tie more than common ones.")
    resolution: float | None = Field(
        default=_DEFAULTS.resolution,
        description="Larger gives smaller communities, such as 0.02; null: fitting the size.",
    )

    def cluster(self) -> ClusterOptions:
        """The same as options, checked."""
        values: dict[str, Any] = {name: getattr(self, name) for name in Clustering.model_fields}
        return ClusterOptions(**{**values, "key_types": tuple(self.key_types)})


@dg.asset(group_name="report", deps=["release"], kinds={"parquet"}, owners=["team:sag"])
def communities(config: Clustering, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Which events of the release in force belong together: a row a community, with title, summary and its events."""
    started, settings = time.perf_counter(), sag.settings()
    reader = open_reader(settings.home, None, open_embedder)
    releases = [each.folder for each in Releases(settings.home).found() if each.folder != reader.folder]
    earlier = releases[-1] if releases else None
    found = release_communities(reader, config.cluster(), open_chat(settings), earlier)
    finest = found.at(0)
    largest = [{"title": each.title, "events": len(each.members)} for each in finest[:_SHOWN]]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(finest),
            "release": reader.manifest.release_id,
            "levels": found.levels,
            **{name: round(float(value), 4) for name, value in _quality(found).items()},
            "largest": table(largest),
            "seconds": round(time.perf_counter() - started, 3),
        }
    )


def _quality(found: Any) -> dict[str, float]:  # noqa: ANN401  Communities
    quality = found.quality[0] if found.quality else None
    names = ("modularity", "coverage", "conductance")
    return {name: getattr(quality, name) for name in names} if quality else {}
