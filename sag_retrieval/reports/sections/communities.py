"""Themes: an article for each ranked community, with its amounts, dated statements, contradictions and sources."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sag_retrieval.clusters.events import Keys
from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.reports.citations import CitedSource, Reference, Statement
from sag_retrieval.reports.facts import Amount, chosen_amounts, conflicts_in, dated_rows, readable_amount
from sag_retrieval.reports.ranking import EventRanking, RankedCommunity
from sag_retrieval.reports.section import KeyStatistics, ReportContext, ReportSection
from sag_retrieval.reports.theme_pages import theme_file
from sag_retrieval.reports.wording import Messages, Wording, cited, dated, escaped, figures_of

WORDING: Wording = {
    "heading": ("Themes", "主题"),
    "related": ("Tied to", "关联主题"),
    "semicolon": ("; ", "；"),
    "dated": ("When", "时间"),
    "amounts": ("How much", "金额与数量"),
    "who": ("Who", "谁"),
    "how_much": ("How much", "多少"),
    "when": ("When", "何时"),
    "statement": ("Statement", "原文"),
    "conflicts": ("Documents that disagree", "说法不一"),
    "all_events": ("All {count} events", "全部 {count} 个事件"),
    "findings": ("Findings", "要点"),
    "importance": ("importance {importance} of 10", "重要程度 {importance}/10"),
    "no_summary": ("No sentence of this theme stands alone as a statement.", "该主题没有可以单独引用的句子。"),
    "no_summary_named": (
        "No sentence of this theme stands alone as a statement. It names {keys}.",
        "该主题没有可以单独引用的句子，其中提到：{keys}。",
    ),
}

_OPEN = 8
"""Articles that the page shows open; of the others it shows title and counts until a reader opens them."""
_RELATED = 3
_SHARED_KEYS = 2
_CHIPS = 4
_CHIP_TYPES = 3


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


@dataclass(frozen=True, slots=True)
class AmountRow:
    """A row of the table of amounts: who, how much, when, and the statement."""

    who: str
    shown: str
    statement: Statement


@dataclass(frozen=True, slots=True)
class ThemeFinding:
    """A finding that a model wrote about the theme: its importance from 0 to 10, and why."""

    statement: Statement
    importance: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """One theme: a paragraph, who and what takes part, dated statements, amounts, ties, contradictions, sources."""

    community: RankedCommunity
    page: str
    """File of the linked page with all of its events."""
    summary: tuple[Statement, ...]
    findings: tuple[ThemeFinding, ...]
    """The most important first; none without a model."""
    chips: tuple[Chips, ...]
    related: tuple[Related, ...]
    dated: tuple[Statement, ...]
    amounts: tuple[AmountRow, ...]
    conflicts: tuple[tuple[Statement, Statement], ...]
    sources: tuple[CitedSource, ...] = ()
    """The passages that the article cites first; none until all citations are numbered."""

    @property
    def is_folded(self) -> bool:
        """Whether the page shows its title and counts alone until a reader opens it."""
        return self.community.number > _OPEN

    def without_summary(self, messages: Messages) -> str:
        """What stands where nothing can be quoted: that it is so, and what is named."""
        keys = messages.comma.join(self.community.main_keys)
        return messages.no_summary_named.format(keys=keys) if keys else messages.no_summary


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
    single_count: int
    further: int
    """Communities without an article."""


def build(context: ReportContext) -> Articles | None:
    """The articles theme by theme."""
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
        single_count=ranking.single_count,
        further=ranking.further,
    )


def _article(context: ReportContext, community: RankedCommunity, messages: Messages) -> Article:
    place, without, events = str(community.number), context.options.cluster.without_key_types, context.events
    row_of = {events.event_ids[row]: row for row in community.members.tolist()}
    keys, members = events.keys, community.members if community.is_full else community.members[:0]
    has_related = community.is_full and not context.communities.is_ordered  # parts of one text share most names
    return Article(
        community=community,
        page=theme_file(community),
        summary=tuple(_sentence(sentence, row_of, place) for sentence in community.summary),
        findings=tuple(_findings(context, community, place)),
        chips=_chips(community, keys, context.keys, without, messages) if community.is_full else (),
        related=_related(community, context.ranking, keys, context.keys, without) if has_related else (),
        dated=tuple(context.statement(row, place) for row in dated_rows(events, members, community.typical)),
        amounts=tuple(_amount(context, each, place) for each in chosen_amounts(events, members)),
        conflicts=tuple(
            (context.statement(one, place), context.statement(two, place)) for one, two in conflicts_in(events, members)
        ),
    )


def _findings(context: ReportContext, community: RankedCommunity, place: str) -> Iterator[ThemeFinding]:
    written = context.written.themes.get(community.community_id)
    for each in written.findings if written else ():
        yield ThemeFinding(context.cited(each.text, each.event_ids, place), each.importance, each.reason)


def _amount(context: ReportContext, amount: Amount, place: str) -> AmountRow:
    return AmountRow(amount.who, readable_amount(amount, context.language), context.statement(amount.row, place))


def with_sources(content: Articles, passages: tuple[CitedSource, ...]) -> Articles:
    """The same articles, each with the passages that it cites first."""
    by_place: defaultdict[str, list[CitedSource]] = defaultdict(list)
    for each in passages:
        by_place[each.first_cited].append(each)
    themes = tuple(
        replace(
            theme,
            articles=tuple(
                replace(each, sources=tuple(by_place[str(each.community.number)])) for each in theme.articles
            ),
        )
        for theme in content.themes
    )
    return replace(content, themes=themes)


def _sentence(sentence: CitedSentence, row_of: dict[str, int], place: str) -> Statement:
    rows = [row_of[key] for key in sentence.event_ids if key in row_of]
    return Statement(sentence.text, tuple(Reference(row, place) for row in rows))


def _chips(
    community: RankedCommunity, keys: Keys, statistics: KeyStatistics, without: tuple[str, ...], messages: Messages
) -> tuple[Chips, ...]:
    """The most frequent keys of each type; those of one event only where no key has more."""
    matrix, number = statistics.counts, community.number - 1
    part = slice(matrix.indptr[number], matrix.indptr[number + 1])
    rows, counts = matrix.indices[part], matrix.data[part]
    by_type: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    least = 2 if counts.max(initial=0) > 1 else 1
    for i in np.lexsort((rows, -counts)).tolist():
        kind = keys.types[int(rows[i])]
        if counts[i] >= least and kind not in without and statistics.is_name[int(rows[i])]:
            by_type[kind].append((keys.values[int(rows[i])], int(counts[i])))
    order = [each.name for each in keys.schema.every]
    place_of = {kind: order.index(kind) if kind in order else len(order) for kind in by_type}
    chosen = sorted(by_type, key=lambda kind: (place_of[kind], kind))[:_CHIP_TYPES]
    return tuple(Chips(messages.key_type(kind, keys.schema), tuple(by_type[kind][:_CHIPS])) for kind in chosen)


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
        best = [key for key in tying if statistics.is_name[key]][:_SHARED_KEYS]
        values = tuple(keys.values[key] for key in best)
        found.append(Related(other, ranking.communities[other - 1].title, values))
    return tuple(found)


def markdown(content: Articles, messages: Messages) -> Iterator[str]:
    """Themes and articles under headings."""
    yield from (f"## {messages.heading}", "")
    for theme in content.themes:
        if len(content.themes) > 1:
            yield from (f"### {escaped(theme.title)}", "")
        for article in theme.articles:
            yield from _article_lines(article, messages)


def _article_lines(article: Article, messages: Messages) -> Iterator[str]:
    community = article.community
    yield from (f"### {community.number} {escaped(community.title)}", "", figures_of(community, messages), "")
    yield " ".join(cited(each) for each in article.summary) or escaped(article.without_summary(messages))
    yield ""
    yield from _finding_lines(article, messages)
    for chips in article.chips:
        values = messages.comma.join(f"{escaped(value)} ({count})" for value, count in chips.keys)
        yield f"- **{escaped(chips.type)}**: {values}"
    if article.related:
        others = messages.comma.join(f"{each.number} {escaped(each.title)}" for each in article.related)
        yield f"- **{messages.related}**: {others}"
    if article.dated:
        yield from ("", f"{messages.dated}:", "")
        yield from (f"- {dated(each)}" for each in article.dated)
    if article.amounts:
        yield ""
        head = [messages.who, messages.how_much, messages.when, messages.statement]
        yield f"| {' | '.join(head)} |"
        yield f"|{' --- |' * len(head)}"
        for each in article.amounts:
            cells = (escaped(each.who), escaped(each.shown), each.statement.date, cited(each.statement))
            yield f"| {' | '.join(cells)} |"
    for one, other in article.conflicts:
        yield from ("", f"{messages.conflicts}: {cited(one)} / {cited(other)}")
    yield from ("", f"[{messages.all_events.format(count=f'{community.size:,}')}]({article.page})", "")


def _finding_lines(article: Article, messages: Messages) -> Iterator[str]:
    for each in article.findings:
        told = messages.importance.format(importance=each.importance)
        why = messages.colon.join(filter(None, (told, each.reason)))
        yield f"- {cited(each.statement)} ({escaped(why)})"
    if article.findings:
        yield ""


SECTION = ReportSection(
    name="communities",
    anchor="communities",
    build=build,
    markdown=markdown,
    wording=WORDING,
    with_sources=with_sources,
)
