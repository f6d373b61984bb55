"""One sentence on each section, for the headers of its chunks."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from sag_pipeline.steps.summaries import SummaryOptions, summarise
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import Document, Section
from sag_retrieval.models.protocols import Reply, Request
from sag_retrieval.prompts import load_prompt

LONGEST_TEXT = 12_000
"""Characters of a section that a model reads: its first three quarters of them, and its last quarter."""
_ONE_SENTENCE = SummaryOptions(sentence_count=1, max_characters=160)


class SectionSummary(BaseModel):
    """The model's answer for one section."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summary: str = Field(description="one sentence on what the section is about")


def section_summary_requests(document: Document, sections: Sequence[Section]) -> list[Request[SectionSummary]]:
    """What to ask: one request a section, in order; none where the document is one section."""
    if len(sections) < 2:  # noqa: PLR2004  one section is the document
        return []
    prompt = load_prompt("section_summaries", document.language, "sag_pipeline.llm.prompts")
    return [
        Request(
            prompt=prompt.fill(
                document_title=document.title,
                section_title=section.title,
                text=_shortened(document.text[section.start : section.end]),
            ),
            answer=SectionSummary,
            step="section_summaries",
            system=prompt.system,
            document_id=document.document_id,
        )
        for section in sections
    ]


def with_summaries(sections: Sequence[Section], replies: Sequence[Reply[SectionSummary] | ModelError]) -> list[Section]:
    """The sections with what the model said; nothing where it failed. No replies: unchanged."""
    if not replies:
        return list(sections)
    said = [" ".join(r.value.summary.split()) if isinstance(r, Reply) else "" for r in replies]
    return [replace(section, summary=text) for section, text in zip(sections, said, strict=True)]


def offline_section_summaries(document: Document, sections: Sequence[Section]) -> list[Section]:
    """The sections with their most important sentence; unchanged where the document is one section."""
    if len(sections) < 2:  # noqa: PLR2004  as above
        return list(sections)
    texts = [replace(document, text=document.text[s.start : s.end]) for s in sections]
    return [
        replace(section, summary=summarise(text, _ONE_SENTENCE).summary)
        for section, text in zip(sections, texts, strict=True)
    ]


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT * 3 // 4]}\n[…]\n{text[-LONGEST_TEXT // 4 :]}"
