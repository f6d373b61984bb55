"""Words of an English sentence by their class, and its verbs: closed classes and a dictionary of forms."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from sag_pipeline.extract.rules.forms_en import all_lemmas, inflected
from sag_pipeline.extract.triples import NameSpan

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*|\d[\d.,]*|['’]|[^\w\s]")
_CLASSES: Final = {
    "BE": "be is are was were been being am",
    "HAVE": "have has had having",
    "AUX": "will would can could may might shall should must do does did",
    "NOT": "not never n't nor",
    "TO": "to",
    "PREP": """of in on at by for from with into onto over under as about after before between among through during
        within without against toward towards near across behind beyond via upon alongside around inside outside along
        above below since until""",
    "DET": """the a an this that these those its his her their our my your some any each every no all both another
        such many several few one two three four five six seven eight nine ten first second third""",
    "AND": "and or & plus",
    "WHO": "who which that whom",
    "PRON": "he she it they",
    "BREAK": "; : . ! ? ( ) — – | when while where because although though if but than whose",
    "COMMA": ",",
    "OF": "' ’",
}
"""Closed classes of English grammar and punctuation."""
_CLASS: Final = {word: name for name, listed in _CLASSES.items() for word in listed.split()}
_NOMINAL: Final = frozenset({"DET", "ADJ", "PREP", "OF", "NUMBER"})
VERBAL: Final = frozenset({"VERB", "BE", "HAVE", "AUX"})
_GAPS: Final = frozenset({"ADV", "NOT"})
_BEFORE_VERB: Final = frozenset({"BE", "HAVE", "AUX", "TO", *_GAPS})
_BEGINS_VERB: Final = _BEFORE_VERB | {"VERB"}


@dataclass(slots=True)
class SentenceItem:
    """A word, a punctuation mark or a name; `kind` is its class in the sentence."""

    text: str
    kind: str
    number: int = -1
    lemma: str = ""


@dataclass(slots=True)
class Verb:
    """A verb with its auxiliaries: items `start` to before `end`."""

    start: int
    end: int
    lemma: str
    word: str
    is_passive: bool = False
    is_negated: bool = False
    is_reduced: bool = False
    """Whether it is a participle without `be`, which says something of the noun before it."""
    subjects: list[int] = field(default_factory=list)


@lru_cache(maxsize=1 << 16)
def _lemmas(word: str) -> dict[str, str]:
    """Part of speech → lemma, of the dictionary alone; empty for unknown words."""
    return {part: found[0] for part, found in sorted(all_lemmas(word).items())}


@lru_cache(maxsize=1 << 14)
def _is_form(word: str, lemma: str, tag: str) -> bool:
    return word in inflected(lemma, tag)


def items_of(content: str, names: Sequence[NameSpan]) -> list[SentenceItem]:
    """The words, marks and names of a sentence; see `english_relations` for `names`."""
    items: list[SentenceItem] = []
    place = 0
    for start, end, number in [*names, (len(content), len(content), -1)]:
        items += [_item(found[0], is_first=not items) for found in _TOKEN.finditer(content, place, start)]
        if end > start:
            items.append(SentenceItem(content[start:end], "NAME" if number >= 0 else "DATE", number))
        place = end
    for row, item in enumerate(items):
        if item.text == "s" and row and items[row - 1].kind == "OF":
            item.kind = "OF"
        if item.kind == "WORD":
            item.kind = _kind(items, row)
            if item.kind == "VERB":
                item.lemma = _lemmas(item.text)["VERB"]
    return items


def _item(token: str, *, is_first: bool) -> SentenceItem:
    word = token.lower()
    if word in _CLASS:
        return SentenceItem(word, _CLASS[word])
    if word[0].isdigit():
        return SentenceItem(word, "NUMBER")
    if not word[0].isalpha():
        return SentenceItem(word, "BREAK")
    return SentenceItem(word, "NOUN" if token != word and not is_first else "WORD")


def _kind(items: Sequence[SentenceItem], row: int) -> str:
    """The class of a word by the dictionary and its neighbours."""
    parts = _lemmas(items[row].text)
    if "VERB" in parts and _is_verb(items, row, parts):
        return "VERB"
    kinds = ("NOUN", "ADJ", "ADV") if _before(items, row) in {"DET", "BE", "ADJ"} else ("ADV", "NOUN", "ADJ")
    return next((kind for kind in kinds if kind in parts), "ADJ" if "VERB" in parts else "NOUN")


def _is_verb(items: Sequence[SentenceItem], row: int, parts: dict[str, str]) -> bool:
    word = items[row].text
    before = _before(items, row)
    after = items[row + 1].kind if row + 1 < len(items) else "BREAK"
    if before in {"BE", "HAVE", "AUX", "TO"}:
        return before != "BE" or word.endswith("ing") or _is_form(word, parts["VERB"], "VBN")
    if before in _NOMINAL:
        return before == "PREP" and word.endswith("ing") and after in {"NAME", "DET"}
    if "NOUN" not in parts:
        return word != parts["VERB"] or before in {"NAME", "PRON", "WHO", "AND"}
    if after in {"BE", "HAVE", "AUX", "VERB", "OF"} or (row + 1 < len(items) and items[row + 1].text == "of"):
        return False
    if word == parts["VERB"] and not _is_form(word, word, "VBD"):
        return before in {"PRON", "WHO"}
    return before in {"NAME", "PRON", "WHO", "AND", "COMMA"} and after in {
        "NAME",
        "DET",
        "PREP",
        "TO",
        "NUMBER",
        "DATE",
        "ADV",
    }


def _before(items: Sequence[SentenceItem], row: int) -> str:
    """Kind of the item before, adverbs and negations left out."""
    row -= 1
    while row >= 0 and items[row].kind in _GAPS:
        row -= 1
    return items[row].kind if row >= 0 else "BREAK"


def verbs_of(items: Sequence[SentenceItem]) -> list[Verb]:
    """The verbs of a sentence in its order, each with its auxiliaries."""
    found: list[Verb] = []
    row = 0
    while row < len(items):
        if items[row].kind not in _BEGINS_VERB:
            row += 1
            continue
        end = row
        while end < len(items) and items[end].kind in _BEFORE_VERB:
            end += 1
        verb = _verb(items, row, end)
        if verb is None:
            row = max(end, row + 1)
            continue
        found.append(verb)
        row = verb.end
    return found


def _verb(items: Sequence[SentenceItem], start: int, end: int) -> Verb | None:
    """The verb whose auxiliaries are items `start` to before `end`; None if there is none."""
    kinds = [item.kind for item in items[start:end]]
    is_negated = "NOT" in kinds
    if end < len(items) and items[end].kind == "VERB":
        item = items[end]
        is_past = _is_form(item.text, item.lemma, "VBN")
        is_led = any(kind in {"BE", "HAVE", "AUX"} for kind in kinds)
        after = items[end + 1].text if end + 1 < len(items) else ""
        is_reduced = not is_led and is_past and (after == "by" or _is_participle(items, start, end))
        is_reduced = is_reduced or (not is_led and is_past and not _is_form(item.text, item.lemma, "VBD"))
        is_passive = is_past and (is_reduced or ("BE" in kinds and kinds[-1] != "HAVE"))
        return Verb(start, end + 1, item.lemma, item.text, is_passive, is_negated, is_reduced)
    for place in range(end - 1, start - 1, -1):
        if items[place].kind in {"BE", "HAVE"}:
            lemma = "have" if items[place].kind == "HAVE" else ""
            return Verb(start, place + 1, lemma, items[place].text, is_negated=is_negated)
    return None


def _is_participle(items: Sequence[SentenceItem], start: int, end: int) -> bool:
    """Whether a participle follows a noun or a comma, as in `Acme, based in Oslo`."""
    after = items[end + 1].kind if end + 1 < len(items) else ""
    before = items[start - 1].kind if start else ""
    return after == "PREP" and before in {"COMMA", "NOUN"}


def singular(noun: SentenceItem) -> str:
    """The lemma of a noun; the word itself where the dictionary has none."""
    return _lemmas(noun.text).get("NOUN", noun.text)
