"""Header: title, what the documents are about in three sentences, and key figures."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.sparse import csc_array

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.language.cleaning import clean
from sag_retrieval.language.words import is_cjk
from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.facts import largest_amounts, readable_amount
from sag_retrieval.reports.periods import period_of
from sag_retrieval.reports.ranking import RankedCommunity, in_time_order
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, escaped
from sag_retrieval.topics.titler import JOINT

WORDING: Wording = {
    "kind": ("Report", "报告"),
    "about": (
        "{documents}{period}{folders} are above all about {themes}.",
        "{documents}{period}{folders}主要涉及：{themes}。",
    ),
    "about_one": (
        "{documents}{period}{folders} is above all about {themes}.",
        "{documents}{period}{folders}主要涉及：{themes}。",
    ),
    "folders": (" (most from {folders})", "（多来自{folders}）"),
    "folder": ("“{name}”: {count}", "“{name}”{count} 篇"),
    "largest_amount": (
        "The largest amount named is {amount}, of {who}.",
        "提到的最大金额或数量是{who}的 {amount}。",
    ),
    "about_parts": (
        "“{title}”{period} has {count} parts with a title, from {first} to {last}.",
        "“{title}”{period}分为 {count} 个有标题的部分，从{first}到{last}。",
    ),
    "named_throughout": ("Named most: {names}.", "其中提到最多的是{names}。"),
    "named_part": ("{value} ({events}, in {parts} of {all} parts)", "{value}（{events}，见于 {parts}/{all} 个部分）"),
    "period_of": (" of {period}", "（{period}）"),
    "and": (" and ", "和"),
    "quoted": ("“{title}”", "“{title}”"),
    "named": ("Named most often: {names}.", "其中提到最多的是{names}。"),
    "named_key": ("{value} ({documents})", "{value}（{documents}）"),
    "since": (
        "Since the report before, {new} are new, most of them about {title}.",
        "与上一份报告相比新增 {new}，多数属于{title}。",
    ),
    "nothing": (
        "No sentence of them stands alone as a statement; the tables below name who and what is in them.",
        "其中没有可以单独引用的句子；下面的表格列出其中的人物、名称和时间。",
    ),
    "first": (
        "The largest theme, {title}, rests on {events} of {documents}.",
        "最大的主题是{title}，涉及{documents}中的 {events}。",
    ),
    "no_events": ("The chosen range holds no events.", "所选范围内没有事件。"),
}

_DATED = 0.02
"""Share of events that have to have a date, else the dates are not the time of the documents: a tale names a year."""
_THEMES = 3
_QUOTED = 3
"""Typical statements of a theme that the first sentence names."""
_NAMES = 3
_FOLDERS = 3
_FEWEST = 2
_CHARTED = 4
"""Amounts that the chart below shows, with their statements."""
_EVERYWHERE = 0.9
"""A key of a larger share of a document's events names the document."""


@dataclass(frozen=True, slots=True)
class Header:
    """Title, sentences that say what the documents are about, and figures with their names."""

    title: str
    sentences: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]
    cited: tuple[Statement, ...] = ()
    """The same sentences with what they cite, where a model wrote them."""

    @property
    def text(self) -> str:
        """The sentences as one text; Chinese ones need no space between them."""
        return ("" if self.headline.endswith("。") else " ").join(self.sentences)

    @property
    def headline(self) -> str:
        """The first sentence."""
        return self.sentences[0]


def build(context: ReportContext) -> Header:
    """The header; without figures where there are no events."""
    messages = context.messages(WORDING)
    title = clean(context.options.title) or messages.kind
    if not len(context.events):
        return Header(title, (messages.no_events,), ())
    summary = tuple(context.cited(each.text, each.event_ids, messages.kind) for each in context.written.summary)
    sentences = tuple(each.text for each in summary) or _sentences(context, messages)
    return Header(title, sentences, _figures(context, messages), summary)


def _sentences(context: ReportContext, messages: Messages) -> tuple[str, ...]:
    """What the documents are about, who is named most, and what is new or the largest theme."""
    counts, ranked = context.counts, context.ranking.communities
    documents = messages.counted(messages.document_count, counts["documents"])
    if not ranked:
        return (documents + messages.stop,)
    period = _whole_period(context.events, context.language)
    when = messages.period_of.format(period=period) if period else ""
    nothing = "" if any(each.typical for each in ranked) else messages.nothing
    if context.communities.is_ordered and counts["documents"] == 1:
        about, named = _of_parts(context, messages, when), _named_in_parts(context, messages)
        return tuple(filter(None, (about, nothing, named)))
    titles = [messages.quoted.format(title=each.title) for each in _by_size(ranked, context)[:_THEMES]]
    about = messages["about_one" if counts["documents"] == 1 else "about"].format(
        documents=documents,
        period=when,
        folders=_folders(context, messages),
        themes=_listed(titles, messages),
    )
    return tuple(filter(None, (about, nothing, _named(context, messages), _strongest(context, messages))))


def _folders(context: ReportContext, messages: Messages) -> str:
    """The folders that most documents lie in; empty where there are none, or three hold fewer than half."""
    held = Counter(each.split("/")[0] for each in context.events.documents.document_ids if "/" in each)
    largest = sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))[:_FOLDERS]
    whole = len(context.events.documents.document_ids)
    if len(largest) < _FEWEST or 2 * sum(count for _, count in largest) < whole:
        return ""
    named = [messages.folder.format(name=clean(name), count=count) for name, count in largest]
    return messages.folders.format(folders=messages.comma.join(named))


def _strongest(context: ReportContext, messages: Messages) -> str:
    """What is new, else the largest amount or theme."""
    if context.comparison.previous and context.counts["new"]:
        return _newest(context, messages)
    amounts = largest_amounts(context.events, _CHARTED)
    if len(amounts) == _CHARTED and amounts[0].unit:
        amount = readable_amount(amounts[0], context.language)
        return messages.largest_amount.format(amount=amount, who=amounts[0].who)
    return _newest(context, messages)


def _by_size(ranked: Sequence[RankedCommunity], context: ReportContext) -> list[RankedCommunity]:
    """The themes that most documents share first; last those of a statement or two, or called by names, or foreign."""
    return sorted(ranked, key=lambda each: (_is_small(each, context), -each.document_count, each.number))


def _is_small(theme: RankedCommunity, context: ReportContext) -> bool:
    is_foreign = is_cjk(theme.title) != (context.language == "zh")
    is_name = JOINT in theme.title or "…" in theme.title or theme.title in context.events.keys.values
    return len(theme.typical) < _QUOTED or is_name or is_foreign


def _listed(parts: Sequence[str], messages: Messages) -> str:
    """`a, b and c`."""
    return messages["and"].join(filter(None, (messages.comma.join(parts[:-1]), parts[-1])))


def _of_parts(context: ReportContext, messages: Messages, when: str) -> str:
    """What a long document is called, and its first and last part."""
    ranked = context.ranking.communities
    first, last = (messages.quoted.format(title=each.title) for each in (ranked[0], ranked[-1]))
    title = clean(context.events.documents.titles[int(context.events.document[0])])
    return messages.about_parts.format(title=title, period=when, count=len(ranked), first=first, last=last)


def _named_in_parts(context: ReportContext, messages: Messages) -> str:
    """The names that most events of a document carry, with their parts; none that names the document."""
    counts = context.keys.counts
    events, parts = np.asarray(counts.sum(axis=0)).ravel(), np.diff(csc_array(counts).indptr)
    whole = len(context.events)
    order = np.lexsort((np.arange(len(events)), -events)).tolist()
    keys = (key for key in order if events[key] < _EVERYWHERE * whole and context.keys.is_name[key])
    told = [
        messages.named_part.format(
            value=context.events.keys.values[key],
            events=messages.counted(messages.event_count, int(events[key])),
            parts=int(parts[key]),
            all=counts.shape[0],
        )
        for key in islice(keys, _NAMES)
        if events[key] > 1
    ]
    return messages.named_throughout.format(names=_listed(told, messages)) if told else ""


def _named(context: ReportContext, messages: Messages) -> str:
    """The names that most documents hold; empty where none is in two."""
    parts = [
        messages.named_key.format(value=name, documents=messages.counted(messages.document_count, count))
        for name, count in context.named[:_NAMES]
        if count > 1
    ]
    return messages.named.format(names=_listed(parts, messages)) if parts else ""


def _newest(context: ReportContext, messages: Messages) -> str:
    counts, ranked = context.counts, context.ranking.communities
    if context.comparison.previous and counts["new"]:
        most = max(ranked, key=lambda each: (each.new_count, -each.number))
        new = messages.counted(messages.event_count, counts["new"])
        return messages.since.format(new=new, title=messages.quoted.format(title=most.title))
    largest = _by_size(ranked, context)[0]
    return messages["first"].format(
        title=messages.quoted.format(title=largest.title),
        events=messages.counted(messages.event_count, largest.size),
        documents=messages.counted(messages.document_count, largest.document_count),
    )


def _figures(context: ReportContext, messages: Messages) -> tuple[tuple[str, str], ...]:
    counts = context.counts
    return (
        (messages.documents, f"{counts['documents']:,}"),
        (messages.communities, f"{counts['communities']:,}"),
        (messages.new, f"{counts['new']:,}" if context.comparison.previous else "–"),
        (messages.period, _whole_period(context.events, context.language) or "–"),
    )


def _whole_period(events: EventTable, language: str) -> str:
    """The period of the dated events; a date outside the middle 98 % may be a slip of the pen. None of few dates."""
    rows = in_time_order(events, np.array([row for row, date in enumerate(events.dates) if date], np.int32))
    if len(rows) < _DATED * len(events):
        return ""
    cut = len(rows) // 100
    return period_of(events, rows[cut : len(rows) - cut], language)


def _joined(content: Header) -> str:
    return " · ".join(f"{name} **{escaped(value)}**" for name, value in content.figures if value != "–")


def markdown(content: Header, _messages: Messages) -> Iterator[str]:
    """Title, headline and figures."""
    yield from (
        f"# {escaped(content.title)}",
        "",
        " ".join(cited(each) for each in content.cited) or escaped(content.text),
        "",
        _joined(content),
        "",
    )


def preview(content: Header, _messages: Messages) -> Iterator[str]:
    """Headline and figures."""
    yield from (f"**{escaped(content.headline)}**", "", _joined(content), "")


SECTION = ReportSection(name="header", build=build, markdown=markdown, wording=WORDING, place="top", preview=preview)
