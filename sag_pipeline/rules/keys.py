"""Keys without a model: names, dates, amounts and topics that stand in an event's own words, in Chinese and English."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from sag_pipeline.rules.keys import topics
from sag_pipeline.rules.names import NameIndex, aliases, names, outside
from sag_pipeline.rules.names_en import ENTITY
from sag_pipeline.steps.dates import dates
from sag_pipeline.steps.keys import Mention, make_key, title_key
from sag_pipeline.steps.quantities import quantities
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Key
from sag_retrieval.text.layout import logical_lines
from sag_retrieval.text.words import normal_name

FORECAST = "is_forecast"
MOST_KEYS = 20
"""Of a table row or a list with more keys the first ones stay."""

_FORECAST = re.compile(
    r"预计|预期将|计划于|计划在|将于|拟于|有望|\b(?:is|are) (?:expected|scheduled|planned|forecast|projected) to\b"
    r"|\bwill\b|\bplans? to\b"
)


def offline_keys(document: Document, chunks: Sequence[Chunk], events: Sequence[Event]) -> list[EventKey]:
    """The keys of every event: the document's title first, then what stands in the event, in its order.

    A name found once in a document counts wherever it stands there; the longest one at a place counts alone. An event
    whose place in the text is unknown is read by itself.

    Source:
        docs/algorithm.md §extraction.6.

    """
    del chunks
    title = title_key(document)
    mentions, index = read_mentions(document.text)
    starts = [mention.start for mention in mentions]
    found: list[EventKey] = []
    for event in events:
        text, own = document.text, mentions
        if event.start is None or event.end is None:
            text, own = event.content, _by_itself(event.content, index)
        else:
            rows = range(bisect_left(starts, event.start), bisect_left(starts, event.end))
            own = [mentions[row] for row in rows if mentions[row].end <= event.end]
        same_as = _same_as(text, own)
        found += [
            EventKey(document.document_id, event.event_id, key, same_as.get(key.key_id))
            for key in _keys(title, own, event.content)
        ]
    return found


def _by_itself(content: str, index: NameIndex) -> list[Mention]:
    own = read_mentions(content)[0]
    return sorted([*own, *outside(index.mentions(content), own)], key=lambda m: (m.start, -m.end))


def _same_as(text: str, mentions: Sequence[Mention]) -> dict[str, str]:
    """Key id → id of the key that it is another name of."""
    pairs = [
        (
            make_key(mentions[alias].key_type, mentions[alias].value),
            make_key(mentions[name].key_type, mentions[name].value),
        )
        for alias, name in aliases(text, mentions)
    ]
    return {alias.key_id: name.key_id for alias, name in pairs if alias and name and alias.key_id != name.key_id}


def read_mentions(text: str) -> tuple[list[Mention], NameIndex]:
    """Everything in a text that is a key, in order, and the names found there.

    Names do not overlap each other, nor do dates and amounts; a date may lie in a name (`2018 Impact Factor`).
    """
    exact = list(dates(text))
    exact += outside(quantities(text), exact)
    lines = logical_lines(text)
    named, index = names(text, lines)
    named = _not_within(named, exact)
    named += outside(topics(text, lines), named)
    return sorted([*named, *exact], key=lambda m: (m.start, -m.end)), index


def _not_within(mentions: Iterable[Mention], others: Iterable[Mention]) -> list[Mention]:
    """Mentions that are no part of another one: `May` of `May 2021`."""
    spans = sorted({(other.start, other.end) for other in others})
    starts = [start for start, _ in spans]
    kept = []
    for mention in mentions:
        row = bisect_right(starts, mention.start) - 1
        if row < 0 or spans[row][1] < mention.end:
            kept.append(mention)
    return kept


def _keys(title: Key | None, mentions: Iterable[Mention], content: str) -> list[Key]:
    made = [title, *(make_key(m.key_type, m.value, m.unit) for m in mentions)]
    if _FORECAST.search(content):
        made.append(make_key(FORECAST, True))  # noqa: FBT003  the value
    own_name = normal_name(title.value_string or "") if title else ""
    keys = {
        key.key_id: key
        for key in made
        if key and (key is title or key.key_type != ENTITY or normal_name(str(key.value)) != own_name)
    }
    return list(keys.values())[:MOST_KEYS]
