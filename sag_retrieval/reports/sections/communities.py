"""Communities: an article for each ranked community under its theme, then the single events."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sag_retrieval.communities.events import Keys
from sag_retrieval.communities.groups import CitedSentence
from sag_retrieval.communities.titles import names_something
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.ranking import EventRanking, RankedCommunity
from sag_retrieval.reports.section import KeyStatistics, ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, dated, escaped, figures_of

WORDING: Wording = {
    "heading": ("Communities", "社区"),
    "related": ("Related communities", "相关社区"),
    "semicolon": ("; ", "；"),
    "typical": ("Most typical events", "最有代表性的事件"),
    "more_events": ("{count} more events", "其余 {count} 个事件"),
    "more_in_page": ("{count} more events (in the web page)", "其余 {count} 个事件（见网页版）"),
    "single": ("Single events", "单独事件"),
    "back_to_map": ("Back to the map", "回到地图"),
    "no_summary": ("There is no summary. Main keys: {keys}", "没有说明。主要属性：{keys}"),
}

_RELATED = 4
_SHARED_KEYS = 3
_CHIPS = 6
_TYPE_ORDER = (
    "person",
    "organisation",
    "organization",
    "company",
    "place",
    "geo",
    "location",
    "date",
    "topic",
)


@dataclass(frozen=True, slots=True)
class Chips:
    """Keys of one type with their counts."""

    type: str
    keys: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Related:
    """A tied community and the keys it shares."""

    number: int
    title: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """One community: its summary, its keys, its events."""

    community: RankedCommunity
    summary: tuple[Statement, ...]
    chips: tuple[Chips, ...]
    related: tuple[Related, ...]
    typical: tuple[Statement, ...]
    rest: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Theme:
    """A group of communities: the number of its colour, its title, and its articles by number."""

    theme: int
    title: str
    articles: tuple[Article, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Articles:
    """The whole section."""

    themes: tuple[Theme, ...]
    singles: tuple[Statement, ...]
    singles_left: int
    further: int
    """Communities without an article."""
    has_map: bool


def build(context: ReportContext) -> Articles | None:
    """The articles theme by theme, and the single events."""
    if not len(context.events):
        return None
    messages, ranking = context.messages(WORDING), context.ranking
    by_theme: defaultdict[int, list[Article]] = defaultdict(list)
    for community in ranking.communities:
        by_theme[community.theme].append(_article(context, community, messages))
    return Articles(
        themes=tuple(
            Theme(theme, ranking.theme_title(theme, messages.other), tuple(by_theme[theme])) for theme in ranking.themes
        ),
        singles=tuple(context.statement(row, messages.single) for row in ranking.singles),
        singles_left=ranking.single_count - len(ranking.singles),
        further=ranking.further,
        has_map=bool(ranking.on_map),
    )


def _article(context: ReportContext, community: RankedCommunity, messages: Messages) -> Article:
    place, without = str(community.number), context.options.cluster.without_key_types
    row_of = {context.events.event_ids[row]: row for row in community.members.tolist()}
    is_full, keys = community.is_full, context.events.keys
    return Article(
        community=community,
        summary=tuple(_sentence(sentence, row_of, place) for sentence in community.summary),
        chips=_chips(community, keys, context.keys, without, messages) if is_full else (),
        related=_related(community, context.ranking, keys, context.keys, without) if is_full else (),
        typical=tuple(context.statement(row, place) for row in community.typical),
        rest=tuple(context.statement(row, place, printed=False) for row in community.rest),
    )


def _sentence(sentence: CitedSentence, row_of: dict[str, int], place: str) -> Statement:
    rows = [row_of[key] for key in sentence.event_ids if key in row_of]
    return Statement(sentence.text, tuple(Reference(row, place) for row in rows))


def _chips(
    community: RankedCommunity, keys: Keys, statistics: KeyStatistics, without: tuple[str, ...], messages: Messages
) -> tuple[Chips, ...]:
    """The most frequent keys of each type; those of one event only where no key has more."""
    matrix, place = statistics.counts, community.number - 1
    part = slice(matrix.indptr[place], matrix.indptr[place + 1])
    rows, counts = matrix.indices[part], matrix.data[part]
    by_type: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    least = 2 if counts.max(initial=0) > 1 else 1
    for i in np.lexsort((rows, -counts)).tolist():
        kind = keys.types[int(rows[i])]
        if counts[i] >= least and kind not in without:
            by_type[kind].append((keys.values[int(rows[i])], int(counts[i])))
    order = sorted(by_type, key=lambda kind: (_type_rank(kind), kind))
    return tuple(Chips(messages.key_type(kind), tuple(by_type[kind][:_CHIPS])) for kind in order)


def _type_rank(kind: str) -> int:
    return _TYPE_ORDER.index(kind) if kind in _TYPE_ORDER else len(_TYPE_ORDER)


def _related(
    community: RankedCommunity, ranking: EventRanking, keys: Keys, statistics: KeyStatistics, without: tuple[str, ...]
) -> tuple[Related, ...]:
    """The most strongly tied communities, each with the shared keys of most weight."""
    found = []
    for other, _ in ranking.ties.get(community.number, ())[:_RELATED]:
        both = statistics.counts[[community.number - 1]].minimum(statistics.counts[[other - 1]]).tocsr()
        weight = both.data * statistics.idf[both.indices]
        ordered = both.indices[np.lexsort((both.indices, -weight))].tolist()
        tying = [key for key in ordered if keys.types[key] not in without]
        best = [key for key in tying if names_something(keys, key)][:_SHARED_KEYS] or tying[:1]
        values = tuple(keys.values[key] for key in best)
        found.append(Related(other, ranking.communities[other - 1].title, values))
    return tuple(found)


def markdown(content: Articles, messages: Messages) -> Iterator[str]:
    """Themes, articles and single events under headings."""
    yield from (f"## {messages.heading}", "")
    for theme in content.themes:
        if len(content.themes) > 1:
            yield from (f"### {escaped(theme.title)}", "")
        for article in theme.articles:
            yield from _article_lines(article, messages)
    if content.singles:
        yield from (f"### {messages.single}", "")
        yield from (f"- {dated(each)}" for each in content.singles)
        yield ""


def _article_lines(article: Article, messages: Messages) -> Iterator[str]:
    community = article.community
    yield from (f"#### {community.number} {escaped(community.title)}", "", figures_of(community, messages), "")
    keys = escaped(messages.comma.join(community.main_keys))
    yield " ".join(cited(each) for each in article.summary) or messages.no_summary.format(keys=keys)
    yield ""
    for chips in article.chips:
        values = messages.comma.join(f"{escaped(value)} ({count})" for value, count in chips.keys)
        yield f"- **{escaped(chips.type)}**: {values}"
    if article.related:
        others = messages.comma.join(f"{each.number} {escaped(each.title)}" for each in article.related)
        yield f"- **{messages.related}**: {others}"
    yield from ("", f"{messages.typical}:", "")
    yield from (f"- {dated(each)}" for each in article.typical)
    if article.rest:
        yield from ("", f"{messages.counted(messages.more_events, len(article.rest))}:", "")
        yield from (f"- {dated(each)}" for each in article.rest)
    if community.unlisted:
        yield from ("", messages.not_listed.format(count=f"{community.unlisted:,}", file="`report_events.parquet`"))
    yield ""


SECTION = ReportSection(name="communities", anchor="communities", build=build, markdown=markdown, wording=WORDING)
