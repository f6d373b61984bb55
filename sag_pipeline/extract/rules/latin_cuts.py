"""Cut a run of capitalised words where one name ends and another begins."""

import re
from collections.abc import Iterator

from sag_pipeline.extract.rules.name_types import PERSON, PLACE, has_legal_form, name_type
from sag_pipeline.extract.rules.words import read_words

_WORDS = read_words("en")
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
