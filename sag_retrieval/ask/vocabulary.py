"""What a model must know of a release to write a filter: tables, key types, units and example values, in few tokens."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.key_schema import KeySchema, KeyType
from sag_retrieval.language.places import PLACES
from sag_retrieval.models.protocols import estimate_tokens
from sag_retrieval.notebook import readable
from sag_retrieval.prompts import as_lines
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.mapped_arrays import take_rows

_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    "documents": ("document_id", "source", "title", "language", "metadata"),
    "events": ("event_id", "document_id", "content", "date"),
    "keys": ("key_id", "key_type", "value_string", "value_number", "value_bool", "unit"),
    "event_keys": ("event_id", "key_id"),
}
"""Columns by table that a filter may need; a test compares them with the schema."""
_VALUES: Final = ("value_string", "value_number", "value_bool")
_EXAMPLES: Final = 3
_LONGEST: Final = 40
_LISTED: Final = 6
"""Languages, sources, units and names of metadata that are listed at most, the most frequent first."""
_READ: Final = 1000
"""Documents whose metadata is read for its names."""


def vocabulary_lines(index: Index, schema: KeySchema | None = None) -> tuple[dict[str, Any], ...]:
    """A line for each table, then for each key type, those of most events first.

    Args:
        index: A release.
        schema: Its key types where they are not the default ones: what they are called and what belongs to them.

    Source:
        docs/algorithm.md §rag.9

    """
    types = {each.name: each for each in schema.every} if schema else {}
    told = ({**line, **_said_of(types.get(line["key_type"]))} for line in _key_types(index.rows["keys"]))
    return (*_tables(index), *told)


def _said_of(key_type: KeyType | None) -> dict[str, Any]:
    """Other names of a type and what belongs to it, so that a question's words lead to the right one."""
    if key_type is None:
        return {}
    said = {"names": [_cut(name) for name in key_type.names[1:]], "means": _cut(key_type.said("en"))}
    return {what: words for what, words in said.items() if words}


def within_tokens(lines: Sequence[Mapping[str, Any]], tokens: int) -> str:
    """The first lines that fit, as prompts show them: one JSON object each, so that no value can pose as more."""
    kept: list[str] = []
    for line in lines:
        text = as_lines([line])
        tokens -= estimate_tokens(text) + 1
        if tokens < 0:
            break
        kept.append(text)
    return "\n".join(kept)


def _tables(index: Index) -> Iterator[dict[str, Any]]:
    rows = index.rows
    documents, dates = rows["documents"], pc.min_max(rows["events"]["date"]).as_py()
    told: dict[str, dict[str, Any]] = {
        "documents": {
            "languages": _most_frequent(documents["language"]),
            "sources": _most_frequent(documents["source"]),
            "metadata": _metadata_names(documents["metadata"]),
        },
        "events": {"dates": [date[:10] for date in dates.values() if date]},
    }
    for name, columns in _COLUMNS.items():
        given = {what: values for what, values in told.get(name, {}).items() if values}
        yield {"table": name, "columns": ", ".join(columns)} | given


def _most_frequent(column: pa.ChunkedArray) -> list[str]:
    counts = pc.value_counts(column).to_pylist()
    listed = sorted(counts, key=lambda each: (-each["counts"], each["values"] or ""))
    return [_cut(each["values"]) for each in listed[:_LISTED] if each["values"]]


def _metadata_names(column: pa.ChunkedArray) -> list[str]:
    counts: Counter[str] = Counter()
    for text in column.slice(0, _READ).to_pylist():
        counts.update(name for name in (json.loads(text) if text else {}) if name != PLACES)
    return [_cut(name) for name, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_LISTED]]


def _key_types(keys: pa.Table) -> Iterator[dict[str, Any]]:
    """Type, column of its values, units with their ranges, and the values that most events carry."""
    if not keys.num_rows:
        return
    types = keys["key_type"].combine_chunks().dictionary_encode()
    codes, names = types.indices.to_numpy(), types.dictionary.to_pylist()
    events = keys["event_count"].to_numpy()
    holds = {name: keys[name].is_valid().to_numpy() for name in _VALUES}
    weight = np.bincount(codes, weights=events, minlength=len(names))
    for code in sorted(range(len(names)), key=lambda code: (-weight[code], names[code])):
        rows = np.flatnonzero(codes == code)
        column = max(_VALUES, key=lambda name: int(holds[name][rows].sum()))
        found: dict[str, Any] = {"key_type": _cut(names[code]), "column": column}
        rows = rows[holds[column][rows]]
        if column == "value_number":
            found["units"] = _ranges(take_rows(keys.select(["unit", column]), rows))
        else:
            first = rows[np.lexsort((rows, -events[rows]))][:_EXAMPLES]
            found["examples"] = [_cut(value) for value in take_rows(keys.select([column]), first)[column].to_pylist()]
        yield found


def _ranges(numbers: pa.Table) -> dict[str, str]:
    """For each unit, the most frequent first: the lowest and the highest number."""
    bounds = [("value_number", "count"), ("value_number", "min"), ("value_number", "max")]
    units = numbers.group_by("unit").aggregate(bounds).to_pylist()
    units.sort(key=lambda each: (-each["value_number_count"], each["unit"] or ""))
    return {
        _cut(each["unit"] or ""): f"{_plain(each['value_number_min'])} to {_plain(each['value_number_max'])}"
        for each in units[:_LISTED]
    }


def _plain(number: float) -> str:
    return readable(number).replace(",", "")


def _cut(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
