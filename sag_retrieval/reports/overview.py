"""The short parts of a report: what stands out, what is new, top keys, single events."""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from sag_retrieval.communities.titles import clean, names_something
from sag_retrieval.reports.changes import Change
from sag_retrieval.reports.content import Article, Highlight, News, Statement, TopKey
from sag_retrieval.reports.context import ReportContext
from sag_retrieval.reports.select import in_time_order
from sag_retrieval.reports.wording import Messages

_HIGHLIGHTS = 5
_LOOKED_AT = 10
_SHORTEST = 36
"""Bytes of a sentence that says something: six English words, twelve Chinese characters."""
_ENDS = ".!?。！？”’\"'」』"
_NEWS = 20
_NEWS_EVENTS = 3
_NEWS_DOCUMENTS = 5
_TOP_KEYS = 20
_SINGLES = 100
_KEY_COMMUNITIES = 4


def highlights(draft: ReportContext, articles: Sequence[Article]) -> tuple[Highlight, ...]:
    """The five heaviest communities, each with a typical event."""
    return tuple(
        Highlight(article, draft.state(_readable(draft, article.number - 1), draft.labels.stands_out))
        for article in articles[:_HIGHLIGHTS]
    )


def _readable(draft: ReportContext, place: int) -> int:
    """Of the most typical events one that is a whole sentence, in the language of the page if there is one."""
    members = draft.ranked[place].members[:_LOOKED_AT].tolist()
    return int(min(members, key=lambda row: (not _is_whole(draft.events.contents[row]), bool(draft.foreign(row)))))


def _is_whole(text: str) -> bool:
    """Whether a text reads as a sentence: no row of a table, no fragment, no mere exclamation."""
    text = clean(text)
    return "|" not in text and not text[:1].islower() and len(text.encode()) >= _SHORTEST and text[-1] in _ENDS


def news_sentence(draft: ReportContext) -> str:
    """Why there are no changes to tell; else how many events are new since when, in which documents, and gone."""
    labels, previous = draft.labels, draft.previous
    if previous is None:
        return labels.first_report
    gone = len(previous.event_ids.difference(draft.events.event_ids))
    if not draft.changes and not draft.is_new.any() and not gone:
        return labels.nothing_new.format(release=previous.release)
    told = labels.news_since.format(release=previous.release)
    told += _news_counted(draft) if draft.is_new.any() else labels.news_no_events
    return told + (labels.news_gone.format(gone=labels.counted(labels.event_count, gone)) if gone else "") + labels.stop


def _news_counted(draft: ReportContext) -> str:
    labels = draft.labels
    documents = dict.fromkeys(draft.events.document[draft.is_new].tolist())
    titles = [f"“{clean(draft.events.documents.titles[row])}”" for row in documents]
    named = labels.comma.join(titles[:_NEWS_DOCUMENTS]) + (" …" if len(titles) > _NEWS_DOCUMENTS else "")
    return labels.news_events.format(
        new=labels.counted(labels.new_events, int(draft.is_new.sum())),
        documents=labels.counted(labels.document_count, len(titles)),
        titles=named,
    )


def news(draft: ReportContext) -> tuple[News, ...]:
    """The changed communities, those with most new events first, each with its newest events."""
    return tuple(_news(draft, place) for place in range(min(len(draft.changes), _NEWS)))


def _news(draft: ReportContext, place: int) -> News:
    change = draft.changes[place]
    number, told = draft.numbers.get(change.community_id), _told(change, draft.labels)
    if number is None or not change.added:
        return News(change, told, number)
    members = draft.ranked[number - 1].members
    fresh = members[draft.is_new[members]]
    ordered = in_time_order(draft.events, fresh).tolist()
    newest = [row for row in ordered if draft.events.dates[row]][-_NEWS_EVENTS:] or ordered[:_NEWS_EVENTS]
    return News(change, told, number, tuple(draft.state(row, draft.labels.whats_new) for row in reversed(newest)))


def _told(change: Change, labels: Messages) -> str:
    """Events before and now, new ones, those from elsewhere, and where it comes from."""
    was = f"{change.before:,} → " if change.before not in (0, change.size) else ""
    sources = labels.comma.join(f"“{title}”" for title in change.sources)
    parts = [
        was + labels.counted(labels.event_count, change.size),
        labels.new_count.format(count=f"{change.added:,}") if change.added else "",
        labels.change_joined.format(count=f"{change.joined:,}") if change.joined else "",
        labels.change_from.format(titles=sources) if change.status in ("merged", "split") else "",
    ]
    return " · ".join(filter(None, parts))


def top_keys(draft: ReportContext) -> tuple[TopKey, ...]:
    """Twenty keys by events × idf; dates and quantities are left to the timeline and the articles."""
    events, without = draft.events, draft.options.cluster.without_key_types
    score = np.round(draft.total * draft.idf, 9)
    order = np.lexsort((np.arange(len(score)), -score)).tolist()
    names = (key for key in order if events.keys.types[key] not in without and names_something(events, key))
    chosen = [key for key in islice(names, _TOP_KEYS) if score[key] > 0]
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


def singles(draft: ReportContext) -> tuple[tuple[Statement, ...], int]:
    """Events of communities too small for an article, in time order, and how many are left out."""
    rows = np.concatenate([np.zeros(0, np.int32), *(each.members for each in draft.singles)])
    ordered = in_time_order(draft.events, rows)
    shown = ordered[:_SINGLES].tolist()
    return tuple(draft.state(row, draft.labels.single) for row in shown), len(ordered) - len(shown)
