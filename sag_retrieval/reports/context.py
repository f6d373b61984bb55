"""What the sections of a report are built from, which stays while they are built, and the messages of a page."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import resources
from typing import Final, Literal

import numpy as np

from sag_retrieval.clusters.events import EventTable, Flags
from sag_retrieval.clusters.groups import Communities
from sag_retrieval.language.words import fold
from sag_retrieval.llm_writing.written import WrittenReport
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.facts import ListedRow, Pile, listed_rows, reference_day
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.ranking import RankedTopic, proper_communities, rank_topics
from sag_retrieval.reports.series import Comparison, Previous, compare_with
from sag_retrieval.statements.scorer import QuotableEvents
from sag_retrieval.topics.naming import distinctive_keys, is_shown_name

_LETTERS: Final = 3
"""Letters that say as much as a Chinese character: a translation into English has about three times as many."""
_CHANGES_LANGUAGE: Final = 0.6
"""Share of the text in the other language from which on a series changes its own: a document more does not."""


@lru_cache
def messages_in(language: str) -> Mapping[str, str]:
    """The messages of a language by name."""
    text = resources.files("sag_retrieval.reports").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


class Messages:
    """Messages in one language, read as attributes or items.

    Examples:
        >>> Messages("zh").contents, Messages("en")["contents"]
        ('目录', 'Contents')

    """

    def __init__(self, language: str) -> None:
        """Choose Chinese for `zh`, else English."""
        self._is_chinese = language.startswith("zh")
        self._texts = messages_in("zh" if self._is_chinese else "en")

    def __getitem__(self, name: str) -> str:
        """The message of this name."""
        return self._texts[name]

    def __getattr__(self, name: str) -> str:
        """The message of this name."""
        if name.startswith("_") or name not in self._texts:
            raise AttributeError(f"there is no message {name!r} in en.toml and zh.toml")
        return self[name]

    def counted(self, name: str, count: int) -> str:
        """A message such as `{count} statements` with its number, and in English in the singular for one.

        Examples:
            >>> Messages("en").counted("topic_count", 1), Messages("en").counted("topic_count", 1200)
            ('1 topic', '1,200 topics')

        """
        text = self[name].format(count=f"{count:,}")
        if count != 1 or self._is_chinese:
            return text
        return f"{text.removesuffix('ies')}y" if text.endswith("ies") else text.removesuffix("s")


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
    is_name: Flags
    """Shape (keys,): whether a key names a person, place or thing."""
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
            revised=self.revised_of([row]),
        )

    def cited(self, text: str, event_ids: Sequence[str], place: str) -> Statement:
        """A sentence that cites events by their ids."""
        rows = [self._rows[each] for each in event_ids if each in self._rows]
        return Statement(text, tuple(Reference(row, place) for row in rows), revised=self.revised_of(rows, text))

    def revised_of(self, rows: Sequence[int], told: str = "") -> str:
        """What was said later in place of events; nothing of what is cited beside them, or what a text has told."""
        cited = {self.events.event_ids[row] for row in rows}
        found = (one for each in cited if (one := self.pile.superseding.get(each)))
        said = (
            self.messages.said_later.format(value=one["later_value"] or one["evidence"], day=one["later_said"] or "")
            for one in sorted(found, key=lambda one: one["later_event_id"])
            if one["later_event_id"] not in cited
            and not (one["later_value"] and fold(one["later_value"]) in fold(told))
        )
        return self.messages.comma.join(dict.fromkeys(each.strip() for each in said))

    @cached_property
    def reference(self) -> str:
        """The day that dates are ahead of (`reference_day`)."""
        return reference_day(self.events, self.pile, self.options)

    @cached_property
    def rows(self) -> list[ListedRow]:
        """The rows of tables and labelled lines."""
        return listed_rows(self.events, np.arange(len(self.events), dtype=np.int32))

    def current(self, listed: Iterable[ListedRow]) -> list[ListedRow]:
        """Those that nothing said later revised, and no later version of their document."""
        ids, documents, document = self.events.event_ids, self.events.documents.document_ids, self.events.document
        return [
            each
            for each in listed
            if ids[each.row] not in self.pile.superseding
            and documents[int(document[each.row])] not in self.pile.outdated
        ]

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
    pile = pile or Pile()
    events = QuotableEvents.of(events.cleaned())
    superseding = pile.superseding
    is_old = np.array([event_id in superseding for event_id in events.event_ids], np.bool_)
    if is_old.any():  # what was revised stands for no topic and no document
        known = events.is_boilerplate
        events = replace(events, is_boilerplate=known | is_old if len(known) else is_old)
    comparison = compare_with(events, previous)
    language = page_language(events, options)
    proper = proper_communities(events, communities)
    is_written = written is not None and bool(written.themes)
    across = [each for each in proper if is_written or len(np.unique(events.document[each.members])) > 1]
    shown = (proper if communities.is_ordered else across or proper)[: options.articles]  # one document stands below
    distinctive = distinctive_keys(events, [each.members for each in shown])
    return ReportContext(
        events=events,
        communities=communities,
        options=options,
        language=language,
        topics=rank_topics(events, shown, distinctive, comparison, is_titled=is_written or communities.is_ordered),
        is_name=np.array([is_shown_name(events.keys, key) for key in range(len(events.keys.values))], np.bool_),
        comparison=comparison,
        counts={
            "events": len(events),
            "documents": len(set(events.document.tolist())),
            "communities": len(proper),
            "keys": len(set(events.links.key.tolist())),
            "new": int(comparison.is_new.sum()),
            "single": len(events) - sum(len(each.members) for each in proper),
        },
        written=written or WrittenReport(),
        pile=pile,
    )


def _letters(events: EventTable) -> dict[str, int]:
    """How much is said in Chinese, and in English or another language."""
    said = {"zh": 0, "en": 0}
    for row, content in zip(events.document.tolist(), events.contents, strict=True):
        is_chinese = events.documents.languages[row] == "zh"
        said["zh" if is_chinese else "en"] += len(content) * (_LETTERS if is_chinese else 1)
    return said


def page_language(events: EventTable, options: ReportOptions, kept: str = "") -> Literal["zh", "en"]:
    """The language asked for; else that of most of the text, Chinese or English, a Chinese character as three letters.

    Args:
        events: What the page is about.
        options: The language asked for.
        kept: That of the report before in the series; it stays until three fifths of the text are in the other.

    """
    if options.language != "auto":
        return options.language
    said = _letters(events)
    most: Literal["zh", "en"] = "zh" if said["zh"] > said["en"] else "en"
    is_kept = kept and said[most] < _CHANGES_LANGUAGE * sum(said.values())
    return ("zh" if kept == "zh" else "en") if is_kept else most
