"""Extract keys without a model: names, dates, amounts and topics in the words of an event."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from sag_pipeline.extract.keys import make_key, title_key
from sag_pipeline.extract.name_matching import bare_title, is_telling
from sag_pipeline.extract.rules.name_types import ENTITY
from sag_pipeline.extract.rules.named_values import with_own_types
from sag_pipeline.extract.rules.names import ALIASED, NameIndex, aliases, longest_only, names, outside
from sag_pipeline.extract.rules.recogniser import RULES, recognised
from sag_pipeline.extract.rules.tables import amounts_of_columns
from sag_retrieval.core.key_schema import KeyTypes
from sag_retrieval.core.records import Document, Event, EventKey, Key
from sag_retrieval.language.data import pattern_of_all, patterns, word_lists, words_of_all
from sag_retrieval.language.dates import DATE, dates, with_year
from sag_retrieval.language.layout import Line, LineKind, bare_heading, logical_lines
from sag_retrieval.language.mentions import Mention
from sag_retrieval.language.quantities import quantities
from sag_retrieval.language.sentences import one_line
from sag_retrieval.language.words import is_cjk, normal_name

FORECAST = "is_forecast"
MOST_KEYS = 20
"""Of a table row or a list with more keys the first ones stay."""

TOPIC = "topic"
_FORM_WORDS = word_lists("en")["FORM_WORDS"]
_LEAST_USES = 2
_BEGINNING = 12
_LONGEST_PRONOUN = 4
_FORECAST, _NUMBER = pattern_of_all("forecast"), pattern_of_all("part_number")


def offline_keys(
    document: Document,
    events: Sequence[Event],
    types: KeyTypes | None = None,
    recogniser: str = RULES,
) -> list[EventKey]:
    """The keys of every event: the document's title first, then what stands in the event, in its order.

    A name found once in a document counts wherever it stands there; the longest one at a place counts alone. An event
    whose place in the text is unknown is read by itself. With `types` of a schema, values near a type's name have it.
    Names are those that the recogniser of a name finds.

    Source: docs/algorithm.md §extraction.6.
    """
    title = title_key(document)
    mentions, index = read_mentions(document.text, document.language, recogniser)
    starts = [mention.start for mention in mentions]
    found: list[EventKey] = []
    for event in events:
        text, own = document.text, mentions
        if event.start is None or event.end is None:
            text = event.content
            own = read_mentions(text, document.language, recogniser)[0]
            own = sorted([*own, *outside(index.mentions(text), own)], key=lambda m: (m.start, -m.end))
        else:
            rows = range(bisect_left(starts, event.start), bisect_left(starts, event.end))
            own = [mentions[row] for row in rows if mentions[row].end <= event.end]
        if event.context_date is not None:
            own = [each for mention in own for each in with_year(mention, event.context_date)]
        same_as = _same_as(text, own, title)
        named = own
        if event.start is not None:
            named = [*_stated_before(event, text, index), *own]
        if ": " in event.content:
            named = [*named, *amounts_of_columns(event.content)]
        if types is not None:
            named = with_own_types(event.content, named, types, document.language)
        found += [
            EventKey(document.document_id, event.event_id, key, same_as.get(key.key_id))
            for key in _keys(title, named, event)
        ]
    return _with_own_names(document, title, found)


def _with_own_names(document: Document, title: Key | None, links: list[EventKey]) -> list[EventKey]:
    """The keys, of which those that mean what the title names are other names of it."""
    if title is None:
        return links
    named = {str(one.key.value_string) for one in links if one.key.key_type in ALIASED}
    own = own_names(document.title, document.text, named - {title.value_string})
    return [
        replace(one, same_as=title.key_id)
        if one.same_as is None and one.key.key_type in ALIASED and one.key.value_string in own
        else one
        for one in links
    ]


def _stated_before(event: Event, text: str, index: NameIndex) -> list[Mention]:
    """The names that an event states before the words of its place: who speaks, what announces it, for a pronoun."""
    start, content = event.start or 0, event.content
    if text.startswith(content[:_BEGINNING], start):
        return []
    said = one_line(text[start : event.end])
    same = next(
        (
            n
            for n in range(len(said), max(0, len(said) - _LONGEST_PRONOUN) - 1, -1)
            if content.endswith(said[len(said) - n :])
        ),
        0,
    )
    return longest_only(index.mentions(content[: len(content) - same])) if same else []


def _same_as(text: str, mentions: Sequence[Mention], title: Key | None) -> dict[str, str]:
    """Key id → id of the key that it is another name of: of the title, if one of two names is the title."""
    pairs = [
        (
            make_key(mentions[alias].key_type, mentions[alias].value),
            make_key(mentions[name].key_type, mentions[name].value),
        )
        for alias, name in aliases(text, mentions)
    ]
    said = [(alias, name) for alias, name in pairs if alias and name and alias.key_id != name.key_id]
    own = normal_name(title.value_string or "") if title else ""
    found = {alias.key_id: name.key_id for alias, name in said}
    if title is not None:
        found |= {name.key_id: title.key_id for alias, name in said if normal_name(str(alias.value)) == own}
    return found


def read_mentions(text: str, language: str = "en", recogniser: str = RULES) -> tuple[list[Mention], NameIndex]:
    """Everything in a text that is a key, in order, and the names found there.

    Names do not overlap each other, nor do dates and amounts; a date may lie in a name (`2018 Impact Factor`).
    """
    exact = list(dates(text, language))
    amounts = (found for found in quantities(text, language) if text[max(0, found.start - 1) : found.start] != "第")
    exact += outside(amounts, exact)
    lines = logical_lines(text)
    named, index = names(text, recognised(recogniser, text, language))
    named = _not_within(named, exact)
    named += outside(topics(text, lines), named)
    return sorted([*named, *exact], key=lambda m: (m.start, -m.end)), index


def _is_ahead(mentions: Iterable[Mention], context_date: str | None) -> bool:
    """Whether every date of an event lies after the one that its document was written at."""
    if context_date is None:
        return False
    days = {str(mention.value) for mention in mentions if mention.key_type == DATE}
    exact = [day for day in days if not any(other != day and other.startswith(day) for other in days)]
    return bool(exact) and all(day[: len(context_date)] > context_date[: len(day)] for day in exact)


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


def _keys(title: Key | None, mentions: Sequence[Mention], event: Event) -> list[Key]:
    made = [title, *(make_key(m.key_type, m.value, m.unit) for m in mentions)]
    if _FORECAST.search(event.content) or _is_ahead(mentions, event.context_date):
        made.append(make_key(FORECAST, True))  # noqa: FBT003  the value
    own_name = normal_name(title.value_string or "") if title else ""
    keys = {
        key.key_id: key
        for key in made
        if key and (key is title or key.key_type != ENTITY or normal_name(str(key.value)) != own_name)
    }
    return list(keys.values())[:MOST_KEYS]


def topics(text: str, lines: Sequence[Line]) -> list[Mention]:
    """Where the text, headings left out, speaks of what one of its headings is, at least twice; without order."""
    lowered = text.lower()
    if len(lowered) != len(text):
        return []
    heads = [line for line in lines if line.kind in (LineKind.HEADING, LineKind.LABEL)]
    terms = {term for line in heads if (term := _term(lowered[line.start : line.end]))}
    if not terms:
        return []
    index = NameIndex({term: (TOPIC, term) for term in terms})
    places = [Mention(line.start, line.end, TOPIC, "") for line in heads]
    found = outside(index.mentions(lowered), places)
    uses = Counter(str(mention.value) for mention in found)
    return [mention for mention in found if uses[str(mention.value)] >= _LEAST_USES]


def _term(line: str) -> str:
    """What a heading names, if it is short enough to be a term; empty otherwise."""
    words = _NUMBER.sub("", bare_heading(line), count=1).strip()
    is_term = patterns("zh" if is_cjk(words) else "en")["term"].fullmatch(words)
    return words if is_term and words not in words_of_all("GENERAL_HEADINGS") | _FORM_WORDS else ""


_LEAST_WORDS: Final = 2
_LEAST_CHARACTERS: Final = 4
_LEAST_START: Final = 3
"""Letters of a short first name: Tim of Timothy."""
_READ: Final = 2_000
"""Characters of a document in which its first line of prose is looked for."""
_SAYS = patterns("all")
_ABOVE: Final = patterns("all")["headings_above"]
"""Headings before the first line of prose."""
_ARTICLE: Final = patterns("all")["article"]


def own_names(title: str, text: str, names: Iterable[str]) -> set[str]:
    """Those of the names that mean what the title of the document names.

    Either the title without what stands in brackets or behind a comma, if it says enough by itself (two words, four
    Chinese characters); or the name that the text opens with, if the words of one are those of the other in order,
    initials and starts of first names included.

    Source: docs/algorithm.md §extraction.26.

    Examples:
        >>> own_names("Kevin Durant", "Kevin Wayne Durant (born 1988) plays.", ["Kevin Wayne Durant", "Wayne"])
        {'Kevin Wayne Durant'}
        >>> own_names("Ann Arbor, Michigan", "In Ann Arbor it rains.", ["Ann Arbor", "Michigan"])
        {'Ann Arbor'}
    """
    bare = bare_title(title)
    heads = [head for head in dict.fromkeys((bare, bare.partition(", ")[0])) if head]
    shown = {_without_article(normal_name(head)) for head in heads} - {""}
    opening = _opening(text)
    found = set()
    for name in names:
        normal = _without_article(normal_name(name))
        is_title = normal in shown and is_telling(normal)
        if is_title or (_opens(opening, name) and any(_is_one_name(normal, head) for head in shown)):
            found.add(name)
    return found


def _without_article(name: str) -> str:
    first, _, rest = name.partition(" ")
    return rest if first in ("the", "a", "an") and rest else name


def _opening(text: str) -> str:
    above = _ABOVE.match(text, 0, _READ)
    start = above.end() if above else 0
    article = _ARTICLE.match(text, start)
    return text[article.end() if article else start :][:_READ]


def _opens(opening: str, name: str) -> bool:
    """Whether a text opens with a name, whole."""
    bare = _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
    return any(
        said and opening.startswith(said) and (is_cjk(said) or _SAYS["word_ended"].match(opening, len(said)))
        for said in (name, bare)
    )


def _is_one_name(one: str, other: str) -> bool:
    """Whether the words of the shorter of two names are those of the longer in order, its last word at the end."""
    if is_cjk(one) != is_cjk(other):
        return False
    if is_cjk(one):
        short, long = sorted((one, other), key=len)
        return len(short) >= _LEAST_CHARACTERS and short[0] == long[0] and _in_order(short, long)
    short_words, long_words = sorted((one.split(), other.split()), key=len)
    return len(short_words) >= _LEAST_WORDS and _in_order(short_words, long_words)


def _in_order(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether each piece of one stands in the other, in order, whole, as an initial or as the start of a word."""
    places = iter(long)
    return all(any(_is_one_word(piece, other) for other in places) for piece in short)


def _is_one_word(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (long.startswith(short) and (len(short) == 1 or len(short) >= _LEAST_START))
