"""What the retrievers of other packages share: how they search, and what they tell of each passage."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sag_retrieval.api import Release, open_release
from sag_retrieval.search.result import Hit, SearchResult, key_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search as a retriever is set up for it; each is an argument of `Release.search`."""

    method: str = "sag"
    options: Mapping[str, Any] | None = None
    where: Mapping[str, Any] | None = None
    sql: str | None = None
    as_of: str | None = None

    def find(self, release: Release, query: str, k: int, keys: Sequence[str] = ()) -> SearchResult:
        """The best `k` passages."""
        return release.search(query, list(keys), top_k=k, **asdict(self))


def opened(release: Release | str | Path | None) -> Release:
    """The release itself, the current one below a home, or below SAG_HOME."""
    return release if isinstance(release, Release) else open_release(release)


def metadata_of(hit: Hit, release_id: str) -> dict[str, Any]:
    """What a retriever tells of a passage besides its text, as plain values that a store of vectors takes too."""
    return {
        "document_id": hit.document_id,
        "title": hit.title,
        "place": hit.place,
        "start": hit.start,
        "end": hit.end,
        "score": hit.score,
        "chunk_id": hit.chunk_id,
        "release": release_id,
        "events": [event.content for event in hit.events],
        "keys": [key_text(key) for key in hit.keys],
        "revised_by": [one.quote for one in hit.revised_by],
    }
