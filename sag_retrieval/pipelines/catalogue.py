"""Every stage that a pipeline file can name: one field each, whose class holds its options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.options import check_options
from sag_retrieval.evaluation.answers import RECORD_SCORES
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.rag.generate import ExtractiveRefiner, Generator, ModelRefiner, QAPromptor, SummaryRefiner
from sag_retrieval.rag.rerank import (
    CrossEncoderReranker,
    ModelReranker,
    PageRankReranker,
    SegmentReranker,
    SourceDocument,
)
from sag_retrieval.rag.retrieve import AskRetriever, ContextUnder, MethodRetriever, Searcher
from sag_retrieval.rag.stages import Clock, RAGData, Stage

MEASURES: Final = ("recall", *RECORD_SCORES)
"""Names of measures: recall of gold documents, then those of the records themselves."""


@dataclass(frozen=True, kw_only=True)
class Measures(Stage):
    """Names what `sag evaluate --pipeline` measures; the record stays as it is."""

    measures: tuple[str, ...] = MEASURES
    """Measures to print, of those in the default."""

    def __post_init__(self) -> None:
        """Refuse a measure that there is not."""
        check_options(self)
        unknown = next((name for name in self.measures if name not in MEASURES), None)
        if unknown is not None:
            raise SettingsError(
                f"measures: {shown(unknown)} is none of {', '.join(MEASURES)}{nearest(unknown, MEASURES)}"
            )

    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:  # noqa: ARG002  it reads only
        return {}


def _needs_release(*_: object, **__: object) -> NoReturn:
    raise QueryError("this pipeline is bound to no release; run it with `release.run(pipeline, question)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What stages work with: searches, documents and themes of a release, and a language model or none."""

    searcher: Searcher = _needs_release
    document: Callable[[str], SourceDocument] = _needs_release
    chat: ChatModel | None = None
    context: ContextUnder | None = None


@dataclass(frozen=True, kw_only=True)
class PipelineStages:
    """One stage of each kind, with its default options."""

    retrieve: MethodRetriever
    """Passages by a method of search; in a further round what is new is added."""
    ask: AskRetriever
    """Passages that a mode of asking found, those it cites first."""
    rerank: PageRankReranker
    """Documents that share keys with good ones come first."""
    rerank_model: ModelReranker
    """The language model chooses the best documents."""
    rerank_cross_encoder: CrossEncoderReranker
    """Documents by the score of a local cross-encoder."""
    segments: SegmentReranker
    """Neighbouring passages become one."""
    refine: ExtractiveRefiner
    """Sentences that match the question, within a budget."""
    refine_summary: SummaryRefiner
    """The most central sentences of each document, within a budget."""
    refine_model: ModelRefiner
    """The language model shortens the documents to a budget."""
    prompt: QAPromptor
    """The prompt from the newest documents."""
    generate: Generator
    """The answer; writes the prompt if there is none for the newest documents."""
    evaluate: Measures
    """Which measures `sag evaluate --pipeline` prints."""

    @classmethod
    def bound(cls, given: Resources | None = None) -> "PipelineStages":
        """The stages over a release and a model; without them stages can be described and checked, not run."""
        at = given or Resources()
        return cls(
            retrieve=MethodRetriever(searcher=at.searcher),
            ask=AskRetriever(searcher=at.searcher, chat=at.chat, context=at.context),
            rerank=PageRankReranker(),
            rerank_model=ModelReranker(chat=at.chat),
            rerank_cross_encoder=CrossEncoderReranker(),
            segments=SegmentReranker(source=at.document),
            refine=ExtractiveRefiner(),
            refine_summary=SummaryRefiner(),
            refine_model=ModelRefiner(chat=at.chat),
            prompt=QAPromptor(),
            generate=Generator(chat=at.chat, promptor=QAPromptor()),
            evaluate=Measures(),
        )


MAIN_OPTION: Final[Mapping[str, str]] = {
    "retrieve": "method",
    "ask": "mode",
    "rerank": "top_k",
    "rerank_model": "keep",
    "rerank_cross_encoder": "model",
    "segments": "options",
    "refine": "budget",
    "refine_summary": "budget",
    "refine_model": "budget",
    "prompt": "language",
    "generate": "max_tokens",
    "evaluate": "measures",
}
"""Of each stage the option that a single value stands for: `segments: precision`."""

FINDS: Final = ("retrieve", "ask")
"""Stages that find documents; the others need one of them ahead."""
ASKS_MODEL: Final = ("ask", "rerank_model", "refine_model", "generate")
"""Stages that use a language model if there is one."""
