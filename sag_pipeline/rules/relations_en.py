"""Read relations from English sentences: the verb or the noun that links two names, passives turned round."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

from sag_pipeline.steps.triples import Link, Span

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*|\d[\d.,]*|['’]|[^\w\s]")
_LONGEST_CHAIN: Final = 3
"""Nouns and prepositions between a verb and a name; what stands farther away is said of something else."""
_MOST_WORDS: Final = 4
"""Words of a relation."""

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
_CONJUNCTIONS: Final = frozenset({"after", "as", "before", "since", "until"})
_NOMINAL: Final = frozenset({"DET", "ADJ", "PREP", "OF", "NUMBER"})
_VERBAL: Final = frozenset({"VERB", "BE", "HAVE", "AUX"})
_GAPS: Final = frozenset({"ADV", "NOT"})


@dataclass(slots=True)
class _Item:
    """A word, a punctuation mark or a name; `kind` is its class in the sentence."""

    text: str
    kind: str
    number: int = -1
    lemma: str = ""


@dataclass(slots=True)
class _Verb:
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
    from lemminflect import getAllLemmas  # noqa: PLC0415  it reads its dictionaries for half a second

    return {part: found[0] for part, found in sorted(getAllLemmas(word).items())}


@lru_cache(maxsize=1 << 14)
def _is_form(word: str, lemma: str, tag: str) -> bool:
    from lemminflect import getInflection  # noqa: PLC0415

    return word in getInflection(lemma, tag, inflect_oov=False)


def english_relations(content: str, names: Sequence[Span], topic: int | None = None) -> list[Link]:
    """Relations that an English sentence states between its names, in its order.

    Args:
        content: The sentence.
        names: Places of names, without overlaps, and the number of each; -1 for a date or an amount.
        topic: Number of the name that `he`, `she`, `it` and `they` stand for as subjects, if any.

    Source:
        docs/algorithm.md §think-on-graph.1

    """
    items = _items(content, names)
    verbs = _verbs(items)
    for row, verb in enumerate(verbs):
        verb.subjects = _subjects(items, verbs[:row], verb, topic)
    found: dict[Link, None] = {}
    for row, verb in enumerate(verbs):
        found.update(dict.fromkeys(_of_verb(items, verbs, row)))
    linked = {frozenset((head, tail)) for head, _, tail in found}
    tails = {tail for _, _, tail in found}
    for link, is_bare in _of_nouns(items, verbs):
        if frozenset((link[0], link[2])) not in linked and not (is_bare and link[2] in tails):
            found[link] = None
    return [link for link in found if link[0] != link[2]]


def _items(content: str, names: Sequence[Span]) -> list[_Item]:
    items: list[_Item] = []
    place = 0
    for start, end, number in [*names, (len(content), len(content), -1)]:
        items += [_item(found[0], is_first=not items) for found in _TOKEN.finditer(content, place, start)]
        if end > start:
            items.append(_Item(content[start:end], "NAME" if number >= 0 else "DATE", number))
        place = end
    for row, item in enumerate(items):
        if item.text == "s" and row and items[row - 1].kind == "OF":
            item.kind = "OF"
        if item.kind == "WORD":
            item.kind = _kind(items, row)
            if item.kind == "VERB":
                item.lemma = _lemmas(item.text)["VERB"]
    return items


def _item(token: str, *, is_first: bool) -> _Item:
    word = token.lower()
    if word in _CLASS:
        return _Item(word, _CLASS[word])
    if word[0].isdigit():
        return _Item(word, "NUMBER")
    if not word[0].isalpha():
        return _Item(word, "BREAK")
    return _Item(word, "NOUN" if token != word and not is_first else "WORD")


def _kind(items: Sequence[_Item], row: int) -> str:
    """The class of a word by the dictionary and its neighbours."""
    parts = _lemmas(items[row].text)
    if "VERB" in parts and _is_verb(items, row, parts):
        return "VERB"
    kinds = ("NOUN", "ADJ", "ADV") if _before(items, row) in {"DET", "BE", "ADJ"} else ("ADV", "NOUN", "ADJ")
    return next((kind for kind in kinds if kind in parts), "ADJ" if "VERB" in parts else "NOUN")


def _is_verb(items: Sequence[_Item], row: int, parts: dict[str, str]) -> bool:
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


def _before(items: Sequence[_Item], row: int) -> str:
    """Kind of the item before, adverbs and negations left out."""
    row -= 1
    while row >= 0 and items[row].kind in _GAPS:
        row -= 1
    return items[row].kind if row >= 0 else "BREAK"


def _verbs(items: Sequence[_Item]) -> list[_Verb]:
    found: list[_Verb] = []
    row = 0
    while row < len(items):
        end = row
        while end < len(items) and items[end].kind in {"BE", "HAVE", "AUX", *_GAPS, "TO"}:
            end += 1
        verb = _verb(items, row, end)
        if verb is None:
            row = max(end, row + 1)
            continue
        found.append(verb)
        row = verb.end
    return found


def _verb(items: Sequence[_Item], start: int, end: int) -> _Verb | None:
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
        return _Verb(start, end + 1, item.lemma, item.text, is_passive, is_negated, is_reduced)
    for place in range(end - 1, start - 1, -1):
        if items[place].kind in {"BE", "HAVE"}:
            lemma = "have" if items[place].kind == "HAVE" else ""
            return _Verb(start, place + 1, lemma, items[place].text, is_negated=is_negated)
    return None


def _is_participle(items: Sequence[_Item], start: int, end: int) -> bool:
    """Whether a participle follows a noun or a comma, as in `Acme, based in Oslo`."""
    after = items[end + 1].kind if end + 1 < len(items) else ""
    before = items[start - 1].kind if start else ""
    return after == "PREP" and before in {"COMMA", "NOUN"}


def _subjects(items: Sequence[_Item], earlier: Sequence[_Verb], verb: _Verb, topic: int | None) -> list[int]:
    """Numbers of the names that a verb is said of."""
    before = items[verb.start - 1].kind if verb.start else ""
    first = earlier[-1].end if earlier else 0
    if before == "WHO":
        return _nearest(items, verb.start - 1)
    if earlier and (before in {"AND", "TO", "PREP"} or (before == "NOUN" and not earlier[-1].lemma)):
        return earlier[-1].subjects
    if verb.is_reduced:
        return _nearest(items, verb.start)
    if before == "COMMA" and earlier:
        return earlier[-1].subjects
    while (cut := next((r for r in range(first, verb.start) if items[r].kind == "BREAK"), -1)) >= 0:
        first = cut + 1
    named = [row for row in range(first, verb.start) if items[row].kind == "NAME" and not _governor(items, first, row)]
    if named:
        return [items[row].number for row in _coordinated(items, named)]
    if topic is not None and any(item.kind == "PRON" for item in items[first : verb.start]):
        return [topic]
    is_bare = first < verb.start and any(item.kind == "NOUN" for item in items[first : verb.start])
    return [] if is_bare or not earlier or first != earlier[-1].end else earlier[-1].subjects


def _nearest(items: Sequence[_Item], end: int) -> list[int]:
    """The name right before a place, but for a comma."""
    row = end - 2 if end and items[end - 1].kind == "COMMA" else end - 1
    return [items[row].number] if row >= 0 and items[row].kind == "NAME" else []


def _coordinated(items: Sequence[_Item], rows: Sequence[int]) -> list[int]:
    """The last of some names, and those before it that are joined to it by commas and `and`."""
    kept = [rows[-1]]
    for row in reversed(rows[:-1]):
        between = items[row + 1 : kept[0]]
        if not between or any(item.kind not in {"COMMA", "AND"} for item in between):
            break
        kept.insert(0, row)
    is_joined = any(item.kind == "AND" for item in items[kept[0] : kept[-1]])
    return kept if is_joined else kept[-1:]


def _governor(items: Sequence[_Item], first: int, row: int) -> int | None:
    """Place of the preposition that a name depends on, if there is one behind `first`."""
    after = items[row + 1].kind if row + 1 < len(items) else ""
    for place in range(row - 1, first - 1, -1):
        if items[place].text in _CONJUNCTIONS and after in _VERBAL:
            return None
        if items[place].kind in {"PREP", "TO"}:
            return place
        if items[place].kind == "NAME" and all(item.kind == "AND" for item in items[place + 1 : row]):
            continue
        is_clause = items[place].kind == "AND" and after in _VERBAL and items[place - 1].kind != "NAME"
        if is_clause or items[place].kind in {"NAME", "VERB", "BREAK", "COMMA", "PRON", "WHO"}:
            return None
    return None


def _of_verb(items: Sequence[_Item], verbs: Sequence[_Verb], row: int) -> Iterator[Link]:
    verb = verbs[row]
    last = verbs[row + 1] if row + 1 < len(verbs) else None
    taken = set(last.subjects) if last and items[last.start - 1].kind not in {"AND", "COMMA", "WHO"} else set[int]()
    for number, chain in _objects(items, verb, last.start if last else len(items)):
        if number in taken:
            continue
        if verb.is_passive and chain == ("by",):
            yield from ((number, _named(verb, ()), subject) for subject in verb.subjects)
        elif len(chain) <= _LONGEST_CHAIN and (relation := _relation(verb, chain)):
            yield from ((subject, relation, number) for subject in verb.subjects)
    if row == 0 or any(item.kind == "BREAK" for item in items[verbs[row - 1].end : verb.start]):
        yield from _fronted(items, verb)


def _fronted(items: Sequence[_Item], verb: _Verb) -> Iterator[Link]:
    """`In Oslo, Anna founded …`: a name with a preposition before the subject belongs to the verb."""
    start = next((r + 1 for r in range(verb.start - 1, -1, -1) if items[r].kind == "BREAK"), 0)
    if start < verb.start and items[start].kind == "PREP" and verb.lemma:
        row = next((r for r in range(start, verb.start) if items[r].kind in {"NAME", "COMMA"}), start)
        if items[row].kind == "NAME":
            relation = _relation(verb, (items[start].text,))
            yield from ((subject, relation, items[row].number) for subject in verb.subjects)


def _objects(items: Sequence[_Item], verb: _Verb, end: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The names behind a verb, each with the nouns and prepositions that lead to it."""
    chain: list[str] = []
    noun, is_behind_name = "", False
    for row in range(verb.end, end):
        item = items[row]
        if item.kind == "NAME":
            yield item.number, tuple(chain)
            noun, is_behind_name = "", True
        elif item.kind in {"PREP", "TO"}:
            if is_behind_name and item.text == "of":
                return
            chain = [item.text] if is_behind_name else [*chain, *([noun] if noun else []), item.text]
            noun, is_behind_name = "", False
        elif item.kind in {"BREAK", "WHO", "OF"}:
            return
        elif item.kind == "NOUN":
            noun = _singular(item)
        elif item.kind == "DATE":  #: `on 3 May in Oslo`
            chain = chain[:-1] if chain and items[row - 1].kind == "PREP" else chain
        elif item.kind == "COMMA" and not is_behind_name:
            return


def _relation(verb: _Verb, chain: Sequence[str]) -> str:
    if verb.lemma:
        return _named(verb, chain)
    words = [*(["not"] if verb.is_negated else []), *chain]
    return "_".join(words if len(chain) > 1 else ["is", *words])


def _named(verb: _Verb, chain: Sequence[str]) -> str:
    head = verb.word if verb.is_passive and chain else verb.lemma
    words = [*(["not"] if verb.is_negated else []), head, *chain]
    return "_".join(words if len(words) <= _MOST_WORDS else [*words[:2], *words[-2:]])


def _of_nouns(items: Sequence[_Item], verbs: Sequence[_Verb]) -> Iterator[tuple[Link, bool]]:
    """Relations by nouns between two neighbouring names, and whether a preposition alone says so.

    `X, president of Y`, `Y's founder X`, `Y chairman X`, `the capital of Y is X`, `X in Y`.
    """
    copulas = {row for verb in verbs if not verb.lemma for row in range(verb.start, verb.end)}
    inside = {row for verb in verbs for row in range(verb.start, verb.end)} - copulas
    rows = [row for row, item in enumerate(items) if item.kind == "NAME"]
    for place, (first, last) in enumerate(pairwise(rows)):
        if set(range(first + 1, last)) <= copulas:
            yield from _turned(items, rows[place - 1] + 1 if place else 0, first, last)
        elif inside.isdisjoint(range(first, last)):
            yield from _of_pair(items, first, last)


def _turned(items: Sequence[_Item], start: int, first: int, last: int) -> Iterator[tuple[Link, bool]]:
    """`The capital of Norway is Oslo`."""
    noun = next((row for row in range(first - 1, start, -1) if items[row].kind not in {"DET", "ADJ"}), start)
    if items[noun].text == "of" and items[noun - 1].kind == "NOUN":
        yield (items[last].number, f"{_singular(items[noun - 1])}_of", items[first].number), False


def _of_pair(items: Sequence[_Item], first: int, last: int) -> Iterator[tuple[Link, bool]]:
    between = items[first + 1 : last]
    kinds = [item.kind for item in between]
    content = [kind for kind in kinds if kind not in {"DET", "ADJ", "ADV", "NUMBER"}]
    noun = next((_singular(item) for item in reversed(between) if item.kind == "NOUN"), "")
    head, tail = items[first].number, items[last].number
    if kinds == ["NOUN"] or (kinds[:1] == ["OF"] and noun and set(content) <= {"NOUN", "OF"}):
        yield (tail, f"{noun}_of", head), False
    elif kinds[:1] == ["COMMA"] and kinds[-1:] == ["PREP"] and set(content[1:-1]) == {"NOUN"}:
        yield (head, f"{noun}_{between[-1].text}", tail), False
    elif kinds[:1] == ["PREP"] and set(kinds[1:]) <= {"DET", "ADJ"} and between[0].text != "by":
        yield (head, between[0].text, tail), True


def _singular(noun: _Item) -> str:
    return _lemmas(noun.text).get("NOUN", noun.text)
