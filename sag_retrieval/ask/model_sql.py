"""Answer from tables with SQL that a model writes: through the guard, with one repair, each row cited."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import Field

from sag_retrieval.ask.relations import Relation
from sag_retrieval.ask.release_context import ReleaseContext
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.table_answer import MOST_CITED, RowSources, TableAnswer, answer_from_tables, today_of
from sag_retrieval.ask.table_question import FORMS, form_of, nearest_relations
from sag_retrieval.core.errors import FilterError, QueryError
from sag_retrieval.models.protocols import AnswerShape
from sag_retrieval.notebook import readable
from sag_retrieval.prompts import as_lines
from sag_retrieval.search.lookup import document_by_id

_ASKED: Final = frozenset(FORMS) - {"list"}
"""Forms that a model is asked about: `which` begins many questions that a sentence answers."""
_TRIES: Final = 2
_EXAMPLES: Final = 3
_LONGEST: Final = 40
_WANTED: Final = frozenset({"answer", "document_id", "start", "end"})


class WrittenSql(AnswerShape):
    """The SELECT that answers a question, if the release holds what it asks."""

    is_answerable: bool = Field(description="whether the lists hold what is asked")
    sql: str = Field(default="", description="one SELECT with the columns answer, document_id, start and end")


def answer_by_sql(session: Session) -> TableAnswer | None:
    """The answer from rows: by rules where they explain the question whole, else by a model's SELECT; None for neither.

    Source: docs/algorithm.md §answers.11.
    """
    found, context = answer_from_tables(session), session.context
    if found is not None or session.chat is None or context is None or context.select is None:
        return found
    if form_of(session.question) not in _ASKED:
        return None
    fault = "-"
    for _ in range(_TRIES):
        written = session.tried("sql", WrittenSql, _values(session, context, fault), "no SQL was written")
        if written is None or not written.is_answerable or not written.sql.strip():
            return None
        try:
            return _told(session, context, written.sql)
        except (FilterError, QueryError) as error:  # refused, or a document that the release does not have
            fault = as_lines([{"sql": written.sql, "error": str(error)}])
    session.note(f"the model's SQL was refused twice: {fault}")
    return None


def _values(session: Session, context: ReleaseContext, fault: str) -> dict[str, object]:
    near = nearest_relations(session.question, context.relations())
    return {
        "tables": as_lines(_described(each) for each in near) or "-",
        "vocabulary": session.vocabulary,
        "today": today_of(session),
        "fault": fault,
        "question": session.question,
    }


def _described(relation: Relation) -> dict[str, Any]:
    """A relation as the prompt shows it: where it stands, and of each column name, kind, unit and examples."""
    columns = [
        {"header": column.header, "kind": column.kind, "examples": [text[:_LONGEST] for text in column.values.values()][
            :_EXAMPLES], **({"units": units} if (units := sorted({c.unit for c in column.cells if c.unit})) else {})}
        for column in relation.columns
    ]  # fmt: skip
    places = [{"document_id": document, "table_index": number} for document, number in relation.tables[:_EXAMPLES]]
    return {"titles": relation.titles[:_EXAMPLES], "places": places, "rows": len(relation.rows), "columns": columns}


def _told(session: Session, context: ReleaseContext, sql: str) -> TableAnswer:
    """The rows of a model's SELECT as an answer; a FilterError where it gives none, or not where they stand."""
    assert context.select is not None
    table = context.select(sql)
    missing = sorted(_WANTED - set(table.column_names))
    if missing:
        raise FilterError(f"the SELECT gives {table.column_names}; {', '.join(missing)} are missing")
    rows: list[dict[str, Any]] = table.to_pylist()
    if not rows or all(row["answer"] is None for row in rows):
        raise FilterError("the SELECT gives no row with an answer; compare spelling and headers with the lists")
    for row in rows:
        _check_place(context, row)
    return _written(session, context, sql, rows)


def _check_place(context: ReleaseContext, row: Mapping[str, Any]) -> None:
    """Refuse a row whose document does not have those characters."""
    start, end = row["start"], row["end"]
    known = isinstance(row["document_id"], str) and isinstance(start, int) and isinstance(end, int)
    length = len(document_by_id(context.index, row["document_id"]).text) if known else 0
    if not (known and 0 <= start < end <= length):
        raise FilterError(f"{row['document_id']!r} has no characters {start} to {end}")


def _written(session: Session, context: ReleaseContext, sql: str, rows: Sequence[Mapping[str, Any]]) -> TableAnswer:
    is_chinese, sources = session.is_chinese, RowSources(context)
    answers = dict.fromkeys(_plain(row["answer"]) for row in rows if row["answer"] is not None)
    places = {(row["document_id"], row["start"], row["end"]): row for row in rows}
    comma, colon = ("；", "：") if is_chinese else ("; ", ": ")
    shown = sources.listed([*places.values()], _row, is_chinese)
    text = f"{comma.join([*answers][:MOST_CITED])}{colon}{comma.join(shown)}"
    return TableAnswer(sources.cited(text, is_generated=True), sql, tuple(rows), (), tuple(sources.passages.values()))


def _row(row: Mapping[str, Any]) -> str:
    return ", ".join(_plain(value) for name, value in row.items() if name not in _WANTED and value is not None)


def _plain(value: object) -> str:
    return readable(round(value, 2) if isinstance(value, float) else value)
