"""Types that keys of a release have besides those of the schema: a model may choose them, too."""

import logging
from typing import Any, Final

import pyarrow as pa
from pydantic import ValidationError

from sag_pipeline.extract.name_matching import GENERIC_TYPES
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.key_schema import KeySchema, KeyType
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.core.settings import Settings
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

    Args:
        schema: The schema of the home.
        keys: The table `keys` of a release.

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
