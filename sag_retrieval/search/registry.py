"""The registry of search methods: one entry each, from which choices, documentation and options are derived."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, Literal

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.core.plugins import Registry
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.search.method import Method

MethodName = Literal[
    "sag",
    "sag-literal",
    "sag-events",
    "dense",
    "bm25",
    "hybrid",
    "bridge",
    "think-on-graph",
    "think-on-graph-literal",
    "tiers",
]
"""The built-in methods, for type checkers and editors; a test compares it with `METHODS`."""

Need = Literal["chat", "home"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodEntry:
    """A search method: its description and how to make it.

    A plug-in is such an entry, or the method itself: a function `(Index, Query) → Ranking`.
    """

    name: str
    summary: str
    """One line of description."""
    weak: str = ""
    """When not to use it, in one line; empty if its author does not say."""
    target: str | Callable[..., Any]
    """The method or, with options or needs, the function that makes it; or its location `module:name`."""
    options: str | object = None
    """Its default options, a dataclass, or their location; None: no options. A factory takes them first."""
    needs: tuple[Need, ...] = field(default=())
    """Further arguments of a factory: `chat`, the language model or None; `home`, the release's folder."""

    @property
    def defaults(self) -> Any:  # noqa: ANN401  each method has its own options
        """Its default options; None if it has none."""
        return resolve_name(self.options) if isinstance(self.options, str) else self.options

    def build_options(self, given: object = None) -> Any:  # noqa: ANN401  each method has its own options
        """Its options with some values given; None if it has no options."""
        defaults = self.defaults
        if defaults is not None:
            return build_options(type(defaults), given, what=self.name, base=defaults, kind="method")
        if given:
            listed = ", ".join(map(str, given)) if isinstance(given, Mapping) else shown(given)
            raise SettingsError(
                f"method {self.name!r} has no options, got {listed}; leave them out"
                f"; `sag settings --options {self.name}` lists none"
            )
        return None

    def make(self, options: object = None, *, chat: ChatModel | None = None, home: Path | None = None) -> Method:
        """The method with these options, or with its defaults."""
        target = resolve_name(self.target) if isinstance(self.target, str) else self.target
        chosen = self.build_options(options)
        given = {"chat": chat, "home": home}
        first = () if chosen is None else (chosen,)
        is_method = chosen is None and not self.needs
        method: Method = target if is_method else target(*first, **{name: given[name] for name in self.needs})
        return method


def _adapted(name: str, found: object) -> MethodEntry:
    if isinstance(found, MethodEntry):
        return found
    if not callable(found):
        raise TypeError(f"a {type(found).__name__} ranks nothing; name a function of (index, query)")
    summary = (found.__doc__ or "").strip().partition("\n")[0]
    return MethodEntry(name=name, summary=summary, target=found)


METHODS: Final = Registry(
    "sag.methods",
    [
        MethodEntry(
            name="sag",
            summary="from keys of the query over events that share keys to chunks, with text and bridges",
            weak="questions in other words than the documents use: only a semantic embedder finds these",
            target="sag_retrieval.search.sag:search_method",
            options="sag_retrieval.search.options:SAG",
        ),
        MethodEntry(
            name="sag-literal",
            summary="the same walk by the original formulas",
            weak="long documents and exact words: it ranks by the graph alone, to compare with the original formulas",
            target="sag_retrieval.search.sag:search_method",
            options="sag_retrieval.search.options:SAG_LITERAL",
        ),
        MethodEntry(
            name="sag-events",
            summary="the simplified walk: from events like the query over their keys to chunks, without PageRank",
            weak="questions over several documents: no bridge leads to the second passage",
            target="sag_retrieval.search.sag:search_method",
            options="sag_retrieval.search.options:SAG_EVENTS",
        ),
        MethodEntry(
            name="dense",
            summary="cosine of the query's vector and the chunk's",
            weak="names, numbers and codes, which vectors blur; questions over several documents",
            target="sag_retrieval.search.sag:dense",
        ),
        MethodEntry(
            name="bm25",
            summary="BM25 over the chunk's full text",
            weak="questions in other words than the documents use, and questions over several documents",
            target="sag_retrieval.search.sag:bm25",
        ),
        MethodEntry(
            name="hybrid",
            summary="BM25, cosine and keywords, with a boost by the graph of triples",
            weak="questions over several documents: it reaches no second passage by a name in the first",
            target="sag_retrieval.search.methods.hybrid:hybrid_method",
            options="sag_retrieval.search.methods.hybrid:SEARCH",
            needs=("chat", "home"),
        ),
        MethodEntry(
            name="bridge",
            summary="BM25 and cosine in context, then bridges between chunks; no walk from keys",
            weak="questions that name a key but share few words with the passage: it does not walk from keys",
            target="sag_retrieval.search.sag:bridge",
        ),
        MethodEntry(
            name="think-on-graph",
            summary="paths over triples from linked entities, judged by a language model where there is one",
            weak="long documents without a language model: there it falls back to BM25 and cosine",
            target="sag_retrieval.search.methods.think_on_graph.method:think_on_graph_method",
            options="sag_retrieval.search.methods.think_on_graph.method:SEARCH",
            needs=("chat", "home"),
        ),
        MethodEntry(
            name="think-on-graph-literal",
            summary="the same walk over triples alone, with the settings of its first description",
            weak="questions that share no word with the relations: it follows no other edge, and no mention",
            target="sag_retrieval.search.methods.think_on_graph.method:think_on_graph_method",
            options="sag_retrieval.search.methods.think_on_graph.retriever:LITERAL",
            needs=("chat", "home"),
        ),
        MethodEntry(
            name="tiers",
            summary="categories, events and documents in turn, until they suffice",
            weak="questions over several documents; long ones without a model: there it falls back to BM25 and cosine",
            target="sag_retrieval.search.methods.tiers.method:tiers_method",
            options="sag_retrieval.search.methods.tiers.method:SEARCH",
            needs=("chat", "home"),
        ),
    ],
    _adapted,
)
"""Methods by name."""


def method_entry(name: str) -> MethodEntry:
    """The entry of the method of this name."""
    if not isinstance(name, str) or name not in METHODS:
        raise QueryError(
            f"method {shown(name)} is none of {', '.join(METHODS)}{nearest(name, METHODS)}; see `sag search --help`"
        )
    return METHODS[name]


def method_named(
    name: str, options: object = None, *, chat: ChatModel | None = None, home: Path | None = None
) -> Method:
    """The method of this name, with the arguments of `MethodEntry.make`."""
    return method_entry(name).make(options, chat=chat, home=home)


def resolve_method(
    method: str | Method, options: object = None, *, chat: ChatModel | None = None, home: Path | None = None
) -> tuple[str, Method]:
    """A method and its name for results: one of `METHODS`, or a custom function."""
    if isinstance(method, str) or not callable(method):
        return str(method), method_named(method, options, chat=chat, home=home)
    name = getattr(method, "__name__", type(method).__name__)
    if options is not None:
        raise QueryError(f"options are for methods by name; give {name} its own when you make it")
    return name, method
