"""Decide from its form alone what a name in Latin letters names: a person, an organisation, a place or a product."""

from functools import lru_cache

from babel import Locale

from sag_retrieval.language.data import pattern_of_all, patterns, word_lists
from sag_retrieval.language.words import fold

PERSON, ORGANISATION, PLACE, PRODUCT, WORK, ENTITY = "person", "organisation", "place", "product", "work", "entity"
_WORDS, _SAYS = word_lists("en"), patterns("en")
_NO_TERRITORIES = frozenset({"EU", "EZ", "QO", "UN", "ZZ"})
"""Codes of the locale data for unions and for what is unknown."""
KNOWN_PLACES = _WORDS["KNOWN_PLACES"] | frozenset(
    name.lower()
    for code, name in Locale("en").territories.items()
    if code.isalpha() and code not in _NO_TERRITORIES and name.isascii() and name.replace(" ", "").isalpha()
)
"""The list, and the countries and territories of the Unicode locale data, but for names that are words of French."""
_UNDOTTED = str.maketrans("", "", "./")
_LEGAL_FORMS = frozenset(word.translate(_UNDOTTED) for form in _WORDS["LEGAL_FORMS"] for word in [form.split()[-1]])
_LONGEST_PERSON = 4
_WITHIN_NAMES = str.maketrans("", "", "'’-")
_PERSON_BEHIND = pattern_of_all("person_behind")
"""What is said of persons alone, behind a name."""
_LONGEST_LABEL = 120
"""No label of persons stands further in front of one."""


@lru_cache(maxsize=65_536)
def name_type(name: str) -> str:
    """What a name is by its form alone, so that one name has one type in every document; `entity` where it is open.

    Example:
        >>> [name_type(n) for n in ("Lewis & Associates", "Hudson River", "Alice Brown", "GPT-4", "Nature Physics")]
        ['organisation', 'place', 'person', 'product', 'entity']
    """
    words = name.replace(".", "").split() or [""]
    first, last, folded = words[0].lower(), words[-1].lower().rstrip(","), name.lower()
    if folded in KNOWN_PLACES:
        return ENTITY if folded in _WORDS["FIRST_NAMES"] else PLACE
    if last in _WORDS["ORGANISATIONS"] or has_legal_form(words[-1]):
        return ORGANISATION if len(words) > 1 else ENTITY
    if words[1:2] == ["of"] and first in _WORDS["ORGANISATION_OF"]:
        return ORGANISATION
    is_common = first == "new" and last in _WORDS["COMMON_NOUNS"]  # `New Year`; `West Point` is a place
    is_led = first in _WORDS["PLACE_FIRST"] and not is_common
    if len(words) > 1 and words[0].isalpha() and (last in _WORDS["PLACES"] or is_led):
        return PLACE
    if _is_person(words):
        return PERSON
    return PRODUCT if _SAYS["model"].fullmatch(words[-1]) and len(name) > 2 else ENTITY  # noqa: PLR2004


def type_in_context(text: str, span: tuple[int, int], name: str, led_by: str) -> str:
    """The type by form; where that is open, what a role, a label or a verb shows."""
    key_type = name_type(name)
    if key_type != ENTITY:
        return key_type
    if " " not in name or not may_be_person(name):
        return PERSON if led_by in _WORDS["ADDRESSES"] and name.isalpha() else ENTITY
    before = text[max(0, span[0] - _LONGEST_LABEL) : span[0]]
    acts = name.count(" ") == 1 and _PERSON_BEHIND.match(text, span[1])
    return PERSON if led_by or acts or (":" in before and _SAYS["person_label"].search(before)) else ENTITY


def may_be_person(name: str) -> bool:
    """Whether a name could be a person's full name, where its context shows one: two to four words of letters."""
    words = name.replace(".", "").split()
    return _has_form_of_person(words) and words[0].lower() not in _WORDS["PLACE_FIRST"]


def is_office(words: list[str]) -> bool:
    """Whether several words are an office or a currency and no name: `Executive Vice President`, `U.S. Dollar`."""
    last = words[-1].lower().rstrip(".,")
    if len(words) == 1 or words[0].lower() in _WORDS["FIRST_NAMES"]:
        return False
    is_open = last in _WORDS["ROLES"] and name_type(" ".join(words)) == ENTITY
    return is_open or not _WORDS["CURRENCIES"].isdisjoint((last, f"{last}s"))


def is_kind(name: str, key_type: str) -> bool:
    """Whether a name is of open type, or a common noun alone makes it an organisation: `Admission Records`."""
    last = name.rpartition(" ")[2].lower()
    return key_type == ENTITY or (key_type == ORGANISATION and last in _WORDS["COMMON_NOUNS"])


def has_legal_form(last: str) -> bool:
    """Whether the last word of a name is the legal form of a company."""
    return last.rstrip(",").translate(_UNDOTTED) in _LEGAL_FORMS


def _is_person(words: list[str]) -> bool:
    if not _has_form_of_person(words):
        return False
    if len(words) == 2 and words[0].lower() in _WORDS["PINYIN_SURNAMES"] and _SAYS["pinyin"].fullmatch(words[1]):  # noqa: PLR2004
        return True
    first = fold(words[0])
    is_initials = words[0].isupper() and len(words[0]) <= 2 and len(words[-1]) > 1 and not words[-1].isupper()  # noqa: PLR2004
    return is_initials or not _WORDS["FIRST_NAMES"].isdisjoint((first, first.partition("-")[0]))


def _has_form_of_person(words: list[str]) -> bool:
    if not 2 <= len(words) <= _LONGEST_PERSON or not words[-1][:1].isupper():  # noqa: PLR2004  a first name and a surname
        return False
    for word in words:
        is_capital = word[:1].isupper() or word in _WORDS["PARTICLES"]
        if not is_capital or not word.translate(_WITHIN_NAMES).rstrip(",").isalpha():
            return False
    last = words[-1].lower()
    return not any(last in _WORDS[kind] for kind in ("NOT_SURNAMES", "ORGANISATIONS", "PLACES"))
