"""What a report section is, and the context that sections are built from."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Generic, Literal, TypeVar

import numpy as np
from scipy.sparse import csr_array

from sag_retrieval.clusters.events import EventTable, Flags, Floats
from sag_retrieval.clusters.groups import Communities
from sag_retrieval.clusters.similarity import key_idf
from sag_retrieval.language.words import fold
from sag_retrieval.llm_writing.written import WrittenReport
from sag_retrieval.reports.citations import CitedSource, Reference, Statement
from sag_retrieval.reports.facts import most_named
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.ranking import EventRanking, RankedCommunity, rank_communities
from sag_retrieval.reports.series import Comparison, Previous, compare_with
from sag_retrieval.reports.wording import Messages, Wording
from sag_retrieval.statements.quoting import QuotableEvents
from sag_retrieval.topics.distinctive import DistinctiveKey, distinctive_keys, is_shown_name, key_counts, naming_keys

_MAIN_KEYS = 3
_NAMED = 8
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyStatistics:
    """How the keys are spread over events and ranked communities."""

    distinctive: Sequence[Sequence[DistinctiveKey]]
    """Of each ranked community."""
    counts: csr_array
    """Shape (ranked communities, keys): events of the community that carry the key."""
    total: Floats
    """Shape (keys,): events that carry the key."""
    idf: Floats
    is_name: Flags
    """Shape (keys,): whether a key names a person, place or thing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportContext:
    """Everything a section may read; nothing in it changes while sections are built."""

    events: EventTable
    """With clean texts: one line each, without control characters."""
    communities: Communities
    options: ReportOptions
    language: str
    """Of the page: `zh` or `en`."""
    ranking: EventRanking
    keys: KeyStatistics
    comparison: Comparison
    counts: Mapping[str, int]
    """Of events, documents, communities, keys, new and single events."""
    written: WrittenReport = field(default_factory=WrittenReport)
    """What a model wrote; its titles and summaries are those of the communities already."""
    named: Sequence[tuple[str, int]] = ()
    """The names that most documents hold, with the count of documents."""

    def messages(self, wording: Wording | None = None) -> Messages:
        """A section's messages in the language of the page."""
        return Messages(self.language, wording)

    def statement(self, row: int, place: str) -> Statement:
        """An event as a statement that cites it; `place` is the name of where it is cited."""
        text, date = self.events.contents[row], self.events.dates[row] or ""
        return Statement(
            text=text,
            references=(Reference(row, place),),
            date="" if date in text else date,
            row=row,
            is_new=bool(self.comparison.is_new[row]),
            lang=self.foreign_language(row),
        )

    def cited(self, text: str, event_ids: Sequence[str], place: str) -> Statement:
        """A sentence that cites events by their ids."""
        rows = [self._rows[each] for each in event_ids if each in self._rows]
        return Statement(text, tuple(Reference(row, place) for row in rows))

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
    previous: Previous | None,
    written: WrittenReport | None = None,
) -> ReportContext:
    """Compare with the earlier report, rank the communities and count the keys."""
    events = QuotableEvents.of(events.cleaned())
    comparison = compare_with(communities.at(0), events, previous)
    language = page_language(events, options)
    ranking = rank_communities(events, communities, options, comparison, language)
    keys = _key_statistics(events, ranking)
    ranking = _with_main_keys(events, ranking, keys)
    return ReportContext(
        events=events,
        communities=communities,
        options=options,
        language=language,
        ranking=ranking,
        keys=keys,
        comparison=comparison,
        counts={
            "events": len(events),
            "documents": len(set(events.document.tolist())),
            "communities": ranking.proper_count,
            "keys": int((keys.total > 0).sum()),
            "new": int(comparison.is_new.sum()),
            "single": ranking.single_count,
        },
        written=written or WrittenReport(),
        named=tuple(most_named(events, keys.is_name, _NAMED)),
    )


def page_language(events: EventTable, options: ReportOptions) -> str:
    """The language asked for, or that of most events."""
    if options.language != "auto" or not len(events):
        return "en" if options.language == "auto" else options.language
    languages = Counter(events.documents.languages[row] for row in events.document.tolist())
    return str(languages.most_common(1)[0][0])


def _key_statistics(events: EventTable, ranking: EventRanking) -> KeyStatistics:
    incidence, members = events.incidence(), [each.members for each in ranking.communities]
    return KeyStatistics(
        distinctive=distinctive_keys(events, members),
        counts=key_counts(incidence, members),
        total=incidence.sum(axis=0).astype(np.float64),
        idf=key_idf(incidence),
        is_name=np.array([is_shown_name(events.keys, key) for key in range(len(events.keys.values))], np.bool_),
    )


def _with_main_keys(events: EventTable, ranking: EventRanking, keys: KeyStatistics) -> EventRanking:
    """The same ranking; each community has the distinctive keys that its title does not name."""
    named: list[RankedCommunity] = []
    for community, distinctive in zip(ranking.communities, keys.distinctive, strict=True):
        found = [key.row for key in naming_keys(events, distinctive) if keys.is_name[key.row]]
        values = [events.keys.values[row] for row in found or _commonest(keys, community.number - 1)]
        main = tuple(value for value in values if fold(value) not in fold(community.title))[:_MAIN_KEYS]
        named.append(replace(community, main_keys=main))
    return replace(ranking, communities=tuple(named), on_map=tuple(named[: len(ranking.on_map)]))


def _commonest(keys: KeyStatistics, place: int) -> list[int]:
    """The keys of a community that sentences name and two of its events carry, by events × idf."""
    part = slice(keys.counts.indptr[place], keys.counts.indptr[place + 1])
    rows, counts = keys.counts.indices[part], keys.counts.data[part]
    rows, counts = rows[counts > 1], counts[counts > 1]
    order = np.lexsort((rows, -np.round(counts * keys.idf[rows], 9)))
    return list(islice((row for row in rows[order].tolist() if keys.is_name[row]), _MAIN_KEYS + 1))


def no_lines(_content: object, _messages: Messages) -> Iterator[str]:
    """Nothing to show."""
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection(Generic[T]):
    """One section of the page. `name` is that of its module and of its template `<name>.html.j2`.

    The template gets the content as `content` and the messages as `t`. Content is a dataclass of plain values and
    of statements without numbers: citations are numbered after all sections are built, in whatever order that was.
    """

    name: str
    build: Callable[[ReportContext], T | None]
    """The content; None where the report does not have the section."""
    markdown: Callable[[T, Messages], Iterable[str]]
    """Lines of the section in the Markdown file."""
    wording: Wording = field(default_factory=dict)
    """Its own messages; `heading` is its heading and its entry in the contents."""
    anchor: str = ""
    """Id in the page; empty for a section without heading."""
    place: Literal["top", "main"] = "main"
    """`top` is above the contents."""
    preview: Callable[[T, Messages], Iterable[str]] = no_lines
    """Lines in the short preview."""
    with_sources: Callable[[T, tuple[CitedSource, ...]], T] | None = None
    """Adds the cited passages, known when all citations have numbers."""
    needs_heading: Callable[[T], bool] = lambda _: True
    """Whether the content is more than a sentence; else it stands without heading, and not in the contents."""
    is_folded: bool = False
    """Whether the page shows the heading alone until a reader opens it."""
    is_footnotes: bool = False
    """Whether it comes last in the Markdown file."""
