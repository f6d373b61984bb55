"""Rank communities: which get an article, in which theme, and which of their events are listed."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sag_retrieval.clusters.events import EventTable, Rows
from sag_retrieval.clusters.groups import CitedSentence, Communities, Community
from sag_retrieval.clusters.similarity import cosines
from sag_retrieval.language.cleaning import clean
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.periods import period_of
from sag_retrieval.reports.series import Comparison
from sag_retrieval.statements.quoting import good_rows, quotable, worth, worth_quoting

PROPER = 3
"""Events of a community that gets an article; those of smaller ones are single events."""
THEMES = 5
"""Themes with their own colour; number 5 is the colour of the others."""
_CONSIDERED, _JUDGED = 60, 2_000
"""Events of a community that typical ones are chosen from, of the most central that are judged as statements."""
_SAME, _SPREAD = 0.6, 3
_WORTH = 0.5
"""Probability of being worth a line from which on a statement counts for the rank of its theme."""
_TYPICAL_IN_SHORT = 3
"""Typical events of a short article."""
_ON_MAP, _LEAST_ON_MAP = 60, 10
"""Communities that a map shows, as more of them cover each other; events that a map needs."""
Ties = Mapping[int, Sequence[tuple[int, float]]]
"""Tied communities with the weight by number, strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedCommunity:
    """A community that gets an article, with the events chosen for it. Number 1 is the heaviest."""

    number: int
    community_id: str
    title: str
    summary: tuple[CitedSentence, ...]
    members: Rows
    theme: int
    """0 to 4, or 5 for other."""
    document_count: int
    period: str
    new_count: int
    status: str
    """Of its change since the earlier report; empty if it has not changed."""
    is_full: bool
    typical: tuple[int, ...]
    """Rows of its typical events."""
    main_keys: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Count of its events."""
        return len(self.members)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventRanking:
    """The order of a report: its communities, their themes and ties, and its single events."""

    communities: tuple[RankedCommunity, ...]
    proper_count: int
    """Communities large enough for an article, also those beyond the limit."""
    theme_titles: tuple[str, ...]
    """Of the themes with their own colour."""
    ties: Ties
    on_map: tuple[RankedCommunity, ...]
    """The communities that the map shows; none where there is no map."""
    single_count: int

    @property
    def further(self) -> int:
        """Count of communities large enough for an article that have none."""
        return self.proper_count - len(self.communities)

    @property
    def themes(self) -> list[int]:
        """Numbers of the themes that hold a community."""
        return sorted({each.theme for each in self.communities})

    def theme_title(self, theme: int, other: str) -> str:
        """The title of a theme; `other` for the one without its own colour."""
        return self.theme_titles[theme] if theme < len(self.theme_titles) else other


def rank_communities(
    events: EventTable, communities: Communities, options: ReportOptions, comparison: Comparison, language: str = ""
) -> EventRanking:
    """Order the communities by what there is to quote, then by size; choose themes, and select the events to list.

    Source:
        docs/algorithm.md §reports.3 and §reports.6.

    """
    finest = communities.at(0)
    proper = [each for each in finest if len(each.members) >= PROPER]
    shown = _telling(events, proper) if options.cluster.method == "topics" and not communities.is_ordered else proper
    ordered = shown if communities.is_ordered else _by_substance(events, shown, comparison, language)
    ordered = ordered[: options.articles]
    themes, titles = choose_themes(communities, ordered)
    ranked = tuple(
        _ranked(
            events,
            each,
            number,
            options,
            comparison,
            theme=themes[each.community_id],
            language=language,
            is_ordered=communities.is_ordered,
        )
        for number, each in enumerate(ordered, 1)
    )
    has_map = len(ranked[:_ON_MAP]) > 1 and len(events) >= _LEAST_ON_MAP
    return EventRanking(
        communities=ranked,
        proper_count=len(proper),
        theme_titles=titles,
        ties=_ties(communities, ranked),
        on_map=ranked[:_ON_MAP] if has_map else (),
        single_count=sum(len(each.members) for each in finest if len(each.members) < PROPER),
    )


def _by_substance(
    events: EventTable, communities: Sequence[Community], comparison: Comparison, language: str
) -> Sequence[Community]:
    """Those in the language of the page first, then those with more to quote, then larger ones."""
    return sorted(
        communities,
        key=lambda each: (
            bool(language) and _is_foreign(events, each, language),
            -_substance(events, each),
            -len(each.members),
            -comparison.count_new(each),
            -round(each.weight, 9),
            each.community_id,
        ),
    )


def _telling(events: EventTable, proper: Sequence[Community]) -> Sequence[Community]:
    """The communities over three documents with a statement to quote, as long as three are left; the table has all."""
    wide = [each for each in proper if len(np.unique(events.document[each.members])) >= _SPREAD]
    shown = wide if len(wide) >= _SPREAD else proper
    quoted = [each for each in shown if worth_quoting(events, each.members[:_JUDGED]).any()]
    return quoted if len(quoted) >= _SPREAD else shown


def _is_foreign(events: EventTable, community: Community, language: str) -> bool:
    documents = events.document[community.members].tolist()
    foreign = sum(1 for row in documents if events.documents.languages[row] != language)
    return 2 * foreign > len(documents)


def _substance(events: EventTable, community: Community) -> int:
    """Statements of a community that can be quoted and are worth it."""
    rows = community.members[:_JUDGED]
    return int(quotable(events, rows[worth(events, rows) >= _WORTH]).sum())


def _in_language(events: EventTable, community: Community, language: str) -> Community:
    """The events of a community in the language of the page, where there are enough of them to be quoted."""
    spoken = events.documents.languages
    own = np.array([spoken[row] == language for row in events.document[community.members].tolist()], np.bool_)
    if not language or own.all() or worth_quoting(events, community.members[own][:_JUDGED]).sum() < _SPREAD:
        return community
    return replace(community, members=community.members[own], centrality=community.centrality[own])


def _ranked(  # noqa: PLR0913  a row is of all these
    events: EventTable,
    community: Community,
    number: int,
    options: ReportOptions,
    comparison: Comparison,
    *,
    theme: int,
    language: str,
    is_ordered: bool,
) -> RankedCommunity:
    is_full = number <= options.full_articles
    own = _in_language(events, community, language)
    typical = typical_events(events, own, options.typical if is_full else _TYPICAL_IN_SHORT)
    typical = np.sort(typical) if is_ordered else typical
    return RankedCommunity(
        number=number,
        community_id=community.community_id,
        title=community.title,
        summary=tuple(replace(sentence, text=clean(sentence.text)) for sentence in community.summary)
        or tuple(CitedSentence(events.contents[row], (events.event_ids[row],)) for row in typical.tolist()),
        members=community.members,
        theme=theme,
        document_count=len(np.unique(events.document[community.members])),
        period=period_of(events, community.members, language),
        new_count=comparison.count_new(community),
        status=comparison.statuses.get(community.community_id, ""),
        is_full=is_full,
        typical=tuple(typical.tolist()),
    )


def choose_themes(communities: Communities, ranked: Sequence[Community]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Theme number of each ranked community, and the titles of the themes.

    Themes are the five largest communities above that hold two or more ranked ones each: of the lowest level where
    they cover half of the events, else of the level where they cover most. All else is other.
    """
    if communities.levels == 1:
        return {each.community_id: 0 for each in ranked}, ("",)
    by_id = {each.community_id: each for each in communities}
    best: tuple[int, dict[str, str], list[str]] = (0, {}, [])
    half = sum(len(each.members) for each in ranked) / 2
    above = {each.community_id: each.community_id for each in ranked}
    for _ in range(1, communities.levels):
        above = {key: by_id[up].parent_id or "" for key, up in above.items() if by_id[up].parent_id in by_id}
        covered, chosen = _largest(above, ranked)
        if covered > best[0]:
            best = covered, above, chosen
        if covered >= half:
            break
    _, above, chosen = best
    number = dict(zip(chosen, range(len(chosen)), strict=True))
    themes = {each.community_id: number.get(above.get(each.community_id, ""), THEMES) for each in ranked}
    return themes, tuple(by_id[key].title for key in chosen)


def _largest(above: Mapping[str, str], ranked: Sequence[Community]) -> tuple[int, list[str]]:
    """How many events the largest themes cover, and which they are."""
    held = Counter(above.values())
    size: Counter[str] = Counter()
    for each in ranked:
        up = above.get(each.community_id, "")
        if held[up] > 1:
            size[up] += len(each.members)
    chosen = sorted(size, key=lambda key: (-size[key], key))[:THEMES]
    return sum(size[key] for key in chosen), chosen


def _ties(communities: Communities, ranked: Sequence[RankedCommunity]) -> dict[int, list[tuple[int, float]]]:
    number = {each.community_id: each.number for each in ranked}
    found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for tie in communities.ties:
        one, other = number.get(tie.one), number.get(tie.other)
        if one and other:
            found[one].append((other, tie.weight))
            found[other].append((one, tie.weight))
    return {key: sorted(each, key=lambda pair: (-pair[1], pair[0])) for key, each in found.items()}


def typical_events(events: EventTable, community: Community, most: int) -> Rows:
    """At most `most` events that are typical and differ from one another, in time order.

    Greedy: the next one has the highest `centrality + worth - similarity` to the most similar of those taken, among
    those that can be quoted; a near-duplicate (above .6) is left out.

    Source:
        docs/algorithm.md §reports.6.

    """
    centrality = dict(zip(community.members.tolist(), community.centrality.tolist(), strict=True))
    members = good_rows(events, _once(events, community.members[:_JUDGED]), most)
    members = members[np.sort(np.argsort(-worth(events, members), kind="stable")[:_CONSIDERED])]
    value = np.array([centrality[row] for row in members.tolist()]) + worth(events, members)
    most_similar = np.zeros(len(members))
    chosen: list[int] = []
    while len(chosen) < min(most, len(members)):
        best = int(np.argmax(value - most_similar - 9 * (most_similar > _SAME)))
        if chosen and (most_similar[best] > _SAME or value[best] == -np.inf):
            break
        chosen.append(best)
        value[best] = -np.inf
        again = np.full(len(members), members[best], np.int32)
        most_similar = np.maximum(most_similar, cosines(events.vectors, again, members))
    return in_time_order(events, members[np.array(chosen, dtype=np.intp)])


def _once(events: EventTable, rows: Rows) -> Rows:
    """The first of the rows with the same text: what all documents say has no cosine with anything."""
    first: dict[str, int] = {}
    for row in rows.tolist():
        first.setdefault(events.contents[row], row)
    return np.array(list(first.values()), np.int32)


def in_time_order(events: EventTable, rows: Rows) -> Rows:
    """Rows by date, those without one last, ties by row."""
    return np.array(sorted(rows.tolist(), key=lambda row: (events.dates[row] or "~", row)), dtype=np.int32)
