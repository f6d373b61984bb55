"""Every way to search, by the name users give it."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.search.baselines import bm25, bridge, dense
from sag_retrieval.search.method import Method
from sag_retrieval.search.options import SAG, SAG_LITERAL, SearchOptions
from sag_retrieval.search.sag import search_method

Given = object | Mapping[str, Any] | None
"""Options as a caller gives them: an options object, names and values, or nothing."""
Factory = Callable[[ChatModel | None, Path | None, Given], Method]
"""From the language model, the release's folder and options, if any, to the method."""


def _graph_search(name: str, preset: SearchOptions) -> Factory:
    def factory(_chat: ChatModel | None, _home: Path | None, given: Given) -> Method:
        return search_method(build_options(SearchOptions, given, what=name, base=preset))  # type: ignore[arg-type]

    return factory


def _later(name: str, module: str, maker: str) -> Factory:
    """A factory that is imported when it is asked for; the module's `SEARCH` holds its default options."""

    def factory(chat: ChatModel | None, home: Path | None, given: Given) -> Method:
        found = import_module(module)
        options = build_options(type(found.SEARCH), given, what=name, base=found.SEARCH)
        method: Method = getattr(found, maker)(options, chat=chat, home=home)
        return method

    return factory


def _plain(name: str, method: Method) -> Factory:
    """A method that has no options."""

    def factory(_chat: ChatModel | None, _home: Path | None, given: Given) -> Method:
        if given:
            raise SettingsError(f"method {name!r} has no options, got {shown(given)}; leave them out")
        return method

    return factory


METHODS: Final[dict[str, Factory]] = {
    "sag": _graph_search("sag", SAG),
    "sag-literal": _graph_search("sag-literal", SAG_LITERAL),
    "dense": _plain("dense", dense),
    "bm25": _plain("bm25", bm25),
    "hybrid": _later("hybrid", "sag_retrieval.hybrid", "hybrid_method"),
    "bridge": _plain("bridge", bridge),
    "think-on-graph": _later("think-on-graph", "sag_retrieval.think_on_graph.method", "think_on_graph_method"),
    "tiers": _later("tiers", "sag_retrieval.tiers.method", "tiers_method"),
}
"""Name → what makes the method."""


def method_named(
    name: str | Method, *, options: Given = None, chat: ChatModel | None = None, home: Path | None = None
) -> Method:
    """The method of this name; a method itself is taken as it is.

    Args:
        name: One of `METHODS`, or a method.
        options: The method's options object, or names and values; None: its defaults.
        chat: Language model for the methods that can use one.
        home: Folder of the release, for the methods that read more than its index.

    Raises:
        QueryError: If there is none of this name, with the nearest name and those that there are.
        SettingsError: If an option is unknown or out of bounds.

    """
    if not isinstance(name, str) and callable(name):
        return _plain(label_of(name), name)(chat, home, options)
    if not isinstance(name, str) or name not in METHODS:
        raise QueryError(
            f"method {shown(name)} is none of {', '.join(METHODS)}{nearest(name, METHODS)}; see `sag search --help`"
        )
    return METHODS[name](chat, home, options)


def label_of(method: str | Method) -> str:
    """The name under which a result shows a method: its own, or that of the function."""
    return method if isinstance(method, str) else getattr(method, "__name__", type(method).__name__)
