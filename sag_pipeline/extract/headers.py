"""Chunk headers: document and section titles and summaries, put before a chunk's text for embedding and search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from pydantic import Field

from sag_pipeline.extract.summaries import SummaryOptions, summarise
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal
from sag_retrieval.core.records import Document, Section
from sag_retrieval.models.protocols import AnswerShape, Reply, Request
from sag_retrieval.prompts import as_lines, load_prompt

LONGEST_TEXT = 12_000
"""Characters of a section that a model reads: of a longer one the first three quarters of them and the last quarter."""
_LEAST_CUT = 24
"""A summary that would be cut to fewer characters is left out."""
_ONE_SENTENCE = SummaryOptions(sentence_count=1, max_characters=160)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions(CheckedOptions):
    """The parts of a header and its greatest length. The default found most evidence without a model."""

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
    max_length: Annotated[Annotated[int, Bounds(0)] | None, Internal()] = None
    """Characters; None: no limit."""


FULL_HEADER = HeaderOptions(document_summary=True, section_summary=True, sentences=True)
"""Every part, each introduced by a sentence."""
NO_HEADER = HeaderOptions(document_title=False, section_title=False)
"""No header: a chunk is found by its own words."""


class _Parts(NamedTuple):
    title: str
    summary: str
    section: str
    section_summary: str


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

    If it is too long, the section's summary is shortened, then the document's summary, then the section's paragraph is
    left out, and last the title is cut. The chunk's own text is never shortened.

    Source: docs/algorithm.md §sections.9.
    """
    chosen = options or HeaderOptions()
    parts = _Parts(
        title.strip() * chosen.document_title,
        summary.strip() * chosen.document_summary,
        section := section_title.strip() * chosen.section_title,
        section_summary.strip() * (chosen.section_summary and section != ""),
    )
    header = _written(parts, language, chosen)
    limit = chosen.max_length
    if limit is None or len(header) <= limit:
        return header
    for name in ("section_summary", "summary"):
        whole = getattr(parts, name)
        parts = parts._replace(**{name: _cut(whole, len(whole) - len(header) + limit)})
        header = _written(parts, language, chosen)
        if len(header) <= limit:
            return header
    header = _written(parts._replace(section=""), language, chosen)
    return header if len(header) <= limit else _cut(parts.title, limit, least=0)


def _written(parts: _Parts, language: str, options: HeaderOptions) -> str:
    if not options.sentences:
        return "\n".join(part for part in (parts.title, parts.summary, parts.section, parts.section_summary) if part)
    words = _WORDINGS["zh" if language.lower().startswith("zh") else "en"]
    return "\n\n".join(filter(None, (_document(parts, words), _section(parts, words))))


def _document(parts: _Parts, words: _Wording) -> str:
    opening = words.document.format(title=parts.title) if parts.title else words.summary_only
    if not parts.summary:
        return opening if parts.title else ""
    return f"{opening}{words.gap}{parts.summary}"


def _section(parts: _Parts, words: _Wording) -> str:
    if not parts.section:
        return ""
    opening = words.section.format(title=parts.section)
    return f"{opening}{words.gap}{parts.section_summary}" if parts.section_summary else opening


def _cut(text: str, length: int, least: int = _LEAST_CUT) -> str:
    """At most `length` characters, cut at a space if one is near; nothing if under `least` would be left."""
    if len(text) <= length:
        return text
    if length < max(least, 1):
        return ""
    piece = text[: length - 1]
    space = piece.rfind(" ", length * 3 // 4)
    return (piece[:space] if space > 0 else piece).rstrip() + "…"


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
    text = _shortened(document.text[section.start : section.end])
    return {"document": document.title, "section": section.title, "text": text}


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT * 3 // 4]}\n[…]\n{text[-LONGEST_TEXT // 4 :]}"
