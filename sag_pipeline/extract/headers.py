"""Chunk headers: document and section titles and summaries, put before a chunk's text for embedding and search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pydantic import Field

from sag_pipeline.extract.summaries import SummaryOptions, summarise
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.options import CheckedOptions
from sag_retrieval.core.records import Document, Section
from sag_retrieval.models.protocols import AnswerShape, Reply, Request
from sag_retrieval.prompts import as_lines, load_prompt

LONGEST_TEXT = 12_000
"""Characters of a section that a model reads: of a longer one the first three quarters of them and the last quarter."""
_ONE_SENTENCE = SummaryOptions(sentence_count=1, max_characters=160)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions(CheckedOptions):
    """The parts of a header. The default found most evidence without a model."""

    document_title: bool = True
    """The title of the document."""
    title_by_model: bool = False
    """Let the language model write the document's title from its start; offline the own title stays."""
    document_summary: bool = False
    """The summary of the document."""
    section_title: bool = True
    """The title of the section."""
    section_summary: bool = False
    """One sentence about the section; a summary of every section is then made."""
    sentences: bool = False
    """Introduce each part by a sentence; off: the bare titles and summaries, one per line."""


FULL_HEADER = HeaderOptions(document_summary=True, section_summary=True, sentences=True)
"""Every part, each introduced by a sentence."""
NO_HEADER = HeaderOptions(document_title=False, section_title=False)
"""No header: a chunk is found by its own words."""


class _Wording(NamedTuple):
    document: str
    summary_only: str
    section: str
    gap: str


_WORDINGS = {
    "en": _Wording(
        "Document context: the following excerpt is from a document titled '{title}'.",
        "Document context:",
        "Section context: this excerpt is from the section titled '{title}'.",
        " ",
    ),
    "zh": _Wording("所在文档：《{title}》。", "所在文档：", "所在章节：“{title}”。", ""),
}


def chunk_header(
    title: str,
    summary: str,
    section_title: str,
    section_summary: str,
    language: str,
    options: HeaderOptions | None = None,
) -> str:
    """The header of a chunk: a paragraph about its document and one about its section; empty parts are left out.

    Source: docs/algorithm.md §sections.9.
    """
    chosen = options or HeaderOptions()
    title, summary = title.strip() * chosen.document_title, summary.strip() * chosen.document_summary
    section = section_title.strip() * chosen.section_title
    section_summary = section_summary.strip() * (chosen.section_summary and section != "")
    if not chosen.sentences:
        return "\n".join(filter(None, (title, summary, section, section_summary)))
    words = _WORDINGS["zh" if language.lower().startswith("zh") else "en"]
    opening = words.document.format(title=title) if title else words.summary_only if summary else ""
    about = words.section.format(title=section) if section else ""
    paragraphs = (words.gap.join(filter(None, part)) for part in ((opening, summary), (about, section_summary)))
    return "\n\n".join(filter(None, paragraphs))


class SectionSummary(AnswerShape):
    """The model's answer for one section."""

    summary: str = Field(description="one sentence on what the section is about")


def section_summary_requests(document: Document, sections: Sequence[Section]) -> list[Request[SectionSummary]]:
    """One request per section, in order; none for a document of one section."""
    if len(sections) < 2:  # noqa: PLR2004  one section is the document
        return []
    prompt = load_prompt("section_summaries", document.language, "sag_pipeline.llm.prompts")
    return [
        Request(
            prompt=prompt.fill(section=as_lines([_shown(document, section)])),
            answer=SectionSummary,
            step="section_summaries",
            system=prompt.system,
            document_id=document.document_id,
        )
        for section in sections
    ]


def with_summaries(sections: Sequence[Section], replies: Sequence[Reply[SectionSummary] | ModelError]) -> list[Section]:
    """The sections with the model's summaries; empty where the model failed. Without replies: unchanged."""
    if not replies:
        return list(sections)
    said = [" ".join(r.value.summary.split()) if isinstance(r, Reply) else "" for r in replies]
    return [replace(section, summary=text) for section, text in zip(sections, said, strict=True)]


def offline_section_summaries(document: Document, sections: Sequence[Section]) -> list[Section]:
    """The sections with their most important sentence as summary; unchanged for a document of one section."""
    if len(sections) < 2:  # noqa: PLR2004  as above
        return list(sections)
    texts = [replace(document, text=document.text[s.start : s.end]) for s in sections]
    return [
        replace(section, summary=summarise(text, _ONE_SENTENCE).summary)
        for section, text in zip(sections, texts, strict=True)
    ]


def _shown(document: Document, section: Section) -> dict[str, object]:
    text = document.text[section.start : section.end]
    if len(text) > LONGEST_TEXT:
        text = f"{text[: LONGEST_TEXT * 3 // 4]}\n[…]\n{text[-LONGEST_TEXT // 4 :]}"
    return {"document": document.title, "section": section.title, "text": text}
