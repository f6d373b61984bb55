"""What a question asks of a relation: its form, which rows, which columns; and the words that nothing explains."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, pairwise
from typing import Final, Literal, NamedTuple

from sag_retrieval.ask.question import alike, question_terms
from sag_retrieval.ask.relations import Relation, RelationColumn
from sag_retrieval.language.amounts import read_amount
from sag_retrieval.language.data import asked_words, asking
from sag_retrieval.language.dates import DATE, bare_month, dates
from sag_retrieval.language.units import CURRENCIES, is_currency, is_known_unit, unit_name
from sag_retrieval.language.words import fold, is_cjk, language_of, stem, tokens, words
from sag_retrieval.statements.header_classes import CLASSES, class_words, classes_in, is_done

Form = Literal["average", "sum", "most", "least", "next", "count", "list", "cell"]
FORMS: Final[tuple[Form, ...]] = ("average", "next", "most", "least", "count", "sum", "list")
"""Those that words ask for; of several, the first wins."""
Comparator = Literal["gt", "gte", "lt", "lte", "in", "empty"]
_BEFORE: Final[tuple[Comparator, ...]] = ("gte", "lte", "gt", "lt", "in")
_BEHIND: Final[tuple[Comparator, ...]] = ("gte", "lte", "gt", "lt")
_LONGEST_NUMBER: Final = 28
_NEAR: Final = 24
"""Characters before a value in which its comparison stands."""
_LONGEST_PART: Final = 12
"""Characters of a part of a value."""
_ANY_DECEMBER: Final = "2000-12"
"""Up to which the months of one year are in order."""
_MOST: Final = 12
"""Relations that a question is read for."""


class Filter(NamedTuple):
    """A condition on a column: a text, a number or a date that its cells have, are above or below, or no value."""

    column: str
    comparison: Comparator
    value: str | float
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as it asks a relation."""

    relation: Relation
    form: Form
    filters: tuple[Filter, ...]
    mentioned: tuple[RelationColumn, ...]
    """Columns that the question names, in its order."""
    counted: RelationColumn | None
    """The column that `how many` or a superlative counts, if it names one."""
    leftover: frozenset[str]
    """Terms that neither the form, a filter, a column nor a title explains."""
    explained: int
    """Terms that they do."""
    is_grouped: bool = False
    is_dated: bool = False
    """Whether a superlative is about days: the latest, the earliest."""
    compared: tuple[str, ...] = ()
    """Values of one column that are compared."""
    per: RelationColumn | None = None
    """The column for each of whose values a number is asked."""
    whole: int = 0
    """Columns that it names as they are written."""


@dataclass(slots=True)
class _Marks:
    """A folded question, and which of its characters are explained."""

    text: str
    language: str
    written: str
    """As it was written, in as many characters."""
    used: bytearray = field(init=False)
    tokens: list[tuple[int, int, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.used = bytearray(len(self.text))
        self.tokens, place = [], 0
        for word in words(self.text):
            if not is_cjk(word) and (start := self.text.find(word, place)) >= 0:
                place = start + len(word)
                self.tokens.append((start, place, stem(word)))

    def mark(self, start: int, end: int) -> None:
        self.used[start:end] = b"\x01" * (end - start)

    def is_free(self, start: int, end: int) -> bool:
        return not any(self.used[start:end])

    def take(self, start: int, end: int) -> bool:
        """Mark what is free; whether it was."""
        is_free = self.is_free(start, end)
        if is_free:
            self.mark(start, end)
        return is_free

    def rest(self) -> str:
        return "".join(" " if used else each for each, used in zip(self.text, self.used, strict=True))


def form_of(question: str) -> Form | None:
    """The form that a question has by its words.

    Examples:
        >>> [form_of(text) for text in ("How many orders are late?", "哪家供应商的金额最多？", "Who made it?")]
        ['count', 'most', None]
    """
    return next((form for form in FORMS if asking(form, "forms").search(question)), None)


def nearest_relations(question: str, relations: Sequence[Relation]) -> list[Relation]:
    """The relations whose columns and titles share most terms with a question, at most a dozen; none that shares none.

    A question may mean a column in other words: `how much` of amounts, `who` of owners.
    """
    folded = fold(question)
    meant = {kind for kind in CLASSES if any(word in folded for word in asked_words(kind, "meant"))}
    wanted = {*tokens(question), *classes_in(question), *meant}
    shared = [(len(wanted & each.terms), each) for each in relations]
    return [each for count, each in sorted(shared, key=lambda pair: -pair[0])[:_MOST] if count]


def is_comparison(question: str) -> bool:
    """Whether a question compares: `larger than`, `compare`, 比."""
    return bool(asking("comparison", "kinds").search(question) or asking("compare", "forms").search(question))


def read_question(question: str, relation: Relation, today: str = "", *, is_bounded: bool = True) -> Reading:
    """What a question asks of a relation, whatever remains unexplained.

    A month without a year is the last up to `today`, without that left over; so are dates and numbers where the reading
    is not `is_bounded` by them.
    """
    folded = fold(question)
    marks = _Marks(folded, language_of(question), question if len(question) == len(folded) else folded)
    filters = [*_values(marks, relation)]
    bounds = _bounds(marks, today) if is_bounded else []
    mentions = _mentions(marks, relation)
    per = _per(marks, mentions)
    filters += _flags(marks, relation, mentions)
    filters += _states(marks, relation, {each.column for each in filters})
    is_due = any(word in folded for word in asked_words("deadline", "meant"))
    named = [column for column in relation.columns if is_due and column.of_class == "deadline"]
    bound, is_bound = _bound(marks, relation, bounds, named or [column for _, column in mentions], today)
    filters += bound
    form: Form = next((each for each in FORMS if _is_asked(marks, each)), "cell")
    twice = _compared(filters) if is_comparison(question) else ()
    _explain(marks, ("how", "forms"), *((("comparison", "kinds"), ("compare", "forms")) if twice else ()))
    mentions += _meant(marks, relation, [column for _, column in mentions])
    columns = tuple(dict.fromkeys(column for _, column in sorted(mentions, key=lambda each: each[0])))
    counted, is_known = _counted(marks, relation)
    filters += _parts(marks, relation)
    leftover, explained = _leftover(marks, relation)
    is_negated = asking("negated", "conditions").search(marks.rest()) is not None
    if not is_bound or is_negated or (form == "count" and not is_known):
        leftover |= {""}
    return Reading(
        relation,
        "most" if twice and form in ("cell", "list") else form,
        tuple(filters),
        columns,
        counted,
        leftover,
        explained + len(filters) + len(columns),
        asking("grouped", "forms").search(marks.text) is not None,
        asking("dated", "forms").search(marks.text) is not None,
        twice,
        per,
        sum(fold(column.header).partition("(")[0].strip() in folded for column in columns),
    )


def _explain(marks: _Marks, *names: tuple[str, str]) -> None:
    for name, table in names:
        for match in asking(name, table).finditer(marks.text):
            marks.mark(*match.span())


def _is_asked(marks: _Marks, form: Form) -> bool:
    """Whether words of the form stand in the question outside of values and names of several words."""
    found = False
    for match in asking(form, "forms").finditer(marks.text):
        found |= form == "sum" or any(not used for used in marks.used[match.start() : match.end()])
        marks.mark(*match.span())
    return found


def _values(marks: _Marks, relation: Relation) -> Iterator[Filter]:
    """Values of cells that the question holds, the longest first; of currencies any name: `EUR` as `euros`, `欧元`."""
    currencies = [(name, code) for name, code in CURRENCIES.items() if name.isalpha()]
    known = [
        (folded, text, column.header, is_contrary)
        for column in relation.columns
        if column.kind != "date" and not _is_flag(column)
        for name, text in column.values.items()
        for folded, is_contrary in (
            *((each, False) for each in (name, *_otherwise(name))),
            *((each, False) for each, code in currencies if column is relation.currency and code == unit_name(text)),
            *((each, True) for each in _contraries(name) if each not in column.values),
            *(((fold(column.header) + name, False),) if len(name) == 1 else ()),  # `程度高`
        )
        if len(folded) > 1 and not folded.replace(",", "").replace(".", "").isdigit()
    ]
    found: list[tuple[int, int, Filter]] = []
    for folded, text, header, is_contrary in sorted(known, key=lambda each: (-len(each[0]), each[3], each[2])):
        for start, end in _places(marks, folded):
            if marks.is_free(start, end):
                is_negated = _is_negated(marks, start)
                marks.mark(start, end)
                found.append((start, end, Filter(header, "in", text, is_negated != is_contrary)))
    yield from (each for _, _, each in found)
    for (_, end, one), (start, _, other) in pairwise(sorted(found)):
        if one.column == other.column and marks.text[end:start].strip() in asked_words("through"):
            marks.mark(end, start)
            yield from _between(marks, relation, one, other)


def _between(marks: _Marks, relation: Relation, one: Filter, other: Filter) -> Iterator[Filter]:
    """The months between two months of a column."""
    column = next(each for each in relation.columns if each.header == one.column)
    months = {text: bare_month(text, marks.language, _ANY_DECEMBER) for text in column.values.values()}
    first, last = (months[str(each.value)] for each in (one, other))
    for text, month in months.items():
        if first and last and month and first < month < last:
            yield Filter(one.column, "in", text)


def _parts(marks: _Marks, relation: Relation) -> Iterator[Filter]:
    """Values of which the question says a part that nothing else explains: a name of several words, characters."""
    texts = [column for column in relation.columns if column.kind == "text" and column.holds_names]
    for start, end, holds in [*_name_runs(marks), *_cjk_runs(marks)]:
        for column in texts:
            found = [text for folded, text in column.values.items() if holds(folded)]
            if found and len(found) < len(column.values) and marks.is_free(start, end):
                is_negated = _is_negated(marks, start)
                marks.mark(start, end)
                yield from (Filter(column.header, "in", text, is_negated) for text in found)


def _name_runs(marks: _Marks) -> Iterator[tuple[int, int, Callable[[str], bool]]]:
    """Neighbouring capitalised words, with what tells whether a value has all of them."""
    named = [(start, end, token) for start, end, token in marks.tokens
             if marks.written[start].isupper() and marks.is_free(start, end) and question_terms(token)]  # fmt: skip
    for _, group in groupby(enumerate(named), key=lambda each: marks.tokens.index(each[1]) - each[0]):
        run = [each for _, each in group]
        wanted = {token for *_, token in run}
        yield run[0][0], run[-1][1], lambda folded, wanted=wanted: wanted <= _terms(folded)  # type: ignore[misc]


def _cjk_runs(marks: _Marks) -> Iterator[tuple[int, int, Callable[[str], bool]]]:
    """Two free Chinese characters or more, the longest first, with what tells whether a value holds them."""
    rest = marks.rest()
    for length in range(min(_LONGEST_PART, len(rest)), 1, -1):
        for start in range(len(rest) - length + 1):
            part = rest[start : start + length]
            if all(map(is_cjk, part)):
                yield start, start + length, lambda folded, part=part: part in folded  # type: ignore[misc]


def _states(marks: _Marks, relation: Relation, filtered: Collection[str]) -> Iterator[Filter]:
    """Of a column of states whose values the question does not say: those that are done, or those that are not."""
    for column in relation.columns:
        done = [text for text in column.values.values() if is_done(text)]
        if column.of_class != "status" or column.header in filtered or not done:
            continue
        for name in ("undone", "done"):
            if asking(name, "conditions").search(marks.text):
                _explain(marks, (name, "conditions"))
                yield from (Filter(column.header, "in", text, name == "undone") for text in done)
                break


def _contraries(folded: str) -> Iterator[str]:
    """What questions call rows without a value: `unpaid` for `paid`, `未付` and `没付` for `已付`."""
    for positive in asked_words("positive"):
        if folded.startswith(positive):
            yield from (prefix + folded[len(positive) :] for prefix in asked_words("contrary"))
    if not is_cjk(folded) and " " not in folded:
        yield from (prefix + folded for prefix in asked_words("negating"))


def _otherwise(folded: str) -> Iterator[str]:
    """A value as questions say it: `未交货` as `没有交货`, `unpaid` as `not paid`."""
    for beginning in asked_words("beginnings"):
        if folded.startswith(beginning):
            yield from (said + folded[len(beginning) :] for said in asked_words(beginning, "beginnings"))


def _is_negated(marks: _Marks, start: int) -> bool:
    """Whether a word of negation stands right before a place; then it is explained."""
    for match in asking("negated", "conditions").finditer(marks.text, max(0, start - _NEAR), start):
        if not marks.text[match.end() : start].strip() and marks.take(*match.span()):
            return True
    return False


def _places(marks: _Marks, folded: str) -> Iterator[tuple[int, int]]:
    """Where a folded name stands in the question: Chinese anywhere, others as whole words in any form."""
    if is_cjk(folded):
        start = marks.text.find(folded)
        while start >= 0:
            yield start, start + len(folded)
            start = marks.text.find(folded, start + 1)
        return
    wanted = [stem(word) for word in words(folded) if not is_cjk(word)]
    for first in range(len(marks.tokens) - len(wanted) + 1) if wanted else ():
        run = marks.tokens[first : first + len(wanted)]
        if [token for *_, token in run] == wanted:
            yield run[0][0], run[-1][1]


class _Bound(NamedTuple):
    comparison: Comparator
    date: str
    number: float
    unit: str | None
    start: int
    end: int
    is_plain: bool
    """Whether no word says how values compare with it."""
    is_bare: bool = False
    """Whether it is a month without a year."""

    def of(self, column: RelationColumn | None, today: str) -> str:
        """Its date in a column: a bare month is the last of that name, or the next one where that has more to tell."""
        held = {cell.date[:7] for cell in column.cells if cell.date} if self.is_bare and column else set[str]()
        later = f"{int(self.date[:4]) + 1}{self.date[4:]}" if held else ""
        if not column or not held or max(held) < later:
            return self.date
        is_due = column.of_class == "deadline" and self.date < today[:7]
        return later if is_due or (later in held and self.date not in held) else self.date


def _months(marks: _Marks, today: str) -> Iterator[tuple[int, int, str]]:
    """Months without a year: a capitalised word, or one or two characters before 月."""
    spans = [(start, end) for start, end, _ in marks.tokens if marks.written[start].isupper()]
    spans += [(max(0, n - size), n + 1) for n, mark in enumerate(marks.written) if mark == "月" for size in (2, 1)]
    for start, end in spans:
        month = bare_month(marks.written[start:end], marks.language, today) if today else None
        if month:
            yield start, end, month


def _bounds(marks: _Marks, today: str = "") -> list[_Bound]:
    """Dates and numbers of the question with what is said of them; they are explained once a column takes them."""
    spans: dict[tuple[int, int], str] = {}
    numbers = list(_numbers(marks))
    counted = {start for start, _, _, unit in numbers if unit not in (None, "year")}
    for each in dates(marks.written, marks.language):
        if each.key_type == DATE and each.start not in counted:  # `2000 m²` is no year
            spans[each.start, each.end] = max(str(each.value), spans.get((each.start, each.end), ""), key=len)
    bare = {(start, end): month for start, end, month in _months(marks, today)
            if all(end <= first or start >= last for first, last in spans)}  # fmt: skip
    spans |= bare
    found = [_bound_at(marks, *place, value, 0.0, None)._replace(is_bare=place in bare)
             for place, value in spans.items()]  # fmt: skip
    for start, end, number, unit in numbers:
        if all(end <= first or start >= last for first, last in spans):
            found.append(_bound_at(marks, start, end, "", number, unit))
    return [each for each in found if marks.is_free(each.start, each.end)]


def _numbers(marks: _Marks) -> Iterator[tuple[int, int, float, str | None]]:
    text, place = marks.written, 0
    while place < len(text):
        before = text[place - 1] if place else " "
        if text[place].isdigit() and (is_cjk(before) or not (before.isalnum() or before in "-.,")):
            for end in range(min(len(text), place + _LONGEST_NUMBER), place, -1):
                is_whole = end == len(text) or is_cjk(text[end - 1 : end + 1]) or not text[end].isalnum()
                amount = read_amount(text[place:end], marks.language) if is_whole and text[end - 1] != " " else None
                if amount and amount.low == amount.high and (amount.unit is None or is_known_unit(amount.unit)):
                    yield place, end, amount.low, amount.unit
                    place = end
                    break
        place += 1


def _bound_at(marks: _Marks, start: int, end: int, date: str, number: float, unit: str | None) -> _Bound:
    """A value with the comparison that stands before or behind it, which is then part of its stretch."""
    first = max(0, start - _NEAR)
    for comparison in _BEHIND:
        found = asking(f"{comparison}_behind", "conditions").search(marks.text[end : end + _NEAR])
        if found and found[0]:  # a form without words is found everywhere
            return _Bound(comparison, date, number, unit, start, end + found.end(), is_plain=False)
    for comparison in _BEFORE:
        found = asking(f"{comparison}_before", "conditions").search(marks.text[first:start].rstrip("€$£¥ "))
        if found:
            return _Bound(comparison, date, number, unit, first + found.start(), end, is_plain=False)
    return _Bound("in", date, number, unit, start, end, is_plain=True)


def _bound(
    marks: _Marks, relation: Relation, bounds: Sequence[_Bound], named: Sequence[RelationColumn], today: str
) -> tuple[list[Filter], bool]:
    """Filters of the dates and numbers, and whether each found its column."""
    filters: list[Filter] = []
    for bound in bounds:
        if bound.date:
            column = _date_column(relation, named)
            value: str | float = bound.of(column, today)
            if column is None and bound.date.isdigit():
                column, value = _only([each for each in named if each.holds_years]), float(bound.date)
        elif bound.is_plain and marks.text[bound.start : bound.end].isdigit() and bound.unit is None:
            continue
        else:
            column, value = _number_column(relation, named, bound.unit, marks.text[bound.end :]), bound.number
        if column is None and bound.date and bound.is_plain and bound.date[:4] in relation.subjects:
            marks.mark(bound.start, bound.end)
            continue
        if column is None:
            return filters, False
        marks.mark(bound.start, bound.end)
        filters.append(Filter(column.header, bound.comparison, value))
    return filters, True


def _date_column(relation: Relation, named: Sequence[RelationColumn]) -> RelationColumn | None:
    dated = [column for column in relation.columns if column.kind == "date"]
    plain = [column for column in dated if fold(column.header) in asked_words("day")]
    return _only([column for column in dated if column in named]) or _only(dated) or _only(plain)


def _number_column(
    relation: Relation, named: Sequence[RelationColumn], unit: str | None, behind: str
) -> RelationColumn | None:
    """The column that a bound is about: named, of its unit, of amounts, or the only one of numbers."""
    numbers = [column for column in relation.columns if column.kind == "number"]
    if unit and is_currency(unit):
        numbers = [column for column in numbers if any(cell.unit == unit for cell in column.cells)] or numbers
        mentioned = [c for c in numbers if c in named]
        return _only(numbers) or _only(mentioned) or _only([c for c in numbers if c.of_class == "amount"])
    next_terms = set(tokens(behind)[:2])
    beside = [column for column in numbers if next_terms & _terms(column.header)]
    return _only(beside) or _only([c for c in numbers if c in named]) or _only(
        [c for c in numbers if c.of_class == "amount"]) or _only(numbers)  # fmt: skip


def _only(columns: Sequence[RelationColumn]) -> RelationColumn | None:
    return columns[0] if len(columns) == 1 else None


@cache
def _terms(header: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(fold(header)) if not is_cjk(word))


def _mentions(marks: _Marks, relation: Relation) -> list[tuple[int, RelationColumn]]:
    """Columns whose names stand in the question, whole or in part, and where."""
    found: list[tuple[int, RelationColumn]] = []
    for start, end, column in sorted(_wholes(marks, relation), key=lambda each: each[:2]):
        found += [(start, column)] if marks.take(start, end) else []
    for column in relation.columns:
        if all(column is not other for _, other in found):
            places = [place for place in _partial(marks, column) if marks.take(*place)]
            found += [(start, column) for start, _ in places[:1]]
    return found


def _per(marks: _Marks, mentions: Sequence[tuple[int, RelationColumn]]) -> RelationColumn | None:
    """The column of texts behind `per`, `by`, `各`; None where each of its values stands but once."""
    for start, column in mentions:
        found = asking("per", "forms").search(marks.text[:start])
        if found and column.kind == "text":
            marks.mark(found.start(), start)
            return column if column.is_repeated else None
    return None


def _wholes(marks: _Marks, relation: Relation) -> list[tuple[int, int, RelationColumn]]:
    """Where whole names of columns stand: of several in one place the longest and the one of the same form."""
    found: list[tuple[int, int, int, int, RelationColumn]] = []
    for place, column in enumerate(relation.columns):
        name = fold(column.header).partition("(")[0].strip()
        for form in dict.fromkeys([name, *_bare(name)]):
            for start, end in _places(marks, form):
                is_other = not marks.text.startswith(form, start)
                found.append((start - end, is_other, place, start, column))
    ranked = sorted(found, key=lambda each: each[:4])
    chosen: list[tuple[int, int, RelationColumn]] = []
    for length, _, _, start, column in ranked:
        if all(start >= last or start - length <= first for first, last, _ in chosen):
            chosen.append((start, start - length, column))
    return chosen


def _bare(name: str) -> Iterator[str]:
    """A name without the word that only says that it names: `invoice` of `invoice no`, `合同` of `合同编号`."""
    for ending in asked_words("naming"):
        if name.endswith(ending) and len(name) > len(ending) and (is_cjk(name) or name[-len(ending) - 1] == " "):
            yield name[: -len(ending)].strip()


def _partial(marks: _Marks, column: RelationColumn) -> Iterator[tuple[int, int]]:
    """Words of the name in any form; of a Chinese name the longest part of two characters or more."""
    header = fold(column.header)
    for start, end, token in marks.tokens:
        if any(alike(token, own) for own in _terms(column.header)) and question_terms(token):
            yield start, end
    if not is_cjk(header):
        return
    for length in range(len(header), 1, -1):
        for first in range(len(header) - length + 1):
            part = header[first : first + length]
            if is_cjk(part[0]) and is_cjk(part[-1]) and (start := marks.text.find(part)) >= 0:
                yield start, start + length
                return


def _is_flag(column: RelationColumn) -> bool:
    """Whether a column says yes and no."""
    known = {fold(word) for name in ("yes", "no") for word in asked_words(name)}
    return len(column.values) > 1 and set(column.values) <= known


def _flags(marks: _Marks, relation: Relation, mentions: Sequence[tuple[int, RelationColumn]]) -> Iterator[Filter]:
    """Of columns of yes and no that the question names: which of both it means; `unpaid` is no in `Paid`.

    Of a column of days that some rows leave empty it may mean these: `unpaid` of `Paid on`.
    """
    yes, no = ({fold(word) for word in asked_words(name)} for name in ("yes", "no"))
    for column in relation.columns:
        is_gap = column.kind == "date" and len(column.cells) < len(relation.rows)
        if not is_gap and not _is_flag(column):
            continue
        contrary = {prefix + term for prefix in asked_words("negating") for term in _terms(column.header)}
        turned = [(start, end) for start, end, token in marks.tokens if token in contrary]
        named = [start for start, other in mentions if other is column]
        said_no = [each for each in asking("negated", "conditions").finditer(marks.text) if marks.is_free(*each.span())]
        is_negated = bool(turned) or bool(named and said_no)
        turned += [each.span() for each in said_no if named]
        for start, end in turned:
            marks.mark(start, end)
        if is_gap and is_negated:
            yield Filter(column.header, "empty", "")
        for folded, text in column.values.items() if (turned or named) and not is_gap else ():
            if folded in (no if is_negated else yes):
                yield Filter(column.header, "in", text)


def _meant(marks: _Marks, relation: Relation, named: Sequence[RelationColumn]) -> list[tuple[int, RelationColumn]]:
    """Columns of a class that the question means in other words: `cost` of amounts, `who` of owners."""
    found = []
    for kind in CLASSES:
        columns = [column for column in relation.columns if column.of_class == kind]
        if not columns:
            continue
        numbers = [column for column in named if column.kind == "number"]
        is_named = any(column in named for column in columns) or (columns[0].kind == "number" and bool(numbers))
        said = (place for word in asked_words(kind, "meant") for place in _places(marks, fold(word)))
        for start, end in [*(match.span() for match in class_words(kind).finditer(marks.text)), *said]:
            found += [] if is_named else [(start, columns[0])]
            marks.mark(start, end)
    return found


def _counted(marks: _Marks, relation: Relation) -> tuple[RelationColumn | None, bool]:
    """The column that the counted noun, or its measure word, names; and whether the noun is one of the table at all.

    A price is not what is counted, though `per pupil` stands in its name.
    """
    measured = asking("measured", "forms").search(marks.text)
    found = asking("counted").search(marks.text)
    noun = " ".join(filter(None, found.groups())) if found else ""
    noun = noun.removeprefix(measured[1]) if measured else noun
    free = [c for c in relation.columns if c.kind != "number" or not any(is_currency(cell.unit) for cell in c.cells)]
    by_measure = [c for c in free if measured and c.kind == "number" and fold(c.header)[0] == measured[1]]
    chosen = [*by_measure, *(column for column in free if noun and _names(noun, column))]
    if chosen:
        return chosen[0], True
    terms = tokens(noun)
    is_known = not terms or any(alike(term, own) for term in terms for own in relation.subjects)
    return None, is_known or (is_cjk(noun) and any(text in noun for c in relation.columns for text in c.values))


def _names(noun: str, column: RelationColumn) -> bool:
    if is_cjk(noun):
        header = fold(column.header)
        return any(noun[start : start + 2] in header for start in range(len(noun) - 1)) or noun in _bare(header)
    return any(alike(token, own) for token in tokens(noun) for own in _terms(column.header))


def _leftover(marks: _Marks, relation: Relation) -> tuple[frozenset[str], int]:
    """The terms that nothing explains, and how many titles explain."""
    for found in asking("all_of", "forms").finditer(marks.text):
        written = read_amount(found[found.lastindex or 0], marks.language)
        if written and written.low == len(relation.rows) - len(relation.totals):
            marks.mark(*found.span())
    rest = marks.rest()
    for word in sorted(asked_words("light"), key=len, reverse=True):
        rest = rest.replace(word, " ") if is_cjk(word) else rest
    light = {stem(word) for word in asked_words("light") if not is_cjk(word)}
    terms = [term for term in question_terms(rest) if term not in light]
    pairs = {each for term in terms if len(term) > 1 and is_cjk(term) for each in term}
    terms = [term for term in terms if term not in pairs]
    known = relation.subjects | relation.folder
    titled = {term for term in terms if any(term == own or alike(term, own) for own in known)}
    told = "".join((*relation.headers, *titled))
    titled |= {term for term in terms if is_cjk(term) and set(term) <= set(told)}  # a pair may join two words
    return frozenset(terms) - titled, len(titled)


def _compared(filters: Sequence[Filter]) -> tuple[str, ...]:
    by_column: Mapping[str, list[str]] = {}
    for each in filters:
        if isinstance(each.value, str) and each.comparison == "in":
            by_column.setdefault(each.column, []).append(each.value)  # type: ignore[attr-defined]
    return next((tuple(dict.fromkeys(own)) for own in by_column.values() if len(set(own)) > 1), ())
