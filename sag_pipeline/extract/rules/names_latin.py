"""Find names in Latin letters: capitalised runs that the whole text shows to be names, and quoted titles."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from sag_pipeline.extract.rules.name_types import (
    ENTITY,
    LEGAL_FORM,
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
from sag_retrieval.language.data import word_lists

_WORDS = word_lists("en")
_FIRST_NAMES = _WORDS["FIRST_NAMES"]
LINKS = ("of", "for", "the", "&", "de", "van", "du", "des", "v.", "vs.")
"""Words between capitalised ones that no name begins or ends with."""
_LINK = re.compile(r"\s(?:of|for)(?:\sthe)?\s")
_SPLIT = re.compile(r"['’]s(?=\s|\Z)|(?<=s)['’](?=\s)|(?<!of)(?<!for)\sthe(?=\s)")
_TOKEN = re.compile(r"\S+")
_MAY_BE_CUT = re.compile(r"['’]|\s(?:of|for|the|d[eir]\w|von|zu[rm])\s")
"""Every cut below has one of these; most runs have none."""
_GERMAN_LINK = re.compile(r"\s(der|des|dem|den|von|zur|zum)\s")


def parts(text: str, span: tuple[int, int], language: str) -> Iterator[tuple[int, int]]:
    """The names in the run `text[start:end]`; in German it is cut at articles too: `Rechnung der Brückner GmbH`."""
    if not _MAY_BE_CUT.search(text, *span):
        yield span
        return
    for first, last in _parts(text, *span):
        start = first
        for cut in _GERMAN_LINK.finditer(text, first, last) if language == "de" else ():
            if cut[1] != "von" or _last_word(text, start, cut.start())[0].lower() not in _FIRST_NAMES:
                yield start, cut.start()
                start = cut.end()
        yield start, last


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A run cut at `'s`, and at `of` and `for` behind a name that is whole: `Ada Byron of London University`.

    Also at `the`, but not behind a first name: `William the Silent`.
    """
    for cut in _SPLIT.finditer(text, start, end):
        if cut.end() < end and _goes_on_behind(text, start, cut):
            continue
        yield from _unlinked(text, start, cut.start())
        start = cut.end()
    yield from _unlinked(text, start, end)


def _goes_on_behind(text: str, start: int, cut: re.Match[str]) -> bool:
    """Whether a name goes on: `William the Silent`, `People's Republic`, `St. Mark's Road`."""
    last = _last_word(text, start, cut.start())[0].lower()
    if cut.group().endswith("the"):
        return last in _FIRST_NAMES
    return last in _WORDS["COMMON_NOUNS"] or text.startswith(("St ", "St. "), start)


def _last_word(text: str, start: int, end: int) -> tuple[str, int]:
    """The last word of `text[start:end]` and its place, looked for from the end; empty without one."""
    while end > start and text[end - 1].isspace():
        end -= 1
    first = end
    while first > start and not text[first - 1].isspace():
        first -= 1
    return text[first:end], first


def _unlinked(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    first = _TOKEN.search(text, start, end)
    for link in _LINK.finditer(text, start, end):
        last, place = _last_word(text, start, link.start())
        if first is None or (first.start() == place and last.lower() not in _WORDS["RANKS"]):
            continue
        following = _LINK.search(text, link.end(), end)
        name, rest = text[start : link.start()], text[link.end() : following.start() if following else end]
        if not last or _is_whole(name, last.lower(), rest) or not _goes_on_for(link[0], first[0], last):
            if last and first.start() != place:
                yield start, link.start()
            start = link.end()
            first = _TOKEN.search(text, start, end)
    if start < end:
        yield start, end


def _goes_on_for(link: str, first: str, last: str) -> bool:
    """Whether a name may go on behind a link: behind `for` only that of an institution."""
    kinds = _WORDS["ORGANISATION_OF"] | _WORDS["ORGANISATIONS"]
    return "for" not in link or first.lower() in kinds or last.lower() in kinds


def _is_whole(name: str, last: str, rest: str) -> bool:
    """Whether a name is complete before `of`: a person, a firm with its legal form, a role, a kind of overview.

    Also a place of several words, and what lies in a known place: `Osh Province of Kyrgyzstan`, `King of Sweden`; an
    institution goes on.
    """
    if last in _WORDS["ROLES"] or last in _WORDS["OVERVIEWS"]:
        return True
    words = name.split()
    if name_type(" ".join(words)) == PERSON or has_legal_form(words[-1]):
        return True
    own = _LINK.split(name)[-1].split()
    is_place = PLACE in (name_type(" ".join(own)), name_type(" ".join(rest.split())))
    goes_on = last in _WORDS["ORGANISATION_OF"] or last in _WORDS["STATES"]
    return is_place and (len(own) > 1 or last in _WORDS["RANKS"]) and not goes_on


_NOT_NAMES = frozenset().union(
    *(_WORDS[name] for name in ("CALENDAR", "UNITS", "CURRENCIES", "EMPTY_CELLS", "FORM_WORDS", "COMMON_NOUNS")),
    _WORDS["PEOPLES"],  # they qualify half of all documents, and join what has nothing in common
)
_NOT_NAMES |= {f"{word}s" for word in _WORDS["CALENDAR"]}
CUT_OFF = _WORDS["COMMON"] | _WORDS["CALENDAR"] | _WORDS["CURRENCIES"] | _WORDS["EMPTY_CELLS"]
"""Words that are cut off the ends of a run."""
_BEFORE_NAME = _WORDS["ROLES"] | _WORDS["RANKS"]

_NEAR = 200
_LONGEST = 8
"""A run of more words is a title line or shouting, not a name."""

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪİĶĽŁŃŇŐŌŒŘŚŞŠŤŪŮŰŹŻŽ"
_LETTER = "A-Za-zÀ-ɏḀ-ỿ0-9"
_WORD = (
    rf"(?:(?:St|Ste|Mt|Ft|Dr|Dra|Sra|Mr|Mrs|Ms|Prof|Gen|Col|Capt|Lt|Sgt|Rev|Sen|Gov|Hon)\.(?=\s[{_UPPER}])"
    rf"|[{_UPPER}][{_LETTER}&+_]*(?:['’.‑–-](?=[{_LETTER}])[{_LETTER}&+]+)*"
    rf"(?:(?<=s)['’](?=\s[{_UPPER}]))?|[a-z]{{1,2}}[A-Z][{_LETTER}]+|\d+[-.]?[A-Z][{_LETTER}.-]*[{_LETTER}])"
)
_INITIALS = r"(?:(?!(?:U\.S|U\.K|U\.N|E\.U|D\.C)\b)(?:[A-Z]\.[ \t]?){1,4})"
_NOT_CODE = r"(?!(?:st|nd|rd|th|s|km|kg|cm|mm|ml|mg|kw|mw|am|pm|bn|mn)\b)"
_CODE = rf"(?:[a-z]{{2,}}\d{{2,}}|\d{{2,}}{_NOT_CODE}[a-z]{{2,}})(?![{_LETTER}-])"
_JOINER = (
    rf"(?:of|of\sthe|de\s(?:la|las|los)|the(?=[ \t][{_UPPER}][a-z])"
    r"|de|del|della|der|van|von|zu|da|di|do|dos|du|des|la|le|al|bin|ibn|for|for\sthe|vs?\.|&)"
)
_NOT_FORM = r"(?!S\.A\.\sde\s|GmbH\s&\s|AG\s&\s)"
_MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_NAME = re.compile(
    rf"(?=[{_UPPER}a-z\d])(?<![{_LETTER}_.@/$'’-])(?:{_CODE}|(?:{_INITIALS}{_WORD}|{_WORD})"
    rf"(?:(?:[ \t]|[ \t]?\n)(?:{_JOINER}[ \t])?{_NOT_FORM}(?:(?:[A-Z]\.)+(?=\s[{_UPPER}])|{_WORD})"
    rf"|(?<=[A-Za-z])\s\d{{1,4}}[A-Za-z]?\b(?![.,]?\d|\s?%|\s\d|\s[A-Z]{{3}}\b|\s(?:{_MONTH})))*)"
    rf"(?:,\sD\.C\.|(?:,?\s(?:{LEGAL_FORM}|Jr|Sr)(?![\w-])\.?){{1,3}})?"
)
_UNNAMED = re.compile(
    r"[A-Z]-[a-z]+|(?:I|You|We|They|He|She|It|That|There|Don|Can|Won|Isn|Didn|Let|What|Who)['’]\w*|[CJNSQ]u?['’][a-zé]+|Q[1-4]|H[12]|FY\d*"
)
_WITHOUT_CASE = frozenset({"ja", "ko"})
"""Languages in whose lines a code is the only word with capitals; Chinese has rules of its own for such words."""

_OPENERS = tuple("\"“‘'(:*_—")
_TAIL = re.compile(
    r"[-‑–](?:born|based|language|style|like|wide|era|type|made|level|owned|led|run|class|only|free|related|speaking|[a-z]{3,}ed)\Z"
)
"""What makes an adjective of a name: `German-born`, `London-based`."""
_NUMBER_BEFORE = re.compile(
    r"\b(?:(?:the|The|at|of|a)\s(?P<year>(?:1[5-9]|20)\d\d)|(?P<ordinal>\d{1,3}(?:st|nd|rd|th)))\s\Z"
)
_NUMBER_ENDS = (*"0123456789", "t", "d", "h")
_IDENTIFIER = re.compile(r"(?=(?:\D*\d){3})[A-Z]{1,6}-?\d[\d-]*")
"""A number of a contract, an invoice or a ticket: what stands before it says what it numbers."""


class Name(NamedTuple):
    """`text[start:end]` is written like a name; `is_sure` is false where a sentence's start may explain its capital."""

    start: int
    end: int
    text: str
    key_type: str
    is_sure: bool
    is_first: bool


class RunReader:
    """Reads the runs of one text.

    Args:
        text: The whole document.
        sentence_starts: Where sentences begin, ascending.
        cut_off: Words that are cut off the ends of a run.
        language: ISO 639-1 code of the text's language.

    """

    def __init__(self, text: str, sentence_starts: Sequence[int], cut_off: frozenset[str], language: str) -> None:
        """Hold what every run is read with."""
        self._language = language
        self._text = text
        self._starts = sentence_starts
        self._cut_off = cut_off
        self._passed = cut_off | _BEFORE_NAME | frozenset(LINKS) | {"o"}

    def names(self) -> Iterator[Name]:
        """The names of all runs, in order; lines without lower case are passed over."""
        for run in _NAME.finditer(self._text):
            if self._language in _WITHOUT_CASE or not _is_shouted(self._text, run.start()):
                yield from self._names_of(run)

    def _names_of(self, run: re.Match[str]) -> Iterator[Name]:
        """The names of a run; one over the border of two lines of a form is cut there."""
        starts, row = self._starts, bisect_right(self._starts, run.start())
        inside = starts[row : bisect_left(starts, run.end(), row)]
        for first, last in pairwise([run.start(), *inside, run.end()]) if inside else (run.span(),):
            is_first = _is_first(self._text, first, starts)
            for start, end in parts(self._text, (first, last), self._language):
                name = self._trimmed(start, end, is_first=is_first)
                if name is not None:
                    yield name
                is_first = False

    def _trimmed(self, start: int, end: int, *, is_first: bool) -> Name | None:
        """The name inside a run, without common first and last words and roles; None if nothing is left."""
        words = [found.span() for found in _TOKEN.finditer(self._text, start, end)]
        if words and (tail := _TAIL.search(self._text, words[-1][0], words[-1][1])):
            words[-1] = (words[-1][0], tail.start())
        if words and _is_quoted(self._text, words[0][0], words[-1][1]):
            return self._name(words, is_first=is_first, led_by="")  # the quotes say where it begins and ends
        low, led_by = self._first_of_name(words)
        high = len(words)
        while low < high and self._is_weak_last(self._text[slice(*words[high - 1])], high - low):
            high -= 1
        words = words[low:high]
        if not words or is_office([self._text[slice(*word)] for word in words]):
            return None
        if len(words) > _LONGEST and sum(self._text[first].isupper() for first, _ in words) > _LONGEST:
            return None
        return self._name(words, is_first=is_first and not low, led_by=led_by)

    def _first_of_name(self, words: Sequence[tuple[int, int]]) -> tuple[int, str]:
        """The row of the first word that is part of the name, and the role in front of it."""
        low, led_by = 0, ""
        while low < len(words):
            word = self._text[slice(*words[low])]
            bare = word.lower().rstrip(".,")
            if bare not in self._passed and not word.isdigit():
                break
            is_role = bare in _WORDS["ROLES"] or (bare in _WORDS["RANKS"] and self._is_rank(words[low:]))
            if not (is_role or self._is_weak(word) or word.isdigit()) or _is_he(self._text, words[low : low + 2]):
                break
            led_by = bare if is_role else led_by
            low += 1
        return low, led_by

    def _is_rank(self, words: Sequence[tuple[int, int]]) -> bool:
        """Whether a rank stands before a person's full name; before one word it is part of the name."""
        rest = " ".join(self._text[slice(*word)] for word in words[1:])
        return rest.partition(" ")[0].lower().rstrip(".") in _BEFORE_NAME or name_type(rest) == PERSON

    def _name(self, words: Sequence[tuple[int, int]], *, is_first: bool, led_by: str) -> Name | None:
        if len(words) > 1 and _IDENTIFIER.fullmatch(self._text[slice(*words[-1])]):
            words = words[-1:]
        text, first, last = self._text, words[0][0], words[-1][1]
        name = " ".join(text[first:last].split())
        opens = is_first or text[max(0, first - 2) : first].strip() == "|"
        is_label = opens and text[last : last + 1] == ":" and name.partition(" ")[0].lower() not in _FIRST_NAMES
        key_type = type_in_context(text, (first, last), name, led_by)
        is_name = _may_be_name(name) or (name.lower() in _WORDS["COMMON_NOUNS"] and _is_quoted(text, first, last))
        if not is_name or (is_label and is_kind(name, key_type)):
            return None
        first, last, name = self._widened(first, last, name, key_type)
        is_behind_label = text[max(0, first - 4) : first].rstrip(" *_")[-1:] in (":", "：")
        is_value = text[last : last + 2].strip(" .*_")[:1] in ("", "\n", "|", ";")  # alone behind its label
        is_first = is_first or (is_behind_label and not is_value and len(words) == 1 and not led_by)
        is_sure = bool(led_by) or not is_first or len(words) > 1 or is_marked(name) or key_type in (PERSON, PLACE)
        return Name(first, last, name, key_type, is_sure or _is_quoted(text, first, last), is_first)

    def _widened(self, first: int, last: int, name: str, key_type: str) -> tuple[int, int, str]:
        """The name with a year or an ordinal before it."""
        is_behind = self._text[max(0, first - 2) : first - 1].endswith(_NUMBER_ENDS)
        number = _NUMBER_BEFORE.search(self._text, max(0, first - 12), first) if is_behind else None
        if number and key_type != PERSON and (number["ordinal"] or " " in name):
            kind = "ordinal" if number["ordinal"] else "year"
            return number.start(kind), last, f"{number[kind]} {name}"
        return first, last, name

    def _is_weak_last(self, word: str, count: int) -> bool:
        """Whether the last of `count` words is no part of a name; a Roman numeral is: `World War I`."""
        return self._is_weak(word) and not (word == "I" and count > 1)

    def _is_weak(self, word: str) -> bool:
        folded = word.lower().rstrip(".,")
        if word == "US" or (folded == "jan" and not word.endswith(".")):
            return False
        return folded in self._cut_off or folded in LINKS or word == "O"  # `O Ada Byrne`, no initial without its stop


def _is_first(text: str, position: int, sentence_starts: Sequence[int]) -> bool:
    """Whether nothing but marks stands between the sentence's start, or an opening quote, and the position."""
    row = bisect_right(sentence_starts, position) - 1
    start = sentence_starts[row] if row >= 0 else 0
    if position - start >= 2 and text[position - 2].isalnum():  # noqa: PLR2004  a word and a space, as before most names
        return False
    before = text[max(start, position - 6) : position]
    return not any(map(str.isalnum, before)) and (
        position - start <= len(before) or bool(before.rstrip()[-1:] in _OPENERS)
    )


def _is_shouted(text: str, position: int) -> bool:
    if text[position + 1 : position + 2].islower():
        return False
    near = max(0, position - _NEAR)  # a line may be millions long: the part around the name is enough
    line = text[max(near, text.rfind("\n", near, position) + 1) : position + _NEAR].partition("\n")[0]
    return len(line) > 6 and line.isupper()  # noqa: PLR2004  a short acronym may stand alone


def _is_he(text: str, words: Sequence[tuple[int, int]]) -> bool:
    """Whether a run begins with the surname He: the pronoun stands before no capital."""
    return len(words) > 1 and text[slice(*words[0])] == "He"


def _may_be_name(name: str) -> bool:
    if len(name) < 2 or not any(map(str.isalpha, name)) or _UNNAMED.fullmatch(name):  # noqa: PLR2004
        return False
    is_shouted = " " in name and name.isupper() and len(name) > 12 and not has_legal_form(name.rpartition(" ")[2])  # noqa: PLR2004
    return name.lower() not in _NOT_NAMES and not is_shouted


def _is_quoted(text: str, start: int, end: int) -> bool:
    return start > 0 and text[start - 1] in '"“' and text[end : end + 1] in ('"', "”")


def is_marked(name: str) -> bool:
    """Written as no common word is: with a digit or a capital inside."""
    return any(character.isdigit() for character in name) or sum(map(str.isupper, name)) > 1


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
