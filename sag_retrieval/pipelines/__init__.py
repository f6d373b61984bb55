"""Pipelines of RAGData stages described in a file: read, bound to a release, run and evaluated."""

from sag_retrieval.pipelines.catalogue import PipelineStages, Resources
from sag_retrieval.pipelines.evaluate import PipelineEvaluation, evaluate_pipeline
from sag_retrieval.pipelines.file import PipelineFile, bind_pipeline, load_pipeline

__all__ = [  # noqa: RUF022  in the order of use
    # a file
    "PipelineFile", "load_pipeline",
    # its stages
    "PipelineStages", "Resources", "bind_pipeline",
    # measures
    "PipelineEvaluation", "evaluate_pipeline",
]  # fmt: skip
