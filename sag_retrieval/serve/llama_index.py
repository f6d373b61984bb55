"""A retriever and a query engine for LlamaIndex."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from sag_retrieval.api import Release
from sag_retrieval.ask.options import Mode
from sag_retrieval.search.result import Hit
from sag_retrieval.serve.passages import Search, metadata_of, opened


class LlamaIndexRetriever(BaseRetriever):
    """Passages of a release as LlamaIndex's nodes.

    Examples:
        LlamaIndexRetriever(k=5, where={"language": "en"}).retrieve("Who made the O-ring?")
    """

    def __init__(
        self,
        release: Release | str | Path | None = None,
        *,
        k: int = 10,
        callback_manager: CallbackManager | None = None,
        **search: Any,  # noqa: ANN401  the fields of `Search`
    ) -> None:
        """Hold an opened release, or open the current one of a home.

        Args:
            release: The release, a home, or None for SAG_HOME.
            k: Largest number of passages.
            callback_manager: LlamaIndex's own.
            search: `method`, `options`, `where`, `sql`, `as_of`, as of `Release.search`.
        """
        super().__init__(callback_manager=callback_manager)
        self._held, self._k, self._search = opened(release), k, Search(**search)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._search.find(self._held, query_bundle.query_str, self._k)
        return [NodeWithScore(node=node_of(hit, found.release), score=hit.score) for hit in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def node_of(hit: Hit, release_id: str) -> TextNode:
    """A passage as a node that knows its document and its characters; what a model need not read stays out of it."""
    metadata = metadata_of(hit, release_id)
    unread = [name for name in metadata if name not in {"title", "place", "document_id"}]
    return TextNode(
        id_=hit.chunk_id,
        text=hit.text,
        start_char_idx=hit.start,
        end_char_idx=hit.end,
        metadata=metadata,
        excluded_llm_metadata_keys=unread,
        excluded_embed_metadata_keys=unread,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.document_id)},
    )


class LlamaIndexQueryEngine(BaseQueryEngine):
    """Cited answers of a release: `str(response)` is the answer, `response.source_nodes` the passages behind it.

    Examples:
        LlamaIndexQueryEngine(mode="normal").query("Who made the O-ring?")
    """

    def __init__(
        self,
        release: Release | str | Path | None = None,
        *,
        mode: Mode = "fast",
        where: Mapping[str, Any] | None = None,
        sql: str | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """Hold an opened release, or open the current one of a home; the others are arguments of `Release.ask`."""
        super().__init__(callback_manager=callback_manager)
        self._held, self._mode, self._where, self._sql = opened(release), mode, where, sql

    def _query(self, query_bundle: QueryBundle) -> Response:
        found = self._held.ask(query_bundle.query_str, mode=self._mode, where=self._where, sql=self._sql)
        scores = {hit.chunk_id: hit.score for hit in found.hits}
        cited = [
            NodeWithScore(
                node=TextNode(
                    id_=f"{each.chunk_id}:{each.start}",
                    text=each.quote,
                    start_char_idx=each.start,
                    end_char_idx=each.end,
                    metadata={"document_id": each.document_id, "title": each.title, "place": each.place}
                    | {"marker": each.marker, "chunk_id": each.chunk_id, "release": self._held.release_id},
                    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=each.document_id)},
                ),
                score=scores.get(each.chunk_id),
            )
            for each in found.citations
        ]
        told = {"is_found": found.is_found, "mode": found.mode, "notes": list(found.notes)}
        return Response(found.text, source_nodes=cited, metadata=told)

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return await asyncio.to_thread(self._query, query_bundle)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}
