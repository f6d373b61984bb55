"""What asking knows of a release besides its search: term weights, joined passages, and what a model is shown of it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.passages import chunk_row, chunks_of, document_row
from sag_retrieval.ask.question import TermWeights, release_weights
from sag_retrieval.core.key_schema import KeySchema, KeyType
from sag_retrieval.language.places import PLACES
from sag_retrieval.language.sentences import sentence_spans
from sag_retrieval.language.words import normal_name, tokens
from sag_retrieval.models.protocols import estimate_tokens
from sag_retrieval.notebook import key_text, readable, shown_keys
from sag_retrieval.prompts import as_lines
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.mapped_arrays import take_rows

if TYPE_CHECKING:
    from sag_retrieval.ask.relations import Relation
    from sag_retrieval.llm_writing.lines import Themes


@dataclass(frozen=True)
class ReleaseContext:
    """An index, read where an answer needs more of it than what a search returns; made once per release."""

    index: Index
    themes: "Callable[[], Themes] | None" = None
    """The themes of the events that the question is about."""
    schema: KeySchema | None = None
    """The key types of the release where they are not the default ones."""
    select: "Callable[[str], pa.Table] | None" = None
    """The rows of a checked SELECT; None where a restriction holds, which SQL would not keep to."""
    relations: "Callable[[], tuple[Relation, ...]]" = tuple
    """The tables of documents that SQL may count and compare, read once."""

    @cached_property
    def weigh(self) -> TermWeights:
        """The idf of index terms."""
        return release_weights(self.index)

    def vocabulary(self, tokens: int) -> str:
        """Tables, key types, units and example values, in at most this number of tokens (estimated)."""
        return within_tokens(self._vocabulary, tokens)

    @cached_property
    def _vocabulary(self) -> tuple[dict[str, Any], ...]:
        return vocabulary_lines(self.index, self.schema)


_LOOKED_AT: Final = 600
"""Characters before a passage in which its preceding sentence is looked for."""
_LONGEST_BEFORE: Final = 240
_EVENTS: Final = 4
_LONGEST_EVENT: Final = 200
_KEYS: Final = 6
_REVISIONS: Final = 3
_SAID: Final = 0.8
"""An event of whose words the passage holds this share is left out: it says nothing more."""


def evidence_lines(index: Index, hits: Sequence[FoundPassage]) -> Iterator[dict[str, object]]:
    """A line of evidence for each passage, numbered from 1; what is empty or already said is left out.

    Source: docs/algorithm.md §rag.8.
    """
    shown = {chunk for hit in hits for chunk in chunks_of(hit)}
    for number, hit in enumerate(hits, start=1):
        row = chunk_row(index, hit.document_id, hit.start)
        found = {
            "title": hit.title,
            "heading": _heading(index, row, hit),
            "date": _date(index, row),
            "place": getattr(hit, "place", ""),
            "before": _before(index, row, hit, shown),
            "text": hit.text,
            "events": _events(hit),
            "keys": _keys(hit),
            "revised": _revised(hit),
        }
        yield {"n": number} | {name: value for name, value in found.items() if value}


def _revised(hit: FoundPassage) -> list[dict[str, str]]:
    """What other documents say in place of its statements."""
    found = []
    for one in getattr(hit, "revised_by", ())[:_REVISIONS]:
        kind = "unconfirmed" if one.is_weak else one.kind
        told = {"kind": kind, "here": one.own_value, "there": one.other_value, "title": one.title, "date": one.said}
        found.append({name: value for name, value in told.items() if value})
    return found


def _heading(index: Index, row: int, hit: FoundPassage) -> str:
    heading = str(index.rows["chunks"]["heading"][row].as_py() or "")
    folded = normal_name(heading)
    is_said = not folded or folded in normal_name(hit.title) or folded in normal_name(hit.text[: 2 * len(heading)])
    return "" if is_said else heading


def _date(index: Index, row: int) -> str:
    """The date that its events inherit from the document; dates of the text itself stand there."""
    first, last = index.arrays.chunk_events[row : row + 2].tolist()
    events = index.rows["events"].select(["date", "date_source"]).slice(first, last - first).to_pylist()
    return next((event["date"] for event in events if event["date"] and event["date_source"] != "text"), "")


def _before(index: Index, row: int, hit: FoundPassage, shown: set[str]) -> str:
    """The sentence before a passage that starts inside its section, unless the chunk with it is shown."""
    chunks = index.rows["chunks"]
    if not row or chunks["section_id"][row].as_py() != chunks["section_id"][row - 1].as_py():
        return ""
    if chunks["chunk_id"][row - 1].as_py() in shown:
        return ""
    document = document_row(index, hit.document_id)
    text = index.rows["documents"]["text"][document].as_py()[max(0, hit.start - _LOOKED_AT) : hit.start]
    spans = [text[start:end].strip() for start, end in sentence_spans(text)]
    last = next((sentence for sentence in reversed(spans) if sentence), "")
    return last if len(last) <= _LONGEST_BEFORE else "…" + last[1 - _LONGEST_BEFORE :]


def _events(hit: FoundPassage) -> list[str]:
    """The events that say more than the words of the passage, as those a model has written with full names."""
    held = set(tokens(f"{hit.title} {hit.text}"))
    found: list[str] = []
    for event in getattr(hit, "events", ()):
        terms = set(tokens(event.content))
        if terms and len(terms & held) < _SAID * len(terms):
            found.append(event.content[:_LONGEST_EVENT])
    return found[:_EVENTS]


def _keys(hit: FoundPassage) -> dict[str, list[str]]:
    """Keys by type, those first that the passage does not spell so: numbers and dates, read from its words."""
    folded = normal_name(hit.text)
    listed = [(key, key_text(key.value, key.unit, key.type)) for key in shown_keys(getattr(hit, "keys", ()), hit.title)]
    ordered = sorted(listed, key=lambda each: normal_name(each[1]) in folded)
    found: dict[str, list[Any]] = {}
    for key, text in ordered[:_KEYS]:
        found.setdefault(key.type, []).append(text)
    return found


_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    "documents": ("document_id", "source", "title", "language", "metadata"),
    "events": ("event_id", "document_id", "content", "date"),
    "keys": ("key_id", "key_type", "value_string", "value_number", "value_bool", "unit"),
    "event_keys": ("event_id", "key_id"),
}
"""Columns by table that a filter may need; a test compares them with the schema."""
_VALUES: Final = ("value_string", "value_number", "value_bool")
_EXAMPLES: Final = 3
_LONGEST_VALUE: Final = 40
_LISTED: Final = 6
"""Languages, sources, units and names of metadata that are listed at most, the most frequent first."""
_READ: Final = 1000
"""Documents whose metadata is read for its names."""


def vocabulary_lines(index: Index, schema: KeySchema | None = None) -> tuple[dict[str, Any], ...]:
    """A line for each table, then for each key type, those of most events first; the schema names its types.

    Source: docs/algorithm.md §rag.9.
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
            "sources": sources if len(sources := _most_frequent(documents["source"])) > 1 else [],
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
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
