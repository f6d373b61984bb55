"""Retrieval as a stage: by any search, by a method of a release, or by a mode of asking; again in further rounds."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic_core import to_jsonable_python

from sag_retrieval.ask.modes import ask
from sag_retrieval.ask.options import AskOptions, FoundPassage, Mode, SearchFunction
from sag_retrieval.ask.release_context import ReleaseContext
from sag_retrieval.core.options import Bounds, Internal, build_options
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.rag.stages import DocumentStage, Item, RAGData, items_of, metadata_of, query_of
from sag_retrieval.search.registry import method_entry

_KNOWN = ("chunk_id", "document_id", "title", "start", "end", "events", "keys")


Searcher = Callable[..., SearchFunction]
"""Binds a method, its options and a restriction to a search: `release.searcher`."""
ContextUnder = Callable[[str | None], ReleaseContext]
"""What asking knows of a release, its themes those of the events that a restriction by SQL leaves."""


@dataclass(frozen=True, kw_only=True)
class _Rounds(DocumentStage):
    """Fills `retrieval_*`; in a further round what is new follows what was found before."""

    stage = "retrieval"

    def _items(self, data: RAGData) -> Iterable[Item]:
        query, before = query_of(data, self), items_of(data, ("retrieval",))
        found = [item_of(hit) for hit in self._hits(query, before)]
        known = {_place(item) for item in before}
        return [*before, *(item for item in found if _place(item) not in known)]

    @abstractmethod
    def _hits(self, query: str, before: Sequence[Item]) -> Iterable[FoundPassage]:
        """What this round finds, given what earlier rounds did."""


@dataclass(frozen=True, kw_only=True)
class Retriever(_Rounds):
    """Fills `retrieval_*` from a search, such as `release.searcher("bm25")`."""

    search: SearchFunction
    top_k: int = 10
    keys: Sequence[str] = ()
    sql: str | None = None

    def _hits(self, query: str, before: Sequence[Item]) -> Iterable[FoundPassage]:  # noqa: ARG002  the query says all
        return self.search(query, self.keys, self.sql, self.top_k).hits


@dataclass(frozen=True, kw_only=True)
class MethodRetriever(_Rounds):
    """Fills `retrieval_*` by a method of a release."""

    searcher: Annotated[Searcher, Internal()] = field(repr=False)
    method: str = "sag"
    """One of the methods of `sag search`."""
    top_k: Annotated[int, Bounds(1, 1000)] = 10
    """Passages of this round."""
    keys: tuple[str, ...] = ()
    """Names related to the answer."""
    found_keys: Annotated[int, Bounds(0, 100)] = 0
    """In a further round: also start from this number of the keys that most passages of earlier rounds share."""
    sql: str | None = None
    """Restriction by a SELECT of ids, or a condition over events."""
    where: Mapping[str, object] | None = None
    """Restriction by conditions, such as {"language": "zh"}."""
    options: Mapping[str, object] | None = None
    """Options of the method."""

    def __post_init__(self) -> None:
        super().__post_init__()
        method_entry(self.method).build_options(self.options)

    def _hits(self, query: str, before: Sequence[Item]) -> Iterable[FoundPassage]:
        search = self.searcher(self.method, sql=self.sql, where=self.where, options=self.options)
        keys = [*self.keys, *shared_keys(before, self.found_keys)]
        return search(query, keys, None, self.top_k).hits


@dataclass(frozen=True, kw_only=True)
class AskRetriever(_Rounds):
    """Fills `retrieval_*` with the passages that a mode of asking found in a release, those it cites first."""

    searcher: Annotated[Searcher, Internal()] = field(repr=False)
    chat: Annotated[ChatModel | None, Internal()] = field(default=None, repr=False)
    context: Annotated[ContextUnder | None, Internal()] = field(default=None, repr=False)
    mode: Mode = "normal"
    """How to ask: `fast`, `normal`, `deep` or `global` (the themes of all documents); without a language model `normal`
    and `deep` are `fast`."""
    method: str = "sag"
    """How the mode searches."""
    options: Mapping[str, object] | None = None
    """Options of `sag ask`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        method_entry(self.method)
        build_options(AskOptions, self.options, what="ask")

    def _hits(self, query: str, before: Sequence[Item]) -> Iterable[FoundPassage]:  # noqa: ARG002  as above
        options = build_options(AskOptions, self.options, what="ask")
        chat = None if self.mode == "fast" else self.chat
        context = self.context(options.sql) if self.mode == "global" and self.context else None
        return ask(self.searcher(self.method), query, mode=self.mode, chat=chat, options=options, context=context).hits


def shared_keys(items: Sequence[Item], count: int) -> list[str]:
    """Values of the keys that most of the items have; of equals the one seen first."""
    named = Counter[str]()
    for item in items:
        keys = metadata_of(item).get("keys") or ()
        named.update(dict.fromkeys(str(key["value"] if isinstance(key, Mapping) else key) for key in keys).keys())
    return [value for value, _ in named.most_common(count)]


def item_of(hit: FoundPassage) -> Item:
    """A hit as an item: `text`, `score` and `metadata` in plain JSON values."""
    known = {name: getattr(hit, name) for name in _KNOWN if hasattr(hit, name)}
    metadata = to_jsonable_python(known, fallback=str)
    return {"text": hit.text, "score": float(hit.score), "metadata": metadata}


def _place(item: Item) -> object:
    """What makes two items the same: their place in a document, else their text."""
    metadata = metadata_of(item)
    has_place = {"document_id", "start"} <= set(metadata)
    return (str(metadata["document_id"]), str(metadata["start"])) if has_place else item["text"]
