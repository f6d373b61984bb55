"""Find names in Latin letters: capitalised runs that the whole text shows to be names, and quoted titles."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from sag_pipeline.extract.rules.latin_runs import CUT_OFF, Name, RunReader
from sag_pipeline.extract.rules.name_types import ENTITY, PERSON, WORK, may_be_person, name_type
from sag_pipeline.extract.rules.words import read_words

_WORDS = read_words("en")
_STOP_WORDS = {"fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "de": "german"}
"""Languages besides English whose words of grammar are cut off the ends of a run."""
_CAPITALS = frozenset({"en", "zh", "ja", "ko", "fr", "es", "it", "pt"})
"""Languages in which a capital inside a sentence shows a name; German gives one to every noun."""
_LOWER_WORD = re.compile(r"(?<![\w'’/.@-])[a-zà-ÿ]{2,}(?:-[a-zà-ÿ]{2,})*(?![\w/@-])")
"""In no path or address: `debian/rules` says nothing of Debian."""
_FIRST_WORD = re.compile(r"^\S+\s(?:of\s|for\s)?(?:the\s)?")
_QUOTED = re.compile(r"[\"“](?P<title>[A-Z][^\"“”\n]{3,60})[\"”]")
_LISTED = re.compile(r",?\s?(?:,|and|&|und|et|y|e|与|和|及|、)\s?")
_BOLD_LABEL = re.compile(
    r"(?:\A|\n)[ \t]{0,8}(?:[-*+•][ \t]{1,3}|\d{1,2}[.)][ \t]{1,3})?\*\*(?P<label>[^*\n]{1,80})\*\*"
    r"(?:(?<=[:：]\*\*)|(?=[:：])|(?=[ \t]*(?:\n|\Z)))"
)
_LINKING = frozenset("a an and as at but by for from in into is it n of off on or out over the to up with".split())
"""Words of grammar that stay small in a title."""


def latin_names(text: str, sentence_starts: Sequence[int], language: str = "en") -> list[Name]:
    """Capitalised runs that may be names, in order, cut clean of first words, roles and `'s`.

    A single word at a sentence's start is a name only if it is one elsewhere in the text. A word that the text has
    in lower case more often than not is none. Lines without lower case are passed over. In a language where a capital
    alone shows no name, such as German, only names whose form or context shows what they are stay.

    Args:
        text: The whole document: a name is judged by all its uses.
        sentence_starts: Where sentences begin, ascending.
        language: ISO 639-1 code of the document's language.

    """
    found = list(RunReader(text, sentence_starts, _cut_off(language), language).names())
    found = _with_persons_of_lists(text, found)
    lower = Counter(_LOWER_WORD.findall(text))
    sure = {name.text for name in found if name.is_sure and not name.is_first}
    sure_words = {word for name in found if name.text in sure and name.key_type == PERSON for word in name.text.split()}
    sure_words |= {name.partition(" ")[0] for name in sure}
    capital = Counter(name.text.lower() for name in found)
    kept = [
        _without_first_word(name, sure) if name.is_first else name
        for name in found
        if (name.is_sure or name.text in sure or name.text in sure_words)
        and (" " in name.text or lower[name.text.lower()] <= capital[name.text.lower()] // 2)
    ]
    kept = _without_labels(text, [_unless_common(name, lower) for name in kept])
    if language not in _CAPITALS:
        kept = [name for name in kept if name.key_type != ENTITY or _is_code(name.text)]
    return [*kept, *_quoted_titles(text)]


def _unless_common(name: Name, lower: Counter[str]) -> Name:
    """No person where only the context shows one, and the text has every word in small letters: `Common Stock`."""
    if name.key_type != PERSON or name_type(name.text) != ENTITY or " " not in name.text:
        return name
    is_common = all(lower[word.lower()] for word in name.text.split())
    return name._replace(key_type=ENTITY) if is_common else name


def _without_labels(text: str, names: Sequence[Name]) -> list[Name]:
    """Names but those of open type that stand in bold labels alone: `**Personal Information:**`."""
    labels = [found.span("label") for found in _BOLD_LABEL.finditer(text)]
    if not labels:
        return list(names)
    starts = [start for start, _ in labels]
    places = [bisect_right(starts, name.start) - 1 for name in names]
    inside = [row >= 0 and name.end <= labels[row][1] for name, row in zip(names, places, strict=True)]
    elsewhere = {name.text for name, is_inside in zip(names, inside, strict=True) if not is_inside}
    return [
        name
        for name, is_inside in zip(names, inside, strict=True)
        if not is_inside or name.key_type != ENTITY or name.text in elsewhere
    ]


def _with_persons_of_lists(text: str, names: Sequence[Name]) -> list[Name]:
    """Names with the type person where they are listed with a person: `Gao Wenjing and Lucille Garnier`."""
    kept = list(names)
    for rows in (range(1, len(kept)), range(len(kept) - 1, 0, -1)):
        for row in rows:
            one, other = kept[row - 1], kept[row]
            is_mixed = one.key_type != other.key_type and {one.key_type, other.key_type} == {PERSON, ENTITY}
            if is_mixed and _LISTED.fullmatch(text, one.end, other.start):
                kept[row - 1 : row + 1] = [
                    name._replace(key_type=PERSON) if name.text.count(" ") == 1 and may_be_person(name.text) else name
                    for name in (one, other)
                ]
    return kept


@cache
def _cut_off(language: str) -> frozenset[str]:
    """Words that are cut off the ends of a run."""
    known = _STOP_WORDS.get(language)
    if not known:
        return CUT_OFF
    # The files alone: sumy's own reader of them imports what fetches web pages.
    listed = files("sumy").joinpath("data", "stopwords", f"{known}.txt").read_text(encoding="utf-8")
    return _WORDS["CURRENCIES"] | _WORDS["EMPTY_CELLS"] | frozenset(filter(None, map(str.rstrip, listed.splitlines())))


def _quoted_titles(text: str) -> Iterator[Name]:
    """Titles of works: quoted, at least two words, all but words of grammar with a capital."""
    for found in _QUOTED.finditer(text):
        title = found["title"].rstrip(",.")
        words = title.split()
        is_title = len(words) > 1 and all(
            not word[0].isalpha() or word[0].isupper() or word in _LINKING for word in words
        )
        if is_title:
            start = found.start("title")
            yield Name(start, start + len(title), title, WORK, is_sure=True, is_first=False)


def _without_first_word(name: Name, sure: set[str]) -> Name:
    """`Observing Hayes` at a sentence's start is `Hayes`, where the text knows only the shorter name."""
    rest = _FIRST_WORD.sub("", name.text)
    if rest in sure and name.text not in sure and name_type(name.text) != PERSON:
        return name._replace(start=name.end - len(rest), text=rest, key_type=name_type(rest))
    return name


def _is_code(name: str) -> bool:
    """Whether one word of a name has a digit, or a part of it a second capital, as no common word has."""
    parts = [part for word in name.split() for part in word.split("-")]
    return any(map(str.isdigit, name)) or any(sum(map(str.isupper, part)) > 1 for part in parts[-1:] or parts)
