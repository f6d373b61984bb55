"""Give values the types of a schema: a number, date, word or yes/no near the name of its type."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sag_pipeline.extract.typed_values import ValueRefused, typed_keys
from sag_retrieval.core.key_schema import KeyType, KeyTypes
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.language.amounts import WrittenAmount, in_unit
from sag_retrieval.language.data import patterns
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.mentions import Mention
from sag_retrieval.language.quantities import MONEY, PERCENTAGE, QUANTITY, quantities
from sag_retrieval.language.words import is_cjk

_AMOUNTS = frozenset({MONEY, PERCENTAGE, QUANTITY})
_NEAR = 32
"""Characters between a name and its value, at most."""
_BREAK = patterns("all")["value_break"]
"""What no value belongs across."""


class _Named(NamedTuple):
    """Where a type's name stands."""

    start: int
    end: int
    key_type: KeyType


@lru_cache(maxsize=64)
def _own_types(types: KeyTypes) -> tuple[KeyType, ...]:
    """The types that the rules cannot know by themselves: those that the default schema does not have."""
    usual = set(default_schema().types)
    return tuple(each for each in types if each not in usual)


@lru_cache(maxsize=64)
def _left_out(types: KeyTypes) -> frozenset[str]:
    """The default types that a schema does not have."""
    return frozenset(each.name for each in default_schema().types if each.name not in types)


@lru_cache(maxsize=256)
def _pattern(key_type: KeyType) -> re.Pattern[str]:
    """All names of a type; Latin ones as whole words, singular or plural."""
    names = sorted({name.replace("_", " ") for name in key_type.names}, key=lambda name: (-len(name), name))
    forms = [re.escape(name) if is_cjk(name) else rf"(?<!\w){re.escape(name)}s?(?!\w)" for name in names]
    return re.compile("|".join(forms), re.IGNORECASE)


def with_own_types(content: str, mentions: Sequence[Mention], types: KeyTypes, language: str) -> list[Mention]:
    """The mentions of an event in the types of a schema.

    An amount near the name of a type of its own has that type, in the type's unit; of several names the nearest one
    counts. A date near one keeps being a date besides. Types that the schema leaves out are not extracted.
    """
    if types == default_schema().default:
        return list(mentions)
    own = _own_types(types)
    named = [_Named(found.start(), found.end(), each) for each in own for found in _pattern(each).finditer(content)]
    typed = list(_typed(content, named, language)) if named else []
    replaced = {(source.value, source.unit) for source, _ in typed if source.key_type in _AMOUNTS}
    left_out = _left_out(types)
    kept = [
        each
        for each in mentions
        if each.key_type not in left_out and not (each.key_type in _AMOUNTS and (each.value, each.unit) in replaced)
    ]
    return [*kept, *(mention for _, mention in typed)]


def _typed(content: str, named: Sequence[_Named], language: str) -> Iterator[tuple[Mention, Mention]]:
    """Each value with what it is by itself and by the name near it."""
    exact = [*quantities(content, language), *dates(content, language)]
    spans = [(each.start, each.end) for each in exact] + [(each.start, each.end) for each in named]
    bare = [
        Mention(found.start(), found.end(), QUANTITY, float(found[0].replace(",", "")))
        for found in patterns("all")["bare_number"].finditer(content)
        if not any(start < found.end() and found.start() < end for start, end in spans)
    ]
    for mention in (*exact, *bare):
        if found := _nearest(content, mention, named):
            yield mention, found
    for each in named:
        yield from _said(content, each)


def _nearest(content: str, mention: Mention, named: Iterable[_Named]) -> Mention | None:
    """A mention in the type of the nearest name that takes such a value."""
    best: tuple[int, int, Mention] | None = None
    for each in named:
        start, end = (each.end, mention.start) if each.end <= mention.start else (mention.end, each.start)
        if not 0 <= end - start <= _NEAR or _BREAK.search(content[start:end]):
            continue
        made = _as_type(mention, each.key_type)
        if made is not None and (best is None or (end - start, start) < best[:2]):
            best = (end - start, start, made)
    return best[2] if best else None


def _as_type(mention: Mention, key_type: KeyType) -> Mention | None:
    if mention.key_type == DATE:
        return mention._replace(key_type=key_type.name) if key_type.kind == "date" else None
    if mention.key_type not in _AMOUNTS or key_type.kind != "number":
        return None
    amount = WrittenAmount(float(mention.value), float(mention.value), mention.unit)
    own = amount if key_type.unit is None else in_unit(amount, key_type.unit)
    return own and mention._replace(key_type=key_type.name, value=own.low, unit=own.unit)


def _said(content: str, named: _Named) -> Iterator[tuple[Mention, Mention]]:
    """An allowed word, or yes or no, behind a name: `grade: A`, `是否审计：是`."""
    if named.key_type.kind not in ("text", "boolean") or not (
        named.key_type.values or named.key_type.kind == "boolean"
    ):
        return
    says = patterns("all")["says_value"].match(content, named.end)
    if says is None:
        return
    allowed = sorted(named.key_type.values, key=lambda value: (-len(value), value))
    word = patterns("all")["short_word"].match(content, says.end())
    told = [value for value in allowed if content.startswith(value, says.end())] or ([word[0]] if word else [])
    for value in told[:1]:
        try:
            keys = typed_keys(named.key_type, value)
        except ValueRefused:
            return
        for key in keys:
            made = Mention(says.end(), says.end() + len(value), key.key_type, key.value)
            yield made, made
