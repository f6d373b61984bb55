"""Ask a model for the keys of a batch in waves, each shown those before it, and join them with what rules find."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from sag_pipeline.embed.embed import embedder_of_home
from sag_pipeline.extract.events import given_events
from sag_pipeline.extract.keys import main_keys, make_key
from sag_pipeline.extract.model_keys import (
    ExtractedKey,
    ExtractedKeys,
    KeyOptions,
    KeyQuestion,
    KeysOfEvent,
    KnownKey,
    KnownKeys,
    ReadKeys,
    key_questions,
    keys_from_reply,
)
from sag_pipeline.extract.name_matching import bare_title
from sag_pipeline.extract.support import may_be_name
from sag_pipeline.extract.triples import ENTITY
from sag_pipeline.llm.checked import Refusals, evidence_of_events, supported_keys
from sag_pipeline.llm.extract import result_of_replies
from sag_pipeline.llm.known_names import NameSearch, is_named_otherwise, is_written, with_stored_types
from sag_pipeline.options import RunOptions
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Store
from sag_pipeline.table import StepInput
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.key_schema import KeyTypes
from sag_retrieval.core.records import TITLE, Document, Event, EventKey
from sag_retrieval.core.settings import HASHING, Settings
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.words import fold, is_cjk, normal_name
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.open import open_dense
from sag_retrieval.models.protocols import ChatModel, Embedder, Reply, Vectors, joined
from sag_retrieval.release.arrays import Index

_BLOCK = 256
_DIGITS = 5
_NEAREST_KEYS = 10
"""Known keys with the nearest vectors that are found for an event."""
_NAMED_KEYS = 8
"""Known keys that are found for an event by its words and initials."""
_SIMILAR_EVENTS = 3
"""Nearest events whose keys are found for an event."""
_LEAST_SIMILARITY = 0.5
"""Least cosine of a known key or event: a model tends to choose a shown name, even a dissimilar one."""
_LONGEST_WAVE = 1_000
"""Events of a wave: all are asked about before the keys of any of them are known."""
Prompted = TypeVar("Prompted", KnownKey, tuple[KnownKey, ...])


def known_about(
    events: Sequence[Event], vectors: Vectors, sources: Sequence["BatchSource | ReleasedKeys"]
) -> list[KnownKeys]:
    """The known keys for each event, in order; of equally near ones the earlier source comes first.

    Source: docs/algorithm.md §extraction.29.
    """
    if not events or not any(source.event_count for source in sources):
        return [KnownKeys()] * len(events)
    keys = [source.nearest_keys(vectors, _NEAREST_KEYS) for source in sources]
    similar = [source.nearest_events(vectors, _SIMILAR_EVENTS) for source in sources]
    return [
        _known_of(
            event.content,
            _best((source.named_keys(event.content, _NAMED_KEYS) for source in sources), _NAMED_KEYS, 0),
            _best((found[row] for found in keys), _NEAREST_KEYS, _LEAST_SIMILARITY),
            _best((found[row] for found in similar), _SIMILAR_EVENTS, _LEAST_SIMILARITY),
        )
        for row, event in enumerate(events)
    ]


def waves(sizes: Sequence[int], known: int, concurrency: int) -> Iterator[slice]:
    """Questions with these numbers of events, cut into waves: a wave has at least as many events as are known.

    Examples:
        >>> [part.stop - part.start for part in waves([1] * 40, 0, 4)]
        [4, 4, 8, 16, 8]
    """
    start = 0
    while start < len(sizes):
        wanted, end = min(max(known, concurrency), _LONGEST_WAVE), start
        while end < len(sizes) and wanted > 0:
            wanted -= sizes[end]
            known += sizes[end]
            end += 1
        yield slice(start, end)
        start = end


def _known_of(text: str, named: list[KnownKey], near: list[KnownKey], similar: list[tuple[KnownKey, ...]]) -> KnownKeys:
    """Names that the text spells otherwise come first, and last those that a model has before its eyes in the text."""
    written = {key for group in (named, near, *similar) for key in group if is_written(key.value, text)}
    direct = [key for key in near if key not in written]
    others = [key for group in similar for key in group if key not in written]
    as_spelt = [key for group in (named, near, *similar) for key in group if key in written]
    return KnownKeys(
        tuple(key for key in named if key not in written), tuple(direct), tuple(dict.fromkeys([*others, *as_spelt]))
    )


def _best(lists: Iterable[list[tuple[float, Prompted]]], count: int, least: float) -> list[Prompted]:
    merged = sorted((one for found in lists for one in found if one[0] >= least), key=lambda one: -one[0])
    return list({value: None for _, value in merged})[:count]


@dataclass(slots=True)
class BatchSource:
    """The events and keys of the waves before, whose order does not matter: equally near ones are ranked by name."""

    embedder: Embedder
    _keys: dict[KnownKey, None] = field(default_factory=dict)
    _key_blocks: list[Vectors] = field(default_factory=list)
    _event_keys: list[tuple[KnownKey, ...]] = field(default_factory=list)
    _event_blocks: list[Vectors] = field(default_factory=list)
    _names: NameSearch = field(default_factory=NameSearch)

    @property
    def event_count(self) -> int:
        """Events that were added."""
        return len(self._event_keys)

    def add(self, events: Sequence[Event], keys: Iterable[EventKey], vectors: Vectors | None = None) -> None:
        """Add events and their keys; `vectors` are those of the events. Numbers, flags and titles are not shown."""
        shown: dict[str, list[KnownKey]] = {event.event_id: [] for event in events}
        for link in keys:
            if link.event_id in shown and link.key.value_string is not None and link.key.key_type != TITLE:
                shown[link.event_id].append(KnownKey(link.key.key_type, link.key.value_string))
        fresh = list(dict.fromkeys(key for group in shown.values() for key in group if key not in self._keys))
        if fresh:
            self._keys.update(dict.fromkeys(fresh))
            self._key_blocks.append(self.embedder.embed([key.value for key in fresh]))
            self._names.add(fresh)
        if events:
            self._event_keys.extend(tuple(shown[event.event_id]) for event in events)
            if vectors is None:
                vectors = self.embedder.embed([event.indexed_text for event in events])
            self._event_blocks.append(vectors)

    def named_keys(self, text: str, count: int) -> list[tuple[float, KnownKey]]:
        """The keys whose names the text holds best, with the share that it holds."""
        return self._names.find(text, count)

    def nearest_keys(self, vectors: Vectors, count: int) -> list[list[tuple[float, KnownKey]]]:
        """The nearest keys of each vector, best first, with their cosines."""
        return _nearest(vectors, self._key_blocks, list(self._keys), count)

    def nearest_events(self, vectors: Vectors, count: int) -> list[list[tuple[float, tuple[KnownKey, ...]]]]:
        """The keys of the nearest events of each vector, best first, with the events' cosines."""
        return _nearest(vectors, self._event_blocks, self._event_keys, count)


def _nearest(
    vectors: Vectors, blocks: list[Vectors], values: Sequence[Prompted], count: int
) -> list[list[tuple[float, Prompted]]]:
    """The `count` values of the largest cosines for each vector, best first; equal ones by value.

    Cosines are rounded, because a product of matrices differs in its last bits with the number of rows.
    """
    rows = vectors.shape[0]
    if not blocks or not count:
        return [[] for _ in range(rows)]
    blocks[:] = [joined(blocks)]
    found = []
    for start in range(0, rows, _BLOCK):
        product = vectors[start : start + _BLOCK] @ blocks[0].T
        cosines = np.asarray(product.toarray() if isinstance(product, csr_array) else product, np.float32)
        for row in np.round(cosines, _DIGITS):
            bound = np.partition(row, -count)[-count] if len(row) > count else 0.0
            best = [(float(row[i]), values[i]) for i in np.flatnonzero((row >= bound) & (row > 0)).tolist()]
            found.append(sorted(best, key=lambda one: (-one[0], one[1]))[:count])
    return found


@dataclass(frozen=True)
class ReleasedKeys:
    """Text keys and events of an opened release; vectors must be of its embedder."""

    index: Index

    @property
    def event_count(self) -> int:
        """Events of the release."""
        return len(self.index.rows["events"])

    def named_keys(self, text: str, count: int) -> list[tuple[float, KnownKey]]:
        """The text keys whose names the text holds best."""
        return self._names.find(text, count)

    @cached_property
    def _names(self) -> NameSearch:
        found = NameSearch()
        found.add(self._key(int(row)) for row in np.flatnonzero(self._is_shown))
        return found

    @cached_property
    def _is_shown(self) -> npt.NDArray[np.bool_]:
        rows = self.index.rows["keys"]
        is_text = np.asarray(rows["value_string"].combine_chunks().is_valid())
        return np.asarray(is_text & (np.asarray(rows["key_type"].to_pylist(), object) != TITLE), np.bool_)

    def nearest_keys(self, vectors: Vectors, count: int) -> list[list[tuple[float, KnownKey]]]:
        """The nearest text keys of each vector."""
        found = []
        for row in range(vectors.shape[0]):
            rows, cosines = self.index.arrays.vectors["keys"].top(vectors[[row]], count, self._is_shown)
            found.append([(float(c), self._key(int(r))) for r, c in zip(rows, cosines, strict=True)])
        return found

    def nearest_events(self, vectors: Vectors, count: int) -> list[list[tuple[float, tuple[KnownKey, ...]]]]:
        """The text keys of the nearest events of each vector."""
        found = []
        for row in range(vectors.shape[0]):
            rows, cosines = self.index.arrays.vectors["events"].top(vectors[[row]], count)
            found.append([(float(c), self._keys_of(int(r))) for r, c in zip(rows, cosines, strict=True)])
        return found

    def _keys_of(self, event: int) -> tuple[KnownKey, ...]:
        keys = self.index.arrays.event_keys.row(event)
        return tuple(self._key(int(row)) for row in keys if self._is_shown[row])

    def _key(self, row: int) -> KnownKey:
        rows = self.index.rows["keys"]
        return KnownKey(rows["key_type"][row].as_py(), rows["value_string"][row].as_py())


def _pending_keys(store: Store, index: Index | None, embedder: Embedder) -> BatchSource:
    """Events and keys that are stored but not in the release, in the order of the work.

    With them a run that resumes an interrupted one asks what that run would have asked.
    """
    place = {entry.unit: entry.part for entry in store.ledger.entries("step = 'events' AND kind = 'document'")}
    done = [entry.unit for entry in store.ledger.entries("step = 'keys' AND kind = 'document'")]
    done.sort(key=lambda unit: (place.get(unit, ""), unit))
    rows = index.rows["documents"] if index else None
    released = dict(zip(rows["document_id"].to_pylist(), rows["version"].to_pylist(), strict=True)) if rows else {}
    documents = store.read("documents", done)
    fresh = [unit for unit in done if any(released.get(unit) != one.version for one in documents[unit])]
    events, keys = store.read("events", fresh), store.read("keys", fresh)
    source = BatchSource(embedder)
    for unit in fresh:
        source.add(events[unit], keys[unit])
    return source


@dataclass(slots=True)
class _Asked:
    """What is asked about one document, and what came back."""

    document: Document
    inputs: StepInput
    questions: Sequence[KeyQuestion]
    given: Sequence[EventKey]
    """Supplied keys, and the main keys of its chunks."""
    replies: list[Reply[ExtractedKeys] | ModelError] = field(default_factory=list)
    keys: list[EventKey] = field(default_factory=list)
    refused: Refusals = field(default_factory=Refusals)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWork:
    """Keys of documents (a `Work`): supplied ones unchanged, else one question per chunk with known keys.

    The questions of a batch are asked in waves, across documents and within a long one. Each is shown the keys of the
    sources and of the waves before, never of its own, so that the prompts depend on the documents alone: not on which
    answer comes first, and not on where an earlier run was stopped.
    """

    chat: ChatModel
    before: BatchSource = field(default_factory=lambda: BatchSource(HashingEmbedder()))
    """Gets the keys of each wave, and may have some already."""
    sources: Sequence[ReleasedKeys] = ()
    """Further sources of known keys, with the embedder of `before`."""
    options: KeyOptions = field(default_factory=KeyOptions)
    concurrency: int = 16
    """Calls at once, for which waves are cut."""
    language: str = "auto"
    """`zh`, `en`, or `auto`: each document's."""
    whole_batches: bool = True
    """A batch that is broken off is made again from the kept answers, in the same waves."""

    def __call__(self, batch: Sequence[StepInput]) -> Iterator[StepResult]:
        """The keys of each document of a batch."""
        asked = [self._asked(inputs) for inputs in batch]
        questions = [(one, question) for one in asked for question in one.questions]
        questions.sort(key=lambda one: one[1].shares)
        known = self.before.event_count + sum(source.event_count for source in self.sources)
        for part in waves([len(question.events) for _, question in questions], known, self.concurrency):
            self._ask(questions[part])
        for one in asked:
            yield result_of_replies("keys", (*one.keys, *one.given), one.replies, one.refused)

    def _asked(self, inputs: StepInput) -> _Asked:
        document: Document = inputs.one("documents")
        main = main_keys(document, inputs.tables["chunks"])
        if inputs.is_supplied:
            supplied = [key for one in given_events(document, inputs.tables["chunks"]) for key in one.keys]
            self.before.add(inputs.tables["events"], supplied)
            return _Asked(document, inputs, (), [*supplied, *main])
        questions = key_questions(document, inputs.tables["events"], options=self.options, language=self.language)
        return _Asked(document, inputs, questions, main)

    def _ask(self, wave: Sequence[tuple[_Asked, KeyQuestion]]) -> None:
        events = [event for _, question in wave for event in question.events]
        vectors = self.before.embedder.embed([event.indexed_text for event in events])
        known = iter(known_about(events, vectors, [*self.sources, self.before]))
        questions = [
            replace(question, known=tuple(_with_title(one.document, event, next(known)) for event in question.events))
            for one, question in wave
        ]
        made: list[EventKey] = []
        replies = self.chat.ask_all(each.request for each in questions)
        for (one, _), question, reply in zip(wave, questions, replies, strict=True):
            answer = reply.value if isinstance(reply, Reply) else ExtractedKeys(events=[])
            checked = supported_keys(question, answer, evidence_of_events(one.inputs, question.events), one.refused)
            read = joined_keys if isinstance(reply, Reply) else keys_from_reply
            keys, refused = read(one.document, question.events, checked, self.options)
            one.replies.append(reply)
            one.keys += keys
            one.refused.found += refused
            made += keys
        self.before.add(events, made, vectors)


def _with_title(document: Document, event: Event, known: KnownKeys) -> KnownKeys:
    """Known keys of an event, with the title of its document where the event seems to spell that otherwise."""
    title = bare_title(document.title)
    if not title or not is_named_otherwise(title, event.content):
        return known
    return replace(known, otherwise=(KnownKey(TITLE, title), *known.otherwise))


def known_keys_work(
    chat: CachedChat, settings: Settings, store: Store, index: Index | None, run: RunOptions
) -> KeyWork:
    """Work of the table `keys` with the known keys of the release and the store; `index` None: no release yet."""
    name = embedder_of_home(settings)
    embedder = index.embedder if index else HashingEmbedder() if name == HASHING else open_dense(name)
    types = with_stored_types(run.key.schema, index.rows["keys"]) if index else run.key.schema
    return KeyWork(
        chat=chat,
        before=_pending_keys(store, index, embedder),
        sources=[ReleasedKeys(index)] if index else [],
        options=replace(run.key, schema=types),
        concurrency=run.chat.concurrency,
        language=settings.language,
    )


_UNTYPED = frozenset({"", ENTITY, "none", "other", "unknown"})
"""What models write for a type that they do not know, whatever the schema."""


def joined_keys(
    document: Document, events: Sequence[Event], answer: ExtractedKeys, options: KeyOptions | None = None
) -> ReadKeys:
    """The keys of a question's events by a model and by rules, event by event; of two with one id the model's counts.

    A key whose type is none of the schema's has the type that the rules give that name in the event. One that the
    model left untyped is a date where it reads as one, else an `entity` where it is written as a name: an ordinary
    word without a type is refused, as it ties what has nothing in common. Typed names, dates and amounts that the
    rules find join what the model says, because a phrase of a model may hide the name within; a name that the model
    calls another name of a key (`same_as`) is that key.

    Source: docs/algorithm.md §extraction.28.
    """
    from sag_pipeline.extract.rules.keys import FORECAST, offline_keys  # noqa: PLC0415  it loads the dictionaries of all rules

    options = options or KeyOptions()
    types = options.schema.of_source(document.source)
    ruled = defaultdict[str, list[EventKey]](list)
    for link in offline_keys(document, events, types, options.recogniser):
        ruled[link.event_id].append(link)
    further = list[EventKey]()
    said = list[KeysOfEvent]()
    otherwise = set[tuple[str, str]]()
    for one in answer.events:
        if not 1 <= one.event <= len(events):
            continue
        event = events[one.event - 1]
        known = {normal_name(link.key.value_string or ""): link.key.key_type for link in ruled[event.event_id]}
        otherwise |= {(event.event_id, normal_name(name)) for key in one.keys for name in key.same_as}
        typed = [_typed(key, known, types, event.content, document.language) for key in one.keys]
        is_open = [key.type == ENTITY and ENTITY not in types for key in typed]
        entities = [make_key(ENTITY, str(key.value)) for key, is_name in zip(typed, is_open, strict=True) if is_name]
        further += [EventKey(document.document_id, event.event_id, key) for key in entities if key]
        named = [key for key, is_name in zip(typed, is_open, strict=True) if not is_name]
        said.append(KeysOfEvent(event=one.event, keys=named))
    found, refused = keys_from_reply(document, events, ExtractedKeys(events=said), options)
    for event_id, links in ruled.items():
        further += [
            EventKey(link.document_id, link.event_id, link.key)
            for link in links
            if (link.key.key_type in types or link.key.key_type == FORECAST)
            and (event_id, normal_name(link.key.value_string or "")) not in otherwise
        ]
    return ReadKeys(_by_event(events, [*found, *further]), refused)


def _typed(key: ExtractedKey, known: dict[str, str], types: KeyTypes, text: str, language: str) -> ExtractedKey:
    """The key with a type of the schema where the rules or its value tell one, else as it is or an `entity`."""
    if types.named(key.type) is not None or not isinstance(key.value, str):
        return key
    ruled = known.get(normal_name(key.value))
    if ruled is not None and ruled in types:
        return key.model_copy(update={"type": ruled})
    if fold(key.type) not in _UNTYPED:
        return key
    value = key.value.strip()
    if DATE in types and any(one.end - one.start == len(value) for one in dates(value, language)):
        return key.model_copy(update={"type": DATE})
    is_name = may_be_name(value, text) if is_cjk(value) else value != value.lower()
    return key.model_copy(update={"type": ENTITY if is_name else "none"})


def _by_event(events: Sequence[Event], links: Sequence[EventKey]) -> list[EventKey]:
    """Each key of an event once, the first of equal ones, in the order of the events."""
    once = dict[tuple[str, str], EventKey]()
    for link in links:
        once.setdefault((link.event_id, link.key.key_id), link)
    place = {event.event_id: row for row, event in enumerate(events)}
    return sorted(once.values(), key=lambda link: place[link.event_id])
