"""Summaries by a language model: a document's most important sentences said in a few."""

from pydantic import BaseModel, ConfigDict, Field

from sag_pipeline.steps.summaries import SummaryOptions, important_sentences
from sag_retrieval.core.records import Document, Summary
from sag_retrieval.models.protocols import Request
from sag_retrieval.prompts import load_prompt

SENTENCES = 12
"""What the model sees of a document."""
SHORT = 1_500
"""Characters of a document that its own sentences sum up."""


class ExtractedSummary(BaseModel):
    """The model's answer for one document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summary: str = Field(min_length=1)


def summary_request(
    document: Document, options: SummaryOptions | None = None, *, language: str = "auto"
) -> Request[ExtractedSummary] | None:
    """What to ask for a document; None for a short one, or one without sentences: nothing needs a model.

    Source:
        docs/algorithm.md §extraction.28.

    """
    if len(document.text) <= SHORT:
        return None
    chosen = important_sentences(document, options, count=SENTENCES)
    if not chosen:
        return None
    prompt = load_prompt("summaries", prompt_language(document, language), "sag_pipeline.llm.prompts")
    text = prompt.fill(title=document.title, sentences="\n".join(chosen))
    return Request(text, ExtractedSummary, "summaries", prompt.system, document.document_id)


def summary_from_reply(document: Document, answer: ExtractedSummary, options: SummaryOptions | None = None) -> Summary:
    """The summary, cut to `max_characters` as every other."""
    options = options or SummaryOptions()
    text = " ".join(answer.summary.split())
    return Summary(document.document_id, text[: options.max_characters].strip())


def prompt_language(document: Document, language: str) -> str:
    """The language of a document's prompts: its own, unless the setting names one."""
    return document.language if language == "auto" else language


def heading_of(document: Document, summary: str) -> str:
    """What stands before the passages and events of a document in a question: its title and, if given, summary."""
    return "\n".join(line for line in (f"# {document.title}" if document.title else "", summary) if line)
