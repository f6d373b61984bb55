"""Decide from its form alone what a name in Latin letters names: a person, an organisation, a place or a product."""

import re
from functools import lru_cache
from typing import Final

from babel import Locale

from sag_pipeline.extract.rules.words import read_words
from sag_retrieval.language.words import fold

PERSON, ORGANISATION, PLACE, PRODUCT, WORK, ENTITY = "person", "organisation", "place", "product", "work", "entity"
_WORDS = read_words("en")
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

_PERSON_VERB = re.compile(
    rf"\s(?:(?:also|later|then|has|had|have|hat|a|ha)\s)?(?:{'|'.join(sorted(_WORDS['PERSON_VERBS']))})\b"
)
_HAN_VERB = re.compile(
    rf"\s?(?:{'|'.join(sorted(word for word in read_words('zh')['AFTER_NAME'] if len(word) > 1))}|[说看称])"
)
_IN_PLACE = re.compile(
    r"\b(?:born|based|located|situated|headquartered|lives?|lived|living|resid(?:es|ed|ing)|offices?|plants?|warehouses?"
    r"|factory|factories|headquarters|town|city|village|suburb|district|hotel|airport|hospital|church|museum)\sin\s\Z"
)
_FIRM_KINDS = (
    "company|firm|corporation|bank|retailer|airline|start-?up|subsidiary|enterprise|conglomerate|manufacturer|insurer"
    "|carrier|brand|charity|co-?operative|shipyard|foundry"
)
_FIRM_BEHIND = re.compile(
    r"['’]s\s(?:(?:board\sof\sdirectors|shareholders?|stockholders|employees|workforce|subsidiar(?:y|ies)|headquarters"
    r"|annual\sreport|revenues?|market\sshare|stock\sprice|share\sprice|chief\sexecutive|total\sassets|cash\sflow"
    r"|(?:net|operating)\s(?:profit|income|loss|assets|margin)|corporate\sgovernance|return\son\sequity"
    r"|customer\sbase|product\sline|share\scapital)\b|C[EFT]O\b)"
    r"|(?:,|\s(?:is|was))\s(?:established|founded|incorporated|headquartered)\s(?:on|in|by)\b"
    rf"|(?:,|\s(?:is|was))\san?\s(?:[a-z-]{{2,20}},?\s){{0,5}}(?:{_FIRM_KINDS})"
    r"(?=[,.;:)]|\s(?:that|which|with|based|in|of|for|from|and|offering|providing|founded|established|speciali[sz]\w+)\b)"
)
"""What is said of firms alone, behind a name."""
_FIRM_BEFORE = re.compile(
    r"\b(?:shareholders|stockholders|shares|subsidiary|employees)\sof\s\Z|\b(?:stake|shares)\sin\s\Z"
)
_ABSTRACT = re.compile(
    r"[a-z]{4,30}(?:tions?|sions?|logy|logies|ments?|ities|ceuticals?|nautics|tronics|ware|tech)\Z", re.IGNORECASE
)
"""Endings of abstract nouns, which end no surname but short ones: `Aviation`, `Entertainment`."""
_LETTER_FIRST = re.compile(r"[A-Z]-[a-z]")
"""A word that a letter begins: `X-ray`."""
_FIRM_OPENS = frozenset({"'", "’", ",", " "})
_LIFE_BEHIND = re.compile(r"\s\((?:born|b\.|née|\*)\s|,\s(?:aged\s)?\d\d,\s")
_LONGEST_BEFORE = 24
_HAN_ADDRESS = re.compile(r"\s?(?:先生|女士|小姐|教授|博士)(?!学位|学历|后)")
_HAN_ASKS = re.compile(r"(?:联系|联络|感谢|任命|聘任|委任|采访)了?\s?\Z")
"""Chinese verbs whose object is a person where it has the form of a person's name."""
_LOWER_ROLE = re.compile(r"\b([a-zà-ÿ]{2,15})\s\Z")
_CHAT_AUTHOR = re.compile(r"(?:\A|\n)[\[(]?\d[\d/.:, T-]{4,24}(?:[AP]M)?[\])]?[ \t]{0,2}[-–]?[ \t]{0,2}\Z")
_PERSON_LABEL = re.compile(
    rf"(?:\A|[\n|])[*_ \t]{{0,4}}(?:{'|'.join(sorted(_WORDS['PERSON_LABELS']))})[*_ ]{{0,4}}:[*_ \t]{{0,4}}"
    r"(?:[^:\n|]{0,80}[,;&]\s?(?:and\s)?)?\Z",
    re.IGNORECASE,
)
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
    if _is_organisation(words, first, last):
        return ORGANISATION if len(words) > 1 else ENTITY
    is_common = first == "new" and last in _WORDS["COMMON_NOUNS"]  # `New Year`; `West Point` is a place
    is_led = first in _WORDS["PLACE_FIRST"] and not is_common
    if len(words) > 1 and words[0].isalpha() and (last in _WORDS["PLACES"] or is_led):
        return PLACE
    if _is_person(words) and ("." in name or not _is_of_capitals(words)):
        return PERSON
    return PRODUCT if _MODEL.fullmatch(words[-1]) and len(name) > 2 else ENTITY  # noqa: PLR2004


def type_in_context(text: str, span: tuple[int, int], name: str, led_by: str) -> str:
    """The type by form; where that is open, a person whom a role, a verb, a label or a chat's stamp shows.

    Args:
        text: A text.
        span: Where the name stands in it.
        name: The name, on one line.
        led_by: The role in front of it, in small letters; empty without one.

    """
    key_type = name_type(name)
    if key_type != ENTITY:
        return key_type
    may_have_role = not led_by and text[max(0, span[0] - 2) : span[0] - 1].islower()
    role = _LOWER_ROLE.search(text, max(0, span[0] - 16), span[0]) if may_have_role else None
    if role and (role[1] in _WORDS["ADDRESSES"] or role[1] in _WORDS["ROLES"]):
        led_by = role[1]
    shown = _shown_by_neighbours(text, span, name)
    if shown != ENTITY:
        return shown
    if name.replace(" ", "").isalpha() and _HAN_ADDRESS.match(text, span[1]):
        return PERSON
    if " " not in name or not may_be_person(name):
        return PERSON if led_by in _WORDS["ADDRESSES"] and name.isalpha() else ENTITY
    start, end = span
    before = text[max(0, start - _LONGEST_LABEL) : start]
    is_author = text.startswith(":", end) and _CHAT_AUTHOR.search(before)
    acts = (
        name.count(" ") == 1
        and not _is_of_things(name)
        and (
            _PERSON_VERB.match(text, end)
            or _HAN_VERB.match(text, end)
            or _HAN_ASKS.search(text, max(0, start - 4), start)
        )
    )
    return PERSON if led_by or is_author or acts or (":" in before and _PERSON_LABEL.search(before)) else ENTITY


def _shown_by_neighbours(text: str, span: tuple[int, int], name: str) -> str:
    """What a name is of which something is said that is said of places, firms or persons alone."""
    start, end = span
    is_open = text[end : end + 1] in _FIRM_OPENS and not name.replace(" ", "").islower()
    if is_open and _FIRM_BEHIND.match(text, end):
        return ORGANISATION
    is_part = text[max(0, start - 4) : start] in (" of ", " in ")
    if is_part and _FIRM_BEFORE.search(text, max(0, start - _LONGEST_BEFORE), start):
        return ORGANISATION
    is_word = name.replace(" ", "").replace("-", "").isalpha() and not name.isupper()
    if is_word and is_part and _IN_PLACE.search(text, max(0, start - _LONGEST_BEFORE), start):
        return PLACE
    is_born = text[end : end + 1] in (" ", ",") and _LIFE_BEHIND.match(text, end)
    return PERSON if is_born and may_be_person(name) else ENTITY


def _is_of_things(name: str) -> bool:
    """Whether the last word of a name is a common noun in the plural, as in many names of firms: `… Instruments`."""
    last = name.rpartition(" ")[2].lower()
    return last in _WORDS["COMMON_NOUNS"] and last.endswith("s") and last[:-1] in _WORDS["COMMON_NOUNS"]


def may_be_person(name: str) -> bool:
    """Whether a name could be a person's full name, where its context shows one: two to four words of letters."""
    words = name.replace(".", "").split()
    return _has_form_of_person(words) and words[0].lower() not in _WORDS["PLACE_FIRST"]


def is_common_first(word: str) -> bool:
    """Whether many names begin with a word, so that it alone stands for none of them: a place, a people, a kind."""
    folded = word.lower()
    return any(
        folded in _WORDS[kind]
        for kind in (
            "KNOWN_PLACES",
            "PEOPLES",
            "PLACE_FIRST",
            "ORGANISATION_OF",
            "ORGANISATIONS",
            "FIRST_NAMES",
            "COMMON",
        )
    )


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


def _is_of_capitals(words: list[str]) -> bool:
    """Whether capitals without stops stand before a common noun, as initials do not: `CT Scan`."""
    return words[0].isupper() and len(words[0]) > 1 and words[-1].lower() in _WORDS["COMMON_NOUNS"]


def _has_form_of_person(words: list[str]) -> bool:
    if not 2 <= len(words) <= _LONGEST_PERSON:  # noqa: PLR2004  a first name and a surname
        return False
    if not all(word[:1].isupper() or word in _PARTICLES for word in words) or not words[-1][:1].isupper():
        return False
    if any(not _WITHIN_NAMES.sub("", word).rstrip(",").isalpha() for word in words):
        return False
    last = words[-1].lower()
    if _ABSTRACT.match(last) or _LETTER_FIRST.match(words[-1]):
        return False
    return last not in _WORDS["NOT_SURNAMES"] and last not in _WORDS["ORGANISATIONS"] and last not in _WORDS["PLACES"]
