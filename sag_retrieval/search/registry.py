"""Every way to search, by the name users give it: one entry each, from which choices, pages and options follow."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, Literal

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.core.plugins import Registry
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.search.method import Method

MethodName = Literal["sag", "sag-literal", "dense", "bm25", "hybrid", "bridge", "think-on-graph", "tiers"]
"""Our own methods, for type checkers and editors; a test holds it against `METHODS`."""

Need = Literal["chat", "home"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodEntry:
    """A way to search: what it is, and how it is made.

    A plug-in is such an entry, or the method itself: a function `(Index, Query) → Ranking`.
    """

    name: str
    summary: str
    """One line for those who choose."""
    target: str | Callable[..., Any]
    """The method itself or, with options or needs, the function that makes it; or where it stands, `module:name`."""
    options: str | object = None
    """Its default options, a dataclass, or where they stand; None: it has none. A factory takes them first."""
    needs: tuple[Need, ...] = field(default=())
    """What a factory takes besides, by name: `chat`, the language model or None; `home`, the release's folder."""

    @property
    def defaults(self) -> Any:  # noqa: ANN401  each method has options of its own
        """The options it has unless others are given; None if it has none. Their class is that of its options."""
        return resolve_name(self.options) if isinstance(self.options, str) else self.options

    def make(self, options: object = None, *, chat: ChatModel | None = None, home: Path | None = None) -> Method:
        """The method with these options, or with its defaults.

        Raises:
            SettingsError: If an option is unknown or out of bounds, or the options are those of another method.

        """
        target = resolve_name(self.target) if isinstance(self.target, str) else self.target
        defaults = self.defaults
        if options and defaults is None:
            raise SettingsError(f"method {self.name!r} has no options, got {shown(options)}; leave them out")
        given = {"chat": chat, "home": home}
        first = () if defaults is None else (build_options(type(defaults), options, what=self.name, base=defaults),)
        is_method = defaults is None and not self.needs
        method: Method = target if is_method else target(*first, **{name: given[name] for name in self.needs})
        return method


def _adapted(name: str, found: object) -> MethodEntry:
    if isinstance(found, MethodEntry):
        return found
    if not callable(found):
        raise TypeError(f"a {type(found).__name__} ranks nothing; name a function of (index, query)")
    return MethodEntry(name=name, summary=(found.__doc__ or "").strip().partition("\n")[0], target=found)


METHODS: Final = Registry(
    "sag.methods",
    [
        MethodEntry(
            name="sag",
            summary="from keys of the query over events that share keys to chunks, with text and bridges",
            target="sag_retrieval.search.sag:search_method",
            options="sag_retrieval.search.options:SAG",
        ),
        MethodEntry(
            name="sag-literal",
            summary="the same walk by the formulas as they were first written",
            target="sag_retrieval.search.sag:search_method",
            options="sag_retrieval.search.options:SAG_LITERAL",
        ),
        MethodEntry(
            name="dense",
            summary="cosine of the query's vector and the chunk's",
            target="sag_retrieval.search.sag:dense",
        ),
        MethodEntry(name="bm25", summary="BM25 over the chunk's full text", target="sag_retrieval.search.sag:bm25"),
        MethodEntry(
            name="hybrid",
            summary="BM25, cosine and keywords, with a boost by the graph of triples",
            target="sag_retrieval.hybrid:hybrid_method",
            options="sag_retrieval.hybrid:SEARCH",
            needs=("chat", "home"),
        ),
        MethodEntry(
            name="bridge",
            summary="BM25 and cosine in context, then bridges between chunks; no walk from keys",
            target="sag_retrieval.search.sag:bridge",
        ),
        MethodEntry(
            name="think-on-graph",
            summary="paths over triples from linked entities, judged by a language model where there is one",
            target="sag_retrieval.think_on_graph.method:think_on_graph_method",
            options="sag_retrieval.think_on_graph.method:SEARCH",
            needs=("chat", "home"),
        ),
        MethodEntry(
            name="tiers",
            summary="categories, events and documents in turn, until they suffice",
            target="sag_retrieval.tiers.method:tiers_method",
            options="sag_retrieval.tiers.method:SEARCH",
            needs=("chat", "home"),
        ),
    ],
    _adapted,
)
"""Methods by name."""


def method_named(
    name: str, options: object = None, *, chat: ChatModel | None = None, home: Path | None = None
) -> Method:
    """The method of this name.

    Args:
        name: One of `METHODS`.
        options: Options of the method's own class, or names and values; None: its defaults.
        chat: Language model for the methods that can use one.
        home: Folder of the release, for the methods that read more than its index.

    Raises:
        QueryError: If there is none of this name, with the nearest name and those that there are.
        SettingsError: If an option is unknown or out of bounds, or the options are those of another method.
        PluginError: If the package that adds it cannot be used.

    """
    if not isinstance(name, str) or name not in METHODS:
        raise QueryError(
            f"method {shown(name)} is none of {', '.join(METHODS)}{nearest(name, METHODS)}; see `sag search --help`"
        )
    return METHODS[name].make(options, chat=chat, home=home)


def resolve_method(
    method: str | Method, options: object = None, *, chat: ChatModel | None = None, home: Path | None = None
) -> tuple[str, Method]:
    """A method's name for results, and itself: one of `METHODS`, or a function of one's own.

    Raises:
        QueryError: If it is neither, or a function of one's own is given options, which only it knows.
        PluginError: If the package that adds it cannot be used.

    """
    if isinstance(method, str) or not callable(method):
        return str(method), method_named(method, options, chat=chat, home=home)
    name = getattr(method, "__name__", type(method).__name__)
    if options is not None:
        raise QueryError(f"options are for methods by name; give {name} its own when you make it")
    return name, method
