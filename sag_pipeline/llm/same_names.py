"""Ask a language model whether keys with close names mean one thing; each answer is kept by the names."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.extract.close_pairs import close_pairs
from sag_pipeline.extract.entity_resolution import Alignment, KeyColumns
from sag_pipeline.extract.questions import Question
from sag_pipeline.llm.extract import prompt_versions
from sag_pipeline.options import AlignOptions
from sag_pipeline.store.store import Store
from sag_retrieval.language.words import language_of
from sag_retrieval.models.cached_chat import BatchLimits, CachedChat
from sag_retrieval.models.protocols import AnswerShape, Reply, Request, estimate_tokens
from sag_retrieval.prompts import quoted

STEP: Final = "pairs"
"""Of the questions, in costs."""
LIMITS: Final = BatchLimits(parts=40, tokens=4_000)
"""Pairs of one question."""
_EXCERPT = 64
"""Characters of the sentence beside a name, those around it."""
_EVENTS = 8
"""Events with a key among which one with its name is looked for."""


class SamePairs(AnswerShape):
    """The numbers of the pairs that are one thing."""

    same: list[int]


class Pair(Question):
    """Two things to compare: pairs of one language share a prompt, whatever their documents and sources."""

    __slots__ = ()
    document_id = source = ""


@dataclass(frozen=True, slots=True)
class NamePair(Pair):
    """Two names with a sentence each."""

    step = STEP

    names: tuple[str, str]
    sentences: tuple[str, str]
    language: str

    @property
    def size(self) -> int:
        """Tokens of names and sentences."""
        return sum(map(estimate_tokens, (*self.names, *self.sentences)))

    def merge(self, parts: Sequence["NamePair"]) -> Request[SamePairs]:
        """One question about all pairs, numbered from 1. Sentences are no part of its identity."""
        shown = [[text for pair in zip(part.names, part.sentences, strict=True) for text in pair] for part in parts]
        pairs = "\n".join(f"{number} {quoted(*texts)}" for number, texts in enumerate(shown, 1))
        return self.asked(SamePairs, parts, (name for part in parts for name in part.names), pairs=pairs)

    def split(self, parts: Sequence["NamePair"], answer: SamePairs) -> list[SamePairs | None]:
        """The answer by pair: `same` has 1 or nothing."""
        return [SamePairs(same=[1] if number in answer.same else []) for number in range(1, len(parts) + 1)]


def excerpt(sentence: str, name: str) -> str:
    """What stands around a name in a sentence; its start if it does not hold the name."""
    before = (_EXCERPT - len(name)) // 2
    latest = max(0, len(sentence) - _EXCERPT)
    start = min(max(0, sentence.find(name) - before), latest)
    return sentence[start : start + _EXCERPT]


@dataclass(frozen=True, slots=True)
class PairQuestions:
    """Asks about the closest pairs of keys that are not aligned (a `Confirm` of publishing)."""

    chat: CachedChat
    store: Store
    options: AlignOptions
    language: str = "auto"

    @property
    def fingerprint(self) -> str:
        """What the answers depend on besides the keys."""
        parts = (self.chat.fingerprint, self.language, prompt_versions(STEP), str(self.options.pairs_per_event))
        return " ".join(parts)

    def __call__(self, keys: KeyColumns, alignment: Alignment) -> Collection[tuple[str, str]]:
        """Pairs of ids that the model takes for one thing; a question without an answer aligns nothing."""
        most = round(self.options.pairs_per_event * self.store.ledger.row_count("events"))
        canonical = alignment.canonical
        rows = [row for row, key_id in enumerate(keys.key_ids) if key_id not in canonical]
        pairs = [(keys.key_ids[pair.one], keys.key_ids[pair.other]) for pair in close_pairs(keys, rows)[:most]]
        values = dict(zip(keys.key_ids, keys.values, strict=True))
        sentences = self._sentences({key_id for pair in pairs for key_id in pair}) if pairs else {}
        asked = []
        for pair in pairs:
            one, other = sorted(pair, key=lambda key_id: (values[key_id], key_id))
            names = values[one], values[other]
            texts = excerpt(sentences.get(one, ""), names[0]), excerpt(sentences.get(other, ""), names[1])
            spoken = language_of("".join(names)) if self.language == "auto" else self.language
            asked.append(NamePair(names, texts, spoken).request)
        replies = zip(pairs, self.chat.ask_all(asked), strict=True)
        return [pair for pair, reply in replies if isinstance(reply, Reply) and reply.value.same]

    def _sentences(self, key_ids: Collection[str]) -> dict[str, str]:
        """An event with each key: of its first by id, one that has its name if there is one."""
        carried: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for rows in self.store.scan("keys", ["event_id", "key_id", "value_string"]):
            for row in _where(rows, "key_id", key_ids):
                carried[row["key_id"]].add((row["event_id"], row["value_string"]))
        first = {key_id: sorted(found)[:_EVENTS] for key_id, found in carried.items()}
        wanted = {event_id for found in first.values() for event_id, _ in found}
        contents: dict[str, str] = {}
        for rows in self.store.scan("events", ["event_id", "content"]):
            contents |= {row["event_id"]: row["content"] for row in _where(rows, "event_id", wanted)}
        return {key_id: _sentence(found, contents) for key_id, found in first.items()}


def _sentence(carried: Sequence[tuple[str, str]], contents: Mapping[str, str]) -> str:
    """The content of the first event that has the name, else of the first that is an event."""
    own = [(contents[event_id], value) for event_id, value in carried if event_id in contents]
    return next((content for content, value in own if value in content), own[0][0] if own else "")


def _where(rows: pa.Table, column: str, wanted: Collection[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.filter(pc.is_in(rows[column], pa.array(sorted(wanted), pa.string()))).to_pylist()
    return found
