"""The row that a question describes, by words of its own or by a sentence that names it: its cell answers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sag_retrieval.ask.cited import Cited, quotation
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart, question_parts
from sag_retrieval.ask.relations import Relation, RelationRow
from sag_retrieval.ask.release_context import ReleaseContext
from sag_retrieval.ask.sentences import PartAnswer, Sentence, quotable_sentences
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.table_answer import TableAnswer, plan_of, run_plan, today_of
from sag_retrieval.ask.table_question import Filter, Reading, nearest_relations, read_question
from sag_retrieval.ask.values import counts
from sag_retrieval.language.words import fold, is_cjk, tokens
from sag_retrieval.notebook import snippet

_LEAST: Final = 0.5
"""Weighted share of the words that describe a row, which the sentence that names it holds."""
_APART: Final = 0.8
"""Of the best share: a sentence that names another row as well makes the row a guess."""
_LEAST_OWN: Final = 0.75
"""Weighted share of those words that the cells of a row hold themselves."""
_KINDS: Final = {"date": "date", "number": "number", "duration": "number"}


@dataclass(frozen=True, slots=True)
class _Row:
    """The name of a row, and how much of its description is held."""

    value: str
    share: float


@dataclass(frozen=True, slots=True)
class _Named(_Row):
    """A row that a sentence names."""

    sentence: Sentence
    hit: FoundPassage


def answer_over_rows(session: Session) -> TableAnswer | None:
    """The cell of the row that is described: `who has to get the quotes`, `the manager of the site that closes`.

    None where no row, or more than one, is meant. Source: docs/algorithm.md §answers.12.
    """
    context = session.context
    if context is None or context.select is None:
        return None
    near = nearest_relations(session.question, context.relations())
    readings = [asked for each in near if (asked := _asked(session, each))]
    described = [(each, own) for each in readings if (own := _of_cells(each, context.weigh(each.leftover)))]
    if described:
        return _told(session, context, *max(described, key=lambda pair: pair[1].share))
    hits = session.find(session.question, top_k=2 * session.options.top_k).hits if readings else ()
    found = [(each, named) for each in readings if (named := _named(session, each, hits))]
    if not found:
        return None
    reading, named = max(found, key=lambda pair: pair[1].share)
    answer = _told(session, context, reading, named)
    return None if answer is None else _with_sentence(answer, named)


def _told(session: Session, context: ReleaseContext, reading: Reading, row: "_Row") -> TableAnswer | None:
    named = Filter(reading.relation.first.header, "in", row.value)
    known = replace(reading, filters=(*reading.filters, named), leftover=frozenset())
    plan = plan_of(known, today_of(session))
    return run_plan(session, context, plan) if plan else None


def _of_cells(reading: Reading, weights: Mapping[str, float]) -> "_Row | None":
    """The row whose own texts hold the words left over; None where another holds nearly as many, or a number lacks."""
    total, first = math.fsum(weights.values()) or 1.0, reading.relation.first.header
    texts = [each.header for each in reading.relation.columns if each.kind == "text"]
    rows: dict[str, float] = {}
    for row in reading.relation.rows:
        said = frozenset(tokens(" ".join(row.cells[header].text for header in texts if header in row.cells)))
        held = {term for term in weights if term in said}
        is_exact = not any(any(map(str.isdigit, term)) for term in weights.keys() - held)
        if first in row.cells and is_exact:
            share = math.fsum(weights[term] for term in held) / total
            rows[row.cells[first].text] = max(share, rows.get(row.cells[first].text, 0.0))
    ranked = [*sorted(rows.items(), key=lambda each: -each[1])[:2], ("", 0.0), ("", 0.0)]
    is_one = ranked[0][1] >= _LEAST_OWN and ranked[1][1] <= _APART * ranked[0][1]
    return _Row(*ranked[0]) if is_one else None


def _asked(session: Session, relation: Relation) -> Reading | None:
    """A reading that names a column to tell and leaves words over that may describe a row."""
    reading = read_question(session.question, relation, is_bounded=False)
    if not reading.leftover or "" in reading.leftover or reading.form not in ("cell", "count"):
        return None
    key = relation.first
    targets = [column for column in reading.mentioned if column != key]
    if not targets:
        kind = _KINDS.get(question_parts(session.question)[0].kind)
        fitting = [column for column in relation.columns if column.kind == kind]
        targets = fitting if len(fitting) == 1 and key in reading.mentioned else []
    if not targets or (reading.form == "count" and (reading.counted is None or reading.counted.kind != "number")):
        return None
    return replace(reading, form="cell", mentioned=(*dict.fromkeys([key, *targets]),))


def _named(session: Session, reading: Reading, hits: Sequence[FoundPassage]) -> _Named | None:
    """The sentence that names one row and describes it as the question does; None where others describe another."""
    assert session.context is not None
    weights = session.context.weigh(reading.leftover)
    ranked = sorted(_sentences(weights, reading.relation, hits), key=lambda each: -each.share)
    if not ranked or ranked[0].share < _LEAST:
        return None
    others = [each for each in ranked if each.value != ranked[0].value and each.share > _APART * ranked[0].share]
    return None if others else ranked[0]


def _sentences(weights: Mapping[str, float], relation: Relation, hits: Sequence[FoundPassage]) -> Iterator[_Named]:
    """Sentences outside of the relation that hold exactly one name of its rows."""
    total = math.fsum(weights.values()) or 1.0
    own = {document for document, _ in relation.tables}
    for place, hit in enumerate(hits):
        if hit.document_id in own:
            continue
        for sentence in quotable_sentences(place, hit.text, hit.title):
            folded = fold(sentence.text)
            values = {text for name, text in relation.first.values.items() if len(name) > 1 and _holds(folded, name)}
            if len(values) == 1:
                share = math.fsum(weight for term, weight in weights.items() if term in sentence.terms) / total
                yield _Named(values.pop(), share, sentence, hit)


def _holds(folded: str, name: str) -> bool:
    if is_cjk(name):
        return name in folded
    at = folded.find(name)
    around = f" {folded} "[at : at + len(name) + 2]
    return at >= 0 and not around[0].isalnum() and not around[-1].isalnum()


def _with_sentence(answer: TableAnswer, named: _Named) -> TableAnswer:
    """The answer with the sentence that names its row, cited behind it."""
    number, sentence = len(answer.cited.citations) + 1, named.sentence
    citation = quotation(number, named.hit, sentence.start, sentence.end)
    joint = "" if is_cjk(sentence.text) else " "
    text = f"{answer.cited.text}{joint or '。'}{snippet(sentence.text)}{joint}[{number}]"
    return replace(answer, cited=Cited(text, (*answer.cited.citations, citation)))


def is_of_another_row(session: Session, answer: PartAnswer) -> bool:
    """Whether the best sentence is a row of a table that the question does not ask for, though it names its columns.

    `Who is the manager of Gull Quay?` is not answered by the row of another site, nor `how many` by one row that counts
    nothing of what the question names, nor what several rows fit by one of them.
    """
    context = session.context
    if context is None or not answer.sentences:
        return False
    best, hit = answer.sentences[0], answer.hits[answer.sentences[0].place]
    start, end = hit.start + best.start, hit.start + best.end
    for relation in context.relations():
        if any(document == hit.document_id for document, _ in relation.tables):
            rows = (row for row in relation.rows if row.document_id == hit.document_id and row.start < end)
            row = next((row for row in rows if start < row.end), None)
            if row is not None and not _states_count(answer.part, best.text):
                return _is_strange(read_question(answer.part.text, relation), row)
    return False


def _states_count(part: QuestionPart, row: str) -> bool:
    """Whether a row says how many: it counts what is asked for, and the question names all its other cells."""
    cells = [fold(cell.partition(":")[2]).strip() for cell in row.split("|") if ":" in cell]
    named = [cell for cell in cells if not any(map(str.isdigit, cell))]
    is_named = len(named) > 1 and all(cell in fold(part.text) for cell in named)
    return part.kind == "number" and is_named and counts(row, part.counted)


def _is_strange(reading: Reading, row: RelationRow) -> bool:
    texts = [each for each in reading.filters if isinstance(each.value, str) and each.comparison == "in"]
    is_named = any(_fits(row, each) for each in texts)
    if reading.form not in ("cell", "list") and not (is_named and reading.counted in reading.mentioned):
        return True
    fitting = [each for each in reading.relation.rows if all(_fits(each, one) for one in texts)]
    if reading.form == "cell" and is_named and len(fitting) > 1 and reading.mentioned:
        return True
    return bool(reading.mentioned and reading.leftover) and not is_named


def _fits(row: RelationRow, condition: Filter) -> bool:
    """Whether a row has the text or the day that a condition wants."""
    cell, wanted = row.cells.get(condition.column), str(condition.value)
    return cell is not None and (fold(cell.text) == fold(wanted) or (cell.date or "").startswith(wanted))
