"""What all parts of a report are written from: events, communities, their keys, themes, citations."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sag_retrieval.communities.distinctive_keys import DistinctiveKey, distinctive_keys, key_counts
from sag_retrieval.communities.events import EventTable, Flags, Floats
from sag_retrieval.communities.groups import Communities, Community
from sag_retrieval.communities.titles import clean
from sag_retrieval.communities.weights import key_idf
from sag_retrieval.reports.changes import Change, Previous, compare, new_events
from sag_retrieval.reports.citations import Citations, Cite
from sag_retrieval.reports.content import Statement
from sag_retrieval.reports.messages import messages_for
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.wording import Messages

PROPER = 3
"""Events of a community that gets an article; smaller ones are single events."""
THEMES = 5
"""Themes with a colour of their own; number 5 is the colour of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContext:
    """The materials. `ranked` are the communities with an article, heaviest first: first is number 1."""

    events: EventTable
    options: ReportOptions
    labels: Messages
    ranked: tuple[Community, ...]
    proper_count: int
    singles: tuple[Community, ...]
    themes: Mapping[str, int]
    theme_titles: tuple[str, ...]
    ties: Mapping[int, Sequence[tuple[int, float]]]
    """Tied communities by number, strongest first."""
    telling: Sequence[Sequence[DistinctiveKey]]
    counts: csr_array
    """Shape (ranked, keys): events that carry the key."""
    total: Floats
    idf: Floats
    previous: Previous | None
    is_new: Flags
    changes: Sequence[Change]
    citations: Citations

    @property
    def numbers(self) -> dict[str, int]:
        """Number of each community that has an article."""
        return {each.community_id: number for number, each in enumerate(self.ranked, 1)}

    def new_count(self, community: Community) -> int:
        """New events of a community."""
        return int(np.count_nonzero(self.is_new[community.members]))

    def state(self, row: int, place: str, *, printed: bool = True) -> Statement:
        """An event as a cited statement; `place` is the name of where it is cited."""
        return Statement(
            clean(self.events.contents[row]),
            (self.cite(row, place, printed=printed),),
            self.events.dates[row] or "",
            row,
            bool(self.is_new[row]),
            self.foreign(row),
        )

    def cite(self, row: int, place: str, *, printed: bool = True) -> Cite:
        """Cite the passage of an event from a place of this name."""
        name = " · ".join(filter(None, (place, self.events.dates[row])))
        return self.citations.cite(row, name, printed=printed)

    def foreign(self, row: int) -> str:
        """Language tag of an event that is not in the page's language, else empty."""
        language = self.events.documents.languages[int(self.events.document[row])]
        return "" if self.labels.lang.startswith(language) else "zh-Hans" if language == "zh" else language


def make_context(
    events: EventTable, communities: Communities, options: ReportOptions, previous: Previous | None
) -> ReportContext:
    """Rank the communities, choose themes and look up what the parts of the report need."""
    is_new = new_events(events, previous)
    finest = communities.at(0)
    proper = [each for each in finest if len(each.members) >= PROPER]
    ranked = tuple(
        sorted(
            proper,
            key=lambda each: (
                -len(each.members),
                -int(np.count_nonzero(is_new[each.members])),
                -round(each.weight, 9),
                each.community_id,
            ),
        )[: options.articles]
    )
    themes, titles = choose_themes(communities, ranked)
    members = [each.members for each in ranked]
    incidence = events.incidence()
    return ReportContext(
        events=events,
        options=options,
        labels=messages_for(page_language(events, options)),
        ranked=ranked,
        proper_count=len(proper),
        singles=tuple(each for each in finest if len(each.members) < PROPER),
        themes=themes,
        theme_titles=titles,
        ties=_ties(communities, ranked),
        telling=distinctive_keys(events, members),
        counts=key_counts(incidence, members),
        total=incidence.sum(axis=0).astype(np.float64),
        idf=key_idf(incidence),
        previous=previous,
        is_new=is_new,
        changes=compare(finest, events, previous) if previous else [],
        citations=Citations(events),
    )


def page_language(events: EventTable, options: ReportOptions) -> str:
    """The language asked for, or that of most events."""
    if options.language != "auto" or not len(events):
        return "en" if options.language == "auto" else options.language
    languages = Counter(events.documents.languages[row] for row in events.document.tolist())
    return str(languages.most_common(1)[0][0])


def choose_themes(communities: Communities, ranked: Sequence[Community]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Theme number of each ranked community, and the titles of the themes.

    Themes are the five largest communities above that hold two or more ranked ones each: of the lowest level where
    they cover half of the events, else of the level where they cover most. All else is other.
    """
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
    number = {key: place for place, key in enumerate(chosen)}
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


def _ties(communities: Communities, ranked: Sequence[Community]) -> dict[int, list[tuple[int, float]]]:
    number = {each.community_id: place for place, each in enumerate(ranked, 1)}
    found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for tie in communities.ties:
        one, other = number.get(tie.one), number.get(tie.other)
        if one and other:
            found[one].append((other, tie.weight))
            found[other].append((one, tie.weight))
    return {key: sorted(each, key=lambda pair: (-pair[1], pair[0])) for key, each in found.items()}
