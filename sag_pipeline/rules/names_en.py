"""Names in English text: capitalised runs, with what they seem to be called by their form alone."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sag_pipeline.rules.words import read_words

_WORDS = read_words("en")
_NOT_NAMES = _WORDS["CALENDAR"] | _WORDS["PEOPLES"] | _WORDS["UNITS"] | _WORDS["FORM_WORDS"]
_BEFORE_OF = _WORDS["ORGANISATIONS"] | _WORDS["BEFORE_OF"]
PERSON, ORGANISATION, PLACE, PRODUCT, ENTITY = "person", "organisation", "place", "product", "entity"
_NEAR = 200
_LONGEST = 8
"""A run of more words is a title line or shouting, not a name."""

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪİĶĽŁŃŇŐŌŒŘŚŞŠŤŪŮŰŹŻŽ"
_LETTER = "A-Za-zÀ-ɏ0-9"
_WORD = (
    rf"(?:[{_UPPER}][{_LETTER}&+_]*(?:['’.-](?=[{_LETTER}])[{_LETTER}&+]+)*"
    rf"|[a-z]{{1,2}}[A-Z][{_LETTER}]+|\d+[-.]?[A-Z][{_LETTER}.-]*[{_LETTER}])"
)
_NOT_CODE = r"(?!(?:st|nd|rd|th|s|km|kg|cm|mm|ml|mg|kw|mw|am|pm|bn|mn)\b)"
_CODE = rf"(?:[a-z]{{2,}}\d{{2,}}|\d{{2,}}{_NOT_CODE}[a-z]{{2,}})(?![{_LETTER}-])"
_JOINER = rf"(?:of|of\sthe|the(?=[ \t][{_UPPER}][a-z])|de|del|der|van|von|da|di|la|le|al|bin|for|for\sthe|&)"
_NAME = re.compile(
    rf"(?<![{_LETTER}_.@/$'’-])(?:{_CODE}|(?:{_WORD}|(?:[A-Z]\.\s?){{1,3}}{_WORD})"
    rf"(?:(?:[ \t]|[ \t]?\n)(?:{_JOINER}[ \t])?(?:[A-Z]\.(?=\s?[{_UPPER}])|{_WORD})"
    rf"|(?<=[A-Za-z])\s\d{{1,4}}[A-Za-z]?\b(?![.,]?\d|\s?%|\s(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)))*)"
    r"(?:,?\s(?:Inc|Ltd|Jr|Sr|Corp|Co)\b\.?)?"
)
_LINK = re.compile(r"\s(?:of|for)(?:\sthe)?\s")
_SPLIT = re.compile(r"['’]s(?=\s|\Z)|(?<!of)(?<!for)\sthe(?=\s)")
_UNNAMED = re.compile(r"[A-Z]-[a-z]+|(?:I|You|We|They|He|She|It|That|There|Don|Can|Won|Isn|Didn|Let|What|Who)['’]\w*")
_FIRST_WORD = re.compile(r"^\S+\s(?:of\s|for\s)?(?:the\s)?")
_LINKS = ("of", "for", "the", "&", "de", "van")
_VERSION = re.compile(r"\s\d+\.\d")
_TOKEN = re.compile(r"\S+")
_OPENERS = tuple("\"“‘'(:*_—")
_MODEL = re.compile(r"(?=.*[A-Z])[A-Za-z]+[-.]?\d[\w.-]*")
_PINYIN = re.compile(
    r"(?:(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:i?ang|iong|uang|ing|eng|ong|i?an|iao|uai|uan|ai|ao|ei|en|er|ia|ie|in|iu|ou|"
    r"ua|ue|ui|un|uo|a|e|i|o|u)['’-]?){1,2}",
    re.IGNORECASE,
)
_BEHIND_LABEL = re.compile(r"[:：][ \t]\Z")
_VERB = (
    r"(?:has|had|is|was|will|would|can|could|may|might|must|did|does"
    r"|[a-z]{1,30}ed|(?!this\b|its\b|as\b|us\b)[a-z]{0,30}[^\Ws]s)\b"
)
_SENTENCE_GOES_ON = re.compile(rf"[,;]\s[a-z]|-[a-z]|[?!]|\s(?!{_VERB})[a-z]")
"""What follows a first word that is no name: more of a phrase, but no verb that would have it as subject."""
_LOWER_WORD = re.compile(r"(?<![\w'’-])[a-z]{2,}(?![\w-])")


class Name(NamedTuple):
    """`text[start:end]` is written like a name; `is_sure` is false where a sentence's start may explain its capital."""

    start: int
    end: int
    text: str
    is_sure: bool
    is_first: bool


def english_names(text: str, sentence_starts: Sequence[int]) -> list[Name]:
    """Capitalised runs that may be names, in order, cut clean of first words, roles and `'s`.

    A single word at a sentence's start is a name only if it is one elsewhere in the text. A word that the text has
    in lower case more often than not is none. Lines without lower case are passed over.

    Args:
        text: The whole document: a name is judged by all its uses.
        sentence_starts: Where sentences begin, ascending.

    """
    found = [
        name
        for run in _NAME.finditer(text)
        if not _is_shouted(text, run.start())
        for name in _clean(text, run, sentence_starts)
    ]
    sure = {name.text for name in found if name.is_sure and not name.is_first}
    sure_words = {word for name in sure if name_type(name) == PERSON for word in name.split()}
    sure_words |= {name.partition(" ")[0] for name in sure}
    lower = Counter(_LOWER_WORD.findall(text))
    capital = Counter(name.text.lower() for name in found)
    return [
        _without_first_word(name, sure) if name.is_first else name
        for name in found
        if (name.is_sure or name.text in sure or name.text in sure_words)
        and (" " in name.text or lower[name.text.lower()] <= capital[name.text.lower()] // 2)
    ]


def name_type(name: str) -> str:
    """What a name is by its form alone, so that one name has one type in every document; `entity` where it is open.

    Examples:
        >>> [name_type(n) for n in ("Lewis & Associates", "Hudson River", "Alice Brown", "GPT-4", "Nature Physics")]
        ['organisation', 'place', 'person', 'product', 'entity']

    """
    words = name.replace(".", "").split() or [""]
    first, last, folded = words[0].lower(), words[-1].lower().rstrip(","), name.lower()
    if folded in _WORDS["KNOWN_PLACES"]:
        return ENTITY if folded in _WORDS["FIRST_NAMES"] else PLACE
    if last in _WORDS["ORGANISATIONS"] or (len(words) > 2 and words[1] == "of" and first in _WORDS["ORGANISATION_OF"]):  # noqa: PLR2004
        return ORGANISATION if len(words) > 1 else ENTITY
    if len(words) > 1 and words[0].isalpha() and (last in _WORDS["PLACES"] or first in _WORDS["PLACE_FIRST"]):
        return PLACE
    if _is_person(words):
        return PERSON
    return PRODUCT if _MODEL.fullmatch(words[-1]) and len(name) > 2 else ENTITY  # noqa: PLR2004


def _is_person(words: list[str]) -> bool:
    if not 2 <= len(words) <= 4 or not all(word[:1].isupper() or word in ("de", "van", "von", "la") for word in words):  # noqa: PLR2004
        return False
    if any(any(character.isdigit() or character == "&" for character in word) for word in words):
        return False
    if words[-1].lower() in _WORDS["NOT_SURNAMES"]:
        return False
    if len(words) == 2 and words[0].lower() in _WORDS["PINYIN_SURNAMES"] and _PINYIN.fullmatch(words[1]):  # noqa: PLR2004
        return True
    return words[0].lower() in _WORDS["FIRST_NAMES"] or (len(words[0]) == 1 and len(words[-1]) > 1)


def _is_first(text: str, position: int, sentence_starts: Sequence[int]) -> bool:
    """Whether nothing but marks stands between the sentence's start, or an opening quote, and the position."""
    row = bisect_right(sentence_starts, position) - 1
    start = sentence_starts[row] if row >= 0 else 0
    before = text[max(start, position - 6) : position]
    return not any(map(str.isalnum, before)) and (
        position - start <= len(before) or bool(before.rstrip()[-1:] in _OPENERS)
    )


def _is_shouted(text: str, position: int) -> bool:
    near = max(0, position - _NEAR)  # a line may be millions long: the part around the name is enough
    line = text[max(near, text.rfind("\n", near, position) + 1) : position + _NEAR].partition("\n")[0]
    return len(line) > 6 and line.isupper()  # noqa: PLR2004  a short acronym may stand alone


def _without_first_word(name: Name, sure: set[str]) -> Name:
    """`Observing Hayes` at a sentence's start is `Hayes`, where the text knows only the shorter name."""
    rest = _FIRST_WORD.sub("", name.text)
    if rest in sure and name.text not in sure and name_type(name.text) != PERSON:
        return name._replace(start=name.end - len(rest), text=rest)
    return name


def _clean(text: str, run: re.Match[str], sentence_starts: Sequence[int]) -> Iterator[Name]:
    """The names of a run; one over the border of two lines of a form is cut there."""
    inside = sentence_starts[bisect_right(sentence_starts, run.start()) : bisect_left(sentence_starts, run.end())]
    borders = [run.start(), *inside, run.end()]
    for first, last in pairwise(borders):
        is_first = _is_first(text, first, sentence_starts)
        for start, end in _parts(text, first, last):
            name = _trimmed(text, start, end, is_first=is_first)
            if name is not None:
                yield name
            is_first = False


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A run cut at `'s`, and at `of` and `for` behind a name that is whole: `Ada Byron of London University`.

    Also at `the`, but not behind a first name: `William the Silent`.
    """
    for cut in _SPLIT.finditer(text, start, end):
        if cut.group().endswith("the") and _last_word(text, start, cut.start())[0].lower() in _WORDS["FIRST_NAMES"]:
            continue
        yield from _unlinked(text, start, cut.start())
        start = cut.end()
    yield from _unlinked(text, start, end)


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
        if first is None or first.start() == place:
            continue
        if last.lower() not in _BEFORE_OF and first[0].lower() not in _WORDS["ORGANISATION_OF"]:
            yield start, link.start()
            start = link.end()
            first = _TOKEN.search(text, start, end)
    if start < end:
        yield start, end


def _trimmed(text: str, start: int, end: int, *, is_first: bool) -> Name | None:
    """The name inside a run, without common first and last words and roles; None if nothing is left."""
    words = [(start + found.start(), start + found.end()) for found in _TOKEN.finditer(text[start:end])]
    is_led = False
    low, high = 0, len(words)
    while low < high and _is_weak(text[slice(*words[low])]) and not _is_he(text, words[low : low + 2]):
        is_led = is_led or text[slice(*words[low])].lower().rstrip(".") in _WORDS["ROLES"]
        is_first = False
        low += 1
    while low < high and _is_weak_last(text[slice(*words[high - 1])]):
        high -= 1
    words = words[low:high]
    if not words or sum(text[start].isupper() for start, _ in words) > _LONGEST:
        return None
    first, last = words[0][0], words[-1][1]
    name = " ".join(text[first:last].split())
    is_label = is_first and text[last : last + 1] == ":" and name.partition(" ")[0].lower() not in _WORDS["FIRST_NAMES"]
    if is_label or not _may_be_name(name):
        return None
    is_first = is_first or (len(words) == 1 and not is_led and _opens_behind_label(text, first, last))
    is_sure = is_led or not is_first or len(words) > 1 or _is_marked(name) or name_type(name) == PLACE
    is_sure = is_sure or _is_shown(text, first, last)
    return Name(first, last, name, is_sure, is_first)


def _opens_behind_label(text: str, start: int, end: int) -> bool:
    """Whether a word begins a sentence behind a label: `Abdomen: Soft, without pain`; a first name calls somebody."""
    is_behind = _BEHIND_LABEL.search(text, max(0, start - 2), start) and _SENTENCE_GOES_ON.match(text, end)
    return bool(is_behind) and text[start:end].lower() not in _WORDS["FIRST_NAMES"]


def _is_he(text: str, words: list[tuple[int, int]]) -> bool:
    """Whether a run begins with the surname He: the pronoun stands before no capital."""
    return len(words) > 1 and text[slice(*words[0])] == "He"


def _may_be_name(name: str) -> bool:
    if len(name) < 2 or not any(map(str.isalpha, name)) or _UNNAMED.fullmatch(name):  # noqa: PLR2004
        return False
    return name.lower() not in _NOT_NAMES and not (" " in name and name.isupper() and len(name) > 12)  # noqa: PLR2004


def _is_shown(text: str, start: int, end: int) -> bool:
    """Whether a word is quoted by itself, or a version number follows."""
    is_quoted = start > 0 and text[start - 1] in '"“' and text[end : end + 1] in ('"', "”")
    return is_quoted or bool(_VERSION.match(text, end))


def _is_marked(name: str) -> bool:
    """Written as no common word is: with a digit or a capital inside."""
    return any(character.isdigit() for character in name) or sum(map(str.isupper, name)) > 1


def _is_weak(word: str) -> bool:
    return _is_weak_last(word) or word.lower().rstrip(".,") in _WORDS["ROLES"]


def _is_weak_last(word: str) -> bool:
    folded = word.lower().rstrip(".,")
    if folded == "jan" and not word.endswith("."):
        return False
    return folded in _WORDS["COMMON"] or folded in _WORDS["CALENDAR"] or folded in _LINKS
