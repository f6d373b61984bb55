"""Answer from the tables of documents: count, add up, average, compare and list rows by SQL, each row a citation."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.cited import Cited
from sag_retrieval.ask.passages import JoinedPassage, chunk_row
from sag_retrieval.ask.relations import Relation, RelationColumn
from sag_retrieval.ask.release_context import ReleaseContext
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.table_question import (
    FORMS,
    Filter,
    Form,
    Reading,
    form_of,
    is_comparison,
    nearest_relations,
    read_question,
)
from sag_retrieval.core.errors import FilterError
from sag_retrieval.language.spans import first_day, last_day
from sag_retrieval.language.units import unit_name
from sag_retrieval.language.words import is_cjk
from sag_retrieval.notebook import key_text, readable
from sag_retrieval.release.sandbox import LONGEST
from sag_retrieval.search.lookup import chunk_by_id

MOST_CITED: Final = 20
"""Rows that are shown; of more it is said how many."""
_MOST_TABLES: Final = 40
_PLACES: Final = ("document_id", "table_index", "row_index", "start", "end")
_SHOWN: Final = {"gt": ">", "gte": "≥", "lt": "<", "lte": "≤"}
_SIGNS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_YEARS_END: Final = 2_100
_MADE: Final = {"sum": "sum", "average": "avg"}


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What is asked of a relation as SQL has it, and which columns the answer shows."""

    reading: Reading
    form: Form
    value: RelationColumn | None
    """The column that is added up, averaged, compared or ordered."""
    by: RelationColumn | None
    """The column whose values are compared, or counted once each."""
    shown: tuple[RelationColumn, ...]
    today: str
    per: RelationColumn | None = None
    """The column for each of whose values the number is made; units are apart without it."""

    @property
    def beside(self) -> RelationColumn | None:
        """What a row is called beside its day, where days stand first."""
        texts = (each for each in self.relation.columns if each.kind == "text" and each not in (*self.shown, self.by))
        return next(texts, None) if self.relation.first.kind == "date" else None

    @property
    def relation(self) -> Relation:
        """The tables asked."""
        return self.reading.relation


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """A cited text, the SQL that made it with its rows, what it could not tell, and the passages of its rows."""

    cited: Cited
    sql: str
    rows: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    hits: tuple[JoinedPassage, ...]


def answer_from_tables(session: Session, *, forms: Collection[Form] = FORMS) -> TableAnswer | None:
    """The answer, of some forms, of the one relation that explains every word of the question; None where none does.

    Source: docs/algorithm.md §answers.11.
    """
    context = session.context
    if context is None or context.select is None:
        return None
    if "cell" not in forms and form_of(session.question) is None and not is_comparison(session.question):
        return None
    near = nearest_relations(session.question, context.relations())
    readings = [read_question(session.question, each, today_of(session)) for each in near]
    plan = chosen_plan([each for each in readings if each.form in forms], session)
    return None if plan is None else run_plan(session, context, plan)


def chosen_plan(readings: Sequence[Reading], session: Session) -> TablePlan | None:
    """The plan of the reading that explains most, of several the one in the language of the question.

    None where two explain as much, or none everything.
    """
    plans = [plan for each in readings if not each.leftover and (plan := plan_of(each, today_of(session)))]

    def rank(plan: TablePlan) -> tuple[int, bool, bool, int]:
        is_own = is_cjk("".join(plan.relation.headers)) == session.is_chinese
        return plan.reading.explained, is_own, plan.relation.first in plan.reading.mentioned, plan.reading.whole

    ranked = sorted(plans, key=rank, reverse=True)
    is_one = bool(ranked) and (len(ranked) == 1 or rank(ranked[0]) != rank(ranked[1]))
    return ranked[0] if is_one else None


def today_of(session: Session) -> str:
    """The day from which what is next counts."""
    return session.options.today or datetime.now(UTC).date().isoformat()


def plan_of(reading: Reading, today: str) -> TablePlan | None:
    """How a reading is answered; None where its form does not apply: no subject, no column of numbers, two of them."""
    if not reading.mentioned and reading.explained == len(reading.filters):
        return None
    fixed = {each.column for each in reading.filters if not reading.compared}
    free = [column for column in reading.mentioned if column.header not in fixed]
    return _PLANS[reading.form](reading, today, free)


def _listed(reading: Reading, today: str, free: Sequence[RelationColumn]) -> TablePlan | None:
    first = reading.relation.first
    by = free[0] if len(free) == 1 and free[0] != first and free[0].is_repeated else None
    bounded = [each.column for each in reading.filters if not _is_text(each) and each.comparison != "empty"]
    shown = tuple(c for c in reading.relation.columns if c != first and (c in free or c.header in bounded))
    currency = reading.relation.currency
    if currency and currency not in shown and any(column.of_class == "amount" for column in shown):
        shown = (*shown, currency)
    is_asked = bool(free) or (reading.form == "list" and bool(reading.filters or reading.mentioned))
    return TablePlan(reading, reading.form, None, by, shown, today) if is_asked else None


def _made(reading: Reading, today: str, free: Sequence[RelationColumn]) -> TablePlan | None:
    value = _number(reading, free)
    return None if value is None else TablePlan(reading, reading.form, value, None, (value,), today, per=_per(reading))


def _per(reading: Reading) -> RelationColumn | None:
    return None if reading.per == reading.relation.currency else reading.per


def _next(reading: Reading, today: str, free: Sequence[RelationColumn]) -> TablePlan | None:
    value = _dated(reading, free)
    shown = tuple(column for column in free if column.kind == "text")
    return None if value is None else TablePlan(reading, "next", value, None, (value, *shown), today)


def _count(reading: Reading, today: str, free: Sequence[RelationColumn]) -> TablePlan | None:
    counted = reading.counted
    if counted is not None and counted.kind == "number" and counted != reading.relation.first:
        return TablePlan(reading, "sum", counted, None, (counted,), today, per=_per(reading))
    is_distinct = counted is not None and counted not in (reading.relation.first, reading.per) and counted.is_repeated
    by = counted if is_distinct and counted in free else None
    return TablePlan(reading, "count", None, by, (), today, per=_per(reading))


def _number(reading: Reading, free: Sequence[RelationColumn]) -> RelationColumn | None:
    """The column of numbers that is meant: named, of amounts, or the only one; not the one that numbers the rows."""
    numbers = [c for c in reading.relation.columns if c.kind == "number" and c != reading.relation.first]
    named = [column for column in free if column in numbers]
    amounts = [column for column in numbers if column.of_class == "amount"]
    if named:  # the noun that others describe stands last in Chinese, first in English
        return named[-1 if is_cjk(named[0].header) else 0]
    return numbers[0] if len(numbers) == 1 else amounts[0] if len(amounts) == 1 else None


def _dated(reading: Reading, free: Sequence[RelationColumn]) -> RelationColumn | None:
    every = [column for column in reading.relation.columns if column.kind == "date"]
    named = [column for column in free if column.kind == "date"]
    due = [column for column in every if column.of_class == "deadline"]
    return next((only[0] for only in (named, due, every) if len(only) == 1), None)


def _superlative(reading: Reading, today: str, free: Sequence[RelationColumn]) -> TablePlan | None:
    relation = reading.relation
    value = _dated(reading, free) if reading.is_dated else _number(reading, free)
    texts = [column for column in free if column.kind == "text"]
    compared = next((each.column for each in reading.filters if reading.compared), "")
    entity = next((column for column in (*relation.columns,) if column.header == compared), (*texts, relation.first)[0])
    is_grouped = entity != relation.first and (reading.is_grouped or bool(compared)) and entity.is_repeated
    if not is_grouped:
        entity = next((column for column in texts if column != relation.first), relation.first)
    others = [column for column in free if column != entity]
    counts_rows = is_grouped and bool(others) and not any(column.kind == "number" for column in others)
    if value is None and not counts_rows:
        return None
    shown = () if entity == relation.first or is_grouped else (entity,)
    shown = (*shown, *([] if counts_rows or value is None else [value]))
    by = entity if is_grouped else None
    return TablePlan(reading, reading.form, None if counts_rows else value, by, shown, today)


_PLANS: Final[Mapping[Form, Callable[[Reading, str, Sequence[RelationColumn]], TablePlan | None]]] = {
    "count": _count, "sum": _made, "average": _made, "most": _superlative, "least": _superlative, "next": _next,
    "list": _listed, "cell": _listed,
}  # fmt: skip


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _key(header: str) -> str:
    """What a column is called in the rows of the SQL: as in the table, but for the names that places have."""
    return header + ("_" if header.casefold() in {*_PLACES, "answer", "unit"} else "")


def _name(header: str) -> str:
    """The same in the SQL itself."""
    return '"' + _key(header).replace('"', '""') + '"'


def sql_of(plan: TablePlan) -> str:
    """The SELECT that answers a plan: a line for each row that counts, with the answer in front."""
    relation = plan.relation
    used = {each.column for each in plan.reading.filters} | {column.header for column in plan.shown}
    named = (relation.first, plan.value, plan.by, plan.per, plan.beside)
    used |= {column.header for column in named if column}
    columns = [column for column in relation.columns if column.header in used]
    cells = [f"max(CASE WHEN header = {_quoted(c.header)} THEN {_kept(c, plan)} END) AS {_name(c.header)}"
             for c in columns]  # fmt: skip
    if plan.value is not None and plan.value.kind == "number":
        cells.append(f"{_unit(plan.value, relation.currency)} AS unit")
    tables = " OR ".join(f"(document_id = {_quoted(document)} AND table_index = {number})"
                         for document, number in relation.tables)  # fmt: skip
    given = ",\n    ".join(['document_id, table_index, row_index, min(start) AS start, max("end") AS "end"', *cells])
    inner = f"SELECT {given}\n  FROM tables WHERE {tables}\n  GROUP BY document_id, table_index, row_index"  # noqa: S608  quoted
    answer, where, order = _parts(plan)
    listed = ", ".join([*(_name(c.header) for c in columns), *(["unit"] if "unit" in cells[-1][-5:] else []),
                        'document_id, table_index, row_index, start, "end"'])  # fmt: skip
    conditions = f"\nWHERE {' AND '.join(where)}" if where else ""
    return f"WITH given AS (\n  {inner})\nSELECT {answer}{listed}\nFROM given{conditions}{order}"


def _unit(value: RelationColumn, currency: RelationColumn | None) -> str:
    """The unit of a row's number: its own, else of an amount the currency that the row names."""
    own = f"max(CASE WHEN header = {_quoted(value.header)} THEN unit END)"
    if currency is None or value.of_class != "amount":
        return own
    codes = " ".join(f"WHEN {_quoted(text)} THEN {_quoted(unit_name(text))}" for text in currency.values.values())
    return f"coalesce({own}, max(CASE WHEN header = {_quoted(currency.header)} THEN CASE text {codes} END END))"


def _kept(column: RelationColumn, plan: TablePlan) -> str:
    """What of a cell is compared: its number or day where it is ordered or bounded, else its text."""
    is_bounded = any(each.column == column.header and not _is_text(each) for each in plan.reading.filters)
    is_value = plan.value is not None and column.header == plan.value.header
    return {"number": "number", "date": "date"}.get(column.kind, "text") if is_bounded or is_value else "text"


def _is_text(condition: Filter) -> bool:
    """Whether it is about a text, no number and no day."""
    value = condition.value
    is_day = isinstance(value, str) and value[:4].isdigit() and value.replace("-", "").isdigit()
    return condition.comparison == "in" and isinstance(value, str) and not is_day


def _parts(plan: TablePlan) -> tuple[str, list[str], str]:
    """The answer's column, the conditions, and the order of a plan's SELECT."""
    where = _conditions(plan)
    place = "document_id, table_index, row_index"
    value, by, per = (_name(each.header) if each else "" for each in (plan.value, plan.by, plan.per))
    if plan.form == "count":
        made = f"count({f'DISTINCT {by}' if by else '*'}) OVER ({f'PARTITION BY {per}' if per else ''}) AS answer, "
        return made, where, f"\nORDER BY {f'{per}, ' if per else ''}{place}"
    if plan.form in _MADE:
        made = f"{_MADE[plan.form]}({value}) OVER (PARTITION BY {f'{per}, ' if per else ''}unit) AS answer, "
        return made, where, f"\nORDER BY {f'{per}, ' if per else ''}unit, {place}"
    down = "DESC" if plan.form == "most" else "ASC"
    if by and plan.form in ("most", "least"):
        made = f"sum({value})" if value else "count(*)"
        return (
            f"{made} OVER (PARTITION BY {by}) AS answer, ",
            where,
            f"\nORDER BY answer {down} NULLS LAST, {by}, {place}",
        )
    if plan.form in ("most", "least", "next"):
        where = [*where, f"{value} IS NOT NULL"]
        if plan.reading.compared:
            return f"{value} AS answer, ", where, f"\nORDER BY {value} {down}, {place}"
        of_unit = "PARTITION BY unit " if plan.value is not None and plan.value.kind == "number" else ""
        last = f"\nQUALIFY rank() OVER ({of_unit}ORDER BY {value} {down}) = 1\nORDER BY {place}"
        return f"{value} AS answer, ", where, last
    return "", where, f"\nORDER BY {place}"


def _conditions(plan: TablePlan) -> list[str]:
    found: list[str] = []
    texts: dict[tuple[str, bool], list[str]] = {}
    for each in plan.reading.filters:
        if each.comparison == "empty":
            found.append(f"{_name(each.column)} IS NULL")
        elif _is_text(each):
            texts.setdefault((each.column, each.is_negated), []).append(_quoted(str(each.value)))
        elif isinstance(each.value, str):
            found.append(_days(_name(each.column), each))
        else:
            found.append(f"{_name(each.column)} {_SIGNS.get(each.comparison, '=')} {each.value:.15g}")
    if plan.relation.totals:
        texts[plan.relation.first.header, True] = [*map(_quoted, plan.relation.totals)]
    for (column, is_negated), values in texts.items():
        found.append(f"{_name(column)} {'NOT ' if is_negated else ''}IN ({', '.join(values)})")
    if plan.form == "next" and plan.value is not None:
        found.append(f"{_name(plan.value.header)} >= {_quoted(plan.today)}")
    return found


def _days(name: str, each: Filter) -> str:
    first, last = (_quoted(day(str(each.value))) for day in (first_day, last_day))
    if each.comparison == "in":
        return f"{name} BETWEEN {_quoted(str(each.value))} AND {last}"
    return f"{name} {_SIGNS[each.comparison]} {last if each.comparison in ('gt', 'lte') else first}"


def run_plan(session: Session, context: ReleaseContext, plan: TablePlan) -> TableAnswer | None:
    """The answer that the SQL of a plan gives; None where it finds no row, or the table is not one of a kind."""
    sql = sql_of(plan)
    if len(sql) > LONGEST or len(plan.relation.tables) > _MOST_TABLES or context.select is None:
        return None
    try:
        rows = context.select(sql).to_pylist()
    except FilterError as error:
        session.note(f"the tables were not asked: {error}")
        return None
    value = _key(plan.value.header) if plan.value else ""
    counted = [row for row in rows if not value or row[value] is not None]
    is_compared = plan.form in ("most", "least") and (plan.by is not None or bool(plan.reading.compared))
    if not counted or (is_compared and len({row.get("unit") for row in counted}) > 1):
        return None
    if plan.by and plan.form in ("most", "least") and not plan.reading.compared:
        counted = [row for row in counted if row["answer"] == counted[0]["answer"]]
    wording, sources = _Wording(plan, session.is_chinese), RowSources(context)
    shown = sources.listed(counted, wording.row, wording.is_chinese)
    missing = wording.missing(rows, counted)
    text = wording.lead(counted) + wording.between.join(shown) + wording.of()
    text += "".join(f"{wording.space}{each}{wording.stop}" for each in missing)
    kept = tuple(dict(row) for row in counted)
    return TableAnswer(sources.cited(text), sql, kept, tuple(missing), tuple(sources.passages.values()))


Row = Mapping[str, Any]


class _Wording:
    """How the answer of a plan is worded."""

    def __init__(self, plan: TablePlan, is_chinese: bool) -> None:  # noqa: FBT001  of the text
        self.plan, self.is_chinese = plan, is_chinese
        self.between, self.colon, self.stop = ("；", "：", "。") if is_chinese else ("; ", ": ", ".")
        self.space = "" if is_chinese else " "

    def lead(self, counted: Sequence[Row]) -> str:
        """The value asked for; empty for a list, whose rows are the answer."""
        plan, told = self.plan, ""
        if plan.form in ("list", "cell"):
            return ""
        if plan.per is not None:
            parts = {(_said(row, plan.per), row.get("unit")): row["answer"] for row in counted}
            made = (f"{name}{self.colon}{_amount(value, unit)}" for (name, unit), value in parts.items())
            return self.between.join(made) + self.stop + self.space
        if plan.form == "count":
            told = readable(counted[0]["answer"])
        elif plan.form in _MADE:
            values = {row["unit"]: row["answer"] for row in counted}
            told = ("、" if self.is_chinese else " + ").join(_amount(value, unit) for unit, value in values.items())
        elif plan.by is not None:
            groups = {_said(row, plan.by): _amount(row["answer"], row.get("unit")) for row in counted}
            told = self.between.join(f"{name}{self.colon}{value}" for name, value in groups.items())
        return told + self.colon if told else ""

    def row(self, row: Row) -> str:
        """A row as the answer shows it: its name, then what was asked of it."""
        plan, colon, comma = self.plan, self.colon, "，" if self.is_chinese else ", "
        code = row.get(_key(plan.relation.first.header))
        codes = (cell.text for cell in plan.relation.first.cells if cell.number == code and isinstance(code, float))
        first = next(codes, "") or _said(row, plan.relation.first)
        if plan.beside is not None:
            first = f"{first} {_said(row, plan.beside)}"
        if plan.by is not None and plan.form in ("list", "count"):
            return f"{_said(row, plan.by)}{f'（{first}）' if self.is_chinese else f' ({first})'}"
        shown = [column for column in plan.shown if column.header != plan.relation.first.header]
        told = [_said(row, column) for column in shown]
        if plan.form == "next" and plan.value is not None:
            return f"{_said(row, plan.value)}{colon}{comma.join([first, *told[1:]])}"
        if plan.form in ("list", "cell") and len(told) > 1:
            told = [f"{column.header}{colon}{said}" for column, said in zip(shown, told, strict=True)]
        said = comma.join(filter(None, told))
        return f"{first}{'：' if self.is_chinese else ' – '}{said}" if said else first

    def of(self) -> str:
        """Which table was asked, and which of its rows."""
        plan, title = self.plan, self.plan.relation.tables[0][0]
        is_named = plan.form == "cell" and len(plan.reading.filters) == 1
        told = [
            f"{each.column} {sign} {_bound_text(each.value) or '–'}"
            for each in plan.reading.filters
            if not (is_named and each.column == plan.relation.first.header)
            for sign in ["≠" if each.is_negated else _SHOWN.get(each.comparison, "=")]
        ]
        if plan.form == "next" and plan.value is not None:
            told.append(f"{plan.value.header} ≥ {plan.today}")
        said = f"“{title}”{self.colon if told else ''}{('，' if self.is_chinese else ', ').join(told)}"
        return f"（{said}）" if self.is_chinese else f" ({said})"

    def missing(self, rows: Sequence[Row], counted: Sequence[Row]) -> list[str]:
        """What the answer could not tell: rows without a value, units that differ."""
        found: list[str] = []
        value = self.plan.value if self.plan.form in _MADE else None
        if value and (empty := sum(row[_key(value.header)] is None for row in rows)):
            rows_have = "row has" if empty == 1 else "rows have"
            found.append(f"{empty}行没有数值" if self.is_chinese else f"{empty} {rows_have} no value")
        if len({row.get("unit") for row in counted}) > 1:
            found.append("单位不同，分别计算" if self.is_chinese else "Units differ; each has its own value")
        return found


def _amount(value: float, unit: str | None) -> str:
    return key_text(round(value, 2), None if unit == "unit" else unit)  # `件` stands in the header


def _said(row: Row, column: RelationColumn) -> str:
    """What a cell of a row says, as it is written in the table; a number with the unit that its column names."""
    value = row.get(_key(column.header))
    if isinstance(value, float):
        return _amount(value, row.get("unit"))
    if value is not None and column.kind == "date":
        return next((cell.text for cell in column.cells if cell.date == value), str(value))
    named = next((cell for cell in column.cells if cell.text == value and cell.number is not None and cell.unit), None)
    return _amount(named.number, named.unit) if named and named.number is not None else str(value or "")


def _bound_text(value: str | float) -> str:
    """A value of a condition; a number of four digits, which may be a year, as it is."""
    return f"{value:.12g}" if isinstance(value, float) and abs(value) < _YEARS_END else readable(value)


class RowSources:
    """Citations of stretches of documents, numbered as they are first cited, and the passages that hold them."""

    def __init__(self, context: ReleaseContext) -> None:
        self._index = context.index
        self.citations: list[Citation] = []
        self.passages: dict[str, JoinedPassage] = {}

    def listed(
        self,
        rows: Sequence[Mapping[str, Any]],
        text_of: Callable[[Mapping[str, Any]], str],
        is_chinese: bool,  # noqa: FBT001
    ) -> list[str]:
        """The first rows with their markers, and how many more there are."""
        shown = [text_of(row) + self.marker(row, is_chinese) for row in rows[:MOST_CITED]]
        if more := len(rows) - len(shown):
            shown.append(f"另有{more}行" if is_chinese else f"and {more} more")
        return shown

    def marker(self, row: Mapping[str, Any], is_chinese: bool) -> str:  # noqa: FBT001  of the text
        """The marker of a row, which is cited from its `start` to its `end`."""
        number = self.cite(self.passage(row["document_id"], row["start"]), row["start"], row["end"])
        return f"{'' if is_chinese else ' '}[{number}]"

    def cite(self, found: JoinedPassage, start: int, end: int) -> int:
        """Cite characters of a document that a passage holds; returns their number."""
        quote = found.text[start - found.start : end - found.start]
        named = (len(self.citations) + 1, found.chunk_id, found.document_id, found.title)
        self.citations.append(Citation(*named, start, end, quote, found.place))
        return len(self.citations)

    def passage(self, document_id: str, start: int) -> JoinedPassage:
        """The passage in which a character of a document stands."""
        row = chunk_row(self._index, document_id, start)
        return self.of_chunk(self._index.rows["chunks"]["chunk_id"][row].as_py())

    def of_chunk(self, chunk_id: str) -> JoinedPassage:
        """A chunk as a passage."""
        if chunk_id not in self.passages:
            found, score = chunk_by_id(self._index, chunk_id), 1 / (1 + len(self.passages))
            named = (found.chunk_id, found.document_id, found.title, found.text, score, found.start, found.end)
            self.passages[chunk_id] = JoinedPassage(*named, ((found.start, chunk_id),), place=found.place)
        return self.passages[chunk_id]

    def cited(self, text: str, *, is_generated: bool = False) -> Cited:
        """A text with all of the citations."""
        return Cited(text, tuple(self.citations), is_generated)
