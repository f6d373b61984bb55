"""Pairs of keys whose names are close, and the question to a language model whether they mean one thing."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array, csr_array, triu

from sag_pipeline.extract.entity_resolution import Alignment, KeyColumns
from sag_pipeline.extract.name_matching import (
    EXACT_TYPES,
    GENERIC_TYPES,
    bare_title,
    short_names,
    whole_initials,
    words_of,
)
from sag_pipeline.extract.step_questions import StepQuestion
from sag_pipeline.llm.extract import prompt_versions
from sag_pipeline.options import AlignOptions
from sag_pipeline.store.store import Store
from sag_retrieval.core.records import TITLE
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import is_cjk, language_of, normal_name
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


class ComparedPair(StepQuestion):
    """Two things to compare: pairs of one language share a prompt, whatever their documents and sources."""

    __slots__ = ()
    document_id = source = ""


@dataclass(frozen=True, slots=True)
class NamePair(ComparedPair):
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


_COMMON = 16
"""Names that share a term; a term of more names pairs none."""
_LEAST_PART = 0.5
"""Least share of the lighter name's weight that both names have."""
_LEAST_SCORE = 0.4
_OF_INITIALS, _OF_TWO_INITIALS = 0.95, 0.6
_BLOCK = 256
_LEAST_COSINE = 0.5
_MOST_COMPARED = 20_000
"""Names whose vectors are compared one with another; of more, only names with a rare term in common are paired."""


@dataclass(frozen=True, slots=True)
class ClosePair:
    """Two rows of keys, the first row first, and how close their names are: 0 to 1."""

    one: int
    other: int
    score: float


def close_pairs(keys: KeyColumns, rows: Sequence[int]) -> list[ClosePair]:
    """Pairs of keys that may mean one thing, the closest first, then by name.

    Names are close if one has most of the other's weight in words, or if one is the initials of the other, or if their
    vectors of letters are near. Two specific types, dates and numbers, and names with different numbers are no pairs.

    Source: docs/algorithm.md §extraction.32.
    """
    rows = [row for row in rows if keys.key_types[row] not in EXACT_TYPES and keys.names[row]]
    names = [bare_title(keys.values[row]) if keys.key_types[row] == TITLE else keys.values[row] for row in rows]
    scores: dict[tuple[int, int], float] = defaultdict(float)
    for found in (_by_words(names, rows), _by_initials(names, rows), _by_vectors(names, rows)):
        for one, other, score in found:
            pair = (min(one, other), max(one, other))
            scores[pair] = max(scores[pair], score)
    pairs = [ClosePair(*pair, round(score, 4)) for pair, score in scores.items() if _may_be_one(keys, *pair)]
    return sorted(pairs, key=lambda pair: (-pair.score, *sorted((keys.names[pair.one], keys.names[pair.other]))))


def _may_be_one(keys: KeyColumns, one: int, other: int) -> bool:
    types = keys.key_types[one], keys.key_types[other]
    if types[0] != types[1] and not GENERIC_TYPES & set(types):
        return False
    numbers = [set(patterns("all")["number_of_name"].findall(keys.values[row])) for row in (one, other)]
    return not all(numbers) or numbers[0] == numbers[1]


def _by_words(names: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    terms = [words_of(name) or {name} for name in names]
    places: dict[str, list[int]] = defaultdict(list)
    for place, own in enumerate(terms):
        for term in own:
            places[term].append(place)
    weight = {term: float(np.log(1 + len(rows) / len(found))) for term, found in places.items()}
    totals = np.array([sum(weight[term] for term in sorted(own)) for own in terms])
    shared = [found for found in places.values() if 1 < len(found) <= _COMMON]
    matrix = _matrix(shared, [float(np.sqrt(np.log(1 + len(rows) / len(found)))) for found in shared], len(rows))
    product = triu(matrix @ matrix.T, 1).tocoo()
    one, other = product.coords
    part = product.data / np.minimum(totals[one], totals[other])
    score = (part + product.data / (totals[one] + totals[other] - product.data)) / 2
    for at in np.flatnonzero((part >= _LEAST_PART) & (score >= _LEAST_SCORE)):
        yield rows[one[at]], rows[other[at]], float(score[at])


def _by_initials(names: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    long: dict[str, list[int]] = defaultdict(list)
    for row, name in zip(rows, names, strict=True):
        for one in whole_initials(name):
            long[one].append(row)
    for row, name in zip(rows, names, strict=True):
        if " " not in name:
            for one in short_names(name):
                if len(long[one]) <= _COMMON:
                    score = _OF_INITIALS if len(one) > 2 else _OF_TWO_INITIALS  # noqa: PLR2004  EU, and much else
                    yield from ((row, other, score) for other in long[one])


def _by_vectors(names: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    """Pairs with near vectors of letters, as transliterations and slips of the pen have."""
    if not 1 < len(rows) <= _MOST_COMPARED:
        return
    vectors = _letters([normal_name(name) for name in names])
    for start in range(0, len(rows), _BLOCK):
        near = triu(vectors[start : start + _BLOCK] @ vectors.T, start + 1).tocoo()
        for place in np.flatnonzero(near.data >= _LEAST_COSINE):
            yield rows[start + near.row[place]], rows[near.col[place]], float(near.data[place])


def _letters(names: Sequence[str]) -> csr_array:
    """Vectors of length 1 over pairs of Chinese characters and threes of letters; common ones weigh less."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        for piece in _pieces(name):
            places[piece].append(place)
    held = list(places.values())
    matrix = _matrix(held, [float(np.log(1 + len(names) / len(found))) for found in held], len(names))
    lengths = np.sqrt(np.asarray(matrix.power(2).sum(axis=1)).ravel())
    return csr_array(matrix.multiply((1 / np.maximum(lengths, 1e-9))[:, None]))


def _matrix(places: Sequence[Sequence[int]], weights: Sequence[float], names: int) -> csr_array:
    """A row for each name, a column with its weight for each term, by the names that have it."""
    columns = np.repeat(np.arange(len(places)), [len(found) for found in places])
    rows = [place for found in places for place in found]
    return csr_array(coo_array((np.take(weights, columns), (rows, columns)), (names, max(1, len(places)))))


def _pieces(name: str) -> list[str]:
    size = 1 if is_cjk(name) else 3
    padded = name if is_cjk(name) else f" {name} "
    return sorted({padded[at : at + size] for at in range(max(1, len(padded) - size + 1))})
