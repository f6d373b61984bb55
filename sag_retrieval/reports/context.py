"""What the sections of a report are built from; nothing in it changes while they are built."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sag_retrieval.clusters.events import EventTable, Flags, Floats
from sag_retrieval.clusters.groups import PROPER, Communities
from sag_retrieval.clusters.similarity import key_idf
from sag_retrieval.llm_writing.written import WrittenReport
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.facts import Pile
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.ranking import RankedTopic, proper_communities, rank_topics
from sag_retrieval.reports.series import Comparison, Previous, compare_with
from sag_retrieval.reports.wording import Messages
from sag_retrieval.statements.scorer import QuotableEvents
from sag_retrieval.topics.naming import DistinctiveKey, distinctive_keys, is_shown_name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyStatistics:
    """How the keys are spread over events and topics."""

    distinctive: Sequence[Sequence[DistinctiveKey]]
    """Of each topic on the page."""
    idf: Floats
    is_name: Flags
    """Shape (keys,): whether a key names a person, place or thing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportContext:
    """Everything that a section may read."""

    events: EventTable
    """With clean texts: one line each, without control characters."""
    communities: Communities
    options: ReportOptions
    language: str
    """Of the page: `zh` or `en`."""
    topics: tuple[RankedTopic, ...]
    """Those on the page; number 1 is the largest."""
    keys: KeyStatistics
    comparison: Comparison
    counts: Mapping[str, int]
    """Of events, documents, communities, keys, new and single events."""
    written: WrittenReport = field(default_factory=WrittenReport)
    """What a model wrote; its titles and summaries are those of the communities already."""
    pile: Pile = field(default_factory=Pile)

    @cached_property
    def messages(self) -> Messages:
        """The messages in the language of the page."""
        return Messages(self.language)

    @property
    def is_overview(self) -> bool:
        """Whether no model wrote anything on the page."""
        return not (self.written.themes or self.written.findings or self.written.summary)

    def statement(self, row: int, place: str, date: str | None = None) -> Statement:
        """An event as a statement that cites it.

        Args:
            row: Of the event.
            place: Name of where it is cited.
            date: What stands beside it; None: its own date, if its text does not say it.

        """
        text, own = self.events.contents[row], self.events.dates[row] or ""
        title = self.events.documents.titles[int(self.events.document[row])]
        start, source = int(self.events.spans[row, 0]), self.events.chunks.texts[int(self.events.chunk[row])]
        if start < 0 or source.startswith(f"{title}\n", start):  # a title that runs into the first sentence
            text = text.removeprefix(f"{title} ") or text
        return Statement(
            text=text,
            references=(Reference(row, place),),
            date=("" if own in text else own) if date is None else date,
            row=row,
            is_new=bool(self.comparison.is_new[row]),
            lang=self.foreign_language(row),
            revised=self._revised_of([row]),
        )

    def cited(self, text: str, event_ids: Sequence[str], place: str) -> Statement:
        """A sentence that cites events by their ids."""
        rows = [self._rows[each] for each in event_ids if each in self._rows]
        return Statement(text, tuple(Reference(row, place) for row in rows), revised=self._revised_of(rows))

    def _revised_of(self, rows: Sequence[int]) -> str:
        """What was said later in place of events; empty for nothing."""
        found = (self._superseding.get(self.events.event_ids[row]) for row in rows) if self._superseding else ()
        told = (
            self.messages.said_later.format(value=one["later_value"] or one["evidence"], day=one["later_said"] or "")
            for one in found
            if one
        )
        return self.messages.comma.join(dict.fromkeys(each.strip() for each in told))

    @cached_property
    def _superseding(self) -> dict[str, Mapping[str, str]]:
        ordered = [one for one in self.pile.revised if one["kind"] != "contradicts"]
        return {one["earlier_event_id"]: one for one in sorted(ordered, key=lambda one: one["later_said"] or "")}

    def row_of(self, event_id: str) -> int:
        """The row of an event; -1 where it is not in the range."""
        return self._rows.get(event_id, -1)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {event_id: row for row, event_id in enumerate(self.events.event_ids)}

    def foreign_language(self, row: int) -> str:
        """Language tag of an event that is not in the page's language, else empty."""
        language = self.events.documents.languages[int(self.events.document[row])]
        return "" if self.language == language else "zh-Hans" if language == "zh" else language


def make_context(
    events: EventTable,
    communities: Communities,
    options: ReportOptions,
    previous: Previous | None = None,
    written: WrittenReport | None = None,
    pile: Pile | None = None,
) -> ReportContext:
    """Compare with the earlier report, order the topics and count the keys."""
    events = QuotableEvents.of(events.cleaned())
    comparison = compare_with(communities.at(0), events, previous)
    language = page_language(events, options)
    proper = proper_communities(communities)
    shown = proper[: options.articles]
    distinctive = distinctive_keys(events, [each.members for each in shown])
    incidence = events.incidence()
    return ReportContext(
        events=events,
        communities=communities,
        options=options,
        language=language,
        topics=rank_topics(events, shown, distinctive, comparison, language),
        keys=KeyStatistics(
            distinctive=distinctive,
            idf=key_idf(incidence),
            is_name=np.array([is_shown_name(events.keys, key) for key in range(len(events.keys.values))], np.bool_),
        ),
        comparison=comparison,
        counts={
            "events": len(events),
            "documents": len(set(events.document.tolist())),
            "communities": len(proper),
            "keys": int((incidence.sum(axis=0) > 0).sum()),
            "new": int(comparison.is_new.sum()),
            "single": sum(len(each.members) for each in communities.at(0) if len(each.members) < PROPER),
        },
        written=written or WrittenReport(),
        pile=pile or Pile(),
    )


def page_language(events: EventTable, options: ReportOptions) -> str:
    """The language asked for, or Chinese where most events are Chinese, else English."""
    if options.language != "auto":
        return options.language
    languages = Counter(events.documents.languages[row] for row in events.document.tolist())
    return "zh" if languages and languages.most_common(1)[0][0] == "zh" else "en"
