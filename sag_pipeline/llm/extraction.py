"""The language model of a run: its cache, its work for each table, and what marks rows as its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sag_pipeline.llm.answer_cache import ANSWERS, AnswerCache
from sag_pipeline.llm.cached_chat import CachedChat, Call
from sag_pipeline.llm.extract import events_work, keys_work, prompt_versions, summaries_work, triples_work
from sag_pipeline.llm.known_keys_index import ReleasedKeys, pending_keys
from sag_pipeline.runner import Work
from sag_pipeline.steps.extract_keys import KeyOptions
from sag_pipeline.steps.summaries import SummaryOptions
from sag_pipeline.store.store import Store
from sag_retrieval.core.settings import Settings
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.open import open_chat, open_dense
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.models.rate_limits import ChatOptions
from sag_retrieval.release.index import Index

TABLES = ("summaries", "events", "keys", "triples")


class ExtractionModel:
    """What assets need of a language model that answers from the cache where it can."""

    def __init__(self, settings: Settings, chat: CachedChat) -> None:
        self._settings = settings
        self.chat = chat

    def model(self, table: str) -> str:
        """The model and prompts that a table's rows depend on: a part of its fingerprint."""
        return f"{self.chat.fingerprint} {self._settings.language} {prompt_versions(table)}"

    def summaries(self, options: SummaryOptions | None = None) -> Work:
        """Work of the table `summaries`."""
        return summaries_work(self.chat, options, self._settings.language)

    def events(self) -> Work:
        """Work of the table `events`."""
        return events_work(self.chat, self._settings.language)

    def keys(self, store: Store, index: Index | None, options: KeyOptions | None = None) -> Work:
        """Work of the table `keys`, with what release and store know; `index` None: no release yet."""
        embedder = index.embedder if index else self._embedder()
        return keys_work(
            self.chat,
            before=pending_keys(store, index, embedder),
            sources=[ReleasedKeys(index)] if index else [],
            options=options,
            language=self._settings.language,
        )

    def triples(self) -> Work:
        """Work of the table `triples`, for those who want them from the model and not from keys."""
        return triples_work(self.chat, self._settings.language)

    def take_calls(self) -> list[Call]:
        """Rows for the table `calls`, since the last time."""
        return self.chat.take_calls()

    def _embedder(self) -> Embedder:
        name = self._settings.embedding_model
        return HashingEmbedder() if name == "hashing" else open_dense(name)


@contextmanager
def open_extraction(settings: Settings, options: ChatOptions | None = None) -> Iterator[ExtractionModel | None]:
    """The extraction that the settings name; None is `offline`: rules take its place."""
    chat = open_chat(settings, options)
    if chat is None:
        yield None
        return
    with AnswerCache(Path(settings.home) / ANSWERS) as cache:
        yield ExtractionModel(settings, CachedChat(chat, cache))
