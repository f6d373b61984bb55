"""Asset `communities`: which events belong together."""

import time
from typing import Any

import dagster as dg

from sag_pipeline.plots import table
from sag_pipeline.resources import Workshop
from sag_retrieval.models.open import open_chat, open_embedder
from sag_retrieval.release.files import Releases
from sag_retrieval.release.reader import open_reader
from sag_retrieval.reporting import release_communities
from sag_retrieval.reports.options import ClusterOptions

_SHOWN = 10


class Clustering(dg.Config):
    """How events become communities; see `ClusterOptions`."""

    alpha: float = 0.7
    threshold: float = 0.1
    key_types: list[str] = []
    levels: int = 2
    use_idf: bool = True

    def options(self) -> ClusterOptions:
        """The same as options, checked."""
        values: dict[str, Any] = self.model_dump()
        return ClusterOptions(**{**values, "key_types": tuple(self.key_types)})


@dg.asset(group_name="report", deps=["release"], kinds={"parquet"}, owners=["team:sag"])
def communities(config: Clustering, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a community of the release in force, with title, summary and its events."""
    started, settings = time.perf_counter(), workshop.settings()
    reader = open_reader(settings.home, None, open_embedder)
    before = [m.release_id for m in Releases(settings.home).manifests() if m.release_id != reader.manifest.release_id]
    earlier = Releases(settings.home).path(before[-1]) if before else None
    found = release_communities(reader, config.options(), open_chat(settings), earlier)
    finest = found.at(0)
    largest = [{"title": each.title, "events": len(each.members)} for each in finest[:_SHOWN]]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(finest),
            "release": reader.manifest.release_id,
            "levels": found.levels,
            **{name: round(float(value), 4) for name, value in _quality(found).items()},
            "largest": dg.MetadataValue.md(table(largest)),
            "seconds": round(time.perf_counter() - started, 3),
        }
    )


def _quality(found: Any) -> dict[str, float]:  # noqa: ANN401  Communities
    quality = found.quality[0] if found.quality else None
    names = ("modularity", "coverage", "conductance")
    return {name: getattr(quality, name) for name in names} if quality else {}
