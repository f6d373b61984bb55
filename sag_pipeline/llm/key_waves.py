"""Ask a model for the keys of a batch in waves, so that each wave is shown the keys of the waves before it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sag_pipeline.extract.events import given_events
from sag_pipeline.extract.keys import main_keys
from sag_pipeline.extract.known_options import KnownOptions
from sag_pipeline.extract.model_keys import ExtractedKeys, KeyOptions, KeyQuestion, key_questions, keys_from_reply
from sag_pipeline.extract.name_matching import bare_title
from sag_pipeline.extract.shown_keys import KnownKey, KnownKeys
from sag_pipeline.extract.support import SupportOptions
from sag_pipeline.llm.checked import Refusals, evidence_of_events, supported_keys
from sag_pipeline.llm.known_keys import BatchSource, KnownSource, ReleasedKeys, known_about, pending_keys
from sag_pipeline.llm.known_names import is_named_otherwise
from sag_pipeline.llm.questions import result_of_replies
from sag_pipeline.llm.stored_types import with_stored_types
from sag_pipeline.options import RunOptions
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Store
from sag_pipeline.table import StepInput
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import TITLE, Document, Event, EventKey
from sag_retrieval.core.settings import HASHING, Settings
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.open import open_dense
from sag_retrieval.models.protocols import ChatModel, Reply
from sag_retrieval.release.arrays import Index

_CONCURRENCY = 16
"""Calls at once that waves are cut for where nobody says."""


@dataclass(slots=True)
class _Asked:
    """What is asked about one document, and what came back."""

    inputs: StepInput
    questions: Sequence[KeyQuestion]
    given: Sequence[EventKey]
    """Supplied keys, and the main keys of its chunks."""
    replies: list[Reply[ExtractedKeys] | ModelError] = field(default_factory=list)
    keys: list[EventKey] = field(default_factory=list)
    refused: Refusals = field(default_factory=Refusals)

    @property
    def document(self) -> Document:
        """The document."""
        document: Document = self.inputs.one("documents")
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWork:
    """Keys of documents (a `Work`): supplied ones unchanged, else one question per chunk with known keys.

    The questions of a batch are asked in waves (`KnownOptions.waves`), across documents and within a long one. Each is
    shown the keys of the sources and of the waves before, never of its own, so that the prompts depend on the documents
    alone: not on which answer comes first, and not on where an earlier run was stopped.
    """

    chat: ChatModel
    before: BatchSource | None = None
    """Gets the keys of each wave, and may have some already; None: no known keys are shown."""
    sources: Sequence[KnownSource] = ()
    """Further sources of known keys, such as `ReleasedKeys`, with the embedder of `before`."""
    options: KeyOptions = field(default_factory=KeyOptions)
    known: KnownOptions = field(default_factory=KnownOptions)
    concurrency: int = _CONCURRENCY
    language: str = "auto"
    """`zh`, `en`, or `auto`: each document's."""
    support: SupportOptions = field(default_factory=SupportOptions)
    """How much of a key its event or passage must have."""
    whole_batches: bool = True
    """A batch that is broken off is made again from the kept answers, in the same waves."""

    def __call__(self, batch: Sequence[StepInput]) -> Iterator[StepResult]:
        """The keys of each document of a batch."""
        asked = [self._asked(inputs) for inputs in batch]
        if self.before is not None:
            self._note_given(self.before, batch)
        for wave in self._waves([(one, question) for one in asked for question in one.questions]):
            self._ask(wave)
        for one in asked:
            yield result_of_replies("keys", (*one.keys, *one.given), one.replies, one.refused)

    def _asked(self, inputs: StepInput) -> _Asked:
        document: Document = inputs.one("documents")
        main = main_keys(document, inputs.tables["chunks"])
        if inputs.is_supplied:
            supplied = [key for one in given_events(document, inputs.tables["chunks"]) for key in one.keys]
            return _Asked(inputs, (), [*supplied, *main])
        questions = key_questions(document, inputs.tables["events"], options=self.options, language=self.language)
        return _Asked(inputs, questions, main)

    def _note_given(self, before: BatchSource, batch: Sequence[StepInput]) -> None:
        for inputs in batch:
            if inputs.is_supplied:
                given = [
                    key for one in given_events(inputs.one("documents"), inputs.tables["chunks"]) for key in one.keys
                ]
                before.add(inputs.tables["events"], given)

    def _waves(self, questions: list[tuple[_Asked, KeyQuestion]]) -> Iterator[list[tuple[_Asked, KeyQuestion]]]:
        """The questions in waves, those of one source together; all at once where no known keys are shown."""
        questions = sorted(questions, key=lambda one: one[1].shares)
        if self.before is None:
            yield questions
            return
        known = sum(source.event_count for source in (*self.sources, self.before))
        for part in self.known.waves([len(one.events) for _, one in questions], known, self.concurrency):
            yield questions[part]

    def _ask(self, wave: list[tuple[_Asked, KeyQuestion]]) -> None:
        events = [event for _, question in wave for event in question.events]
        vectors = self.before.embedder.embed([event.indexed_text for event in events]) if self.before else None
        questions = [question for _, question in wave]
        if self.before is not None and vectors is not None:
            known = iter(known_about(events, vectors, [*self.sources, self.before], self.known))
            questions = [
                question.shown([self._with_title(one.document, event, next(known)) for event in question.events])
                for one, question in wave
            ]
        made: list[EventKey] = []
        replies = self.chat.ask_all(each.request for each in questions)
        for (one, _), question, reply in zip(wave, questions, replies, strict=True):
            answer = reply.value if isinstance(reply, Reply) else ExtractedKeys(events=[])
            evidence = evidence_of_events(one.inputs, question.events)
            checked = supported_keys(question, answer, evidence, self.support, one.refused)
            keys, refused = keys_from_reply(one.document, question.events, checked, self.options)
            one.replies.append(reply)
            one.keys += keys
            one.refused.found += refused
            made += keys
        if self.before is not None:
            self.before.add(events, made, vectors)

    def _with_title(self, document: Document, event: Event, known: KnownKeys) -> KnownKeys:
        """Known keys of an event, with the title of its document where the event seems to spell that otherwise."""
        title = bare_title(document.title) if self.known.title else ""
        if not title or not is_named_otherwise(title, event.content):
            return known
        return replace(known, otherwise=(KnownKey(TITLE, title), *known.otherwise))


def known_keys_work(
    chat: CachedChat, settings: Settings, store: Store, index: Index | None, run: RunOptions
) -> KeyWork:
    """Work of the table `keys` with the known keys of the release and the store; `index` None: no release yet."""
    name = settings.embedding_model
    embedder = index.embedder if index else HashingEmbedder() if name == HASHING else open_dense(name)
    types = (
        with_stored_types(run.key.schema, index.rows["keys"]) if index and run.known.stored_types else run.key.schema
    )
    return KeyWork(
        chat=chat,
        before=pending_keys(store, index, embedder),
        sources=[ReleasedKeys(index)] if index else [],
        options=replace(run.key, schema=types),
        known=run.known,
        concurrency=run.chat.concurrency,
        language=settings.language,
    )
