"""Derive triples without a model: relations are the words between two names, dates and amounts become properties."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import rjieba

from sag_pipeline.extract.rules.keys import TOPIC
from sag_pipeline.extract.rules.names import NameIndex, longest_only, outside
from sag_pipeline.extract.triples import (
    ACTION_TYPES,
    SUBJECT_TYPES,
    Link,
    NameSpan,
    is_attribute,
    is_entity,
    make_triple,
    properties_of,
    relation_name,
)
from sag_retrieval.core.records import TITLE, Event, EventKey, Key, Triple
from sag_retrieval.language.data import patterns, word_lists, words_of_all
from sag_retrieval.language.dates import dates
from sag_retrieval.language.mentions import Mention
from sag_retrieval.language.words import fold, is_cjk, normal_name

_LONGEST_PATH: Final = 6
"""Words between two names; what stands farther apart is said of something else."""
_MOST_WORDS: Final = 4
"""Words of a relation: of more the first and the last two."""
_CLASS: Final = {
    word: kind
    for kind in ("BE", "NOT", "BY", "LINK", "AND", "OF", "PRON", "STOP", "SMALL")
    for word in words_of_all(f"{kind}_BETWEEN")
}
"""Word of a closed class → what it does between two names."""
_ROLES: Final = word_lists("en")["ROLES"]


class _Item(NamedTuple):
    """A word, a mark or a name; `kind` is what it does in a sentence."""

    text: str
    kind: str
    number: int = -1


def sentence_relations(content: str, names: Sequence[NameSpan], topic: int | None = None) -> list[Link]:
    """Relations that a sentence states between its names, in its order; passives by `by`, 被 and 由 are turned round.

    The subject is the first name of a clause that no preposition leads; the words between it and a later name are the
    relation. A role or an owned noun alone between two names is what the second one is to the first.

    Source: docs/algorithm.md §think-on-graph.1.
    """
    found: dict[Link, None] = {}
    clause = _Clause()
    items = [*_items(content, names), _Item("", "STOP")]
    for row, item in enumerate(items):
        if item.kind == "STOP":
            clause = _Clause()
        elif item.kind == "NAME":
            found.update(dict.fromkeys(clause.name(item.number, _noun_behind(items, row + 1))))
        elif item.kind == "PRON" and topic is not None and not clause.subjects:
            clause.subjects = [topic]
        else:
            found.update(dict.fromkeys(clause.word(item)))
    return [link for link in found if link[0] != link[2] and link[1]]


class _Clause:
    """What has been read since the last border: who acts, the words since, and the words before the last object."""

    def __init__(self) -> None:
        self.subjects: list[int] = []
        self._path: list[_Item] = []
        self._last: list[_Item] = []
        self._agent: int | None = None
        """Who acts by 被 or 由, before the verb."""
        self._is_joined = False

    def word(self, item: _Item) -> Iterator[Link]:
        """Take a word: behind `and` a new predicate begins, behind an object a preposition goes on with its verb."""
        if item.kind == "AND":
            self._is_joined = True
            if self._path and self._path[0].kind == "OF":
                self.subjects = []  # what a name owned acted, not the name
            return
        if item.kind == "DATE" and self._path and self._path[-1].kind == "LINK":
            self._path.pop()  # `on 3 May`
        if item.kind in ("SMALL", "DATE"):
            return
        if self._agent is not None and item.kind == "WORD":
            yield from ((self._agent, item.text, subject) for subject in self.subjects)
            self._agent = None
        if self._is_joined:
            self._path = []
        elif not self._path and self._last and item.kind == "LINK":
            self._path = self._last[:1]
        self._is_joined = False
        self._path.append(item)

    def name(self, name: int, noun: Sequence[_Item]) -> Iterator[Link]:
        """The relations that end at a name; it becomes the subject of a clause that has none."""
        path, is_joined = self._path, self._is_joined
        self._path, self._is_joined = [], False
        if not self.subjects:
            self.subjects = [] if path and path[-1].kind in ("LINK", "BY") else [name]
        elif not path and not self._last:
            self.subjects = [*self.subjects, name] if is_joined else [name]
        elif is_joined or not path:
            yield from self._links(self._last, name)
        elif _is_owned(path):
            said = _relation([item for item in path if item.kind == "WORD"])
            yield from ((name, said if is_cjk(said) else f"{said}_of", subject) for subject in self.subjects)
            self.subjects = [name]
        elif is_cjk(path[-1].text) and all(item.kind in ("LINK", "BY") for item in path):
            self._agent = name if path[-1].kind == "BY" else None
        elif path[0].kind == "OF":
            self.subjects = [name]  # what a name owns acts, not the name
        else:
            self._last = path
            yield from self._links([*(item for item in path if not noun or item.kind != "BE"), *noun], name)

    def _links(self, path: Sequence[_Item], name: int) -> Iterator[Link]:
        is_passive = bool(path) and path[-1].kind == "BY"
        said = _relation(path[:-1] if is_passive else path)
        for subject in self.subjects:
            yield (name, said, subject) if is_passive else (subject, said, name)


def _items(content: str, names: Sequence[NameSpan]) -> Iterator[_Item]:
    place = 0
    for start, end, number in [*names, (len(content), len(content), -1)]:
        words = patterns("all")["word_or_mark"].findall(content, place, start)
        if is_cjk(content):
            words = [word for word, _ in rjieba.tag("".join(content[place:start].split()), hmm=False)]
        yield from (_Item(word.lower(), _kind(word.lower())) for word in words)
        if end > start:
            yield _Item(content[start:end], "NAME" if number >= 0 else "DATE", number)
        place = end


def _kind(word: str) -> str:
    return _CLASS.get(word) or ("WORD" if word[0].isalpha() and not word.endswith("ly") else "SMALL")


def _noun_behind(items: Sequence[_Item], row: int) -> Sequence[_Item]:
    """The last noun that a name owns: 创始人 behind 阿里巴巴的."""
    end = row + 1
    while items[row].kind == "OF" and is_cjk(items[row].text) and items[end].kind == "WORD":
        end += 1
    return items[row + 1 : end][-1:]


def _is_owned(path: Sequence[_Item]) -> bool:
    """Whether words say what the second name is to the first: `'s founder`, ` chairman `, 的首都是, 创始人."""
    words = [item for item in path if item.kind == "WORD"]
    if not words or any(item.kind not in ("WORD", "OF", "BE") for item in path):
        return False
    if is_cjk(words[-1].text):
        is_noun = path[0].kind == "OF" or rjieba.tag(words[0].text, hmm=False)[0][1][:1] == "n"
        return len(words) == 1 and is_noun
    return path[0].kind == "OF" or all(item.text in _ROLES for item in words)


def _relation(path: Sequence[_Item]) -> str:
    """The name of a relation: its words; empty where too many stand between the names, or none says anything."""
    said = [item for item in path if item.kind != "OF"]
    bare = [item for item in said if item.kind != "BE"]
    if any(item.kind == "WORD" for item in bare) or (bare and bare[0].kind == "NOT"):
        said = bare
    if not said or len(said) > _LONGEST_PATH:
        return ""
    words = [item.text for item in said]
    gap = "" if is_cjk(words[0]) else "_"
    return gap.join(words if len(words) <= _MOST_WORDS else [*words[:2], *words[-2:]])


def derive_triples(
    document_id: str, events: Sequence[Event], keys: Sequence[EventKey], language: str = "en"
) -> list[Triple]:
    """Derive triples of one document from its events and keys.

    A relation is the event's action key, else what the sentence says between two of its names. Names that it links
    by no verb and no noun have no triple. Dates and amounts are properties of the triples.

    Source: docs/algorithm.md §think-on-graph.1.
    """
    carried: dict[str, list[Key]] = {}
    for link in keys:
        if link.document_id == document_id:
            carried.setdefault(link.event_id, []).append(link.key)
    own = [event for event in events if event.document_id == document_id]
    topic = _topic(own, carried)
    return [triple for event in own for triple in _of_event(event, carried.get(event.event_id, ()), topic, language)]


def _topic(events: Sequence[Event], carried: dict[str, list[Key]]) -> str:
    """Id of the title's key where the document speaks of something by its title; a file's name is no topic."""
    title = next((key for keys in carried.values() for key in keys if key.key_type == TITLE), None)
    if title is None:
        return ""
    name = normal_name(_name(title).partition(" (")[0])
    is_said = (
        any(name in normal_name(event.content) for event in events)
        if is_cjk(name)
        else any(f" {name} " in f" {normal_name(event.content)} " for event in events)
    )
    return title.key_id if name and is_said else ""


def _of_event(event: Event, keys: Sequence[Key], topic: str, language: str) -> Iterable[Triple]:
    named = [key for key in keys if _is_end(key)]
    action = next((relation_name(_name(key)) for key in keys if key.key_type in ACTION_TYPES and _name(key)), "")
    if action and named:
        subject = _subject(event, named)
        links = [(subject, action, number) for number in range(len(named))]
    else:
        links = _read(event.content, named, topic, language)
    properties = properties_of(keys)
    made: dict[str, Triple] = {}
    for head, relation, tail in links:
        if not _are_one(named[head], named[tail]):
            ends = [(_name(named[number]), named[number].key_id) for number in (head, tail)]
            triple = make_triple(event, ends[0], relation_name(relation), ends[1], properties)
            made.setdefault(triple.triple_id, triple)
    return list(made.values())


def _read(content: str, named: Sequence[Key], topic: str, language: str) -> list[Link]:
    spans = places_of([_name(key) for key in named], content)
    about = next((number for number, key in enumerate(named) if key.key_id == topic), None)
    if len({number for _, _, number in spans} | ({about} - {None})) <= 1:
        return []  # a relation has two ends
    named_at = [Mention(start, end, "", "") for start, end, _ in spans]
    others = outside(dates(content, language), named_at)
    spans = sorted([*spans, *((date.start, date.end, -1) for date in others)])
    return sentence_relations(content, spans, about) if language == "en" or is_cjk(content) else []


def places_of(names: Sequence[str], content: str) -> list[NameSpan]:
    """Where the names stand in a sentence, without overlaps: the first one counts, of two the longer."""
    text = content.lower()
    if len(text) != len(content):
        text = content
    numbers = {name.lower(): number for number, name in reversed(list(enumerate(names)))}
    index = NameIndex({name: ("", name) for name in numbers})
    return [(one.start, one.end, numbers[str(one.value)]) for one in longest_only(index.mentions(text))]


def _subject(event: Event, named: Sequence[Key]) -> int:
    """The key of a subject type that stands first in the event, else the title, else the first one."""
    text = fold(event.content)

    def rank(number: int) -> tuple[int, int, int]:
        key = named[number]
        place = text.find(fold(_name(key)))
        kind = 0 if key.key_type.casefold() in SUBJECT_TYPES else 1 if key.key_type == TITLE else 2
        return kind, place if place >= 0 else len(text), number

    return min(range(len(named)), key=rank)


def _are_one(one: Key, other: Key) -> bool:
    """Whether two names are one, or one begins with the other: Acme and Acme Inc."""
    names = normal_name(_name(one)), normal_name(_name(other))
    return names[0].startswith(names[1]) or names[1].startswith(names[0])


def _is_end(key: Key) -> bool:
    name = key.value_string
    if name is None or key.key_type in ACTION_TYPES or key.key_type == TOPIC:
        return False
    return is_entity(name) and not is_attribute(key.key_type, name)


def _name(key: Key) -> str:
    return key.value_string or ""
