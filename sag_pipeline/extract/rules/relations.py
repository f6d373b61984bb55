"""Derive triples without a model: relations are the words between two names, dates and amounts become properties."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import rjieba

from sag_pipeline.extract.rules.keys import TOPIC
from sag_retrieval.language.data import word_lists
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
from sag_retrieval.language.dates import dates
from sag_retrieval.language.words import fold, is_cjk, normal_name

_LONGEST_PATH: Final = 6
"""Words between two names; what stands farther apart is said of something else."""
_MOST_WORDS: Final = 4
"""Words of a relation: of more the first and the last two."""
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*|\d[\d.,]*|['’]s?\b|[^\w\s]")
_CLASSES: Final = {
    "BE": "be is are was were been being am 是 为 系",
    "NOT": "not never n't nor 不 没 没有 未 未曾 并未 并非",
    "BY": "by 被 由 遭",
    "LINK": """of in on at for from with to into onto over under about between among through during within without
        against as toward towards near across beyond via upon along above below
        在 于 向 对 从 自 给 以 把 将 按 至 往 对于""",
    "AND": "and or & , ， 、 和 与 及 同 以及 或",
    "OF": "'s ’s 的 之",
    "PRON": "he she it they 他 她 它 该 其",
    "STOP": """; : . ! ? ( ) — – | " “ ” when while where because although though if but than whose after before since
        until 。 ； ！ ？ ： （ ） 《 》""",
    "SMALL": """a an the this that these those its his her their our my your some any each every all both another such
        many several who which whom have has had having will would can could may might shall should must do does did
        also then later first
        了 过 着 已 已经 曾 曾经 正 正在 会 能 可 可以 应 应当 须 需 必须 将要 即将 均 都 也 还
        又 再 先后 共同 分别 同时 并 并且 进行 予以""",
}
"""Closed classes of words: what they do between two names."""
_CLASS: Final = {word: name for name, listed in _CLASSES.items() for word in listed.split()}
_ROLES: Final = word_lists("en")["ROLES"]


@dataclass(frozen=True, slots=True)
class _Item:
    """A word, a mark or a name; `kind` is what it does in a sentence."""

    text: str
    kind: str
    number: int = -1


@dataclass(slots=True)
class _Clause:
    """What has been read since the last border: who acts, the words since, and names that a preposition leads."""

    subjects: list[int] = field(default_factory=list)
    path: list[_Item] = field(default_factory=list)
    led: list[tuple[tuple[_Item, ...], int]] = field(default_factory=list)
    """Names before the verb, with the words that lead to them: `In Oslo`, `the capital of Norway`, 由马云."""
    last: tuple[_Item, ...] = ()
    """The words before the last object, which the next one shares: `Acme bought Beta and Gamma`."""
    is_joined: bool = False
    """Whether a comma or `and` was the last item."""

    def join(self) -> None:
        """Take a comma or `and`; what a name owns before it acted, not the name."""
        self.is_joined = True
        if self.path and self.path[0].kind == "OF":
            self.subjects = []

    def read(self, item: _Item) -> None:
        """Take a word: behind `and` a new predicate begins, behind an object a preposition goes on with its verb."""
        if item.kind == "DATE" and self.path and self.path[-1].kind == "LINK":
            self.path.pop()  # `on 3 May`
        if item.kind in ("SMALL", "DATE"):
            return
        if self.is_joined:
            self.path = []
        elif not self.path and self.last and item.kind == "LINK":
            self.path = list(self.last[:1])
        self.is_joined = False
        self.path.append(item)


def sentence_relations(content: str, names: Sequence[NameSpan], topic: int | None = None) -> list[Link]:
    """Relations that a sentence states between its names, in its order; passives by `by`, 被 and 由 are turned round.

    The subject is the first name of a clause that no preposition leads; what stands between it and a later name is the
    relation. A role or an owned noun alone between two names is what the second one is to the first.

    Args:
        content: The sentence, in English or Chinese.
        names: Places of names, without overlaps, and the number of each; -1 for a date or an amount.
        topic: Number of the name that `he`, `it`, 他 and 该 stand for as subjects, if any.

    Source:
        docs/algorithm.md §think-on-graph.1

    """
    found: dict[Link, None] = {}
    clause = _Clause()
    items = [*_items(content, names), _Item("", "STOP")]
    for row, item in enumerate(items):
        if item.kind in ("STOP", "AND"):
            found.update(dict.fromkeys(_acted(clause)))
            clause = _Clause() if item.kind == "STOP" else clause
            clause.join()
        elif item.kind == "NAME":
            found.update(dict.fromkeys(_of_name(clause, item.number, _nouns_behind(items, row + 1))))
        elif item.kind == "PRON" and topic is not None and not clause.subjects:
            clause.subjects = [topic]
        else:
            clause.read(item)
    return [link for link in found if link[0] != link[2] and link[1]]


def _items(content: str, names: Sequence[NameSpan]) -> Iterator[_Item]:
    place = 0
    for start, end, number in [*names, (len(content), len(content), -1)]:
        words = _TOKEN.findall(content, place, start)
        if is_cjk(content):
            words = [word for word, _ in rjieba.tag("".join(content[place:start].split()), hmm=False)]
        yield from (_Item(word.lower(), _kind(word.lower())) for word in words)
        if end > start:
            yield _Item(content[start:end], "NAME" if number >= 0 else "DATE", number)
        place = end


def _kind(word: str) -> str:
    if word in _CLASS:
        return _CLASS[word]
    return "WORD" if word[0].isalpha() and not word.endswith("ly") else "SMALL"


def _nouns_behind(items: Sequence[_Item], row: int) -> list[_Item]:
    """What a name owns by 的: 创始人 behind 阿里巴巴的."""
    if items[row].text not in ("的", "之"):
        return []
    end = row + 1
    while items[end].kind == "WORD":
        end += 1
    return list(items[row + 1 : end])


def _of_name(clause: _Clause, name: int, owned: Sequence[_Item]) -> Iterator[Link]:
    """The relations that end at a name; it becomes the subject of a clause that has none."""
    path, is_joined = tuple(clause.path), clause.is_joined
    clause.path, clause.is_joined = [], False
    if not clause.subjects:
        yield from _begun(clause, path, name)
    elif not path and not clause.last:
        clause.subjects = [*clause.subjects, name] if is_joined else [name]
    elif is_joined or not path:
        yield from _links(clause, clause.last, name)
    elif _is_owned(path):
        noun = _relation([item for item in path if item.kind == "WORD"])
        tail = noun if is_cjk(noun) else f"{noun}_of"
        yield from ((name, tail, subject) for subject in clause.subjects)
        clause.subjects = [name]
    elif is_cjk(path[-1].text) and (path[-1].kind == "BY" or all(item.kind == "LINK" for item in path)):
        clause.led.append((path, name))
    elif path[0].kind == "OF":
        clause.subjects = [name]  # what a name owns acts, not the name
    else:
        whole = (*(item for item in path if item.kind != "BE"), *owned[-1:]) if owned else path
        yield from _links(clause, whole, name)
        clause.last = path


def _begun(clause: _Clause, path: tuple[_Item, ...], name: int) -> Iterator[Link]:
    """A name before which none acts: led by a preposition, else the subject."""
    if path and path[-1].kind in ("LINK", "BY"):
        clause.led.append((path, name))
        return
    of = next((each for each in clause.led if len(each[0]) > 1), None)
    if of and path and all(item.kind == "BE" for item in path):
        yield name, _relation(of[0][-2:]), of[1]
    clause.subjects = [name]


def _links(clause: _Clause, path: tuple[_Item, ...], name: int) -> Iterator[Link]:
    for subject in clause.subjects:
        if path and path[-1].kind == "BY":
            yield name, _relation(path[:-1]), subject
        else:
            yield subject, _relation(path), name
        for lead, place in clause.led:
            if len(lead) == 1 and path:
                yield subject, _relation([path[0], *(lead if lead[0].text not in ("把", "将") else ())]), place
    clause.led = []


def _acted(clause: _Clause) -> Iterator[Link]:
    """What the agents of 被 and 由 do to the subject, at the end of their clause: 阿里巴巴由马云创立."""
    verb = [item for item in clause.path if item.kind == "WORD"][:1]
    if verb and not clause.is_joined:
        by = [name for path, name in clause.led if path[-1].kind == "BY" and is_cjk(path[-1].text)]
        yield from ((agent, verb[0].text, subject) for agent in by for subject in clause.subjects)


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

    Source:
        docs/algorithm.md §think-on-graph.1

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
    spans = sorted([*spans, *_outside(spans, [(date.start, date.end, -1) for date in dates(content, language)])])
    return sentence_relations(content, spans, about) if language == "en" or is_cjk(content) else []


def _outside(names: Sequence[NameSpan], spans: Iterable[NameSpan]) -> list[NameSpan]:
    starts = [start for start, _, _ in names]
    rows = ((bisect_left(starts, span[1]) - 1, span) for span in spans)
    return [span for row, span in rows if row < 0 or names[row][1] <= span[0]]


def places_of(names: Sequence[str], content: str) -> list[NameSpan]:
    """Where the names stand in a sentence, without overlaps: the first one counts, of two the longer."""
    text = content.lower()
    if len(text) != len(content):
        text = content
    found: list[NameSpan] = []
    for number, name in enumerate(names):
        wanted = name.lower()
        place = text.find(wanted)
        while wanted and place >= 0:
            end = place + len(wanted)
            if not (_joins(text, place) or _joins(text, end)):
                found.append((place, end, number))
            place = text.find(wanted, end)
    found.sort(key=lambda span: (span[0], -span[1], span[2]))
    kept: list[NameSpan] = []
    for span in found:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _joins(text: str, place: int) -> bool:
    """Whether a place lies inside a word written with spaces."""
    pair = text[max(0, place - 1) : place + 1]
    return 0 < place < len(text) and pair.isalnum() and not is_cjk(pair)


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
