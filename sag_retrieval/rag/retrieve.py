"""Retrieval: the documents of any search, or of a mode of asking, as the first items of a record."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

from sag_retrieval.ask.modes import ask
from sag_retrieval.ask.options import AskOptions, FoundPassage, Mode, SearchFunction
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.rag.stages import DocumentStage, Item, RAGData, query_of

_KNOWN = ("chunk_id", "document_id", "title", "start", "end", "events", "keys")


@dataclass(frozen=True, kw_only=True)
class Retriever(DocumentStage):
    """Fills `retrieval_*` from a search, such as `partial(release.search, method="bm25")`."""

    stage = "retrieval"

    search: SearchFunction
    top_k: int = 10
    keys: Sequence[str] = ()
    sql: str | None = None

    def _items(self, data: RAGData) -> Iterable[Item]:
        result = self.search(query_of(data, self), self.keys, self.sql, self.top_k)
        return [item_of(hit) for hit in result.hits]


@dataclass(frozen=True, kw_only=True)
class SagRetriever(DocumentStage):
    """Fills `retrieval_*` with the passages that a mode of asking found, those it cites first."""

    stage = "retrieval"

    search: SearchFunction
    mode: Mode = "fast"
    chat: ChatModel | None = None
    options: AskOptions = field(default_factory=AskOptions)

    def _items(self, data: RAGData) -> Iterable[Item]:
        query = query_of(data, self)
        answer = ask(self.search, query, mode=self.mode, chat=self.chat, options=self.options)
        return [item_of(hit) for hit in answer.hits]


def item_of(hit: FoundPassage) -> Item:
    """A hit as an item: `text`, `score` and `metadata` in plain JSON values."""
    metadata = {name: _plain(getattr(hit, name)) for name in _KNOWN if hasattr(hit, name)}
    return {"text": hit.text, "score": float(hit.score), "metadata": metadata}


def _plain(value: Any) -> Any:  # noqa: ANN401  any field of a hit
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
