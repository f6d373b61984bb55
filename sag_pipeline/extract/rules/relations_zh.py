"""Read relations from Chinese sentences: the verb or the noun that links two names, 被 and 由 turned round."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise, takewhile
from typing import Final

import rjieba

from sag_pipeline.extract.triples import Link, NameSpan

_CLASSES: Final = {
    "IS": "是 为 系 即",
    "BY": "被 由 遭",
    "OBJ": "把 将",
    "WITH": "与 和 同 跟 及 以及 或 、",
    "PREP": "在 于 向 对 从 自 给 以 因 按 至 往 随 经 通过 对于 关于 根据 按照",
    "OF": "的 之",
    "NOT": "不 没 没有 未 未曾 并未 并非 无 无法",
    "MODAL": """能 能够 会 可 可以 可能 应 应当 应该 须 必须 需 需要 要 想 愿意 希望 打算
        计划 拟 继续 开始 决定 宣布 表示 称 说 予以 进行 已 已经 曾 曾经 正 正在 将要
        即将 均 都 也 还 又 再 先后 共同 分别 同时 并 并且""",
    "STOP": '；。！？;!?：:（）()“”"《》—',
    "COMMA": "， ,",
    "PRON": "他 她 它 他们 她们 该 其 此 本",
}
"""Closed classes of Chinese grammar and punctuation; verbs that only lead to another verb."""
_CLASS: Final = {word: name for name, listed in _CLASSES.items() for word in listed.split()}
_BEHIND_VERB: Final = frozenset("于为至到给在成自向入出")
_CLAUSE: Final = frozenset({"VERB", "IS", "MODAL", "NOT", "PREP", "BY", "OBJ"})
_ASPECT: Final = frozenset("了过着")
_PIECE: Final = re.compile(r"\s+")
_NEAR: Final = 50
"""Words behind a verb that may be its object."""
_LONGEST: Final = 12
"""Characters of a relation."""


@dataclass(slots=True)
class _Item:
    """A word, a punctuation mark or a name; `kind` is its class in the sentence."""

    text: str
    kind: str
    number: int = -1


@dataclass(slots=True)
class _Verb:
    """A verb: items `start` to before `end`, with the words that belong to it."""

    start: int
    end: int
    name: str
    """The verb with its suffix: 出售给."""
    base: str = ""
    """The verb alone: 出售."""
    is_copula: bool = False
    has_object: bool = False
    """Whether a name stands between it and the next comma."""
    subjects: list[int] = field(default_factory=list)
    agents: list[int] = field(default_factory=list)
    before: list[tuple[int, str]] = field(default_factory=list)
    """Names before the verb that depend on a preposition, with that preposition."""


def chinese_relations(content: str, names: Sequence[NameSpan], topic: int | None = None) -> list[Link]:
    """Relations that a Chinese sentence states between its names, in its order.

    Args:
        content: The sentence.
        names: Places of names, without overlaps, and the number of each; -1 for a date or an amount.
        topic: Number of the name that 他, 该 and 其 stand for as subjects, if any.

    Source:
        docs/algorithm.md §think-on-graph.1

    """
    items = _items(content, names)
    verbs = _verbs(items)
    found: dict[Link, None] = {}
    for row, verb in enumerate(verbs):
        _read_before(items, verbs[row - 1] if row else None, verb, topic)
    for row, verb in enumerate(verbs):
        end = verbs[row + 1].start if row + 1 < len(verbs) else len(items)
        found.update(dict.fromkeys(_of_verb(items, verb, end)))
    linked = {frozenset((head, tail)) for head, _, tail in found}
    found.update({link: None for link in _of_nouns(items) if frozenset((link[0], link[2])) not in linked})
    return [link for link in found if link[0] != link[2]]


def _items(content: str, names: Sequence[NameSpan]) -> list[_Item]:
    items: list[_Item] = []
    place = 0
    for start, end, number in [*names, (len(content), len(content), -1)]:
        words = rjieba.tag(_PIECE.sub("", content[place:start]), hmm=False)
        items += [_Item(word, _CLASS.get(word) or _kind(word, tag)) for word, tag in words]
        if end > start:
            items.append(_Item(content[start:end], "NAME" if number >= 0 else "OTHER", number))
        place = end
    for row, item in enumerate(items):
        item.kind = _kind_in(items, row)
    return items


def _kind_in(items: Sequence[_Item], row: int) -> str:
    """The class of an item by its neighbours."""
    item = items[row]
    before = items[row - 1] if row else None
    after = items[row + 1] if row + 1 < len(items) else None
    if before and before.kind == "OF" and len(item.text) > 1 and item.kind in {"OTHER", "VERB", "VN"}:
        return "NOUN"
    if before and before.kind == "VERB" and item.text in _BEHIND_VERB:
        return "SUFFIX"
    if item.kind in {"NOUN", "VN"} and after and len(item.text) > 1:
        is_led = after.text in _ASPECT or after.text in {"于", "给", "至", "自"}
        return "VERB" if is_led or (item.kind == "VN" and after.kind == "NAME") else "NOUN"
    return "NOUN" if item.kind == "VN" else item.kind


def _kind(word: str, tag: str) -> str:
    if tag[:1] == "v":
        return "VN" if tag == "vn" else "VERB"
    if tag[:1] == "n" or tag in {"l", "j"}:
        return "NOUN"
    return "ASPECT" if word in _ASPECT else "STOP" if tag == "x" and not word.isalnum() else "OTHER"


def _verbs(items: Sequence[_Item]) -> list[_Verb]:
    found: list[_Verb] = []
    row = 0
    while row < len(items):
        item = items[row]
        if item.kind == "IS" and not _is_suffix(items, row):
            found.append(_Verb(row, row + 1, item.text, is_copula=True))
        elif item.kind == "VERB" and (row + 1 == len(items) or items[row + 1].kind not in {"VERB", "OF"}):
            found.append(_verb(items, row))
            row = found[-1].end - 1
        row += 1
    return found


def _is_suffix(items: Sequence[_Item], row: int) -> bool:
    """Whether 为 belongs to the verb before it: 更名为."""
    return row > 0 and items[row].text == "为" and items[row - 1].kind == "VERB"


def _verb(items: Sequence[_Item], row: int) -> _Verb:
    """The verb at a place with its suffix (于, 为, 给) and a negation before it."""
    base = name = items[row].text
    end = row + 1
    while end < len(items) and (items[end].text in _ASPECT or items[end].kind == "SUFFIX"):
        name += items[end].text if items[end].kind == "SUFFIX" else ""
        end += 1
    start = row
    while start > 0 and items[start - 1].kind in {"MODAL", "NOT", "VERB"}:
        start -= 1
    led = items[start - 1].kind if start else ""
    mark = "未" if any(item.kind == "NOT" for item in items[start:row]) else "被" if led == "BY" else ""
    has_object = any(item.kind == "NAME" for item in _until_comma(items, end))
    return _Verb(start, end, mark + name, mark.strip("被") + base, has_object=has_object)


def _until_comma(items: Sequence[_Item], start: int) -> Iterator[_Item]:
    """The items up to a comma; of a run without one only the next few."""
    return takewhile(lambda item: item.kind not in {"STOP", "COMMA"}, islice(items, start, start + _NEAR))


def _read_before(items: Sequence[_Item], earlier: _Verb | None, verb: _Verb, topic: int | None) -> None:
    """Sort the names between the verb before and this one: subjects, agents of 被, and those of prepositions."""
    first = earlier.end if earlier else 0
    first = max([first, *(row + 1 for row in range(first, verb.start) if items[row].kind == "STOP")])
    clause = max([first, *(row + 1 for row in range(first, verb.start) if items[row].kind == "COMMA")])
    is_object = earlier is not None and clause == earlier.end
    governor, subjects = "", list[int]()
    for row in range(first if not earlier else clause, verb.start):
        item = items[row]
        if item.kind in {"BY", "OBJ", "PREP"} or (item.kind == "WITH" and _is_comitative(items, row, verb.start)):
            governor = item.text
        elif item.kind == "COMMA":
            governor = ""
        elif item.kind == "NAME" and governor:
            _govern(verb, governor, item.number, is_near=row >= clause)
        elif item.kind == "NAME" and (row + 1 == verb.start or not (is_object or _is_owner(items, row))):
            is_joined = bool(subjects) and items[row - 1].kind == "WITH"
            subjects = [*subjects, item.number] if is_joined else [item.number]
    verb.subjects = subjects or _carried(items[clause : verb.start], earlier, verb, topic, is_object=is_object)


def _govern(verb: _Verb, governor: str, number: int, *, is_near: bool) -> None:
    if _CLASS[governor] == "BY":
        verb.agents.append(number)
    elif is_near and len(verb.base) > 1:
        verb.before.append((number, governor))


def _carried(
    clause: Sequence[_Item], earlier: _Verb | None, verb: _Verb, topic: int | None, *, is_object: bool
) -> list[int]:
    """Subjects of a verb without one of its own: those of the verb before, or what the document is about."""
    nouns = [] if is_object else [item.text for item in clause if item.kind in {"NOUN", "NAME"}]
    before = earlier.subjects if earlier else []
    if topic is not None and any(item.kind == "PRON" for item in clause):
        return [topic]
    if not nouns:
        return before
    if earlier and nouns == [clause[0].text] and verb.name.endswith("于") and not earlier.has_object:
        verb.name = nouns[0] + verb.name
        return before
    return []


def _is_comitative(items: Sequence[_Item], row: int, end: int) -> bool:
    """Whether 与 leads to the other party of the verb: no object follows that verb."""
    if items[row].text not in {"与", "和", "同", "跟"} or row == 0:
        return False
    return items[row - 1].kind == "NAME" and not any(item.kind == "NAME" for item in _until_comma(items, end + 1))


def _is_owner(items: Sequence[_Item], row: int) -> bool:
    """Whether a name only tells whose the next noun is: 华为的股东."""
    return row + 1 < len(items) and items[row + 1].kind == "OF"


def _of_verb(items: Sequence[_Item], verb: _Verb, end: int) -> Iterator[Link]:
    objects = list(_objects(items, verb, end))
    if verb.is_copula:
        for number, noun in objects:
            yield from ((subject, noun or "是", number) for subject in verb.subjects)
        return
    noun = _object_noun(items, verb, end)
    if verb.agents:
        yield from ((agent, verb.base, subject) for agent in verb.agents for subject in verb.subjects)
    for subject in verb.subjects if not verb.agents else verb.agents:
        yield from ((subject, _cut(verb.name + of), number) for number, of in objects)
        for number, governor in verb.before:
            yield subject, _cut(_with_preposition(verb, governor, noun)), number


def _with_preposition(verb: _Verb, governor: str, noun: str) -> str:
    if _CLASS[governor] == "OBJ":
        return verb.base
    return f"{verb.base}于" if governor in {"在", "于"} else verb.name + noun


def _objects(items: Sequence[_Item], verb: _Verb, end: int) -> Iterator[tuple[int, str]]:
    """The names behind a verb, and the noun that each is followed by: 收购 B 的 股份."""
    is_governed = False
    last = -2
    for row in range(verb.end, end):
        item = items[row]
        if item.kind in {"STOP", "COMMA"}:
            return
        if item.kind in {"PREP", "BY", "OBJ"}:
            is_governed = True
        if item.kind == "NAME" and not is_governed:
            if last >= 0 and items[row - 1].kind != "WITH":
                return
            if row + 1 < len(items) and items[row + 1].kind in _CLAUSE:  # 证明他参与: the name begins a clause
                return
            yield item.number, _noun_behind(items, row)
            last = row


def _noun_behind(items: Sequence[_Item], row: int) -> str:
    place = row + 1
    if place < len(items) and items[place].kind == "OF":
        place += 1
    nouns = []
    while place < len(items) and items[place].kind == "NOUN" and len(items[place].text) > 1:
        nouns.append(items[place].text)
        place += 1
    is_whole = place >= len(items) or items[place].kind not in {"OF", "NAME"}
    return nouns[-1] if nouns and is_whole else ""


def _object_noun(items: Sequence[_Item], verb: _Verb, end: int) -> str:
    """The last noun of the object: 签署 战略 合作 协议."""
    nouns = []
    for item in items[verb.end : end]:
        if item.kind in {"STOP", "COMMA", "NAME", "IS", "BY"}:
            break
        if item.kind == "NOUN":
            nouns.append(item.text)
    return nouns[-1] if nouns else ""


def _of_nouns(items: Sequence[_Item]) -> Iterator[Link]:
    """Relations by one noun between two neighbouring names: 阿里巴巴创始人马云, 挪威的首都是奥斯陆."""
    rows = [row for row, item in enumerate(items) if item.kind == "NAME"]
    for first, last in pairwise(rows):
        between = [item for item in items[first + 1 : last] if item.kind not in {"OF", "IS"}]
        if len(between) == 1 and between[0].kind == "NOUN" and len(between[0].text) > 1:
            yield items[last].number, between[0].text, items[first].number


def _cut(relation: str) -> str:
    return relation[:_LONGEST]
