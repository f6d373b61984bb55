"""Models by the names that settings hold."""

from pathlib import Path

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.settings import Settings
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.models.rate_limits import ChatOptions


def open_chat(settings: Settings, options: ChatOptions | None = None) -> OpenAIChat | None:
    """The language model of the settings; None is `offline`: rules take its place."""
    if settings.chat_model == "offline":
        return None
    return OpenAIChat(settings.chat_model.removeprefix("openai:"), options=options)


def open_embedder(name: str, folder: Path) -> Embedder:
    """The embedder of a release: `name` from its manifest, `folder` with what `hashing` counted.

    Raises:
        SettingsError: If the name is unknown or the model cannot be loaded.
        ModelError: If the folder has no counts for `hashing`.

    """
    if name == "hashing":
        from sag_retrieval.models.hashing import HashingEmbedder, HashingFit  # noqa: PLC0415  only who embeds

        return HashingEmbedder(HashingFit.load(folder))
    return open_dense(name)


def open_dense(name: str, options: ChatOptions | None = None) -> Embedder:
    """An embedder that reads meaning: `openai:<model>` or `sentence-transformers:<name or folder>`.

    Raises:
        SettingsError: If it is neither, or cannot be loaded; `hashing` needs a folder: see `open_embedder`.

    """
    provider, _, model = name.partition(":")
    if provider == "openai" and model:
        from sag_retrieval.models.embeddings import OpenAIEmbedder  # noqa: PLC0415  only who embeds

        return OpenAIEmbedder(model, options=options)
    if provider == "sentence-transformers" and model:
        from sag_retrieval.models.local import LocalEmbedder  # noqa: PLC0415  only who embeds

        return LocalEmbedder(model)
    raise SettingsError(f"{name!r} is neither 'openai:<model>' nor 'sentence-transformers:<name or folder>'")
