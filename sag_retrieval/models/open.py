"""Models by the names that settings hold."""

from pathlib import Path
from typing import Any

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.settings import CHAT_MODELS, EMBEDDERS, HASHING, Provider, Settings, provider_of
from sag_retrieval.models.protocols import ChatModel, Embedder
from sag_retrieval.models.rate_limits import ChatOptions


def open_chat(settings: Settings, options: ChatOptions | None = None) -> ChatModel | None:
    """The language model of the settings; None is `offline`: rules take its place.

    Raises:
        SettingsError: If the name is unknown.
        PluginError: If the package that adds it cannot be used.

    """
    chat: ChatModel | None = _open(*provider_of(CHAT_MODELS, settings.chat_model), options)
    return chat


def open_embedder(name: str, folder: Path) -> Embedder:
    """The embedder of a release: `name` from its manifest, `folder` with what `hashing` counted.

    Raises:
        SettingsError: If the name is unknown or the model cannot be loaded.
        PluginError: If the package that adds it cannot be used.
        ModelError: If the folder has no counts for `hashing`.

    """
    if name == HASHING:
        from sag_retrieval.models.hashing import HashingEmbedder, HashingFit  # noqa: PLC0415  only who embeds

        return HashingEmbedder(HashingFit.load(folder))
    return open_dense(name)


def open_dense(name: str, options: ChatOptions | None = None) -> Embedder:
    """An embedder that is no part of a release: any of `EMBEDDERS` but `hashing`.

    Raises:
        SettingsError: If the name is unknown, the model cannot be loaded, or it is `hashing`, which needs what it
            counted: see `open_embedder`.
        PluginError: If the package that adds it cannot be used.

    """
    if name == HASHING:
        raise SettingsError(f"{name!r} is opened with what it counted on a corpus; see `open_embedder`")
    embedder: Embedder = _open(*provider_of(EMBEDDERS, name), options)
    return embedder


def _open(provider: Provider, model: str, options: ChatOptions | None) -> Any:  # noqa: ANN401  what the provider opens
    given = (model,) if provider.model else ()
    return provider.open(*given, options=options) if provider.takes_options else provider.open(*given)
