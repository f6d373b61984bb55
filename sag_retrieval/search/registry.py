"""Every way to search, by the name users give it."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.search.baselines import bm25, bridge, dense
from sag_retrieval.search.method import Method
from sag_retrieval.search.options import SAG, SAG_LITERAL
from sag_retrieval.search.sag import search_method

Factory = Callable[[ChatModel | None, Path | None], Method]
"""From the language model, if any, and the release's folder, if any, to the method."""


def _later(module: str, name: str) -> Factory:
    """A factory that is imported when it is asked for."""

    def factory(chat: ChatModel | None, home: Path | None) -> Method:
        method: Method = getattr(import_module(module), name)(chat=chat, home=home)
        return method

    return factory


METHODS: Final[dict[str, Factory]] = {
    "sag": lambda _chat, _home: search_method(SAG),
    "sag-literal": lambda _chat, _home: search_method(SAG_LITERAL),
    "dense": lambda _chat, _home: dense,
    "bm25": lambda _chat, _home: bm25,
    "hybrid": _later("sag_retrieval.hybrid", "hybrid_method"),
    "bridge": lambda _chat, _home: bridge,
    "think-on-graph": _later("sag_retrieval.think_on_graph.method", "think_on_graph_method"),
    "tiers": _later("sag_retrieval.tiers.method", "tiers_method"),
}
"""Name → what makes the method; the names of the contract."""


def method_named(name: str, *, chat: ChatModel | None = None, home: Path | None = None) -> Method:
    """The method of this name.

    Args:
        name: One of `METHODS`.
        chat: Language model for the methods that can use one.
        home: Folder of the release, for the methods that read more than its index.

    Raises:
        QueryError: If there is none of this name, with the names that there are.

    """
    if not isinstance(name, str) or name not in METHODS:
        raise QueryError(f"method {shown(name)} is none of {', '.join(METHODS)}; see `sag search --help`")
    return METHODS[name](chat, home)
