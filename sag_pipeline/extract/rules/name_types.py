"""Decide from its form alone what a name in Latin letters names: a person, an organisation, a place or a product."""

import re
from functools import lru_cache
from typing import Final

from babel import Locale

from sag_retrieval.language.data import word_lists
from sag_retrieval.language.words import fold

PERSON, ORGANISATION, PLACE, PRODUCT, WORK, ENTITY = "person", "organisation", "place", "product", "work", "entity"
_WORDS = word_lists("en")
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
LEGAL_FORM: Final = "|".join(
    re.escape(form) for form in sorted(_WORDS["LEGAL_FORMS"], key=lambda form: (-len(form), form))
)
"""Alternatives of a regular expression: every legal form as it is written, the longest first."""
_LONGEST_PERSON = 4
_PARTICLES = frozenset("de del della der den di da dos van von la le al el bin ibn ter zu y e".split())
_MODEL = re.compile(r"(?=.*[A-Z])[A-Za-z]+[-.]?\d[\w.-]*")
_WITHIN_NAMES = re.compile(r"['’-]")
_PINYIN = re.compile(
    r"(?:(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:i?ang|iong|uang|ing|eng|ong|i?an|iao|uai|uan|ai|ao|ei|en|er|ia|ie|in|iu|ou|"
    r"ua|ue|ui|un|uo|a|e|i|o|u)['’-]?){1,2}",
    re.IGNORECASE,
)

_PERSON_BEHIND = re.compile(
    rf"\s(?:(?:also|later|then|has|had|have)\s)?(?:{'|'.join(sorted(_WORDS['PERSON_VERBS']))})\b"
    rf"|\s?(?:{'|'.join(sorted(word for word in word_lists('zh')['AFTER_NAME'] if len(word) > 1))}|先生|女士|[说看称])"
)
"""What is said of persons alone, behind a name."""
_PERSON_LABEL = re.compile(
    rf"(?:\A|[\n|])[*_ \t]{{0,4}}(?:{'|'.join(sorted(_WORDS['PERSON_LABELS']))})[*_ ]{{0,4}}:[*_ \t]{{0,4}}"
    r"(?:[^:\n|]{0,80}[,;&]\s?(?:and\s)?)?\Z",
    re.IGNORECASE,
)
_LONGEST_LABEL = 120
"""No label of persons stands further in front of one."""
_FIRM_BEHIND = re.compile(
    r"['’]s\s(?:(?:board\sof\sdirectors|shareholders?|stockholders|employees|subsidiar(?:y|ies)|headquarters"
    r"|annual\sreport|revenues?|chief\sexecutive|market\sshare|stock\sprice|share\sprice|total\sassets|cash\sflow"
    r"|corporate\sgovernance|(?:net|operating)\s(?:profit|income|loss))\b|C[EFT]O\b)"
    r"|(?:,|\s(?:is|was))\s(?:established|founded|incorporated|headquartered)\s(?:on|in|by)\b"
)
"""What is said of firms alone, behind a name."""
_ABSTRACT = re.compile(
    r"[a-z]{4,30}(?:tions?|sions?|logy|logies|ments?|ities|ceuticals?|nautics|tronics|ware|tech)\Z", re.IGNORECASE
)
"""Endings of abstract nouns, which end no surname but short ones: `Aviation`, `Entertainment`."""


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
    if _is_organisation(words, first, last):
        return ORGANISATION if len(words) > 1 else ENTITY
    is_common = first == "new" and last in _WORDS["COMMON_NOUNS"]  # `New Year`; `West Point` is a place
    is_led = first in _WORDS["PLACE_FIRST"] and not is_common
    if len(words) > 1 and words[0].isalpha() and (last in _WORDS["PLACES"] or is_led):
        return PLACE
    if _is_person(words):
        return PERSON
    return PRODUCT if _MODEL.fullmatch(words[-1]) and len(name) > 2 else ENTITY  # noqa: PLR2004


def type_in_context(text: str, span: tuple[int, int], name: str, led_by: str) -> str:
    """The type by form; where that is open, what a role, a label, a verb or a possession shows.

    Args:
        text: A text.
        span: Where the name stands in it.
        name: The name, on one line.
        led_by: The role in front of it, in small letters; empty without one.

    """
    key_type = name_type(name)
    if key_type != ENTITY:
        return key_type
    if not name.replace(" ", "").islower() and _FIRM_BEHIND.match(text, span[1]):
        return ORGANISATION
    if " " not in name or not may_be_person(name):
        return PERSON if led_by in _WORDS["ADDRESSES"] and name.isalpha() else ENTITY
    before = text[max(0, span[0] - _LONGEST_LABEL) : span[0]]
    acts = name.count(" ") == 1 and _PERSON_BEHIND.match(text, span[1])
    return PERSON if led_by or acts or (":" in before and _PERSON_LABEL.search(before)) else ENTITY


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


def _is_organisation(words: list[str], first: str, last: str) -> bool:
    if last in _WORDS["ORGANISATIONS"] or has_legal_form(words[-1]):
        return True
    return len(words) > 2 and words[1] == "of" and first in _WORDS["ORGANISATION_OF"]  # noqa: PLR2004


def _is_person(words: list[str]) -> bool:
    if not _has_form_of_person(words):
        return False
    if len(words) == 2 and words[0].lower() in _WORDS["PINYIN_SURNAMES"] and _PINYIN.fullmatch(words[1]):  # noqa: PLR2004
        return True
    first = fold(words[0])
    is_initials = words[0].isupper() and len(words[0]) <= 2 and len(words[-1]) > 1 and not words[-1].isupper()  # noqa: PLR2004
    return first in _WORDS["FIRST_NAMES"] or first.partition("-")[0] in _WORDS["FIRST_NAMES"] or is_initials


def _has_form_of_person(words: list[str]) -> bool:
    if not 2 <= len(words) <= _LONGEST_PERSON:  # noqa: PLR2004  a first name and a surname
        return False
    if not all(word[:1].isupper() or word in _PARTICLES for word in words) or not words[-1][:1].isupper():
        return False
    if any(not _WITHIN_NAMES.sub("", word).rstrip(",").isalpha() for word in words):
        return False
    last = words[-1].lower()
    if _ABSTRACT.match(last):
        return False
    return last not in _WORDS["NOT_SURNAMES"] and last not in _WORDS["ORGANISATIONS"] and last not in _WORDS["PLACES"]
