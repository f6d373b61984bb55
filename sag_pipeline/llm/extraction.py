"""The language model of a run: its cache, what marks rows as its own, and what it is shown of known keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sag_pipeline.llm.answer_cache import ANSWERS, AnswerCache
from sag_pipeline.llm.cached_chat import CachedChat
from sag_pipeline.llm.extract import keys_work, prompt_versions
from sag_pipeline.llm.known_keys import ReleasedKeys, pending_keys
from sag_pipeline.runner import Work
from sag_pipeline.store.store import Store
from sag_retrieval.core.settings import HASHING, Settings
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.open import open_chat, open_dense
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.models.rate_limits import ChatOptions
from sag_retrieval.release.arrays import Index

TABLES = ("summaries", "events", "keys", "triples")


@contextmanager
def open_cached_chat(settings: Settings, options: ChatOptions | None = None) -> Iterator[CachedChat | None]:
    """The language model that the settings name, answering from the cache where it can; None is `offline`: rules."""
    chat = open_chat(settings, options)
    if chat is None:
        yield None
        return
    with AnswerCache(Path(settings.home) / ANSWERS) as cache:
        yield CachedChat(chat, cache)


def model_of(table: str, chat: CachedChat, language: str) -> str:
    """The model and prompts that a table's rows depend on: a part of its fingerprint."""
    return f"{chat.fingerprint} {language} {prompt_versions(table)}"


def known_keys_work(chat: CachedChat, settings: Settings, store: Store, index: Index | None) -> Work:
    """Work of the table `keys`, with what release and store know; `index` None: no release yet."""
    embedder = index.embedder if index else _embedder(settings)
    return keys_work(
        chat,
        before=pending_keys(store, index, embedder),
        sources=[ReleasedKeys(index)] if index else [],
        language=settings.language,
    )


def _embedder(settings: Settings) -> Embedder:
    name = settings.embedding_model
    return HashingEmbedder() if name == HASHING else open_dense(name)
