"""Find known names that a text gives in full, in part or as initials."""

import logging
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pydantic import ValidationError

from sag_pipeline.extract.model_keys import KnownKey
from sag_pipeline.extract.name_matching import GENERIC_TYPES, initials, short_names, whole_initials, words_of
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.key_schema import KeySchema, KeyType
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.core.settings import Settings
from sag_retrieval.language.words import is_cjk
from sag_retrieval.models.open import open_embedder
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.reader import open_reader
from sag_retrieval.release.releases import Releases

_log = logging.getLogger(__name__)
_MOST: Final = 12
_LEAST_EVENTS: Final = 5
"""A type of fewer events is a slip rather than a dimension."""
_KINDS: Final = {"value_string": "text", "value_number": "number", "value_bool": "boolean"}


def with_stored_types(schema: KeySchema, keys: pa.Table) -> KeySchema:
    """The default schema with the types of stored keys that it does not have, those of most events first.

    They come with supplied events and from earlier schemas. A schema of one's own stays as it is: it is the whole list.

    Source: docs/algorithm.md §extraction.29.
    """
    if schema != default_schema() or not keys.num_rows:
        return schema
    counted = [("event_count", "sum"), *((column, "count") for column in _KINDS)]
    rows = keys.group_by("key_type").aggregate(counted).to_pylist()
    rows.sort(key=lambda row: (-row["event_count_sum"], row["key_type"]))
    found = [_type_of(row) for row in rows if row["event_count_sum"] >= _LEAST_EVENTS]
    fresh = [each for each in found if each and schema.default.named(each.name) is None]
    return KeySchema(types=(*schema.types, *fresh[:_MOST]), sources=schema.sources) if fresh else schema


def _type_of(row: dict[str, Any]) -> KeyType | None:
    """The type of stored keys; None for a generic one, one with a meaning of its own, and what is no name."""
    name = row["key_type"]
    kind = _KINDS[max(_KINDS, key=lambda column: row[f"{column}_count"])]
    try:
        found = KeyType.model_validate({"name": name, "kind": kind, "open": kind == "boolean"})
    except ValidationError:
        return None
    return found if found.name == name and name not in GENERIC_TYPES else None


def current_index(settings: Settings) -> Index | None:
    """The index of the current release, for offering its keys to the model; None if no release can be opened.

    An ingest never needs a release: known keys are then taken from the tables, and a new release is published.
    """
    if Releases(settings.home).current() is None:
        return None
    try:
        return open_reader(settings.home, None, open_embedder).index
    except (SagError, OSError, ValueError) as error:
        _log.warning("known keys are taken from the tables alone, the current release cannot be opened: %s", error)
        return None


_COMMON = 64
"""A term of more names finds none: it would find too many."""
_LEAST_SHARE = 0.4
"""Least share of a name's weight that a text must hold."""
_SHORT, _LONG = "<", ">"
"""Before initials: of a name that is short, and of one that is long."""
_MARKS = (_SHORT, _LONG)


@dataclass(slots=True)
class NameSearch:
    """Known keys by the terms of their names: words, pairs of Chinese characters, initials."""

    _keys: list[KnownKey] = field(default_factory=list)
    _terms: list[frozenset[str]] = field(default_factory=list)
    _rows: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, keys: Iterable[KnownKey]) -> None:
        """Add keys that were not added before."""
        for key in keys:
            terms = frozenset(_terms(key.value, short_names(key.value), whole_initials(key.value)))
            for term in terms:
                self._rows[term].append(len(self._keys))
            self._keys.append(key)
            self._terms.append(terms)

    def find(self, text: str, count: int) -> list[tuple[float, KnownKey]]:
        """The known keys whose names the text holds best, with the share that it holds; equal shares by name.

        The share is that of the weight `ln(1 + names / names with the term)`; initials that agree count as the whole.
        """
        terms = _terms(text, initials(text), short_names(text))
        held = (self._rows.get(term, ()) for term in terms)
        found = {row for rows in held if len(rows) <= _COMMON for row in rows}
        ranked = sorted((-self._share(row, terms), self._keys[row]) for row in found)
        return [(-share, key) for share, key in ranked[:count] if -share >= _LEAST_SHARE]

    def _share(self, row: int, terms: set[str]) -> float:
        own = self._terms[row]
        shared = own & terms
        if any(term[0] in _MARKS for term in shared):
            return 1.0
        whole = sum(self._weight(term) for term in own if term[0] not in _MARKS)
        return sum(map(self._weight, shared)) / whole if whole else 0.0

    def _weight(self, term: str) -> float:
        return math.log(1 + len(self._keys) / len(self._rows[term]))


def _terms(text: str, short: set[str], long: set[str]) -> set[str]:
    """Words, and initials that a short and a long name have in common."""
    return words_of(text) | {_SHORT + one for one in short} | {_LONG + one for one in long}


def is_written(name: str, text: str) -> bool:
    """Whether a text holds a name as it is spelt, and not as a part of a longer name.

    Examples:
        >>> is_written("Air Tanzania", "Air Tanzania Ltd flies."), is_written("Air Tanzania", "It is Air Tanzania.")
        (False, True)
    """
    at = text.find(name)
    if at < 0:
        return False
    behind = text[at + len(name) :][:2]
    is_longer = behind[:1].isalnum() or (behind[:1] == " " and behind[1:].isupper()) or text[:at][-1:].isalnum()
    return is_cjk(name) or not is_longer


def is_named_otherwise(name: str, text: str) -> bool:
    """Whether a text seems to give a name in another spelling."""
    if is_written(name, text):
        return False
    alone = NameSearch()
    alone.add([KnownKey("", name)])
    return bool(alone.find(text, 1))
