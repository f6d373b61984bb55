"""What a pile of documents holds, counted or quoted: documents by folder, dates ahead, amounts, names together."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.clusters.events import EventTable, Flags, Rows
from sag_retrieval.clusters.storage import DAMAGE
from sag_retrieval.language.amounts import read_amount
from sag_retrieval.language.asked import asked_words, asking
from sag_retrieval.language.dates import DATE, dates, with_year
from sag_retrieval.language.spans import is_weak, revising, subject_terms
from sag_retrieval.language.units import is_currency, unit_name
from sag_retrieval.language.words import fold
from sag_retrieval.release.arrays import Index
from sag_retrieval.reports.wording import Messages
from sag_retrieval.search.revised import has_revisions
from sag_retrieval.statements.header_classes import (
    MAIN,
    Cell,
    HeaderClass,
    headed_parts,
    header_words,
    is_done,
    is_of_one,
    row_cells,
)
from sag_retrieval.statements.scorer import judged
from sag_retrieval.topics.titler import fits

_DAY: Final = len("2000-01-01")
"""Characters of a heading's date that can be its document's: a month or year there is what it tells of."""
_LIST: Final = 5
"""Documents of a folder without a file name each, from which on they are entries of a list."""
_WHO: Final = ("organisation", "organization", "company", "person")
"""Types of keys of those who act: a name without a type may be a thing."""
_SAME: Final = 1 / 3
"""Of the terms of a row, that another text with its deadline shares where both tell of one matter."""
_FEWEST_LETTERS: Final = 3
"""Of a cell that says what its row is about: fewer are a number."""
_LONGEST_ROLE: Final = 40
"""Characters in brackets behind a name that can be what somebody does."""
_FEWEST_ROWS: Final = 3
"""Of a table, for its sums."""
_TOGETHER, _FEWEST_TOGETHER = 3, 2
"""Names shown beside a name, and statements that have both: one may be chance."""


@dataclass(frozen=True, kw_only=True)
class Pile:
    """What a release knows of its documents beside their events, and what was not read; empty where it is not known."""

    dates: Mapping[str, str] = field(default_factory=dict)
    """ISO date of each document that has its own, by document id."""
    silent: Sequence[str] = ()
    """Ids of documents without any event."""
    unread: Sequence[tuple[str, str]] = ()
    """Files skipped with an error, and the error."""
    revised: Sequence[Mapping[str, str]] = ()
    """Rows of the table `revisions`."""
    headed: Mapping[str, HeaderClass] = field(default_factory=dict)
    """What the heading above an event names, by event id."""

    @cached_property
    def superseding(self) -> dict[str, Mapping[str, str]]:
        """The last revision of each statement that something said later stands in place of, by event id."""
        ordered = [one for one in self.revised if one["kind"] != "contradicts"]
        return {one["earlier_event_id"]: one for one in sorted(ordered, key=lambda one: one["later_said"] or "")}


def pile_of(index: Index, home: Path) -> Pile:
    """What is known of all documents of a release, and of the files that the last run skipped."""
    events = index.rows["events"].select(["event_id", "document_id", "start", "said", "said_source"])
    own: defaultdict[str, Counter[str]] = defaultdict(Counter)
    starts: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for event, document, start, said, source in zip(*(column.to_pylist() for column in events.columns), strict=True):
        starts[document].append((start if start is not None else -1, event))
        if said and (source != "heading" or len(said) == _DAY):
            own[document][said] += 1
    documents = index.rows["documents"].select(["document_id", "text"])
    texts = dict(zip(*(column.to_pylist() for column in documents.columns), strict=True))
    return Pile(
        dates={document: max(dates, key=lambda date: (dates[date], date)) for document, dates in own.items()},
        silent=[each for each in texts if each not in starts],
        unread=skipped_files(home),
        revised=index.rows["revisions"].to_pylist() if has_revisions(index) else (),
        headed={
            event: kind
            for document, events_of in starts.items()
            for first, end, kind in headed_parts(texts[document])
            for start, event in events_of
            if first <= start < end
        },
    )


def skipped_files(home: Path) -> list[tuple[str, str]]:
    """Files, and lines of files, that the ledger of a home names as skipped with errors, by their path.

    Of entries about one file the last is current. Nothing where the home is not on this machine.
    """
    entries: dict[str, tuple[str, str]] = {}
    try:
        for file in sorted((home / "ledger").glob("*.parquet")):
            rows = pq.read_table(file, columns=["kind", "unit", "status", "path", "line", "reason"])
            for row in rows.filter(pa.compute.equal(rows["kind"], "aside")).to_pylist():
                place = f"{row['path']}:{row['line']}" if row["line"] >= 0 else row["path"]
                entries[row["unit"]] = (place, "" if row["status"] == "removed" else row["reason"])
    except (*DAMAGE, pa.ArrowException):
        return []
    return sorted(each for each in entries.values() if each[1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileEntry:
    """A document of a folder, or the documents of one file or list; `title` is empty where the name says as much."""

    name: str
    title: str
    documents: int
    kind: str
    """Ending of the file; empty for entries of a list."""
    date: str
    """ISO; of several documents the newest."""
    rows: Rows
    """Its events, those of the oldest document first."""


def folders_of(events: EventTable, pile: Pile) -> dict[str, list[FileEntry]]:
    """The documents by folder, those with the newest date first, then by name.

    Entries of a file (`mails.json#3`) are one, and so are six or more of a folder whose names end like no file.
    """
    ids, titles = events.documents.document_ids, events.documents.titles
    paths = [PurePosixPath(each.partition("#")[0]) for each in ids]
    bare = Counter(str(path.parent) for path in paths if not path.suffix)
    files: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for row, path in enumerate(paths):
        is_entry = not path.suffix and bare[str(path.parent)] > _LIST
        files[str(path.parent), "" if is_entry else path.name].append(row)
    order = np.argsort(events.document, kind="stable").astype(np.int32)
    of_document = np.split(order, np.searchsorted(events.document[order], np.arange(1, len(ids))))

    def date_of(row: int) -> str:
        return pile.dates.get(ids[row], "")

    found: defaultdict[str, list[FileEntry]] = defaultdict(list)
    for (folder, name), rows in files.items():
        title = titles[rows[0]] if len(rows) == 1 else ""
        entry = FileEntry(
            name=name,
            title="" if title in (name, PurePosixPath(name).stem) else title,
            documents=len(rows),
            kind=PurePosixPath(name).suffix.removeprefix(".").lower(),
            date=max(map(date_of, rows)),
            rows=np.concatenate([of_document[row] for row in sorted(rows, key=date_of)]),
        )
        found["" if folder == "." else folder].append(entry)
    for entries in found.values():
        entries.sort(key=lambda each: each.name)
        entries.sort(key=lambda each: each.date, reverse=True)
    return dict(sorted(found.items()))


def _quotable(events: EventTable, rows: Iterable[int]) -> list[int]:
    """Those of the rows that a reader understands alone, in their order."""
    listed = np.fromiter(rows, np.int32)
    return [row for row, each in zip(listed.tolist(), judged(events, listed), strict=True) if each.quotable >= 1 / 2]


def dates_ahead(events: EventTable, reference: str, due: Iterable["Point"], told: "Told") -> list["Point"]:
    """What is due after a day, month or year, the nearest first: rows listed with a deadline, and sentences.

    A date is after the reference if it is later as far as both are exact. Sentences that cannot be quoted are left out,
    and those that tell of a row with that deadline again: the row knows whether it is done.
    """
    keys = events.keys
    later = {
        key: value
        for key, (kind, value) in enumerate(zip(keys.types, keys.values, strict=True))
        if kind == "date" and value[:1].isdigit() and is_later(value, reference)
    }
    days: defaultdict[int, list[str]] = defaultdict(list)
    for row, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        if key in later:
            days[row].append(later[key])
    moved = {row for row in days if revising("moved").search(events.contents[row])}  # to the later day
    first = {row: max(own) if row in moved else min(own, key=_exactly) for row, own in days.items()}
    left: defaultdict[str, set[str]] = defaultdict(set)  # by day, terms of sentences that say that it holds no more
    for row in moved:
        for day in {*days[row]} - {first[row]}:
            left[day] |= subject_terms(events.contents[row])
    found = {each.row: each for each in due}
    ahead = [each for each in found.values() if is_later(each.due, reference) and not each.is_late(reference)]
    said = {each.text for each in ahead}
    for row in _quotable(events, sorted(first)):
        text = events.contents[row]
        point = Point(row, text, due=first[row])
        is_new = row not in found and text not in said and not is_told(point, told)
        is_new &= row in moved or left[point.due].isdisjoint(subject_terms(text))
        if is_new and not row_cells(text)[1:]:
            said.add(text)
            ahead.append(point)
    return sorted(ahead, key=lambda each: (each.due, each.row))


def is_later(date: str, reference: str) -> bool:
    """Whether a date is after another one as far as both are exact."""
    return date[: len(reference)] > reference[: len(date)]


def _exactly(date: str) -> tuple[str, int, str]:
    """By year, then the more exact first: a day has its month and year as keys of their own."""
    return date[:4], -len(date), date


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Amounts of money: of one statement, or the sums of a column over the rows of a table, one for each currency."""

    amounts: tuple[tuple[float, str], ...]
    row: int
    """Of the event; of a table the first."""
    column: str = ""
    count: int = 0
    """Rows of the table."""


def column_sums(events: EventTable, rows: Sequence["TableRow"]) -> list[Amounts]:
    """The sums of the columns that hold amounts in a currency in three rows or more of one document.

    Prices of one piece are not summed, nor are rows of totals.
    """
    found: defaultdict[tuple[int, str], list[tuple[float, str, int]]] = defaultdict(list)
    for each in rows:
        if len(each.cells) > 1 and fold(each.cells[0].value) not in asked_words("totals"):
            for cell in each.cells:
                if not is_of_one(cell.column) and (amount := _money(events, each, cell)):
                    found[int(events.document[each.row]), cell.column].append((*amount, each.row))
    sums = []
    for (_, column), summed in found.items():
        total: defaultdict[str, float] = defaultdict(float)
        for number, unit, _ in summed:
            total[unit] += number
        if len(summed) >= _FEWEST_ROWS:
            amounts = tuple((round(number, 2), unit) for unit, number in sorted(total.items()))
            sums.append(Amounts(amounts=amounts, row=summed[0][2], column=column, count=len(summed)))
    return sums


def _money(events: EventTable, table_row: "TableRow", cell: Cell) -> tuple[float, str] | None:
    """The number of a cell and its currency: its own, that of its header, or that of another cell of the row."""
    amount = read_amount(cell.value, events.documents.languages[int(events.document[table_row.row])])
    if amount is None or amount.low != amount.high:
        return None
    in_header = cell.column.replace("（", " ").replace("(", " ").rstrip(")）").split()
    beside = (each.value for each in table_row.cells if cell.kind == "amount")
    names = (amount.unit or "", *reversed(in_header), *beside)
    unit = next((name for name in map(unit_name, names) if is_currency(name)), "")
    return (amount.low, unit) if unit else None


def stated_amounts(events: EventTable, most: int, told: Collection[int] = ()) -> list[Amounts]:
    """The statements with the largest amounts of money in each currency, the commonest currency first.

    Args:
        events: All events.
        most: Statements.
        told: Rows that stand elsewhere, as corrections: no statement whose largest amount they name is listed.

    """
    keys = events.keys
    is_money = [number is not None and is_currency(keys.units[key]) for key, number in enumerate(keys.numbers)]
    held: defaultdict[int, list[tuple[float, str]]] = defaultdict(list)
    for row, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        if is_money and is_money[key]:
            held[row].append((float(keys.numbers[key] or 0), keys.units[key] or ""))
    old = {amount for row in told for amount in held.pop(row, ())}
    by_unit: defaultdict[str, list[Amounts]] = defaultdict(list)
    for row in _quotable(events, sorted(row for row, own in held.items() if max(own) not in old)):
        if not row_cells(events.contents[row])[1:]:
            amounts = sorted(held[row], key=lambda each: (-abs(each[0]), each[1]))
            by_unit[amounts[0][1]].append(Amounts(amounts=tuple(amounts), row=row))
    share = max(1, most // max(1, len(by_unit)))
    return [
        each
        for unit in sorted(by_unit, key=lambda unit: (-len(by_unit[unit]), unit))
        for each in sorted(by_unit[unit], key=lambda each: (-abs(each.amounts[0][0]), each.row))[:share]
    ][:most]


_MYRIADS: Final = ("", "CNY", "HKD", "TWD", "JPY", "KRW")
"""Units whose amounts Chinese readers scale by 万 and 亿; those of other countries stand as they are."""


def readable_amount(number: float, unit: str, messages: Messages) -> str:
    """An amount with a word for its scale.

    Examples:
        >>> readable_amount(5e9, "USD", Messages("en")), readable_amount(109_000, "EUR", Messages("en"))
        ('5 billion USD', '109,000 EUR')

    """
    for scale, word in (each.split(" ", 1) for each in messages.scales.split(", ")):
        if abs(number) >= float(scale) and (unit in _MYRIADS or messages.lang == "en"):
            return f"{number / float(scale):,.6g} {word} {unit}".rstrip()
    return f"{number:,.10g} {unit}".rstrip()


@dataclass(frozen=True, slots=True)
class NameInDocuments:
    """A name: row of its key, its documents, those in most statements with it, and what they say in brackets it is."""

    key: int
    documents: int
    together: tuple[tuple[str, int], ...]
    role: str
    row: int
    """Of the event that says the role; -1 where none does."""


def names_together(events: EventTable, is_name: Flags, most: int) -> list[NameInDocuments]:
    """Those who act that most documents name, at least two where any has two, with those in most statements with each.

    Keys of one spelling are one name, of the type that most statements give it.
    """
    incidence = events.incidence().tocsc()
    uses = np.asarray(incidence.sum(axis=0)).ravel()
    able = [key for key in np.lexsort((np.arange(len(uses)), -uses)).tolist() if is_name[key] and uses[key]]
    types: dict[str, int] = {}
    keys_of: defaultdict[int, list[int]] = defaultdict(list)
    for key in able:
        keys_of[types.setdefault(fold(events.keys.values[key]), key)].append(key)
    rows_of = {
        key: np.unique(incidence[:, keys].indices).astype(np.int32)
        for key, keys in keys_of.items()
        if events.keys.types[key] in _WHO
    }
    documents = {key: len(np.unique(events.document[rows])) for key, rows in rows_of.items()}
    acting = sorted(rows_of, key=lambda key: (-documents[key], -uses[key], key))
    least = min(2, documents[acting[0]]) if acting else 0
    found = []
    for key in (each for each in acting[:most] if documents[each] >= least):
        shared = [(len(np.intersect1d(rows_of[key], rows)), other) for other, rows in rows_of.items() if other != key]
        together = sorted((-count, other) for count, other in shared if count >= _FEWEST_TOGETHER)
        role, row = _role(events, key, rows_of[key])
        names = tuple((events.keys.values[other], -count) for count, other in together[:_TOGETHER])
        found.append(NameInDocuments(key, documents[key], names, role, row))
    return found


def _role(events: EventTable, key: int, rows: Rows) -> tuple[str, int]:
    """What stands in brackets behind a name, the longest, and where: `Ann Lee (plant manager)`."""
    found = []
    for row in rows.tolist():
        for name in events.keys.names_of(key):
            behind = events.contents[row].partition(name)[2].lstrip()
            inside = behind[1:].replace("）", ")").partition(")")[0].strip() if behind[:1] in ("(", "（") else ""
            if 1 < len(inside) <= _LONGEST_ROLE and not any(map(str.isdigit, inside)) and "@" not in inside:
                found.append((-len(inside), row, inside))
    return (min(found)[2], min(found)[1]) if found else ("", -1)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table, or a labelled line: the event's row, its cells, and its deadline, ISO, while it is open."""

    row: int
    cells: tuple[Cell, ...]
    due: str = ""
    is_done: bool = False


def labelled_rows(events: EventTable, rows: Rows, said: Mapping[str, str] | None = None) -> list[TableRow]:
    """The events, among those of some rows, that are rows of a table or labelled lines, in their order.

    Args:
        events: All events.
        rows: Some of them.
        said: The date of documents, by id: a deadline without a year is the one nearest to it.

    """
    found = []
    for row in rows.tolist():
        cells = row_cells(events.contents[row])
        if len(cells) > 1 or (cells and fits(cells[0].column)):  # else a sentence with a colon
            done = any(cell.kind == "status" and is_done(cell.value) for cell in cells)
            document = int(events.document[row])
            near = (said or {}).get(events.documents.document_ids[document]) or events.dates[row] or ""
            due = [
                str(mention.value)
                for cell in cells
                if cell.kind == "deadline"
                for each in dates(cell.value, events.documents.languages[document])
                for mention in (with_year(each, near) if near else (each,))
                if mention.key_type == DATE
            ]
            found.append(TableRow(row, cells, max(due, key=len, default=""), done))
    return found


@dataclass(frozen=True, slots=True)
class Point:
    """A decision, risk, open point, action or deadline: the event's row and text, and of a table its telling cells."""

    row: int
    text: str = ""
    """Of a table the cell that the row is about."""
    cells: tuple[Cell, ...] = ()
    due: str = ""
    """ISO; empty where it has no deadline."""

    @property
    def has_status(self) -> bool:
        """Whether it says how far it is."""
        return any(cell.kind == "status" for cell in self.cells)

    def is_late(self, reference: str) -> bool:
        """Whether its deadline is before a day, or its status says that it is overdue."""
        said = any(cell.kind == "status" and fold(cell.value) in header_words("late") for cell in self.cells)
        return bool(self.due) and (said or is_later(reference, self.due))

    @property
    def weight(self) -> float:
        """The mean of its levels, 0 to 1: `high` is 1, `low` 0, a word between them or no level one half."""
        levels = [fold(cell.value) for cell in self.cells if cell.kind == "level"]
        known = [0.5 + (each in header_words("high")) / 2 - (each in header_words("low")) / 2 for each in levels]
        return sum(known) / len(known) if known else 0.5

    @property
    def score(self) -> float:
        """The last level that is a number."""
        told = (read_amount(cell.value, "en") for cell in reversed(self.cells) if cell.kind == "level")
        return next((each.low for each in told if each), 0.0)


Told = Mapping[str, Sequence[frozenset[str]]]
"""By deadline the terms of each row that has a status."""


def told_by_rows(rows: Sequence[TableRow]) -> Told:
    """What rows with a deadline and a status are about, done or not."""
    found: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for each in rows:
        if each.due and (cells := telling(each.cells)) and any(cell.kind == "status" for cell in cells):
            found[each.due].append(subject_terms(cells[0].value))
    return found


def is_told(point: Point, told: Told) -> bool:
    """Whether a row with a status has the deadline of a point without one, and tells of the same matter."""
    terms = subject_terms(point.text)
    return not point.has_status and any(
        len(each & terms) >= _SAME * len(each) for each in told.get(point.due, ()) if each
    )


def points_of(
    events: EventTable, headed: Mapping[str, HeaderClass], rows: Sequence[TableRow], told: Told
) -> dict[HeaderClass, list[Point]]:
    """What documents list as decisions, risks, open points, actions and deadlines, in the order of the release.

    A table's row is listed by its column of such a class (an action has an owner, a deadline or a status), as an action
    where it says who does it by when, else by the heading above it; a line by its label; a sentence by the heading
    alone, unless a table stands there or it is an action of some day, or as a decision where it says so. What is done
    is not listed, nor what another row with the same deadline tells with its status.
    """
    found: defaultdict[HeaderClass, list[Point]] = defaultdict(list)
    tabled: set[tuple[int, HeaderClass]] = set()
    for each in rows:
        cells, above = telling(each.cells), headed.get(events.event_ids[each.row])
        if kind := _kind_of_row(each, above):
            found[kind].append(Point(each.row, cells[0].value if cells else events.contents[each.row], cells, each.due))
        if above and cells:
            tabled.add((int(events.chunk[each.row]), above))
    listed = {each.row for each in rows if each.cells[1:]}.union(each.row for own in found.values() for each in own)
    for row, text in enumerate(events.contents):
        above = headed.get(events.event_ids[row])
        if row in listed or is_done(text):
            continue
        if above and (int(events.chunk[row]), above) not in tabled:
            language = events.documents.languages[int(events.document[row])]
            found[above] += [] if above == "action" and any(dates(text, language)) else [Point(row, text)]
        elif asking("decides").search(text) and not is_weak(text) and _quotable(events, [row]):
            found["decision"].append(Point(row, text))
    kept = {kind: [each for each in points if not is_told(each, told)] for kind, points in found.items()}
    return {kind: sorted(kept[kind], key=lambda each: each.row) for kind in (*MAIN, "deadline") if kept.get(kind)}


def _kind_of_row(row: TableRow, above: HeaderClass | None) -> HeaderClass | None:
    """What a row is listed as; None for none."""
    kinds: list[HeaderClass] = [cell.kind for cell in row.cells if cell.value and cell.kind]
    by_whom: HeaderClass | None = "action" if {"owner", "deadline"} <= {*kinds} else None
    kind = next((kind for kind in kinds if kind in MAIN), by_whom or above)
    is_bare = kind == "action" and len(row.cells) > 1 and not {"owner", "deadline", "status"} & {*kinds}
    return None if is_bare or (row.is_done and kind != "decision") else kind


def telling(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cell that a row is about, then the others, without numbers that are of no class; none of a labelled line."""
    if len(cells) < 2:  # noqa: PLR2004  a row has two cells
        return ()
    told = [cell for cell in cells if cell.value and (cell.kind or any(map(str.isalpha, cell.value)))]
    bare = [cell for cell in told if not cell.kind]
    named = (cell for cell in bare if sum(map(str.isalpha, cell.value)) >= _FEWEST_LETTERS)
    about = next((cell for cell in told if cell.kind in MAIN), next(named, bare[0] if bare else None))
    return tuple(sorted(told, key=lambda cell: cell is not about))


def changes_said(events: EventTable, pile: Pile, reference: str) -> list[tuple[int, str]]:
    """The rows that say themselves what they take back (`corrects`) or change (`updates`), or who takes an office.

    Of each the newest documents first, as far as a reader understands them alone; of offices those that somebody with a
    key takes or leaves in the year before the reference, or later.
    """
    since = f"{int(reference[:4]) - 1}{reference[4:]}" if reference else ""
    persons = {key for key, kind in enumerate(events.keys.types) if kind in _WHO}
    pairs = zip(events.links.event.tolist(), events.links.key.tolist(), strict=True)
    has_person = {row for row, key in pairs if key in persons}
    found: dict[int, str] = {}
    for row, text in enumerate(events.contents):
        if revising("in_place").search(text):
            found[row] = "corrects"
        elif revising("moved").search(text):
            found[row] = "updates"
        elif row in has_person and revising("appoints").search(text) and not is_later(since, events.dates[row] or "0"):
            found[row] = "appoints"
    able = [(row, found[row]) for row in _quotable(events, found)]
    able.sort(
        key=lambda each: pile.dates.get(events.documents.document_ids[events.document[each[0]]], ""), reverse=True
    )
    return sorted(able, key=lambda each: ("corrects", "updates", "appoints").index(each[1]))
