"""Texts that make expressions and rules slow, what they are tried on, and how growth is measured."""

import ast
import importlib
import itertools
import pkgutil
import re
import time
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from re import _constants as parsed_as  # type: ignore[attr-defined]  the only way to a pattern's parts
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from sag_retrieval.language import data, spans

Parts = Any
"""What the parser of expressions makes: it defines no types."""
PACKAGES = ("sag_retrieval", "sag_pipeline")
USES: dict[str, Callable[[re.Pattern[Any], Any], object]] = {
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "search": lambda pattern, text: pattern.search(text),
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
}
"""What a pattern can be used for; `sub`, `split` and `findall` look for it as `finditer` does."""
_USED_AS = {"sub": "finditer", "subn": "finditer", "split": "finditer", "findall": "finditer"}

SEEDS = (
    *" \t\n\r\u3000\u00a0\"'`*_|-=~#:.,;!?0a一A(<[{\\/@&$%+·•。，、；：！？…“”‘’「」『』《》（）【】\u0301\x00\ud800",
    "<!--",
    "-->",
    "<think>",
    "</think>",
    "</",
    "<decision>",
    "[](",
    "![](",
    "](",
    '"( ',
    "( ",
    "** ",
    "**a",
    "__a",
    "```\n",
    "\n```json\n{",
    "\n{",
    "{{[",
    '{"a":',
    '"a",',
    '"\n',
    "\\\\",
    '\\"',
    "[1] ",
    "[1,",
    "【1】",
    "#q1 ",
    "{q1",
    " \n",
    "a\n\n",
    "a ",
    "A. ",
    "a.",
    "A.B",
    "Ab ",
    "Ann Lee ",
    "Ann Lee said. ",
    "AB-",
    "A'A",
    "1.",
    "1,",
    "1,234",
    "1.2.3 ",
    "1 ",
    "10% ",
    "$5 million ",
    "2019-03-05 ",
    "2019年3月",
    "March 5, 2019. ",
    "|a|b|\n",
    "|---",
    "|-",
    "- a\n",
    "1. a\n",
    "# a\n",
    "# a\n\nb.\n\n",
    "（a）",
    "（",
    "《一",
    "“一",
    "一“",
    "一 ",
    "一\n",
    "一。",
    "。”",
    ".”",
    "一二，",
    "王",
    "王明说",
    "公司",
    "集团公司",
    "北京市",
    "张三·李四",
    "一·",
    "第一章",
    "（以下简称",
    "Full Name (FN) ",
    "who and ",
    "，谁",
    "the of ",
    "It's ",
    "d’",
    "x\u0301",
    "e\u0301\u0327",
    "ﷺ",
    "ß",
    "İ",
    "U.S. ",
    "Dr. ",
    "www.a.b/c?d=e&",
    "http://",
)
"""What is repeated; more is made of each pattern's own parts."""

CORE = (
    *' \n"*_|-#.a一(<[{。“（\u0301',
    "<!--",
    "<think>",
    "[](",
    "[1,",
    "|-",
    "e\u0301\u0327",
    "A.B",
    "1,234",
    "Ann Lee said. ",
    "# a\n\nb.\n\n",
    "公司",
    "张三·李四",
    "王明说",
    "2019年3月",
    "March 5, 2019. ",
    "William the ",
    "University of ",
    "并且",
)
"""The seeds of the quick form."""


@dataclass(frozen=True)
class Found:
    """A pattern of the packages, where it stands and what it is used for."""

    name: str
    pattern: re.Pattern[Any]
    uses: tuple[str, ...]


@lru_cache(maxsize=1)
def modules() -> tuple[types.ModuleType, ...]:
    """Every module of both packages; of doors those whose packages are installed."""
    packages = list(map(importlib.import_module, PACKAGES))
    inside = [
        _imported(info.name)
        for package in packages
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    return (*packages, *filter(None, inside))


def _imported(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        if not name.startswith("sag_retrieval.serve."):
            raise
        return None  # a door to a package that is an extra


def patterns() -> list[Found]:
    """Every pattern that a module holds, by itself or inside a list, with the methods called on it there.

    With those of the data of languages, which are made where they are first used; any method may be called on them.
    """
    found: dict[int, Found] = {id(each.pattern): each for each in _of_languages()}
    for module in modules():
        own = {name: value for name, value in vars(module).items() if not name.startswith("__")}
        used = methods_called(module)
        for name, value in own.items():
            for at, pattern in enumerate(_patterns_in(value)):
                uses = used.get(name) or set(USES)
                before = found[id(pattern)].uses if id(pattern) in found else ()
                label = f"{module.__name__}.{name}" + (f"[{at}]" if not isinstance(value, re.Pattern) else "")
                found[id(pattern)] = Found(label, pattern, _telling_uses({*before, *uses}))
    return list(found.values())


def _of_languages() -> Iterator[Found]:
    """The expressions of the data of languages that are called by their names, by what is called on them."""
    called = _called_by_name()
    for language in data.languages():
        for name, pattern in data.patterns(language).items():
            uses = {use for start, each in called.items() if name.startswith(start) for use in each}
            if uses:
                yield Found(f"{data.__name__}.{language}[{name}]", pattern, _telling_uses(uses))
    for name in {name for own in data.language_tables("revising.toml") for name in own["patterns"]}:
        yield Found(f"{spans.__name__}[{name}]", spans.revising(name), ("finditer",))
    for table in ("patterns", "kinds", "values"):
        for name in {name for own in data.language_tables("asking.toml") for name in own.get(table, {})}:
            yield Found(f"{data.__name__}[{name}]", data.asking(name, table), ("finditer",))


def _called_by_name() -> dict[str, set[str]]:
    """By the name in `patterns(…)[name]`, or by how it begins, what is called on such an expression."""
    called: dict[str, set[str]] = {}
    for module in modules():
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Subscript):
                name = node.value.slice.values[0] if isinstance(node.value.slice, ast.JoinedStr) else node.value.slice
                use = _USED_AS.get(node.attr, node.attr)
                if use in USES and isinstance(name, ast.Constant) and isinstance(name.value, str):
                    called.setdefault(name.value, set()).add(use)
    return called


def _telling_uses(uses: set[str]) -> tuple[str, ...]:
    """The uses that need trying: who looks for every place also looks for the first, and begins at the start."""
    return tuple(sorted(uses - ({"search", "match"} if "finditer" in uses else set())))


def methods_called(module: types.ModuleType) -> dict[str, set[str]]:
    """By name of a pattern what is called on it; a name that is also handed on could be used for anything."""
    tree = _tree(module)
    called: dict[str, set[str]] = {}
    owners = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owners.add(id(node.value))
            use = _USED_AS.get(node.attr, node.attr)
            if use in USES:
                called.setdefault(node.value.id, set()).add(use)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in owners:
            called.setdefault(node.id, set()).update(USES)
    return called


def written_in_functions() -> list[str]:
    """Places where `re` is asked for anything but a pattern of the module: nothing tries such an expression."""
    return [f"{module.__name__}:{line}" for module in modules() for line in lines_in_functions(_tree(module))]


def lines_in_functions(tree: ast.Module) -> list[int]:
    """Lines of functions where `re` is asked for anything but a pattern of the module."""
    return [
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr != "escape"
    ]


def _tree(module: types.ModuleType) -> ast.Module:
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8")) if module.__file__ else ast.Module([], [])


def _patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif type(value) in (tuple, list, set, frozenset):
        for item in value:
            yield from _patterns_in(item)
    elif type(value) is dict:
        for item in value.values():
            yield from _patterns_in(item)


@cache
def attacks_on(pattern: re.Pattern[Any], most: int = 150) -> list[tuple[str, str, str]]:
    """Texts made of a pattern's own parts: (head, repeated, tail)."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(source, pattern.flags & ~re.DEBUG)
    pumps = dict.fromkeys(sample for sample in _parts(tree) if 0 < len(sample) <= 40)
    whole = _sample(tree)
    made: dict[tuple[str, str, str], None] = {}
    for head, pump in _repeats(tree, ""):
        for item in pump:
            made[(head, item, "\x00")] = None
            if head:
                made[("", head + item, "\x00")] = None
    if whole and len(whole) <= 200:
        made[("", whole, "")] = None
    for pump in pumps:
        made[("", pump, "\x00")] = None
    return list(made)[:most]


def _repeats(tree: Parts, head: str) -> Iterator[tuple[str, list[str]]]:
    """Every repetition, with what leads to it and what it repeats."""
    for op, argument in tree:
        if op in _REPEATS and argument[1] > _FEW:
            yield head, list(dict.fromkeys(filter(None, _variants(argument[2]))))
        for body in _bodies(op, argument):
            yield from _repeats(body, head)
        head += _one(op, argument) or _deep(op, argument)


def _parts(tree: Parts) -> Iterator[str]:
    """A text that each run of neighbouring parts matches, at every depth."""
    items = list(tree)
    samples = [_one(op, argument) or _deep(op, argument) for op, argument in items]
    for first, last in itertools.combinations(range(len(samples) + 1), 2):
        if last - first <= 4:
            yield "".join(samples[first:last])
    for op, argument in items:
        for body in _bodies(op, argument):
            yield from _parts(body)
            yield from _variants(body)


def _bodies(op: object, argument: Parts) -> list[Any]:
    if op in _REPEATS:
        return [argument[2]]
    if op is parsed_as.SUBPATTERN:
        return [argument[-1]]
    if op is parsed_as.BRANCH:
        return list(argument[1])[:12]
    if op in (parsed_as.ASSERT, parsed_as.ASSERT_NOT):
        return [argument[1]]
    return [argument] if op is parsed_as.ATOMIC_GROUP else []


def _variants(body: Parts) -> list[str]:
    """Several texts for one body: another character of a class, another branch."""
    items = list(body)
    if len(items) == 1:
        op, argument = items[0]
        if op is parsed_as.IN:
            return _members(argument)
        if op is parsed_as.BRANCH:
            return [_sample(branch) for branch in argument[1]][:12]
        if op is parsed_as.SUBPATTERN:
            return _variants(argument[-1])
    return [_sample(body)]


def _sample(tree: Parts) -> str:
    return "".join(_one(op, argument) or _deep(op, argument) for op, argument in tree)


def _deep(op: object, argument: Parts) -> str:
    if op in _REPEATS:
        return _sample(argument[2]) * max(1, min(argument[0], 30))
    if op is parsed_as.SUBPATTERN:
        return _sample(argument[-1])
    if op is parsed_as.ATOMIC_GROUP:
        return _sample(argument)
    return _sample(argument[1][0]) if op is parsed_as.BRANCH else ""


_REPEATS = (parsed_as.MAX_REPEAT, parsed_as.MIN_REPEAT, parsed_as.POSSESSIVE_REPEAT)
_FEW = 8
_OF_CATEGORY = {
    parsed_as.CATEGORY_DIGIT: "1",
    parsed_as.CATEGORY_SPACE: " ",
    parsed_as.CATEGORY_WORD: "a",
    parsed_as.CATEGORY_NOT_DIGIT: "a",
    parsed_as.CATEGORY_NOT_SPACE: "a",
    parsed_as.CATEGORY_NOT_WORD: "!",
}


def _one(op: object, argument: Parts) -> str:
    if op is parsed_as.LITERAL:
        return chr(argument)
    if op is parsed_as.NOT_LITERAL:
        return "a" if argument != ord("a") else "b"
    if op is parsed_as.ANY:
        return "a"
    return _members(argument)[0] if op is parsed_as.IN else ""


def _members(items: Parts) -> list[str]:
    """A character of each part of a class, at most eight."""
    if items[0][0] is parsed_as.NEGATE:
        barred = re.compile("[" + "".join(map(_written, items[1:])) + "]")
        return [c for c in 'a1 一."(\n' if not barred.match(c)][:3] or ["\x01"]
    found: list[str] = []
    for op, argument in items:
        if op is parsed_as.LITERAL:
            found.append(chr(argument))
        elif op is parsed_as.RANGE:
            found.append(chr(argument[0]))
        elif op is parsed_as.CATEGORY:
            found.append(_OF_CATEGORY[argument])
    return list(dict.fromkeys([*found[:6], *found[-2:]]))


def _written(item: Parts) -> str:
    op, argument = item
    if op is parsed_as.LITERAL:
        return re.escape(chr(argument))
    if op is parsed_as.RANGE:
        return f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
    return {"1": r"\d", " ": r"\s", "a": r"\w"}.get(_OF_CATEGORY[argument], "")


def text_of(attack: tuple[str, str, str], size: int) -> str:
    """The attack as a text of about this number of characters."""
    head, pump, tail = attack
    return head + pump * max(1, size // len(pump)) + tail


def plain_attacks() -> list[tuple[str, str, str]]:
    """Each seed repeated, alone and with something behind it."""
    return [("", seed, tail) for seed in (*SEEDS, *CORE) for tail in ("", "a")]


def quick_attacks() -> list[tuple[str, str, str]]:
    """The seeds of the quick form, repeated."""
    return [("", seed, "") for seed in CORE]


SHORT, LONG = 0.005, 2.5
"""A time is compared from this number of seconds on; doubling the text may multiply it by so much."""
_PLAIN = 2.1
"""A doubled text that takes less than this number of times as long, once the time can be told, shows no square.

A square that is a quarter of the time at five times the size, where the ratio is over `LONG`, shows a ratio of 2.12.
"""
_CHECKS = 3
_UNDISTURBED = 0.2
"""From this number of seconds on one run tells: what else a machine does takes some milliseconds of it."""
_FIRST, _STEP = 128, 16
_ENORMOUS = 1 << 22
_ENDLESS = 2.0


@dataclass(frozen=True)
class Growth:
    """How the time grew when the text was doubled: the least of several trials."""

    ratio: float
    seconds: float
    size: int


def seconds(run: Callable[[str], object], text: str, times: int = 1) -> float:
    """The least processor time of several runs."""
    return min(_once(run, text) for _ in range(times))


def least_seconds(run: Callable[[str], object], text: str) -> float:
    """The least processor time of three runs; of one where it is so long that nothing disturbs it much."""
    first = _once(run, text)
    return first if first > _UNDISTURBED else min(first, seconds(run, text, 2))


def _once(run: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    run(text)
    return time.process_time() - start


def growth(
    run: Callable[[str], object], attack: tuple[str, str, str], *, largest: int, quick: float = SHORT / 2
) -> Growth:
    """How the time of `run` grows with the attack; 1 where the largest text is read at once.

    The text is made longer until it takes `quick` seconds; only then times tell. A ratio over the bound is measured
    again with a text twice as long, for a busy machine slows one measurement and not three.
    """
    size = _telling_size(run, attack, largest, quick)
    if size is None:
        return Growth(1.0, quick, largest)
    short, long = (least_seconds(run, text_of(attack, length)) for length in (size, 2 * size))
    if long <= _PLAIN * short:
        return Growth(long / short, long, 2 * size)
    best = Growth(float("inf"), 0.0, size)
    for _ in range(_CHECKS):
        while (short := seconds(run, text_of(attack, size), 2)) < SHORT and size < _ENORMOUS:
            size *= 2
        short = min(short, seconds(run, text_of(attack, size), 2))
        long = seconds(run, text_of(attack, 2 * size), 3)
        best = min(best, Growth(long / short, long, 2 * size), key=lambda tried: tried.ratio)
        if best.ratio <= LONG or long > _ENDLESS:
            return best
        size *= 2
    return best


def _telling_size(run: Callable[[str], object], attack: tuple[str, str, str], largest: int, quick: float) -> int | None:
    """The size from which the time can be told; None where even the largest text is read at once."""
    size = _FIRST
    while size <= largest:
        if seconds(run, text_of(attack, size)) > quick:
            return size
        size = largest if size < largest < size * _STEP else size * _STEP
    return None


def grown(
    run: Callable[[str], object], attacks: Iterable[tuple[str, str, str]], *, largest: int, quick: float = SHORT / 2
) -> list[tuple[Growth, tuple[str, str, str]]]:
    """Attacks under which a doubled text takes more than `LONG` times as long, the worst first."""
    tried = [(growth(run, attack, largest=largest, quick=quick), attack) for attack in attacks]
    return sorted((pair for pair in tried if pair[0].ratio > LONG), key=lambda pair: -pair[0].ratio)


def used(pattern: re.Pattern[Any], use: str) -> Callable[[str], object]:
    """The use of a pattern on a text, which is encoded for a pattern of bytes."""
    run = USES[use]
    if isinstance(pattern.pattern, bytes):
        return lambda text: run(pattern, text.encode("utf-8", "surrogatepass"))
    return lambda text: run(pattern, text)
