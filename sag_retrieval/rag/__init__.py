"""Operators on a `RAGData` record: retrieval, reranking, refining, prompt, generation (docs/algorithm/answers.md)."""

from sag_retrieval.rag.generate import ExtractiveRefiner, Generator, ModelRefiner, QAPromptor, Refiner, SummaryRefiner
from sag_retrieval.rag.rerank import CrossEncoderReranker, ModelReranker, PageRankReranker, Reranker, SegmentReranker
from sag_retrieval.rag.retrieve import AskRetriever, MethodRetriever, Retriever
from sag_retrieval.rag.stages import (
    DocumentStage,
    Pipeline,
    RAGData,
    Stage,
    check_record,
    docs_of,
    items_of,
    migrate,
    references_of,
)

__all__ = [  # noqa: RUF022  in the order of the stages
    # the record
    "RAGData", "check_record", "docs_of", "items_of", "migrate", "references_of",
    # stages in general
    "DocumentStage", "Pipeline", "Stage",
    # retrieval
    "AskRetriever", "MethodRetriever", "Retriever",
    # reranking
    "CrossEncoderReranker", "ModelReranker", "PageRankReranker", "Reranker", "SegmentReranker",
    # refining
    "ExtractiveRefiner", "ModelRefiner", "Refiner", "SummaryRefiner",
    # prompt and generation
    "Generator", "QAPromptor",
]  # fmt: skip
