"""RAGData: one record through retrieval, reranking, refining, prompt and generation (seed 002)."""

from sag_retrieval.rag.generate import ExtractiveRefiner, Generator, ModelRefiner, QAPromptor, Refiner, SummaryRefiner
from sag_retrieval.rag.rerank import (
    CrossEncoderReranker,
    ModelReranker,
    PageRankReranker,
    PassageSource,
    Reranker,
    SegmentReranker,
)
from sag_retrieval.rag.stages import (
    DocumentStage,
    Pipeline,
    RAGData,
    Retriever,
    SagRetriever,
    Stage,
    check_record,
    docs_of,
    migrate,
    references_of,
)

__all__ = [  # noqa: RUF022  in the order of the stages
    # the record
    "RAGData", "check_record", "docs_of", "migrate", "references_of",
    # stages in general
    "DocumentStage", "Pipeline", "Stage",
    # retrieval
    "Retriever", "SagRetriever",
    # reranking
    "CrossEncoderReranker", "ModelReranker", "PageRankReranker", "Reranker", "SegmentReranker", "PassageSource",
    # refining
    "ExtractiveRefiner", "ModelRefiner", "Refiner", "SummaryRefiner",
    # prompt and generation
    "Generator", "QAPromptor",
]  # fmt: skip
