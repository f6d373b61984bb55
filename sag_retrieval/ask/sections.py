"""What documents say below a heading that names what is asked for: the risks of `Risks`, the points of `待定事项`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow.compute as pc

from sag_retrieval.ask.cited import Cited
from sag_retrieval.ask.passages import JoinedPassage
from sag_retrieval.ask.question import telling_terms
from sag_retrieval.ask.relations import Relation
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.table_answer import MOST_CITED, RowSources
from sag_retrieval.language.data import asked_words, asking
from sag_retrieval.language.layout import Line, LineKind, logical_lines
from sag_retrieval.language.spans import is_weak
from sag_retrieval.language.words import fold, is_cjk, stem, tokens, words
from sag_retrieval.notebook import snippet
from sag_retrieval.statements.header_classes import (
    CLASSES,
    HeaderClass,
    class_words,
    classes_in,
    headed_parts,
    header_class,
    is_done,
    says,
)

_LISTED: Final[frozenset[HeaderClass]] = frozenset({"decision", "risk", "open"})
"""Classes whose statements are prose; owners, deadlines and actions stand in rows, which SQL lists."""
_NOT_DONE: Final[frozenset[HeaderClass]] = frozenset({"action"})
"""Classes whose rows are open points where no heading names any."""
_LEAST_HELD: Final = 0.5
"""Weighted share of the question's other words that a statement holds with what stands above it."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A line, or a row of a table, and what stands above it."""

    document_id: str
    title: str
    language: str
    said: str
    start: int
    end: int
    text: str


def asked_classes(question: str) -> frozenset[HeaderClass]:
    """The classes that a question names or means: `who` means owners.

    Examples:
        >>> sorted(asked_classes("What are the main risks?")), sorted(asked_classes("Who owns the risks?"))
        (['risk'], ['owner', 'risk'])
    """
    folded = fold(question)
    written = {*words(folded), *map(stem, words(folded))}
    meant = {kind for kind in CLASSES for word in map(fold, asked_words(kind, "meant"))
             if (word in folded if is_cjk(word) or " " in word else word in written)}  # fmt: skip
    return classes_in(question) | meant


def without_classes(question: str, asked: Collection[HeaderClass]) -> str:
    """A folded question without the words that name classes of headers, or say them."""
    folded = fold(question)
    for kind in asked:
        folded = says(kind).sub(" ", class_words(kind).sub(" ", folded))
    return folded


def answer_from_sections(
    session: Session, chunks: Collection[str] | None = None
) -> tuple[Cited, tuple[JoinedPassage, ...]] | None:
    """The statements below every heading that names what is asked for, and told decisions, the newest documents first.

    Those in the language of the question come before others, and rows of tables with such a column behind both. None
    where no heading does, or where the question asks for owners, actions or days as well: rows of tables tell those.
    Only passages of `chunks` are quoted, if it is given. Source: docs/algorithm.md §answers.9.
    """
    context, asked = session.context, asked_classes(session.question)
    if context is None or not asked or asked - _LISTED:
        return None
    weights = context.weigh(telling_terms(without_classes(session.question, asked)))
    sources, is_chinese = RowSources(context), session.is_chinese
    found = [*_below_headings(session, asked)]
    found += _decided(session, found) if "decision" in asked else ()
    found.sort(key=lambda each: each.said, reverse=True)
    found.sort(key=lambda each: each.language.startswith("zh") != is_chinese)
    in_rows = asked if found else _NOT_DONE if "open" in asked else frozenset[HeaderClass]()
    found = [each for each in (*found, *_rows(context.relations(), in_rows)) if _holds(each, weights)]
    kept: dict[str, _Statement] = {}
    for each in found:
        if chunks is None or sources.passage(each.document_id, each.start).chunk_id in chunks:
            kept.setdefault(fold(each.text), each)
    lines: dict[str, list[str]] = {}
    for each in list(kept.values())[:MOST_CITED]:
        place = {"document_id": each.document_id, "start": each.start, "end": each.end}
        said = each.text + sources.marker(place, is_cjk(each.text))
        lines.setdefault(each.title, []).append(said if is_cjk(each.text) else f" {said}")
    if not lines:
        return None
    told = [f"{title}{'：' if is_cjk(title) else ':'}{''.join(said)}" for title, said in lines.items()]
    more = len(kept) - MOST_CITED
    told += [f"另有{more}条" if is_chinese else f"and {more} more"] if more > 0 else []
    return sources.cited("\n".join(told)), tuple(sources.passages.values())


def _holds(each: _Statement, weights: Mapping[str, float]) -> bool:
    """Whether a statement holds, with its title and document, enough of the words that a question adds."""
    held = {*tokens(f"{each.document_id} {each.title} {each.text}")}
    total = sum(weights.values())
    return not total or sum(weights[term] for term in weights.keys() & held) >= _LEAST_HELD * total


def _below_headings(session: Session, asked: frozenset[HeaderClass]) -> Iterator[_Statement]:
    assert session.context is not None
    rows = session.context.index.rows["documents"].select(["document_id", "title", "language", "text"])
    names = "|".join(class_words(kind).pattern for kind in sorted(asked))
    rows = rows.filter(pc.match_substring_regex(rows["text"], names, ignore_case=True))
    events = session.context.index.rows["events"].select(["document_id", "said"])
    events = events.filter(pc.is_in(events["document_id"], rows["document_id"]))
    said: dict[str, str] = {}
    for event in events.to_pylist():
        said[event["document_id"]] = max(said.get(event["document_id"], ""), event["said"] or "")
    for row in rows.to_pylist():
        own = (row["document_id"], row["title"], row["language"] or "", said.get(row["document_id"], ""))
        for line in _lines_below(row["text"], asked):
            yield _Statement(*own, line.start, line.end, snippet(row["text"][line.start : line.end]))


def _decided(session: Session, below: Sequence[_Statement]) -> Iterator[_Statement]:
    """The sentences that tell of a decision, but those below such headings, and proposals."""
    assert session.context is not None
    rows = session.context.index.rows
    documents = rows["documents"].select(["document_id", "title", "language"]).to_pylist()
    named = {row["document_id"]: (row["title"], row["language"] or "") for row in documents}
    spans: dict[str, list[tuple[int, int]]] = {}
    for each in below:
        spans.setdefault(each.document_id, []).append((each.start, each.end))
    events = rows["events"].select(["document_id", "content", "said", "start", "end"])
    for document, text, said, start, end in zip(*(column.to_pylist() for column in events.columns), strict=True):
        if start is None or not asking("decides").search(text) or is_weak(text):
            continue
        if not any(first <= start < last for first, last in spans.get(document, ())):
            yield _Statement(document, *named[document], said or "", start, end, snippet(text))


def _lines_below(text: str, asked: frozenset[HeaderClass]) -> Iterator[Line]:
    """The items and paragraphs below headings of a class; no paragraph that only stands before a table."""
    for start, end, kind in headed_parts(text):
        lines = logical_lines(text[start:end]) if kind in asked else []
        kinds = {LineKind.ITEM} if any(each.kind is LineKind.ROW for each in lines) else {LineKind.ITEM, LineKind.PROSE}
        yield from (Line(each.kind, start + each.start, start + each.end) for each in lines if each.kind in kinds)


def _rows(relations: Collection[Relation], asked: Collection[HeaderClass]) -> Iterator[_Statement]:
    """The rows of tables with a column of a class; of actions and what is open those that are not done."""
    for relation in relations:
        named = next((column.header for column in relation.columns if column.of_class in asked), None)
        for row in relation.rows if named else ():
            statuses = (cell.text for header, cell in row.cells.items() if header_class(header) == "status")
            if named in row.cells and not ({"open", "action"} & {*asked} and any(map(is_done, statuses))):
                text = "; ".join(f"{header}: {cell.text}" for header, cell in row.cells.items())
                yield _Statement(row.document_id, relation.titles[0], "", "", row.start, row.end, text)
