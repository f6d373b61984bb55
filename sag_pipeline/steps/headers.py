"""AutoContext: lines put before a chunk, so that it is found by what its document and section are about."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from sag_retrieval.core.options import Bounds, check_options
from sag_retrieval.text.sentences import sentence_spans

_LEAST_CUT = 24
"""A summary that would be left with fewer characters goes away whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions:
    """Which parts a header has, and how long it may be. The default found most evidence without a model."""

    document_title: bool = True
    """The title of the document."""
    document_summary: bool = False
    """The summary of the document."""
    section_title: bool = True
    """The title of the section."""
    section_summary: bool = False
    """A sentence on the section; makes one for every section."""
    sentences: bool = False
    """Say what the parts are; off: the bare titles and summaries, one a line."""
    max_length: Annotated[int, Bounds(0)] | None = None
    """Characters; None: no limit."""

    def __post_init__(self) -> None:
        """Refuse a limit below 0."""
        check_options(self)


FULL_HEADER = HeaderOptions(document_summary=True, section_summary=True, sentences=True)
"""Every part, in sentences."""
NO_HEADER = HeaderOptions(document_title=False, section_title=False)
"""Nothing: a chunk is found by its own words."""


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


def lead_of(text: str, sentence_count: int = 2, most: int = 300) -> str:
    """The first sentences of a text on one line: a stand-in for its summary that says what it is about."""
    opening = text[: 4 * most]
    found = [opening[start:end] for start, end in sentence_spans(opening)[:sentence_count]]
    return _cut(" ".join(" ".join(found).split()), most, least=0)


def chunk_header(
    title: str,
    summary: str,
    section_title: str,
    section_summary: str,
    language: str,
    options: HeaderOptions | None = None,
) -> str:
    """The header of a chunk: a paragraph on its document and one on its section; empty parts are left out.

    Over the limit the summaries are shortened first, the section's before the document's, then the section's
    paragraph goes, and last the title is cut: never the chunk's own text.

    Source:
        docs/algorithm.md §sections.9

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
