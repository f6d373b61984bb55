"""Who serves the models that settings name: the first word of `provider` or `provider:model`."""

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Final

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.plugins import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models and how it is opened.

    A plug-in is such a provider, or what opens a model: a class or function of the model's name.
    """

    name: str
    """What stands before the colon."""
    summary: str
    """One line for those who choose."""
    model: str = ""
    """What follows the colon, as messages call it; empty: nothing does."""
    target: str | Callable[..., Any]
    """What opens a model, or where it stands, `module:attribute`; called with the model's name, if it takes one."""
    takes_options: bool = False
    """Whether it also takes `options`, the rates and budget of requests to a server."""

    @property
    def written(self) -> str:
        """How a setting names it, such as `openai:<model>`."""
        return f"{self.name}:<{self.model}>" if self.model else self.name

    def accepts(self, model: str) -> bool:
        """Whether this may follow the name in a setting, the colon included."""
        return len(model) > 1 if self.model else not model

    @property
    def open(self) -> Callable[..., Any]:
        """What opens a model."""
        return resolve_name(self.target) if isinstance(self.target, str) else self.target


def _provider(name: str, found: object) -> Provider:
    if isinstance(found, Provider):
        return found
    if not callable(found):
        raise TypeError(f"a {type(found).__name__} opens no model; name a class or a function of the model's name")
    summary = (found.__doc__ or "").strip().partition("\n")[0]
    return Provider(name=name, summary=summary, model="model", target=found)


HASHING: Final = "hashing"
"""The embedder whose counts are kept with the corpus and its releases."""
OFFLINE: Final = "offline"
"""No language model: rules take its place."""

EMBEDDERS: Final = Registry(
    "sag.embedders",
    [
        Provider(
            name=HASHING,
            summary="words and character n-grams, counted on the corpus; no model",
            target="sag_retrieval.models.hashing:HashingEmbedder",
        ),
        Provider(
            name="openai",
            summary="a server of OpenAI's or of its kind",
            model="model",
            target="sag_retrieval.models.embeddings:OpenAIEmbedder",
            takes_options=True,
        ),
        Provider(
            name="sentence-transformers",
            summary="a model on this machine (extra `local`)",
            model="name or folder",
            target="sag_retrieval.models.embeddings:LocalEmbedder",
        ),
    ],
    _provider,
)
"""Embedders by the first word of `SAG_EMBEDDING_MODEL`."""

CHAT_MODELS: Final = Registry(
    "sag.chat_models",
    [
        Provider(name=OFFLINE, summary="no language model: rules take its place", target="types:NoneType"),
        Provider(
            name="openai",
            summary="a server of OpenAI's or of its kind",
            model="model",
            target="sag_retrieval.models.openai:OpenAIChat",
            takes_options=True,
        ),
    ],
    _provider,
)
"""Language models by the first word of `SAG_CHAT_MODEL`."""


def checked(registry: Registry[Provider], name: str) -> str:
    """The name, if a setting may hold it; plug-ins are looked for by name and not loaded.

    Raises:
        SettingsError: If there is no such provider, or the model is missing or too much.

    """
    first, _, _ = name.partition(":")
    if first in registry and (first not in registry.own or registry.own[first].accepts(name.removeprefix(first))):
        return name
    ways = [repr(provider.written) for provider in registry.own.values()]
    ways += [repr(f"{plugin}:…") for plugin in registry if plugin not in registry.own]
    said = f"neither {' nor '.join(ways)}" if len(ways) < 3 else f"none of {', '.join(ways)}"  # noqa: PLR2004  grammar
    raise SettingsError(f"{name!r} is {said}")


def provider_of(registry: Registry[Provider], name: str) -> tuple[Provider, str]:
    """The provider that a setting names, and the model asked of it.

    Raises:
        SettingsError: If there is no such provider, or the model is missing or too much.
        PluginError: If the package that adds it cannot be used.

    """
    first, _, model = checked(registry, name).partition(":")
    provider = registry[first]
    if not provider.accepts(name.removeprefix(first)):
        raise SettingsError(f"{name!r} is not of the form {provider.written!r}")
    return provider, model


def described(registry: Registry[Provider]) -> str:
    """How a setting names our own providers, as Markdown."""
    *first, last = (f"`{provider.written}`" for provider in registry.own.values())
    return f"{', '.join(first)} or {last}"
