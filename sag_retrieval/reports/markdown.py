"""GitHub-flavoured Markdown: escaping, statements with footnotes, and tables."""

import re
from collections.abc import Iterator, Sequence

from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.wording import Messages

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~^$])")
_LEADING = re.compile(r"^(\s*)(?:([-+=])|(\d+)([.)]))")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no link, no list, no table cell that ends early."""
    return _LEADING.sub(_escape_start, _MARKUP.sub(r"\\\1", text.replace("&", "&amp;"))).replace("\n", " ")


def _escape_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[2] else f"{match[1]}{match[3]}\\{match[4]}"


def cited(statement: Statement) -> str:
    """A statement with its footnotes."""
    notes = "".join(f"[^{number}]" for number in dict.fromkeys(cite.source for cite in statement.cites))
    return escaped(statement.text) + notes


def dated(statement: Statement) -> str:
    """A statement with its date and its footnotes."""
    return f"{statement.date} {cited(statement)}" if statement.date else cited(statement)


def figures_of(community: RankedCommunity, messages: Messages) -> str:
    """Counts, period and status of a community in one line."""
    parts = [
        messages.counted(messages.event_count, community.size),
        messages.counted(messages.document_count, community.document_count),
        community.period,
        messages.new_count.format(count=f"{community.new_count:,}") if community.new_count else "",
        messages[f"status_{community.status}"],
    ]
    return " · ".join(part for part in parts if part)


def titled(community: RankedCommunity, messages: Messages) -> str:
    """The title of a community and its figures."""
    return f"**{escaped(community.title)}** {figures_of(community, messages)}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table with escaped cells, and an empty line after it."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"
    yield ""
