"""A retriever for Haystack."""

import asyncio
from dataclasses import asdict
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from sag_retrieval.api import Release
from sag_retrieval.serve.passages import Search, metadata_of, opened


@component
class HaystackRetriever:
    """Passages of a release as Haystack's documents.

    A pipeline that is read from YAML needs `allow_deserialization_module("sag_retrieval.*")` first.

    Examples:
        HaystackRetriever(k=5, where={"language": "en"}).run("Who made the O-ring?")["documents"]
    """

    def __init__(  # noqa: PLR0913  the arguments of a search
        self,
        *,
        home: str | None = None,
        k: int = 10,
        method: str = "sag",
        options: dict[str, Any] | None = None,
        where: dict[str, Any] | None = None,
        sql: str | None = None,
        as_of: str | None = None,
    ) -> None:
        """Hold what to search, as `Release.search` takes it; the release is opened by `warm_up` or the first run."""
        self.home, self.k = home, k
        self._search = Search(method=method, options=options, where=where, sql=sql, as_of=as_of)
        self._release: Release | None = None

    def warm_up(self) -> None:
        """Open the release."""
        if self._release is None:
            self._release = opened(self.home)

    @component.output_types(documents=list[Document])
    def run(self, query: str, k: int | None = None, keys: list[str] | None = None) -> dict[str, list[Document]]:
        """The passages for a query, best first."""
        self.warm_up()
        assert self._release is not None
        found = self._search.find(self._release, query, self.k if k is None else k, keys or ())
        return {
            "documents": [
                Document(id=hit.chunk_id, content=hit.text, score=hit.score, meta=metadata_of(hit, found.release))
                for hit in found
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, k: int | None = None, keys: list[str] | None = None
    ) -> dict[str, list[Document]]:
        """The same, without holding up other tasks."""
        return await asyncio.to_thread(self.run, query, k, keys)

    def to_dict(self) -> dict[str, Any]:
        """What a pipeline's YAML holds of it."""
        return default_to_dict(self, home=self.home, k=self.k, **asdict(self._search))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "HaystackRetriever":
        """The component that a pipeline's YAML names."""
        made: HaystackRetriever = default_from_dict(cls, data)
        return made
