"""What a pile of documents holds, quoted and placed: documents by folder, rows of lists, dates, amounts, names."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
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
from sag_retrieval.language.data import asking
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.quantities import MONEY, quantities
from sag_retrieval.language.spans import is_weak, revising
from sag_retrieval.language.units import is_currency
from sag_retrieval.language.words import fold, tokens
from sag_retrieval.release.arrays import Index
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.search.revised import has_revisions
from sag_retrieval.statements.header_classes import MAIN, Cell, HeaderClass, headed_parts, is_done, row_cells
from sag_retrieval.statements.scorer import understood
from sag_retrieval.topics.titler import fits

_VALUES, _VERSION = 2, 0.5
"""Values that a version changes at least, as one may be chance, and share of the words of both that both have."""
_DATED: Final = 0.3
"""Share of documents with a date from which on the newest of them tells how old the pile is."""
_DAY: Final = len("2000-01-01")
"""Characters of a heading's date that can be its document's: a month or year there is what it tells of."""
_LIST: Final = 5
"""Documents of a folder without a file name each, from which on they are entries of a list."""
_WHO: Final = ("organisation", "organization", "company", "person")
"""Types of keys of those who act: a name without a type may be a thing."""
_FEWEST_LETTERS: Final = 3
"""Of a cell that says what its row is about: fewer are a number."""
_LONGEST_ROLE: Final = 40
"""Characters in brackets behind a name that can be what somebody does."""
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
    outdated: frozenset[str] = frozenset()
    """Ids of documents of which there is a later version (`older_versions`)."""

    @cached_property
    def superseding(self) -> dict[str, Mapping[str, str]]:
        """The last revision of each statement that something said later stands in place of, by event id."""
        ordered = [one for one in self.revised if one["kind"] != "contradicts"]
        return {one["earlier_event_id"]: one for one in sorted(ordered, key=lambda one: one["later_said"] or "")}


def pile_of(index: Index, home: Path, released: str) -> Pile:
    """What is known of all documents of a release of some day, and of the files that the last run skipped."""
    events = index.rows["events"].select(["event_id", "document_id", "start", "said", "said_source"])
    said_of: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    starts: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for event, document, start, said, source in zip(*(column.to_pylist() for column in events.columns), strict=True):
        starts[document].append((start if start is not None else -1, event))
        if said:
            said_of[document].add((said, source))
    documents = index.rows["documents"].select(["document_id", "text"])
    texts = dict(zip(*(column.to_pylist() for column in documents.columns), strict=True))
    revised = index.rows["revisions"].to_pylist() if has_revisions(index) else []
    return Pile(
        dates={document: day for document, said in said_of.items() if (day := _own_date(said, released))},
        silent=[each for each in texts if each not in starts],
        unread=skipped_files(home),
        revised=revised,
        outdated=older_versions(revised, texts),
        headed={
            event: kind
            for document, events_of in starts.items()
            for first, end, kind in headed_parts(texts[document])
            for start, event in events_of
            if first <= start < end
        },
    )


def older_versions(revised: Sequence[Mapping[str, str]], texts: Mapping[str, str]) -> frozenset[str]:
    """Documents of which a later one is a version: it revises two of their values, and has half of their words.

    Minutes of two months revise values too, but say other things.
    """
    ordered = (one for one in revised if one["kind"] != "contradicts")
    pairs = Counter((one["earlier_document_id"], one["later_document_id"]) for one in ordered)
    found = set()
    for (earlier, later), count in pairs.items():
        if count >= _VALUES and earlier != later:
            words, others = (frozenset(tokens(texts.get(each, ""))) for each in (earlier, later))
            if len(words & others) >= _VERSION * (len(words | others) or 1):
                found.add(earlier)
    return frozenset(found)


def _own_date(said: AbstractSet[tuple[str, str]], released: str) -> str:
    """The newest date that a document has itself, none after the release; empty for none.

    A heading's date is its document's where it is a day and all of it has this date: else it is what it tells of. The
    day from which something holds is no date of the document.
    """
    days = {
        day
        for day, source in said
        if source != "effective day" and (source != "heading" or (len(day) == _DAY and len(said) == 1))
    }
    return max((day for day in days if not is_later(day, released)), default="")


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


def _understood(events: EventTable, rows: Iterable[int]) -> list[int]:
    """Those of the rows that a reader understands alone, sorted."""
    listed = np.array(sorted(rows), np.int32)
    return [int(row) for row in listed[understood(events, listed)]] if len(listed) else []


def listed_rows(events: EventTable, rows: Rows) -> list["ListedRow"]:
    """The events, among those of some rows, that are rows of a table or labelled lines, in their order."""
    found = []
    for row in rows.tolist():
        cells = row_cells(events.contents[row])
        if len(cells) > 1 or (cells and fits(cells[0].column)):  # else a sentence with a colon
            due = [
                str(mention.value)
                for cell in cells
                if cell.kind == "deadline"
                for mention in dates(cell.value, events.documents.languages[int(events.document[row])])
                if mention.key_type == DATE
            ]
            found.append(ListedRow(row, cells, max(due, key=len, default="")))
    return found


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row of a table, a labelled line or a sentence: the event's row, its cells, the day that its deadline says."""

    row: int
    cells: tuple[Cell, ...] = ()
    due: str = ""
    """ISO; empty where it says none with a year."""

    @property
    def has_status(self) -> bool:
        """Whether it says how far it is."""
        return any(cell.kind == "status" and cell.value for cell in self.cells)

    @property
    def is_done(self) -> bool:
        """Whether its status leaves nothing to do."""
        return any(cell.kind == "status" and is_done(cell.value) for cell in self.cells)

    @property
    def telling(self) -> tuple[Cell, ...]:
        """The cell that a row is about, then the others, without numbers that are of no class; none of a line."""
        if len(self.cells) < 2:  # noqa: PLR2004  a row has two cells
            return ()
        told = [cell for cell in self.cells if cell.value and (cell.kind or any(map(str.isalpha, cell.value)))]
        bare = [cell for cell in told if not cell.kind]
        named = (cell for cell in bare if sum(map(str.isalpha, cell.value)) >= _FEWEST_LETTERS)
        about = next((cell for cell in told if cell.kind in MAIN), next(named, bare[0] if bare else None))
        return tuple(sorted(told, key=lambda cell: cell is not about))


def points_of(
    events: EventTable, headed: Mapping[str, HeaderClass], rows: Sequence[ListedRow]
) -> dict[HeaderClass, list[ListedRow]]:
    """What documents list as decisions, risks, open points, actions and deadlines, in the order of the release.

    A table's row is listed by its column of such a class (an action has an owner, a deadline or a status), as an action
    where it says who does it by when, else by the heading above it; a line by its label; a sentence by the heading
    alone, unless a table stands there, or as a decision where it says so. What is called done is not listed.
    """
    found: defaultdict[HeaderClass, list[ListedRow]] = defaultdict(list)
    tabled: set[tuple[int, HeaderClass]] = set()
    for each in rows:
        above = headed.get(events.event_ids[each.row])
        if kind := _kind_of_row(each, above):
            found[kind].append(each)
        if above and each.telling:
            tabled.add((int(events.chunk[each.row]), above))
    listed = {each.row for each in rows if each.cells[1:]}.union(each.row for own in found.values() for each in own)
    for row, text in enumerate(events.contents):
        above = headed.get(events.event_ids[row])
        if row in listed or is_done(text):
            continue
        if above and (int(events.chunk[row]), above) not in tabled:
            found[above].append(ListedRow(row))
        elif asking("decides").search(text) and not is_weak(text) and _understood(events, [row]):
            found["decision"].append(ListedRow(row))
    return {kind: sorted(found[kind], key=lambda each: each.row) for kind in (*MAIN, "deadline") if found[kind]}


def _kind_of_row(row: ListedRow, above: HeaderClass | None) -> HeaderClass | None:
    """What a row is listed as; None for none."""
    kinds: list[HeaderClass] = [cell.kind for cell in row.cells if cell.value and cell.kind]
    by_whom: HeaderClass | None = "action" if {"owner", "deadline"} <= {*kinds} else None
    kind = next((kind for kind in kinds if kind in MAIN), by_whom or above)
    is_bare = kind == "action" and len(row.cells) > 1 and not {"owner", "deadline", "status"} & {*kinds}
    return None if is_bare or (row.is_done and kind != "decision") else kind


def dates_ahead(events: EventTable, reference: str) -> list[ListedRow]:
    """The sentences that name a date after a day, month or year, with its year; `due` is the nearest such date.

    A date is after the reference if it is later as far as both are exact.
    """
    keys = events.keys
    later = {
        key: value
        for key, (kind, value) in enumerate(zip(keys.types, keys.values, strict=True))
        if kind == "date" and value[:1].isdigit() and is_later(value, reference)
    }
    first: dict[int, str] = {}
    for row, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        if key in later and later[key][:4] in events.contents[row]:
            first[row] = min(first.get(row, "9"), later[key])
    said: dict[str, int] = {}
    for row in _understood(events, first):
        if not row_cells(events.contents[row])[1:]:
            said.setdefault(events.contents[row], row)
    return [ListedRow(row, due=first[row]) for row in said.values()]


def listed_events(events: EventTable, pile: Pile, day: str) -> list[int]:
    """The events that are listed as decisions, risks, open points or actions, name a day after one, or were revised."""
    rows = listed_rows(events, np.arange(len(events), dtype=np.int32))
    listed = [each.row for points in points_of(events, pile.headed, rows).values() for each in points]
    ahead = [each.row for each in dates_ahead(events, day)] if day else []
    ends = {one[f"{end}_event_id"] for one in pile.revised for end in ("earlier", "later")}
    return [*listed, *ahead, *(row for row, event in enumerate(events.event_ids) if event in ends)]


def reference_day(events: EventTable, pile: Pile, options: ReportOptions) -> str:
    """The day up to which a pile tells; never the clock: the end of the period, else the newest document's.

    Else, where less than three tenths of the documents have a date, the release's.
    """
    shown = {events.documents.document_ids[row] for row in set(events.document.tolist())}
    is_dated = sum(name in shown for name in pile.dates) >= _DATED * len(shown)
    return (newest_day(events, pile, options) if is_dated or options.period else "") or options.released


def newest_day(events: EventTable, pile: Pile, options: ReportOptions) -> str:
    """The end of the period, else the newest day of a document; empty where none has a date."""
    shown = {events.documents.document_ids[row] for row in set(events.document.tolist())}
    days = [day for name, day in pile.dates.items() if name in shown]
    return options.period.partition("..")[2] or max(days, default="")


def is_later(date: str, reference: str) -> bool:
    """Whether a date is after another one as far as both are exact."""
    return date[: len(reference)] > reference[: len(date)]


def stated_amounts(events: EventTable, rows: Sequence[ListedRow]) -> list[tuple[ListedRow, tuple[str, ...]]]:
    """Of each document with amounts of money the row or sentence with the largest, and its amounts as they are written.

    Rows have theirs in columns whose header names an amount, sentences with a currency.
    """
    found: defaultdict[int, list[tuple[float, ListedRow]]] = defaultdict(list)
    languages = [events.documents.languages[document] for document in events.document.tolist()]
    for each in rows:
        read = (read_amount(cell.value, languages[each.row]) for cell in _amounts_of(each) if each.cells[1:])
        if numbers := [one.high for one in read if one]:
            found[int(events.document[each.row])].append((max(numbers), each))
    keys = events.keys
    is_money = [number is not None and is_currency(keys.units[key]) for key, number in enumerate(keys.numbers)]
    held: defaultdict[int, float] = defaultdict(float)
    for row, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        if is_money and is_money[key] and not row_cells(events.contents[row])[1:]:
            held[row] = max(held[row], float(keys.numbers[key] or 0))
    for row in _understood(events, held):
        found[int(events.document[row])].append((held[row], ListedRow(row)))
    largest = [max(own, key=lambda pair: (pair[0], -pair[1].row))[1] for own in found.values()]
    return [(each, _written_amounts(events.contents[each.row], each, languages[each.row])) for each in largest]


def _amounts_of(row: ListedRow) -> list[Cell]:
    return [cell for cell in row.cells if cell.kind == "amount" and cell.value]


def _written_amounts(text: str, row: ListedRow, language: str) -> tuple[str, ...]:
    if row.cells[1:]:
        return tuple(f"{cell.column}: {cell.value}" for cell in _amounts_of(row))
    spans = dict.fromkeys((one.start, one.end) for one in quantities(text, language) if one.key_type == MONEY)
    return tuple(text[start:end] for start, end in spans)


@dataclass(frozen=True, slots=True)
class NameInDocuments:
    """A name, its documents, those in most statements with it, and what stands in brackets behind it."""

    name: str
    documents: int
    together: tuple[tuple[str, int], ...]
    role: str
    row: int
    """Of the event that says the role; -1 where none does."""


def names_together(events: EventTable, is_name: Flags, most: int) -> list[NameInDocuments]:
    """The names of those who act that most documents have, at least two where any has two.

    Keys of one spelling are one name.
    """
    incidence, keys = events.incidence().tocsc(), events.keys
    keys_of: defaultdict[str, list[int]] = defaultdict(list)
    for key in np.flatnonzero(is_name & (np.asarray(incidence.sum(axis=0)).ravel() > 0)).tolist():
        keys_of[fold(keys.values[key])].append(key)
    rows_of = {
        own[0]: np.unique(incidence[:, own].indices).astype(np.int32)
        for own in keys_of.values()
        if any(keys.types[key] in _WHO for key in own)
    }
    documents = {key: len(np.unique(events.document[rows])) for key, rows in rows_of.items()}
    acting = sorted(rows_of, key=lambda key: (-documents[key], -len(rows_of[key]), key))
    least = min(2, documents[acting[0]]) if acting else 0
    found = []
    for key in (each for each in acting[:most] if documents[each] >= least):
        shared = [(len(np.intersect1d(rows_of[key], rows)), other) for other, rows in rows_of.items() if other != key]
        together = sorted((-count, other) for count, other in shared if count >= _FEWEST_TOGETHER)[:_TOGETHER]
        names = tuple((keys.values[other], -count) for count, other in together)
        found.append(NameInDocuments(keys.values[key], documents[key], names, *_role(events, key, rows_of[key])))
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


def both_values(events: EventTable) -> list[int]:
    """The sentences that name an old value and a new one: `298 t, not 312 t`, `from 9,500 to 8,200`."""
    found = [
        row
        for row, text in enumerate(events.contents)
        if revising("in_place").search(text) or revising("moved").search(text)
    ]
    return _understood(events, found)
