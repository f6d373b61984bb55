"""Names that a text itself calls the same: `Full Name (FN)`, `全称（以下简称“简称”）`."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sag_pipeline.steps.keys import Mention
from sag_retrieval.text.words import is_cjk

_SAID = (
    r"以下简称为?|下称|简称|又称|又名|又写作|也称|也叫|亦称|原名|英文名为?|中文名为?|全称"
    r"|hereinafter|also (?:known|called|written)(?: as)?|known (?:abroad )?as|formerly|abbreviated(?: as)?|in Chinese"
)
_OPENS = re.compile(rf"\s?[（(]\s?(?P<said>{_SAID})?\s?[:：]?\s?[“「\"']?", re.IGNORECASE)
_GOES_ON = re.compile(r"[”」\"']?\s?(?:、|，|,|和|与|and|or|或)\s?[“「\"']?")
_CLOSES = re.compile(r"[”」\"']?\s?[）)]")
_NAMES = frozenset(("person", "organisation", "place", "product", "work", "entity"))


def aliases(text: str, mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """Rows (alias, name) of mentions, in order, where the text says that they are one thing.

    Said by words (`以下简称`, `also known as`) in brackets behind the name, then for all names in the brackets; or by
    brackets that hold one name alone, in the other script or as initials; or by a person's name in both scripts, side
    by side.
    """
    named = [row for row, mention in enumerate(mentions) if mention.key_type in _NAMES]
    name: int | None = None
    is_said = False
    for before, row in pairwise(named):
        one, other = mentions[before], mentions[row]
        between = text[one.end : other.start]
        opened = _OPENS.fullmatch(between)
        if opened:
            name, is_said = before, bool(opened["said"])
            if is_said or _is_other_form(text, one, other):
                yield row, name
        elif name is not None and is_said and _GOES_ON.fullmatch(between):
            yield row, name
        else:
            name = None
            if between == " " and one.key_type == other.key_type == "person" and _differ(one, other):
                yield row, before


def _is_other_form(text: str, one: Mention, other: Mention) -> bool:
    if not _CLOSES.match(text, other.end):
        return False
    if one.key_type != other.key_type and "entity" not in (one.key_type, other.key_type):
        return False
    initials = "".join(word[0] for word in str(one.value).split() if word[0].isupper())
    return _differ(one, other) or (len(initials) > 1 and str(other.value) == initials)


def _differ(one: Mention, other: Mention) -> bool:
    return is_cjk(str(one.value)) != is_cjk(str(other.value))
