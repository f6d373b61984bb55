"""Find names in Latin letters: capitalised runs that the whole text shows to be names, and quoted titles."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from sag_pipeline.extract.rules.name_types import (
    ENTITY,
    PERSON,
    PLACE,
    WORK,
    has_legal_form,
    is_kind,
    is_office,
    may_be_person,
    name_type,
    type_in_context,
)
from sag_retrieval.language.data import patterns, word_lists

_WORDS, _SAYS = word_lists("en"), patterns("en")
_LINKS = frozenset(("of", "for", "the", "&", "de", "van", "du", "des", "v.", "vs."))
"""Words between capitalised ones that no name begins or ends with."""
_NOT_NAMES = frozenset().union(
    *(_WORDS[name] for name in ("CALENDAR", "UNITS", "CURRENCIES", "EMPTY_CELLS", "FORM_WORDS", "COMMON_NOUNS")),
    _WORDS["PEOPLES"],  # they qualify half of all documents, and join what has nothing in common
)
_NOT_NAMES |= {f"{word}s" for word in _WORDS["CALENDAR"]}
_BEFORE_NAME = _WORDS["ROLES"] | _WORDS["RANKS"]
_LONGEST = 8
"""A run of more words is a title line or shouting, not a name."""
_LONGEST_SHOUTED = 12
_OPENERS = tuple("\"“‘'(:*_—")
_STOP_WORDS = {"fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "de": "german"}
"""Languages besides English whose words of grammar are cut off the ends of a run."""
_CAPITALS = frozenset({"en", "zh", "ja", "ko", "fr", "es", "it", "pt"})
"""Languages in which a capital inside a sentence shows a name; German gives one to every noun."""


class Name(NamedTuple):
    """`text[start:end]` is written like a name; `is_sure` is false where a sentence's start may explain its capital."""

    start: int
    end: int
    text: str
    key_type: str
    is_sure: bool
    is_first: bool


def latin_names(text: str, sentence_starts: Sequence[int], language: str = "en") -> list[Name]:
    """Capitalised runs that may be names, in order, cut clean of first words, roles and `'s`.

    A single word at a sentence's start is a name only if it is one elsewhere in the text. A word that the text has
    in lower case more often than not is none. In a language where a capital alone shows no name, such as German, only
    names whose form or context shows what they are stay.
    """
    found = _with_persons_of_lists(text, list(_Runs(text, sentence_starts, language).names()))
    lower = Counter(_SAYS["lower_word"].findall(text))
    capital = Counter(name.text.lower() for name in found)
    sure = {name.text for name in found if name.is_sure and not name.is_first}
    sure |= {word for name in found if name.text in sure and name.key_type == PERSON for word in name.text.split()}
    sure |= {name.partition(" ")[0] for name in sure}
    kept = [
        name
        for name in found
        if (name.is_sure or name.text in sure)
        and (" " in name.text or lower[name.text.lower()] <= capital[name.text.lower()] // 2)
    ]
    kept = [_unless_common(name, lower) for name in kept]
    if language not in _CAPITALS:
        kept = [name for name in kept if name.key_type != ENTITY or _is_code(name.text)]
    return [*kept, *_quoted_titles(text)]


def _unless_common(name: Name, lower: Counter[str]) -> Name:
    """No person where only the context shows one, and the text has every word in small letters: `Common Stock`."""
    is_shown = name.key_type == PERSON and " " in name.text and name_type(name.text) == ENTITY
    is_common = is_shown and all(lower[word.lower()] for word in name.text.split())
    return name._replace(key_type=ENTITY) if is_common else name


class _Runs:
    """Reads the runs of one text."""

    def __init__(self, text: str, sentence_starts: Sequence[int], language: str) -> None:
        self._language = language
        self._text = text
        self._starts = sentence_starts
        self._cut_off = _cut_off(language)

    def names(self) -> Iterator[Name]:
        """The names of all runs, in order; one over the border of two lines of a form is cut there."""
        starts = self._starts
        for run in _SAYS["run"].finditer(self._text):
            row = bisect_right(starts, run.start())
            inside = starts[row : bisect_left(starts, run.end(), row)]
            for first, last in pairwise([run.start(), *inside, run.end()]):
                is_first = self._is_first(first)
                for start, end in _parts(self._text, first, last, self._language):
                    name = self._trimmed(start, end, is_first=is_first)
                    if name is not None:
                        yield name
                    is_first = False

    def _is_first(self, position: int) -> bool:
        """Whether nothing but marks stands between the sentence's start, or an opening quote, and the position."""
        row = bisect_right(self._starts, position) - 1
        start = self._starts[row] if row >= 0 else 0
        before = self._text[max(start, position - 6) : position]
        if any(map(str.isalnum, before)):
            return False
        return position - start <= len(before) or bool(before.rstrip()[-1:] in _OPENERS)

    def _trimmed(self, start: int, end: int, *, is_first: bool) -> Name | None:
        """The name inside a run, without common first and last words and roles; None if nothing is left."""
        spans = [found.span() for found in _SAYS["token"].finditer(self._text, start, end)]
        words = [self._text[slice(*span)] for span in spans]
        if spans and _is_quoted(self._text, spans[0][0], spans[-1][1]):
            return self._name(spans, is_first=is_first, led_by="")  # the quotes say where it begins and ends
        low, led_by = self._first_of_name(words)
        high = len(words)
        while low < high and self._is_weak(words[high - 1]) and not (words[high - 1] == "I" and high - low > 1):
            high -= 1  # not the Roman numeral of `World War I`
        words = words[low:high]
        if not words or is_office(words) or sum(word[0].isupper() for word in words) > _LONGEST:
            return None
        return self._name(spans[low:high], is_first=is_first and not low, led_by=led_by)

    def _first_of_name(self, words: Sequence[str]) -> tuple[int, str]:
        """The row of the first word that is part of the name, and the role in front of it."""
        led_by = ""
        for low, word in enumerate(words):
            bare = word.lower().rstrip(".,")
            is_role = bare in _WORDS["ROLES"] or (bare in _WORDS["RANKS"] and _is_rank(words[low + 1 :]))
            is_surname = word == "He" and low + 1 < len(words)  # the pronoun stands before no capital
            if is_surname or not (is_role or self._is_weak(word) or word.isdigit()):
                return low, led_by
            led_by = bare if is_role else led_by
        return len(words), led_by

    def _is_weak(self, word: str) -> bool:
        folded = word.lower().rstrip(".,")
        if word == "US" or (folded == "jan" and not word.endswith(".")):
            return False
        return folded in self._cut_off or folded in _LINKS or word == "O"  # `O Ada Byrne`, no initial without its stop

    def _name(self, words: Sequence[tuple[int, int]], *, is_first: bool, led_by: str) -> Name | None:
        text, first, last = self._text, words[0][0], words[-1][1]
        if len(words) > 1 and _SAYS["identifier"].fullmatch(text, *words[-1]):
            first, words = words[-1][0], words[-1:]  # what stands before it says what it numbers
        name = " ".join(text[first:last].split())
        is_quoted = _is_quoted(text, first, last)
        opens = is_first or text[max(0, first - 2) : first].strip() in ("|", "**")
        is_label = opens and name.partition(" ")[0].lower() not in _WORDS["FIRST_NAMES"]
        is_label = is_label and _SAYS["label_ends"].match(text, last) is not None
        key_type = type_in_context(text, (first, last), name, led_by)
        is_name = _may_be_name(name) or (name.lower() in _WORDS["COMMON_NOUNS"] and is_quoted)
        if not is_name or (is_label and is_kind(name, key_type)):
            return None
        number = _SAYS["number_before"].search(text, max(0, first - 12), first)
        if number and key_type != PERSON and (number["ordinal"] or " " in name):
            kind = number.lastgroup or ""
            first, name = number.start(kind), f"{number[kind]} {name}"
        is_behind_label = text[max(0, first - 4) : first].rstrip(" *_")[-1:] in (":", "：")
        is_value = text[last : last + 2].strip(" .*_")[:1] in ("", "\n", "|", ";")  # alone behind its label
        is_first = is_first or (is_behind_label and not is_value and len(words) == 1 and not led_by)
        is_sure = bool(led_by) or not is_first or len(words) > 1 or _is_marked(name) or key_type in (PERSON, PLACE)
        return Name(first, last, name, key_type, is_sure or is_quoted, is_first)


def _parts(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    """A run cut at `'s` and `the`, and at `of` and `for` behind what is whole: a person, a firm, a role.

    Not at `William the Silent`, `People's Republic`, `St. Mark's Road`. In German also at articles: `Rechnung der
    Brückner GmbH`.
    """
    first = start
    for cut in _SAYS["cut"].finditer(text, start, end):
        words = text[first : cut.start()].split()
        last = words[-1].lower() if words else ""
        is_named = last in _WORDS["FIRST_NAMES"]
        if cut["owns"]:
            is_cut = cut.end() == end or not (last in _WORDS["COMMON_NOUNS"] or words[:1] in (["St"], ["St."]))
        elif cut["the"]:
            is_cut = not is_named
        elif cut["link"]:
            is_cut = last in _WORDS["ROLES"] or (bool(words) and _is_whole(words))
        else:
            is_cut = language == "de" and not (cut["german"] == "von" and is_named)
        if is_cut:
            yield first, cut.start()
            first = cut.end()
    yield first, end


def _is_whole(words: Sequence[str]) -> bool:
    is_name = name_type(" ".join(words)) == PERSON or has_legal_form(words[-1])
    return is_name or words[-1].lower() in _WORDS["OVERVIEWS"]


def _is_rank(rest: Sequence[str]) -> bool:
    """Whether a rank stands before a person's full name; before one word it is part of the name."""
    return bool(rest) and (rest[0].lower().rstrip(".") in _BEFORE_NAME or name_type(" ".join(rest)) == PERSON)


def _may_be_name(name: str) -> bool:
    if len(name) < 2 or not any(map(str.isalpha, name)) or _SAYS["unnamed"].fullmatch(name):  # noqa: PLR2004
        return False
    is_shouted = " " in name and name.isupper() and len(name) > _LONGEST_SHOUTED
    return name.lower() not in _NOT_NAMES and not (is_shouted and not has_legal_form(name.rpartition(" ")[2]))


def _is_quoted(text: str, start: int, end: int) -> bool:
    return start > 0 and text[start - 1] in '"“' and text[end : end + 1] in ('"', "”")


def _is_marked(name: str) -> bool:
    """Written as no common word is: with a digit or a capital inside."""
    return any(character.isdigit() for character in name) or sum(map(str.isupper, name)) > 1


def _is_code(name: str) -> bool:
    """Whether one word of a name has a digit, or a part of it a second capital, as no common word has."""
    parts = [part for word in name.split() for part in word.split("-")]
    return any(map(str.isdigit, name)) or any(sum(map(str.isupper, part)) > 1 for part in parts[-1:] or parts)


def _with_persons_of_lists(text: str, names: Sequence[Name]) -> list[Name]:
    """Names with the type person where they are listed with a person: `Gao Wenjing and Lucille Garnier`."""
    kept = list(names)
    for rows in (range(1, len(kept)), range(len(kept) - 1, 0, -1)):
        for row in rows:
            one, other = kept[row - 1], kept[row]
            is_mixed = one.key_type != other.key_type and {one.key_type, other.key_type} == {PERSON, ENTITY}
            if is_mixed and _SAYS["listed"].fullmatch(text, one.end, other.start):
                kept[row - 1 : row + 1] = [
                    name._replace(key_type=PERSON) if name.text.count(" ") == 1 and may_be_person(name.text) else name
                    for name in (one, other)
                ]
    return kept


def _quoted_titles(text: str) -> Iterator[Name]:
    """Titles of works: quoted, at least two words, all but words of grammar with a capital."""
    for found in _SAYS["quoted_title"].finditer(text):
        title = found["title"].rstrip(",.")
        words = title.split()
        small = (word for word in words if word[0].isalpha() and not word[0].isupper())
        if len(words) > 1 and _WORDS["SMALL_IN_TITLES"].issuperset(small):
            start = found.start("title")
            yield Name(start, start + len(title), title, WORK, is_sure=True, is_first=False)


@cache
def _cut_off(language: str) -> frozenset[str]:
    """Words that are cut off the ends of a run."""
    known = _STOP_WORDS.get(language)
    if not known:
        return _WORDS["COMMON"] | _WORDS["CALENDAR"] | _WORDS["CURRENCIES"] | _WORDS["EMPTY_CELLS"]
    # The files alone: sumy's own reader of them imports what fetches web pages.
    listed = files("sumy").joinpath("data", "stopwords", f"{known}.txt").read_text(encoding="utf-8")
    return _WORDS["CURRENCIES"] | _WORDS["EMPTY_CELLS"] | frozenset(filter(None, map(str.rstrip, listed.splitlines())))
