"""Sources: the cited passages with their marked sentences and the places that cite them; in Markdown all of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from sag_retrieval.reports.citations import CitedSource
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, escaped

WORDING: Wording = {
    "heading": ("Other sources", "其他来源"),
}


@dataclass(frozen=True, slots=True)
class Sources:
    """The cited passages by number; none until all citations are numbered."""

    passages: tuple[CitedSource, ...] = ()

    @property
    def others(self) -> tuple[CitedSource, ...]:
        """Those that no theme cites first: on the page, a theme has its own."""
        return tuple(each for each in self.passages if not each.first_cited.isdecimal())


def build(context: ReportContext) -> Sources | None:
    """An empty list, filled by `with_sources`; None where there are no events."""
    return Sources() if len(context.events) else None


def with_sources(_content: Sources, passages: tuple[CitedSource, ...]) -> Sources:
    """All cited passages."""
    return Sources(passages)


def markdown(content: Sources, messages: Messages) -> Iterator[str]:
    """Footnotes."""
    for source in content.passages:
        sentences = " … ".join(escaped(piece.text) for piece in source.pieces if piece.cited)
        near = f" ({messages.approximate})" if source.approximate else ""
        file = f"{source.document_id} {source.place}".rstrip()
        where = " · ".join(escaped(part) for part in (source.title, file, source.chunk_id))
        yield f"[^{source.number}]: {where}{near}: “{sentences}”"


SECTION = ReportSection(
    name="sources",
    anchor="sources",
    build=build,
    markdown=markdown,
    wording=WORDING,
    with_sources=with_sources,
    is_folded=True,
    is_footnotes=True,
)
