"""A retriever for LangChain."""

import asyncio
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from sag_retrieval.api import Release
from sag_retrieval.serve.passages import Search, metadata_of, opened


class LangChainRetriever(BaseRetriever):
    """Passages of a release as LangChain's documents.

    Examples:
        LangChainRetriever(k=5, where={"language": "en"}).invoke("Who made the O-ring?")

    Attributes:
        home: Home of the release; None: SAG_HOME.
        k: Largest number of passages.
        method: How to search.
        options: Options of the method: names and values.
        where: Restriction, as conditions.
        sql: Restriction: a SELECT of ids, or a condition.
        as_of: Only what had been said by this day, month or year.
    """

    home: str | Path | None = None
    k: int = 10
    method: str = "sag"
    options: dict[str, Any] | None = None
    where: dict[str, Any] | None = None
    sql: str | None = None
    as_of: str | None = None
    _release: Release = PrivateAttr()

    def __init__(self, release: Release | None = None, **given: Any) -> None:  # noqa: ANN401  the fields above
        """Hold an opened release, or open the current one of `home`."""
        super().__init__(**given)
        self._release = opened(self.home if release is None else release)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  LangChain's signature
        k: int | None = None,
    ) -> list[Document]:
        return self._found(query, k)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002  LangChain's signature
        k: int | None = None,
    ) -> list[Document]:
        return await asyncio.to_thread(self._found, query, k)

    def _found(self, query: str, k: int | None) -> list[Document]:
        search = Search(method=self.method, options=self.options, where=self.where, sql=self.sql, as_of=self.as_of)
        found = search.find(self._release, query, self.k if k is None else k)
        return [
            Document(page_content=hit.text, id=hit.chunk_id, metadata=metadata_of(hit, found.release)) for hit in found
        ]
