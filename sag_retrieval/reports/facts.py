"""What a pile of documents holds, counted or quoted: documents by folder, dates ahead, amounts, names together."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.clusters.events import EventTable, Flags, Rows
from sag_retrieval.clusters.storage import DAMAGE
from sag_retrieval.language.data import patterns
from sag_retrieval.release.arrays import Index
from sag_retrieval.reports.ranking import central_row
from sag_retrieval.reports.wording import Messages
from sag_retrieval.search.revised import has_revisions
from sag_retrieval.statements.header_classes import Cell, HeaderClass, row_cells
from sag_retrieval.statements.scorer import judged, quotable
from sag_retrieval.topics.naming import names_something
from sag_retrieval.topics.titler import fits

_OWN_DATES: Final = ("metadata", "letter head", "stamp", "file name")
"""Where a document's date stands: a heading has that of what it tells of."""
_LIST: Final = 5
"""Documents of a folder without a file name each, from which on they are entries of a list."""
_WHO: Final = ("organisation", "organization", "company", "person")
"""Types of keys of those who act: a name without a type may be a thing."""
_BEARERS: Final = (*_WHO, "product", "place", "entity")
"""Types of keys that can have an amount, first choice first."""
_NO_BEARERS: Final = frozenset({"title", "heading", "topic", "action", "law", "work", "occasion"})
"""Types of texts that have none."""
_COUNTED: Final = frozenset({"quantity", "percentage"})
"""Types of amounts that differ in kind from one to the next; those of one's own and money can be compared."""
_FOR_ONE_AMOUNT: Final = 50
_OPENING = patterns("en")["opening_of_name"]
"""What may stand before the name that begins a sentence."""
_FIGURE: Final = re.compile(r"\d")
_TOGETHER, _FEWEST_TOGETHER = 3, 2
"""Names shown beside a name, and statements that have both: one may be chance."""
_LISTED: Final[tuple[HeaderClass, ...]] = (
    "decision", "risk", "action", "deadline", "status", "owner", "level", "amount",
)  # fmt: skip
"""Classes of cells in the order in which rows are listed: first what a row is about."""
_PER_NAME: Final = 200
"""Statements that begin with a name among which the central one is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
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


def pile_of(index: Index, home: Path) -> Pile:
    """What is known of all documents of a release, and of the files that the last run skipped."""
    events = index.rows["events"].select(["document_id", "date", "date_source"])
    named = zip(*(events[name].to_pylist() for name in events.column_names), strict=True)
    own: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for document, date, source in named:
        if source in _OWN_DATES and date:
            own[document][date] += 1
    spoken = set(events["document_id"].to_pylist())
    documents = index.rows["documents"]["document_id"].to_pylist()
    return Pile(
        dates={document: min(dates, key=lambda date: (-dates[date], date)) for document, dates in own.items()},
        silent=[each for each in documents if each not in spoken],
        unread=skipped_files(home),
        revised=index.rows["revisions"].to_pylist() if has_revisions(index) else (),
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
    """Its events."""


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
    of_document = _rows_by_document(events)
    found: defaultdict[str, list[FileEntry]] = defaultdict(list)
    for (folder, name), rows in files.items():
        title = titles[rows[0]] if len(rows) == 1 else ""
        entry = FileEntry(
            name=name,
            title="" if title in (name, PurePosixPath(name).stem) else title,
            documents=len(rows),
            kind=PurePosixPath(name).suffix.removeprefix(".").lower(),
            date=max((pile.dates.get(ids[row], "") for row in rows), default=""),
            rows=np.sort(np.concatenate([of_document[row] for row in rows])),
        )
        found["" if folder == "." else folder].append(entry)
    ordered = sorted(found.items())
    return {
        folder: sorted(sorted(entries, key=lambda each: each.name), key=lambda each: each.date, reverse=True)
        for folder, entries in ordered
    }


def _rows_by_document(events: EventTable) -> list[Rows]:
    order = np.argsort(events.document, kind="stable").astype(np.int32)
    edges = np.searchsorted(events.document[order], np.arange(len(events.documents.titles) + 1))
    return [order[start:end] for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]


def dates_ahead(events: EventTable, reference: str) -> list[tuple[str, int]]:
    """The dates after a day, month or year that statements name, with the row of each, the nearest first.

    A date is after the reference if it is later as far as both are exact. Statements that cannot be quoted are left
    out, and of equal ones all but the first.
    """
    keys = events.keys
    later = {
        key: value
        for key, (kind, value) in enumerate(zip(keys.types, keys.values, strict=True))
        if kind == "date" and value[:1].isdigit() and value[: len(reference)] > reference[: len(value)]
    }
    first: dict[int, str] = {}
    for row, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        if key in later:
            first[row] = min(first.get(row, later[key]), later[key], key=_exactly)
    rows = np.array(sorted(first), np.int32)
    said: dict[str, tuple[str, int]] = {}
    for row, each in zip(rows.tolist(), judged(events, rows), strict=True):
        if each.quotable >= 1 / 2:
            said.setdefault(events.contents[row], (first[row], row))
    return sorted(said.values())


def _exactly(date: str) -> tuple[str, int, str]:
    """By year, then the more exact first: a day has its month and year as keys of their own."""
    return date[:4], -len(date), date


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount that an event states: who has it, how it is shown, its number and unit, and the event's row."""

    who: str
    shown: str
    number: float
    unit: str
    row: int


def amounts_of(events: EventTable, rows: Rows) -> list[Amount]:
    """At most one amount for each event, of sentences that begin with a name, in the order of the rows."""
    keys = _keys_by_event(events, rows)
    found: list[Amount] = []
    for row, is_good in zip(rows.tolist(), quotable(events, rows).tolist(), strict=True):
        measured = [key for key in keys[row] if _is_amount(events, key)]
        who = _bearer(events, row, keys[row])
        if len(measured) == 1 and who and is_good:
            key = measured[0]
            number = events.keys.numbers[key]
            found.append(Amount(who, events.keys.values[key], float(number or 0), events.keys.units[key] or "", row))
    return found


def largest_amounts(events: EventTable, most: int) -> list[Amount]:
    """The largest amounts of all events in the unit that most events have, one for each bearer."""
    keys = [key for key in range(len(events.keys.values)) if _is_amount(events, key)]
    uses = np.bincount(events.links.key, minlength=len(events.keys.values))
    units: Counter[str] = Counter()
    for key in keys:
        units[events.keys.units[key] or ""] += 0 if events.keys.types[key] in _COUNTED else int(uses[key])
    if not units:
        return []
    unit = min(units, key=lambda name: (-units[name], name))
    ordered = sorted(
        (key for key in keys if (events.keys.units[key] or "") == unit),
        key=lambda key: (-abs(events.keys.numbers[key] or 0), key),
    )
    best: dict[str, Amount] = {}
    for key in ordered:
        rows = np.sort(events.links.event[events.links.key == key])[:_FOR_ONE_AMOUNT]
        for each in amounts_of(events, rows):
            best.setdefault(each.who, each)
        if len(best) >= most:
            break
    return list(best.values())[:most]


def readable_amount(amount: Amount, messages: Messages) -> str:
    """The amount with a word for its scale.

    Examples:
        >>> readable_amount(Amount("Marlow", "5,000,000,000 USD", 5e9, "USD", 0), Messages("en"))
        '5 billion USD'

    """
    for scale, word in (each.split(" ", 1) for each in messages.scales.split(", ")):
        if abs(amount.number) >= float(scale):
            return f"{amount.number / float(scale):,.4g} {word} {amount.unit}".rstrip()
    return amount.shown


def _is_amount(events: EventTable, key: int) -> bool:
    numbers = events.keys.numbers
    return bool(numbers) and numbers[key] is not None


def _bearer_rank(kind: str) -> int | None:
    """The place of a type among those that can have an amount; one's own come last, None for one that has none."""
    if kind in _NO_BEARERS:
        return None
    return _BEARERS.index(kind) if kind in _BEARERS else len(_BEARERS)


def _bearer(events: EventTable, row: int, keys: Sequence[int]) -> str:
    """The name that a sentence begins with and a figure follows; empty where none does."""
    text = events.contents[row]
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    able = [key for key in keys if _bearer_rank(events.keys.types[key]) is not None]
    first = [key for key in able if names_something(events.keys, key) and _begins(events, text[start:], key)]
    if not first or not _FIGURE.search(text, start):
        return ""
    return events.keys.values[min(first, key=lambda key: (_bearer_rank(events.keys.types[key]) or 0, key))]


def _begins(events: EventTable, text: str, key: int) -> bool:
    return any(text.startswith(name) for name in events.keys.names_of(key))


def _keys_by_event(events: EventTable, rows: Rows) -> dict[int, list[int]]:
    starts = np.searchsorted(events.links.event, np.stack([rows, rows + 1]))
    return {
        row: events.links.key[start:end].tolist()
        for row, start, end in zip(rows.tolist(), *starts.tolist(), strict=True)
    }


@dataclass(frozen=True, slots=True)
class NameInDocuments:
    """A name: row of its key, its documents, the names in most statements with it, and a row that begins with it."""

    key: int
    documents: int
    together: tuple[tuple[str, int], ...]
    row: int
    """-1 where no statement that can be quoted begins with it."""


def most_named(events: EventTable, is_name: Flags, most: int) -> list[tuple[int, int]]:
    """Keys of those who act that most documents hold, with the count of documents, at least two where any has two."""
    width = len(events.documents.titles) + 1
    pairs = np.unique(events.links.key.astype(np.int64) * width + events.document[events.links.event])
    counts = np.bincount(pairs // width, minlength=len(events.keys.values))
    order = np.lexsort((np.arange(len(counts)), -counts)).tolist()
    able = [key for key in order if events.keys.types[key] in _WHO and is_name[key]]
    least = min(2, int(counts[able[0]])) if able else 0
    return [(key, int(counts[key])) for key in able[:most] if counts[key] >= least]


def names_together(events: EventTable, is_name: Flags, most: int) -> list[NameInDocuments]:
    """The names in most documents, with those that stand in most statements with each."""
    incidence = events.incidence().tocsc()
    able = np.array([kind in _BEARERS for kind in events.keys.types], np.bool_) & is_name
    found = []
    for key, documents in most_named(events, is_name, most):
        rows = incidence.indices[incidence.indptr[key] : incidence.indptr[key + 1]].astype(np.int32)
        counts = np.asarray(incidence[rows].sum(axis=0)).ravel() * able
        counts[key] = 0
        others = np.lexsort((np.arange(len(counts)), -counts))[:_TOGETHER].tolist()
        together = ((events.keys.values[other], int(counts[other])) for other in others)
        begun = [row for row in np.sort(rows).tolist() if _begins(events, events.contents[row], key)][:_PER_NAME]
        found.append(
            NameInDocuments(
                key,
                documents,
                tuple(pair for pair in together if pair[1] >= _FEWEST_TOGETHER),
                central_row(events, np.array(begun, np.int32)) if begun else -1,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table, or a labelled line: the event's row, its cells, and the place of its class in `_LISTED`."""

    row: int
    cells: tuple[Cell, ...]
    rank: int


def labelled_rows(events: EventTable, rows: Rows) -> list[TableRow]:
    """The events, among those of some rows, that are rows of a table or labelled lines, in their order."""
    found = []
    for row in rows.tolist():
        cells = row_cells(events.contents[row])
        ranks = [_LISTED.index(each.kind) for each in cells if each.kind and each.value]
        if len(cells) > 1 or (cells and fits(cells[0].column)):  # else a sentence with a colon
            found.append(TableRow(row, cells, min(ranks, default=len(_LISTED))))
    return found


def classed_tables(events: EventTable) -> list[tuple[int, list[TableRow]]]:
    """The rows with a cell of a class, by document: decisions, risks and actions first, then most rows first."""
    found: defaultdict[int, list[TableRow]] = defaultdict(list)
    for each in labelled_rows(events, np.arange(len(events), dtype=np.int32)):
        if each.rank < len(_LISTED):
            found[int(events.document[each.row])].append(each)
    return sorted(found.items(), key=lambda pair: (min(each.rank for each in pair[1]), -len(pair[1]), pair[0]))
