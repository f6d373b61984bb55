"""Asset `communities`: which events belong together."""

import time
from typing import Any

import dagster as dg
from pydantic import create_model
from sag_retrieval.communities.storage import release_communities
from sag_retrieval.release.releases import Releases

from sag_pipeline.config import config_fields, given_options
from sag_pipeline.resources import PipelineResource, table
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.core.options import build_options
from sag_retrieval.models.open import open_chat, open_embedder
from sag_retrieval.release.reader import open_reader

_SHOWN = 10
_FIELDS = config_fields(ClusterOptions)
_Configured = create_model("_Configured", __base__=dg.Config, **_FIELDS)


class Clustering(_Configured):
    """How events become communities (`sag settings --options cluster`)."""

    def cluster(self) -> ClusterOptions:
        """The same as options, checked."""
        return build_options(ClusterOptions, given_options(self, _FIELDS), what="cluster")


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
