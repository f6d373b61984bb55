"""The sections of a report, each a builder here and two templates, `sections/<name>.html.j2` and `.md.j2`.

A builder gives plain values and statements without numbers: citations are numbered after all sections are built, in
whatever order that was. A section is added by its builder, its templates, its messages (`heading_<name>` is its
heading), and an entry in `SECTIONS`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.language.cleaning import clean
from sag_retrieval.language.dates import dates
from sag_retrieval.llm_writing.written import Finding
from sag_retrieval.reports.citations import CitedSource, Statement
from sag_retrieval.reports.context import ReportContext
from sag_retrieval.reports.facts import (
    FileEntry,
    ListedRow,
    both_values,
    dates_ahead,
    folders_of,
    is_later,
    listed_rows,
    names_together,
    newest_day,
    points_of,
    stated_amounts,
)
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.ranking import RankedTopic, in_time_order, leading_row
from sag_retrieval.statements.header_classes import HeaderClass
from sag_retrieval.statements.scorer import good_rows

_LINES: Final = 40
"""Documents on the page: a reader's minute. The tables have all."""
_FEWEST_LINES: Final = 2
"""Of each folder."""
_COLUMNS: Final = 6
_AMOUNTS: Final = 10
_NAMES: Final = 8
_AHEAD: Final = 16
_POINTS: Final = 10
_UNREAD: Final = 12
_REVISED, _SAID = 12, 8
_UNDATED: Final[tuple[HeaderClass, ...]] = ("decision", "risk")
"""Kinds whose rows stand here with a deadline as well; others stand by it alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """One section: its name, its builder (None where the report does not have it), and where it stands."""

    name: str
    build: Callable[[ReportContext], Any]
    is_top: bool = False
    """Whether it is above the contents."""
    is_folded: bool = False
    """Whether the page shows the heading alone until a reader opens it."""


@dataclass(frozen=True, slots=True)
class Header:
    """Title, sentences and figures; `command` widens a range that holds nothing."""

    kind: str
    title: str
    sentences: tuple[Statement, ...]
    figures: tuple[tuple[str, str], ...] = ()
    command: str = ""

    @property
    def headline(self) -> str:
        """The first sentence."""
        return self.sentences[0].text


def build_header(context: ReportContext) -> Header:
    """What the pile is, counted; with a model, its summary."""
    t, options = context.messages, context.options
    kind = t.overview if context.is_overview else t.report
    title = clean(options.title) or kind
    if not len(context.events):
        told, command = _nothing(context)
        return Header(kind, title, tuple(map(Statement, told)), command=command)
    summary = tuple(context.cited(each.text, each.event_ids, kind) for each in context.written.summary)
    counts, newest = context.counts, newest_day(context.events, context.pile, options)
    figures = (
        (t.documents, f"{counts['documents']:,}"),
        (t.statements, f"{counts['events']:,}"),
        (t.topics, f"{counts['communities']:,}"),
        *(((t.new, f"{counts['new']:,}"),) if context.comparison.previous else ()),
        *(((t.newest, newest),) if newest else ()),
    )
    return Header(kind, title, summary or tuple(map(Statement, _counted(context))), figures)


def _nothing(context: ReportContext) -> tuple[list[str], str]:
    t, options = context.messages, context.options
    if options.since:
        return [t.no_events, t.range_nothing_new.format(release=options.since)], "sag ingest"
    around = t.range_around.format(before=f"{options.events_before:,}", after=f"{options.events_after:,}")
    return [t.no_events, around], "sag report" if options.scope or options.period else "sag ingest"


def _counted(context: ReportContext) -> Iterator[str]:
    """Documents, folders and statements; the parts of a text; what is new."""
    t, counts, topics = context.messages, context.counts, context.topics
    folders = len(folders_of(context.events, context.pile))
    yield t.holds.format(
        documents=t.counted("document_count", counts["documents"]),
        folders=t.in_folders.format(count=folders) if folders > 1 else "",
        statements=t.counted("statement_count", counts["events"]),
    )
    if not topics:
        yield t.no_topics
    elif context.communities.is_ordered and counts["documents"] == 1:
        whole = clean(context.events.documents.titles[int(context.events.document[0])])
        title, first, last = (t.quoted.format(title=each) for each in (whole, topics[0].title, topics[-1].title))
        yield t.parts.format(title=title, count=len(topics), first=first, last=last)
    if context.comparison.previous and counts["new"]:
        new = t.counted("statement_count", counts["new"])
        yield t.since_last.format(new=new, release=context.comparison.previous.release)


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding that a model wrote, with its topic on the first page, its importance from 0 to 10, and why."""

    statement: Statement
    importance: int
    reason: str
    topic: RankedTopic | None = None


def build_findings(context: ReportContext) -> tuple[ShownFinding, ...] | None:
    """The findings of a model over all topics; None without a model."""
    by_id, place = {each.community_id: each for each in context.topics}, context.messages.heading_findings
    findings = context.written.findings
    return tuple(_finding(context, each, place, by_id.get(each.community_id)) for each in findings) or None


def _finding(context: ReportContext, each: Finding, place: str, topic: RankedTopic | None = None) -> ShownFinding:
    return ShownFinding(context.cited(each.text, each.event_ids, place), each.importance, each.reason, topic)


@dataclass(frozen=True, slots=True)
class Article:
    """A topic: the summary that a model wrote, else its most central statement."""

    topic: RankedTopic
    told: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The topics in their order, and what is left out."""

    articles: tuple[Article, ...]
    further: int
    """Topics beyond those on the page."""
    single: int
    """Events without a topic."""


def build_topics_section(context: ReportContext) -> Topics | None:
    """An article for each topic on the page that has a sentence; None where there is no topic."""
    articles = tuple(each for each in (_article(context, topic) for topic in context.topics) if each.told)
    if not context.topics:
        return None
    return Topics(
        articles=articles,
        further=context.counts["communities"] - len(articles),
        single=context.counts["single"],
    )


def _article(context: ReportContext, topic: RankedTopic) -> Article:
    place = str(topic.number)
    told = tuple(context.cited(each.text, each.event_ids, place) for each in topic.summary)
    central = (context.statement(topic.central, place),) if topic.central >= 0 else ()
    return Article(topic, told or central)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLine:
    """A document: its name and title, kind, date, count of entries, and its central statement or its columns."""

    name: str
    title: str
    kind: str
    date: str
    entries: int
    statement: Statement | None
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder with its counts, and its first documents; `left` counts those not shown."""

    name: str
    documents: int
    statements: int
    kinds: str
    """How many files of each ending, the commonest first."""
    lines: tuple[DocumentLine, ...]
    left: int


def build_documents(context: ReportContext) -> tuple[Folder, ...] | None:
    """The folders, each with its newest documents."""
    if not len(context.events):
        return None
    folders = folders_of(context.events, context.pile)
    most = max(_FEWEST_LINES, _LINES // len(folders)) if sum(map(len, folders.values())) > _LINES else _LINES
    return tuple(
        Folder(
            name=name,
            documents=sum(each.documents for each in entries),
            statements=sum(len(each.rows) for each in entries),
            kinds=" · ".join(
                f"{count} {kind}" for kind, count in Counter(each.kind for each in entries).most_common() if kind
            ),
            lines=tuple(_line(context, each) for each in entries[:most]),
            left=sum(each.documents for each in entries[most:]),
        )
        for name, entries in folders.items()
    )


def _line(context: ReportContext, entry: FileEntry) -> DocumentLine:
    row = leading_row(context.events, entry.rows) if context.is_overview else -1
    place = clean(entry.title or entry.name) or context.messages.heading_documents
    columns = (cell.column for each in listed_rows(context.events, entry.rows) for cell in each.cells)
    return DocumentLine(
        name=clean(entry.name),
        title=clean(entry.title),
        kind=entry.kind,
        date=entry.date,
        entries=entry.documents if entry.documents > 1 else 0,
        statement=context.statement(row, place, "") if row >= 0 else None,
        columns=tuple(dict.fromkeys(columns))[:_COLUMNS] if row < 0 and context.is_overview else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLine:
    """A statement, or the cells of a table's row that stands for it, with the title and day of its document."""

    statement: Statement
    cells: tuple[tuple[str, str], ...]
    title: str


@dataclass(frozen=True, slots=True)
class Points:
    """What documents list as one kind: its heading, its lines, and how many more there are."""

    heading: str
    lines: tuple[ListedLine, ...]
    left: int


def _listed(context: ReportContext, heading: str, points: Sequence[ListedRow], most: int) -> Iterator[Points]:
    """The first of the points under their heading; nothing where there are none."""
    if points:
        lines = tuple(_told(context, each, "status", "owner", "deadline", "level") for each in points[:most])
        yield Points(heading, lines, len(points) - len(lines))


def _told(context: ReportContext, point: ListedRow, *kinds: HeaderClass | None) -> ListedLine:
    """A point as it stands; of a row what it is about, and its cells of these kinds."""
    title = clean(context.events.documents.titles[int(context.events.document[point.row])])
    day = _day_of(context, point.row)
    first, *others = point.telling or (None,)
    cells = (first, *(each for each in others if each and each.kind in kinds)) if first else ()
    return ListedLine(
        statement=context.statement(point.row, title, ""),
        cells=tuple((cell.column, cell.value) for cell in cells),
        title=title if not day or _says(title, day, context) else f"{title} · {day}",
    )


def _says(title: str, day: str, context: ReportContext) -> bool:
    return any(mention.value == day for mention in dates(title, context.language))


def _day_of(context: ReportContext, row: int) -> str:
    """The date of an event's document; empty where it has none of its own."""
    return context.pile.dates.get(context.events.documents.document_ids[int(context.events.document[row])], "")


def build_points(context: ReportContext) -> tuple[Points, ...] | None:
    """Deadlines and dates by day, then decisions, risks, open points and actions, of the newest document first.

    With a model the lists that it wrote, which know what has become of each.
    """
    if context.written.lists:
        return tuple(_written_lists(context))
    given = points_of(context.events, context.pile.headed, context.rows)
    listed = {kind: points for kind, every in given.items() if (points := context.current(every))}
    past, ahead = map(context.current, _dated(context, {each.row for every in given.values() for each in every}))
    t, dated = context.messages, {each.row for each in (*past, *ahead)}
    found = [
        *_listed(context, t.until.format(day=context.reference), past, _POINTS),
        *_listed(context, t.ahead.format(day=context.reference), ahead, _AHEAD),
    ]
    for kind, points in listed.items():
        kept = [each for each in points if kind in _UNDATED or each.row not in dated]
        kept.sort(key=lambda each: _day_of(context, each.row), reverse=True)
        found += _listed(context, t[f"kind_{kind}"], kept, _POINTS)
    return tuple(found) or None


def _written_lists(context: ReportContext) -> Iterator[Points]:
    for name, sentences in context.written.lists.items():
        day = newest_day(context.events, context.pile, context.options) or context.reference
        heading = context.messages[f"list_{name}"].format(day=day)
        cited = (context.cited(each.text, each.event_ids, heading) for each in sentences[:_POINTS])
        yield Points(heading, tuple(ListedLine(statement=each, cells=(), title="") for each in cited), 0)


def _dated(context: ReportContext, listed: AbstractSet[int]) -> tuple[list[ListedRow], list[ListedRow]]:
    """Rows with a status whose deadline is no later than the reference; rows and other sentences with a later day."""
    day = context.reference
    if not day:
        return [], []
    due = [each for each in context.rows if each.due and not each.is_done]
    said = [each for each in dates_ahead(context.events, day) if each.row not in listed]
    later = [*said, *(each for each in due if is_later(each.due, day))]
    past = [each for each in due if each.has_status and not is_later(each.due, day)]
    return sorted(past, key=lambda each: each.due), sorted(later, key=lambda each: (each.due, each.row))


@dataclass(frozen=True, slots=True)
class AmountLine:
    """Amounts as they are written, and the row or sentence that has them."""

    amounts: tuple[str, ...]
    line: ListedLine


def build_amounts(context: ReportContext) -> tuple[AmountLine, ...] | None:
    """A row or sentence with amounts of each document, of the newest first; None where a model wrote lists."""
    if context.written.lists:
        return None
    stated = stated_amounts(context.events, context.rows)
    kept = {each.row for each in context.current(each for each, _ in stated)}
    found = [pair for pair in stated if pair[0].row in kept]
    found.sort(key=lambda pair: _day_of(context, pair[0].row), reverse=True)
    lines = (AmountLine(amounts, _told(context, each, None, "owner")) for each, amounts in found[:_AMOUNTS])
    return tuple(lines) or None


@dataclass(frozen=True, slots=True)
class NameLine:
    """A name: its documents, the names together with it, and what stands in brackets behind it with its sentence."""

    name: str
    documents: int
    together: tuple[tuple[str, int], ...]
    role: str
    statement: Statement | None


def build_names(context: ReportContext) -> tuple[NameLine, ...] | None:
    """The names in most documents; None where there are none, or a model wrote lists."""
    if context.written.lists:
        return None
    return (
        tuple(
            NameLine(
                *(each.name, each.documents, each.together, each.role),
                context.statement(each.row, context.messages.heading_names) if each.row >= 0 else None,
            )
            for each in names_together(context.events, context.is_name, _NAMES)
        )
        or None
    )


@dataclass(frozen=True, slots=True)
class NotRead:
    """Skipped files with the error, documents without a statement, and how many more of each there are."""

    files: tuple[tuple[str, str], ...]
    more_files: int
    silent: tuple[str, ...]
    more_silent: int


def build_unread(context: ReportContext) -> NotRead | None:
    """What the page cannot speak of; None where all was read, or the report is about a part."""
    pile, options = context.pile, context.options
    if options.scope or options.period or options.since or not (pile.unread or pile.silent):
        return None
    files = tuple((clean(place), clean(reason)) for place, reason in pile.unread[:_UNREAD])
    silent = tuple(clean(each) for each in pile.silent[:_UNREAD])
    return NotRead(files, len(pile.unread) - len(files), silent, len(pile.silent) - len(silent))


def build_sources(context: ReportContext) -> tuple[CitedSource, ...] | None:
    """No cited passages until all citations have numbers; None where there are no events."""
    return () if len(context.events) else None


@dataclass(frozen=True, slots=True)
class Provenance:
    """How the page was made in a few sentences, and name and text of each fact."""

    method: str
    facts: tuple[tuple[str, str], ...]


def build_made(context: ReportContext) -> Provenance:
    """How events became this page, and the facts that have a text."""
    t, options, communities = context.messages, context.options, context.communities
    previous = context.comparison.previous
    found = {
        "release": options.release,
        "released": options.released,
        "previous": previous.release if previous else t.no_previous,
        "scope": " · ".join(filter(None, (options.scope or t.everything, options.period))),
        "method": _grouping(options.cluster),
        "models": options.models,
        "written": t.comma.join(_written(context)),
        "unsupported": _unsupported(context),
    }
    by_rules = "by_parts" if communities.is_ordered else "by_rules"
    method = t[by_rules if context.is_overview else "by_model"].format(
        statements=t.counted("statement_count", context.counts["events"]),
        documents=t.counted("document_count", context.counts["documents"]),
        topics=t.counted("topic_count", context.counts["communities"]),
    )
    return Provenance(method, tuple((t[name], text) for name, text in found.items() if text))


def _grouping(options: ClusterOptions) -> str:
    """The method, and every option of it that is not the default."""
    usual = asdict(ReportOptions().cluster)
    chosen = {name: value for name, value in asdict(options).items() if value != usual[name] and name != "method"}
    return " · ".join([options.method, *(f"{name} {value}" for name, value in chosen.items())])


def _written(context: ReportContext) -> Iterator[str]:
    """What a model wrote; nothing where none was asked."""
    written, t = context.written, context.messages
    asked = written.plan.themes + written.plan.left_out
    if asked:
        yield t.themes_written.format(written=len(written.themes), asked=asked)
    if written.findings or written.summary:
        yield t.and_report


def _unsupported(context: ReportContext) -> str:
    """How much was left out, by reason; the table has each text."""
    t = context.messages
    counted = [f"{t[f'reason_{name}']} {count}" for name, count in context.written.reasons.items()]
    return f"{t.comma.join(counted)} (report_left_out.parquet)" if counted else ""


_CHANGES: Final = 20
_TITLES: Final = 5
"""Documents of new statements."""


@dataclass(frozen=True, slots=True)
class Changes:
    """A sentence about new statements and their documents, then the statements that are worth a line."""

    sentence: str
    statements: tuple[Statement, ...] = ()


def build_changes(context: ReportContext) -> Changes | None:
    """What is new since the report before; of a report about new events only, those without a topic.

    None where there is no report of an earlier release.
    """
    events, options, comparison = context.events, context.options, context.comparison
    if not len(events) or not (comparison.previous or options.since):
        return None
    rows = np.flatnonzero(comparison.is_new).astype(np.int32)
    if options.since:
        grouped = np.concatenate([np.zeros(0, np.int32), *(each.members for each in context.topics)])
        rows = np.setdiff1d(np.arange(len(events), dtype=np.int32), grouped)
    shown = in_time_order(events, good_rows(events, rows, _CHANGES)[:_CHANGES]).tolist()
    place = context.messages.heading_changes
    return Changes(_changes_told(context), tuple(context.statement(row, place) for row in shown))


def _changes_told(context: ReportContext) -> str:
    """The new statements, their documents, and how many are gone."""
    t, events, comparison = context.messages, context.events, context.comparison
    if context.options.since or comparison.previous is None:
        return t.only_new.format(release=context.options.since, statements=t.counted("statement_count", len(events)))
    gone = len(comparison.previous.event_ids.difference(events.event_ids))
    documents = dict.fromkeys(events.document[comparison.is_new].tolist())
    if not documents and not gone:
        return t.nothing_new.format(release=comparison.previous.release)
    titles = [t.quoted.format(title=events.documents.titles[row]) for row in documents]
    new = t.from_documents.format(
        new=t.counted("new_events", int(comparison.is_new.sum())),
        documents=t.counted("document_count", len(titles)),
        titles=t.comma.join(titles[:_TITLES]) + (" …" if len(titles) > _TITLES else ""),
    )
    lost = t.gone.format(gone=t.counted("statement_count", gone)) if gone else ""
    return t.since.format(release=comparison.previous.release) + (new if documents else t.no_new_events) + lost + t.stop


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisedValue:
    """A value that a later statement revised: how, both values, both statements."""

    kind: str
    values: str
    later: Statement
    earlier: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisedValues:
    """The last revisions, how many there are beside them, and sentences that name an old value and a new one."""

    rows: tuple[RevisedValue, ...]
    left: int
    said: tuple[Points, ...]


def build_revised(context: ReportContext) -> RevisedValues | None:
    """Values old and new with both sources, what was said last first, then what sentences say themselves.

    Only revisions that the later statement, or the title of its document, says in words; None where there are none,
    or a model wrote what changed.
    """
    if context.written.lists:
        return None
    t, found, rows = context.messages, list[RevisedValue](), set[int]()
    left, seen = 0, set[tuple[str, str, int]]()
    for one in sorted(context.pile.revised, key=lambda one: one["later_said"] or "", reverse=True):
        ends = [context.row_of(one[f"{end}_event_id"]) for end in ("later", "earlier")]
        if min(ends) < 0:
            continue
        document = int(context.events.document[ends[0]])
        known = (one["earlier_value"], one["later_value"], document)
        if known in seen and all(known[:2]):
            continue
        seen.add(known)
        rows.update(ends)
        said = (context.events.contents[ends[0]], context.events.documents.titles[document])
        if not any(clean(one["evidence"]) in each for each in said):
            left += 1
            continue
        days = (one["later_said"], one["earlier_said"])
        later, earlier = (context.statement(row, t.heading_revised, day) for row, day in zip(ends, days, strict=True))
        values = " → ".join(filter(None, known[:2])) or one["attribute"]
        found.append(RevisedValue(kind=t[f"status_{one['kind']}"], values=values, later=later, earlier=earlier))
    both = [ListedRow(row) for row in both_values(context.events) if row not in rows]
    both.sort(key=lambda each: _day_of(context, each.row), reverse=True)
    told = tuple(_listed(context, t.both_values, both, _SAID))
    shown = tuple(found[:_REVISED])
    return RevisedValues(rows=shown, left=left + len(found) - len(shown), said=told) if shown or told else None


SECTIONS: Final[Sequence[ReportSection]] = (
    ReportSection(name="header", build=build_header, is_top=True),
    ReportSection(name="findings", build=build_findings),
    ReportSection(name="changes", build=build_changes),
    ReportSection(name="revised", build=build_revised),
    ReportSection(name="points", build=build_points),
    ReportSection(name="amounts", build=build_amounts),
    ReportSection(name="topics", build=build_topics_section),
    ReportSection(name="names", build=build_names),
    ReportSection(name="documents", build=build_documents),
    ReportSection(name="unread", build=build_unread),
    ReportSection(name="sources", build=build_sources, is_folded=True),
    ReportSection(name="made", build=build_made),
)
"""The sections in reading order: citations are numbered in this order."""
