"""Open the language model of the settings together with the answers that the home keeps."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sag_retrieval.core.settings import Settings
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache
from sag_retrieval.models.batching import BatchLimits
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.open import open_chat
from sag_retrieval.models.rate_limits import ChatOptions


@contextmanager
def open_cached_chat(
    settings: Settings, options: ChatOptions | None = None, limits: BatchLimits | None = None
) -> Iterator[CachedChat | None]:
    """The language model that the settings name, with the cache of the home; None for `offline`.

    Raises:
        SettingsError: If the name is unknown.
        PluginError: If the package that adds it cannot be used.
        CacheError: If the file of answers cannot be used.

    """
    chat = open_chat(settings, options)
    if chat is None:
        yield None
        return
    with AnswerCache(Path(settings.home) / ANSWERS) as cache:
        yield CachedChat(chat, cache, limits=limits)
