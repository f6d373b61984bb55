"""The articles of a report: one for each community, under its theme."""

from collections import defaultdict

import numpy as np

from sag_retrieval.communities.groups import CitedSentence, Community
from sag_retrieval.communities.titles import clean, names_something, naming_keys
from sag_retrieval.reports.content import Article, Chips, Related, Statement, Theme
from sag_retrieval.reports.context import THEMES, ReportContext
from sag_retrieval.reports.select import listed_events, period_of, typical_events
from sag_retrieval.text.words import fold

_LISTED_MOST = 40
_TYPICAL_IN_SHORT = 3
_RELATED = 4
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


def article_stubs(draft: ReportContext) -> list[Article]:
    """The communities by number with all that needs no citation."""
    statuses = {change.community_id: change.status for change in draft.changes}
    events = draft.events
    return [
        Article(
            number=number,
            community_id=each.community_id,
            title=each.title,
            theme=draft.themes[each.community_id],
            size=len(each.members),
            document_count=len(np.unique(events.document[each.members])),
            period=period_of(events, each.members),
            new_count=draft.new_count(each),
            status=draft.labels.status.get(statuses.get(each.community_id, ""), ""),
            main_keys=_main_keys(draft, number - 1, each.title),
            is_full=number <= draft.options.full_articles,
        )
        for number, each in enumerate(draft.ranked, 1)
    ]


def write_themes(draft: ReportContext, articles: list[Article]) -> tuple[Theme, ...]:
    """The articles with their text, theme by theme, each cited in the order of reading."""
    by_theme: defaultdict[int, list[Article]] = defaultdict(list)
    for theme in sorted({article.theme for article in articles}):
        for article in articles:
            if article.theme == theme:
                by_theme[theme].append(_write(draft, article))
    titles = (*draft.theme_titles, *[draft.labels.other] * (THEMES + 1 - len(draft.theme_titles)))
    return tuple(Theme(theme, titles[theme], tuple(each)) for theme, each in by_theme.items())


def _write(draft: ReportContext, article: Article) -> Article:
    community, place = draft.ranked[article.number - 1], str(article.number)
    summary = tuple(_sentence(draft, community, sentence, place) for sentence in community.summary)
    most = draft.options.typical if article.is_full else _TYPICAL_IN_SHORT
    typical = typical_events(draft.events, community, most)
    listed = _listed(draft, community) if article.is_full else np.zeros(0, np.int32)
    rest = listed[~np.isin(listed, typical)]
    return _with(
        article,
        summary=summary,
        chips=_chips(draft, article.number - 1) if article.is_full else (),
        related=_related(draft, article.number) if article.is_full else (),
        typical=tuple(draft.state(row, place) for row in typical.tolist()),
        rest=tuple(draft.state(row, place, printed=False) for row in rest.tolist()),
        unlisted=article.size - len(typical) - len(rest),
    )


def _with(article: Article, **parts: object) -> Article:
    values = {name: getattr(article, name) for name in Article.__slots__}
    return Article(**(values | parts))


def _listed(draft: ReportContext, community: Community) -> "np.typing.NDArray[np.int32]":
    everything = len(draft.events) <= draft.options.list_all_up_to
    most = len(community.members) if everything else _LISTED_MOST
    return listed_events(draft.events, community, draft.is_new, most)


def _sentence(draft: ReportContext, community: Community, sentence: CitedSentence, place: str) -> Statement:
    row_of = {draft.events.event_ids[row]: row for row in community.members.tolist()}
    rows = [row_of[key] for key in sentence.event_ids if key in row_of]
    cites = tuple(draft.cite(row, place) for row in rows)
    return Statement(clean(sentence.text), cites)


def _main_keys(draft: ReportContext, place: int, title: str) -> tuple[str, ...]:
    values = [clean(draft.events.keys.values[key.row]) for key in naming_keys(draft.events, draft.telling[place])]
    return tuple(value for value in values if fold(value) not in fold(title))[:3]


def _chips(draft: ReportContext, place: int) -> tuple[Chips, ...]:
    part = slice(draft.counts.indptr[place], draft.counts.indptr[place + 1])
    keys, counts = draft.counts.indices[part], draft.counts.data[part]
    by_type: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    least = 2 if counts.max(initial=0) > 1 else 1
    for i in np.lexsort((keys, -counts)).tolist():
        kind = draft.events.keys.types[int(keys[i])]
        if counts[i] >= least and kind not in draft.options.cluster.without_key_types:
            value = clean(draft.events.keys.values[int(keys[i])])
            by_type[kind].append((value, int(counts[i])))
    order = sorted(by_type, key=lambda kind: (_type_rank(kind), kind))
    return tuple(Chips(draft.labels.key_type(kind), tuple(by_type[kind][:_CHIPS])) for kind in order)


def _type_rank(kind: str) -> int:
    return _TYPE_ORDER.index(kind) if kind in _TYPE_ORDER else len(_TYPE_ORDER)


def _related(draft: ReportContext, number: int) -> tuple[Related, ...]:
    found = []
    for other, _ in draft.ties.get(number, ())[:_RELATED]:
        both = draft.counts[[number - 1]].minimum(draft.counts[[other - 1]]).tocsr()
        weight = both.data * draft.idf[both.indices]
        ordered = both.indices[np.lexsort((both.indices, -weight))].tolist()
        tying = [key for key in ordered if draft.events.keys.types[key] not in draft.options.cluster.without_key_types]
        best = [key for key in tying if names_something(draft.events, key)][:3] or tying[:1]
        values = tuple(clean(draft.events.keys.values[key]) for key in best)
        found.append(Related(other, draft.ranked[other - 1].title, values))
    return tuple(found)
