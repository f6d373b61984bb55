"""The short parts of a report: what stands out, what is new, top keys, single events."""

from collections.abc import Sequence

import numpy as np

from sag_retrieval.reports.content import Article, Highlight, News, Statement, TopKey
from sag_retrieval.reports.draft import Draft
from sag_retrieval.reports.select import in_time_order
from sag_retrieval.reports.titles import clean

_HIGHLIGHTS = 5
_NEWS = 20
_TOP_KEYS = 20
_SINGLES = 100
_KEY_COMMUNITIES = 4


def highlights(draft: Draft, articles: Sequence[Article]) -> tuple[Highlight, ...]:
    """The five heaviest communities, each with its most typical event."""
    return tuple(
        Highlight(article, draft.state(int(draft.ranked[article.number - 1].members[0]), draft.labels.stands_out))
        for article in articles[:_HIGHLIGHTS]
    )


def news_sentence(draft: Draft) -> str:
    """Why there are no changes to tell, or nothing."""
    if draft.previous is None:
        return draft.labels.first_report
    if not draft.changes and not draft.is_new.any():
        return draft.labels.nothing_new.format(release=draft.previous.release)
    return ""


def news(draft: Draft) -> tuple[News, ...]:
    """The changed communities, those with most new events first, each with its newest event."""
    return tuple(_news(draft, place) for place in range(min(len(draft.changes), _NEWS)))


def _news(draft: Draft, place: int) -> News:
    change = draft.changes[place]
    number = draft.numbers.get(change.community_id)
    if number is None or not change.added:
        return News(change, number, None)
    members = draft.ranked[number - 1].members
    fresh = members[draft.is_new[members]]
    dated = [row for row in in_time_order(draft.events, fresh).tolist() if draft.events.dates[row]]
    newest = dated[-1] if dated else int(fresh[0])
    return News(change, number, draft.state(newest, draft.labels.whats_new))


def top_keys(draft: Draft) -> tuple[TopKey, ...]:
    """Twenty keys by events × idf."""
    skipped = [kind in draft.options.cluster.without_key_types for kind in draft.events.keys.types]
    score = np.where(np.array(skipped, dtype=bool), 0, np.round(draft.total * draft.idf, 9))
    order = np.lexsort((np.arange(len(score)), -score))[:_TOP_KEYS]
    chosen = [int(key) for key in order if score[key] > 0]
    most = max((draft.total[key] for key in chosen), default=1.0)
    by_key = draft.counts.tocsc()
    found = []
    for key in chosen:
        part = slice(by_key.indptr[key], by_key.indptr[key + 1])
        places, counts = by_key.indices[part], by_key.data[part]
        best = places[np.lexsort((places, -counts))][:_KEY_COMMUNITIES]
        found.append(
            TopKey(
                draft.labels.key_type(draft.events.keys.types[key]),
                clean(draft.events.keys.values[key]),
                int(draft.total[key]),
                round(float(draft.total[key] / most), 3),
                round(float(draft.idf[key]), 2),
                tuple(int(place) + 1 for place in best),
            )
        )
    return tuple(found)


def singles(draft: Draft) -> tuple[tuple[Statement, ...], int]:
    """Events of communities too small for an article, in time order, and how many are left out."""
    rows = np.concatenate([np.zeros(0, np.int32), *(each.members for each in draft.singles)])
    ordered = in_time_order(draft.events, rows)
    shown = ordered[:_SINGLES].tolist()
    return tuple(draft.state(row, draft.labels.single) for row in shown), len(ordered) - len(shown)
