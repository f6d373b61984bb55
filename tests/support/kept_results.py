"""Empty the caches of all functions that read a text, so that a second reading takes the time of the first."""

import inspect
from typing import Any

from tests.support.attacks import modules

_OF_NAMES = {
    "sag_retrieval.prompts",
    "sag_retrieval.language.data",
    "sag_pipeline.tables",
}
"""Modules that keep what they read of data files, which no text decides."""


def forget() -> None:
    """Empty every cache of a function, or the second reading of a text tells nothing."""
    for cache in _caches():
        cache.cache_clear()


_KEPT: list[Any] = []


def _caches() -> list[Any]:
    if not _KEPT:
        named = {id(value): value for module in modules() for value in vars(module).values() if _is_cache(value)}
        _KEPT.extend(named.values())
    return _KEPT


def _is_cache(value: object) -> bool:
    if not callable(value) or not hasattr(value, "cache_clear") or value.__module__ in _OF_NAMES:
        return False
    return any(wanted.annotation is str for wanted in inspect.signature(value).parameters.values())
