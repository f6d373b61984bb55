"""Read relations from English sentences: the verb or the noun that links two names, passives turned round."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from sag_pipeline.extract.rules.grammar_en import VERBAL, SentenceItem, Verb, items_of, singular, verbs_of
from sag_pipeline.extract.triples import Link, NameSpan

_LONGEST_CHAIN: Final = 3
"""Nouns and prepositions between a verb and a name; what stands farther away is said of something else."""
_MOST_WORDS: Final = 4
"""Words of a relation."""

_CONJUNCTIONS: Final = frozenset({"after", "as", "before", "since", "until"})


def english_relations(content: str, names: Sequence[NameSpan], topic: int | None = None) -> list[Link]:
    """Relations that an English sentence states between its names, in its order.

    Args:
        content: The sentence.
        names: Places of names, without overlaps, and the number of each; -1 for a date or an amount.
        topic: Number of the name that `he`, `she`, `it` and `they` stand for as subjects, if any.

    Source:
        docs/algorithm.md §think-on-graph.1

    """
    items = items_of(content, names)
    verbs = verbs_of(items)
    for row, verb in enumerate(verbs):
        verb.subjects = _subjects(items, verbs[row - 1] if row else None, verb, topic)
    found: dict[Link, None] = {}
    for row in range(len(verbs)):
        found.update(dict.fromkeys(_of_verb(items, verbs, row)))
    linked = {frozenset((head, tail)) for head, _, tail in found}
    tails = {tail for _, _, tail in found}
    for link, is_bare in _of_nouns(items, verbs):
        if frozenset((link[0], link[2])) not in linked and not (is_bare and link[2] in tails):
            found[link] = None
    return [link for link in found if link[0] != link[2]]


def _subjects(items: Sequence[SentenceItem], earlier: Verb | None, verb: Verb, topic: int | None) -> list[int]:
    """Numbers of the names that a verb is said of."""
    before = items[verb.start - 1].kind if verb.start else ""
    last = earlier or Verb(0, 0, "", "")
    if before == "WHO":
        return _nearest(items, verb.start - 1)
    if earlier and (before in {"AND", "TO", "PREP"} or (before == "NOUN" and not last.lemma)):
        return last.subjects
    if verb.is_reduced:
        return _nearest(items, verb.start)
    if before == "COMMA" and earlier:
        return last.subjects
    return _named_before(items, last, verb, topic)


def _named_before(items: Sequence[SentenceItem], last: Verb, verb: Verb, topic: int | None) -> list[int]:
    """The names between the verb before and this one that no preposition governs; without any, those of that verb."""
    first = max([last.end, *(row + 1 for row in range(last.end, verb.start) if items[row].kind == "BREAK")])
    named = [row for row in range(first, verb.start) if items[row].kind == "NAME" and not _governor(items, first, row)]
    if named:
        return [items[row].number for row in _coordinated(items, named)]
    between = {item.kind for item in items[first : verb.start]}
    if topic is not None and "PRON" in between:
        return [topic]
    return last.subjects if first == last.end and "NOUN" not in between else []


def _nearest(items: Sequence[SentenceItem], end: int) -> list[int]:
    """The name right before a place, but for a comma."""
    row = end - 2 if end and items[end - 1].kind == "COMMA" else end - 1
    return [items[row].number] if row >= 0 and items[row].kind == "NAME" else []


def _coordinated(items: Sequence[SentenceItem], rows: Sequence[int]) -> list[int]:
    """The last of some names, and those before it that are joined to it by commas and `and`."""
    kept = [rows[-1]]
    for row in reversed(rows[:-1]):
        between = items[row + 1 : kept[0]]
        if not between or any(item.kind not in {"COMMA", "AND"} for item in between):
            break
        kept.insert(0, row)
    is_joined = any(item.kind == "AND" for item in items[kept[0] : kept[-1]])
    return kept if is_joined else kept[-1:]


def _governor(items: Sequence[SentenceItem], first: int, row: int) -> int | None:
    """Place of the preposition that a name depends on, if there is one behind `first`."""
    after = items[row + 1].kind if row + 1 < len(items) else ""
    for place in range(row - 1, first - 1, -1):
        if items[place].text in _CONJUNCTIONS and after in VERBAL:
            return None
        if items[place].kind in {"PREP", "TO"}:
            return place
        if items[place].kind == "NAME" and all(item.kind == "AND" for item in items[place + 1 : row]):
            continue
        is_clause = items[place].kind == "AND" and after in VERBAL and items[place - 1].kind != "NAME"
        if is_clause or items[place].kind in {"NAME", "VERB", "BREAK", "COMMA", "PRON", "WHO"}:
            return None
    return None


def _of_verb(items: Sequence[SentenceItem], verbs: Sequence[Verb], row: int) -> Iterator[Link]:
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


def _fronted(items: Sequence[SentenceItem], verb: Verb) -> Iterator[Link]:
    """`In Oslo, Anna founded …`: a name with a preposition before the subject belongs to the verb."""
    start = next((r + 1 for r in range(verb.start - 1, -1, -1) if items[r].kind == "BREAK"), 0)
    if start < verb.start and items[start].kind == "PREP" and verb.lemma:
        row = next((r for r in range(start, verb.start) if items[r].kind in {"NAME", "COMMA"}), start)
        if items[row].kind == "NAME":
            relation = _relation(verb, (items[start].text,))
            yield from ((subject, relation, items[row].number) for subject in verb.subjects)


def _objects(items: Sequence[SentenceItem], verb: Verb, end: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The names behind a verb, each with the nouns and prepositions that lead to it."""
    chain: list[str] = []
    noun, is_behind_name = "", False
    for row in range(verb.end, end):
        item = items[row]
        if _ends_object(item, is_behind_name=is_behind_name):
            return
        if item.kind == "NAME":
            yield item.number, tuple(chain)
            noun, is_behind_name = "", True
        elif item.kind in {"PREP", "TO"}:
            chain = [item.text] if is_behind_name else [*chain, *([noun] if noun else []), item.text]
            noun, is_behind_name = "", False
        elif item.kind == "NOUN":
            noun = singular(item)
        elif item.kind == "DATE" and items[row - 1].kind == "PREP":  # `on 3 May in Oslo`
            chain = chain[:-1]


def _ends_object(item: SentenceItem, *, is_behind_name: bool) -> bool:
    if item.kind in {"BREAK", "WHO", "OF"} or (item.kind == "COMMA" and not is_behind_name):
        return True
    return item.text == "of" and is_behind_name


def _relation(verb: Verb, chain: Sequence[str]) -> str:
    if verb.lemma:
        return _named(verb, chain)
    words = [*(["not"] if verb.is_negated else []), *chain]
    return "_".join(words if len(chain) > 1 else ["is", *words])


def _named(verb: Verb, chain: Sequence[str]) -> str:
    head = verb.word if verb.is_passive and chain else verb.lemma
    words = [*(["not"] if verb.is_negated else []), head, *chain]
    return "_".join(words if len(words) <= _MOST_WORDS else [*words[:2], *words[-2:]])


def _of_nouns(items: Sequence[SentenceItem], verbs: Sequence[Verb]) -> Iterator[tuple[Link, bool]]:
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


def _turned(items: Sequence[SentenceItem], start: int, first: int, last: int) -> Iterator[tuple[Link, bool]]:
    """`The capital of Norway is Oslo`."""
    noun = next((row for row in range(first - 1, start, -1) if items[row].kind not in {"DET", "ADJ"}), start)
    if items[noun].text == "of" and items[noun - 1].kind == "NOUN":
        yield (items[last].number, f"{singular(items[noun - 1])}_of", items[first].number), False


def _of_pair(items: Sequence[SentenceItem], first: int, last: int) -> Iterator[tuple[Link, bool]]:
    between = items[first + 1 : last]
    kinds = [item.kind for item in between]
    content = [kind for kind in kinds if kind not in {"DET", "ADJ", "ADV", "NUMBER"}]
    noun = next((singular(item) for item in reversed(between) if item.kind == "NOUN"), "")
    head, tail = items[first].number, items[last].number
    if kinds == ["NOUN"] or (kinds[:1] == ["OF"] and noun and set(content) <= {"NOUN", "OF"}):
        yield (tail, f"{noun}_of", head), False
    elif kinds[:1] == ["COMMA"] and kinds[-1:] == ["PREP"] and set(content[1:-1]) == {"NOUN"}:
        yield (head, f"{noun}_{between[-1].text}", tail), False
    elif kinds[:1] == ["PREP"] and set(kinds[1:]) <= {"DET", "ADJ"} and between[0].text != "by":
        yield (head, between[0].text, tail), True
