"""Embedding without a model: words and character n-grams, weighted by idf and hashed to a fixed dimension."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import batched
from sag_retrieval.core.types import Words64
from sag_retrieval.language.words import is_cjk, tokens
from sag_retrieval.models.protocols import EmbedderKind, InWorkers

BUCKETS: Final = 1 << 20
NGRAM_WEIGHT: Final = 0.35
_FILE: Final = "hashing.npy"
_VERSION: Final = 2
_BATCH: Final = 4096


@dataclass(frozen=True, eq=False)
class HashingFit:
    """Document frequency of each feature in a corpus, by bucket of its hash; constant size (1 to 4 MB)."""

    document_frequency: npt.NDArray[np.unsignedinteger]
    text_count: int

    def idf(self, features: Words64) -> npt.NDArray[np.float64]:
        """`ln(1 + texts / texts with it)` of a feature, 1 for an empty fit: docs/algorithm.md §search.1."""
        if self.text_count == 0:
            return np.ones(len(features))
        frequency = self.document_frequency[features & np.uint64(BUCKETS - 1)].astype(np.uint32)
        return np.asarray(np.log1p(self.text_count / np.maximum(frequency, 1)), np.float64)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the table."""
        return blake2b(np.ascontiguousarray(self.document_frequency, np.uint32).data, digest_size=8).hexdigest()

    def save(self, folder: Path) -> None:
        """Write `hashing.npy`: the table followed by the number of texts, in as few bytes as that number takes."""
        folder.mkdir(parents=True, exist_ok=True)
        whole = np.append(self.document_frequency, np.uint32(self.text_count))
        np.save(folder / _FILE, whole.astype(np.min_scalar_type(max(self.text_count, int(whole.max())))))

    @classmethod
    def load(cls, folder: Path) -> "HashingFit":
        """Memory-map a saved fit."""
        path = folder / _FILE
        if not path.is_file():
            raise ModelError(f"no hashing fit at {path}; rebuild the release with `sag ingest`")
        table = np.load(path, mmap_mode="r")
        if table.shape != (BUCKETS + 1,):
            raise ModelError(f"{path} holds {table.shape}, not {(BUCKETS + 1,)}; rebuild it with `sag ingest`")
        if (length := path.stat().st_size) != table.offset + table.nbytes:
            raise ModelError(
                f"{path} has {length} bytes, not {table.offset + table.nbytes}; rebuild it with `sag ingest`"
            )
        return cls(table[:BUCKETS], int(table[BUCKETS]))


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Of some texts: buckets of features, each once, in how many texts a feature of it occurs, and their number."""

    buckets: npt.NDArray[np.intp]
    frequency: npt.NDArray[np.int64]
    text_count: int


def count_texts(texts: Sequence[str]) -> Counted:
    """Count how many of these texts contain each feature."""
    counts, features = _count_features(texts)
    frequency = np.bincount(counts.indices, minlength=len(features))
    buckets, place = np.unique((features & np.uint64(BUCKETS - 1)).astype(np.intp), return_inverse=True)
    return Counted(buckets, np.bincount(place, frequency, len(buckets)).astype(np.int64), len(texts))


def counted_together(parts: Iterable[Counted]) -> Counted:
    """The sum of counts."""
    table, count = _summed(parts)
    buckets = np.flatnonzero(table)
    return Counted(buckets, table[buckets], count)


def fit_of(parts: Iterable[Counted]) -> HashingFit:
    """The fit on texts that were counted in parts, in constant memory; in any order, and however they were divided."""
    table, count = _summed(parts)
    return HashingFit(np.minimum(table, np.iinfo(np.uint32).max).astype(np.uint32), count)


def fit(texts: Iterable[str]) -> HashingFit:
    """Count how many texts contain each feature, in one pass and constant memory."""
    return fit_of(map(count_texts, batched(texts, _BATCH)))


def _summed(parts: Iterable[Counted]) -> tuple[npt.NDArray[np.int64], int]:
    table = np.zeros(BUCKETS, np.int64)
    count = 0
    for part in parts:
        table[part.buckets] += part.frequency
        count += part.text_count
    return table, count


@dataclass(frozen=True, eq=False)
class HashingEmbedder:
    """Sparse vectors from spelling alone: no download, no model, identical in every process.

    A row is `l2(Σ_f (1 + ln tf) · idf · weight · sign · e_column)` over words and character n-grams:
    docs/algorithm.md §search.1.
    """

    fitted: HashingFit = HashingFit(np.zeros(BUCKETS, np.uint32), 0)
    dimension: int = 2048
    kind: ClassVar[EmbedderKind] = "hashing"
    in_workers: ClassVar[InWorkers] = "sent"

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the fitted corpus and the dimension."""
        return f"hashing-{_VERSION}-{self.dimension}-{self.fitted.text_count}-{self.fitted.fingerprint}"

    def embed(self, texts: Sequence[str]) -> csr_array:
        """One sparse row per text, in order; an empty text gets a row of zeros."""
        return _stack(list(self.embed_blocks(texts)) or [self._embed_batch([])])

    def embed_blocks(self, texts: Iterable[str]) -> Iterator[csr_array]:
        """The rows of many texts in blocks, with one block in memory at a time."""
        return (self._embed_batch(batch) for batch in batched(texts, _BATCH))

    def _embed_batch(self, texts: Sequence[str]) -> csr_array:
        counts, features = _count_features(texts)
        weights = np.where(features & _WHOLE, 1.0, NGRAM_WEIGHT) * self.fitted.idf(features)
        counts.data = (1 + np.log(counts.data)) * weights[counts.indices]
        columns = ((features >> np.uint64(20)) & np.uint64(0xFFFFFFFF)) % np.uint64(self.dimension)
        signs = 1 - 2 * (features >> np.uint64(63)).astype(np.float64)
        counts.data *= signs[counts.indices]
        rows = csr_array(
            (counts.data, columns.astype(np.int32)[counts.indices], counts.indptr),
            shape=(len(texts), self.dimension),
        )
        rows.sum_duplicates()
        return _unit_rows(rows)


def _count_features(texts: Sequence[str]) -> tuple[csr_array, Words64]:
    found = [tokens(text) for text in texts]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(chain.from_iterable(found)))}
    of_text = _rows_of([[vocabulary[token] for token in each] for each in found], len(vocabulary))
    features_of = [_features(token) for token in vocabulary]
    flat = np.concatenate(features_of) if features_of else np.empty(0, np.uint64)
    features, number = np.unique(flat, return_inverse=True)
    starts = np.cumsum([0, *(len(each) for each in features_of)])
    of_token = csr_array((np.ones(len(flat)), number, starts), shape=(len(vocabulary), len(features)))
    return of_text @ of_token, features


def _rows_of(numbers: Sequence[Sequence[int]], width: int) -> csr_array:
    indices = np.fromiter(chain.from_iterable(numbers), np.int32)
    starts = np.cumsum([0, *map(len, numbers)])
    return csr_array((np.ones(len(indices)), indices, starts), shape=(len(numbers), width))


@lru_cache(maxsize=1 << 18)
def _features(token: str) -> Words64:
    """Hashes of a token and, for a Latin stem, of its character n-grams with word boundaries."""
    if is_cjk(token):
        return np.array([_hash(token, is_whole=len(token) == 1)], np.uint64)
    marked = f"<{token}>"
    grams = [marked[i : i + n] for n in (3, 4, 5) for i in range(len(marked) - n + 1)]
    return np.array([_hash(token, is_whole=True), *(_hash(gram, is_whole=False) for gram in grams)], np.uint64)


_WHOLE: Final = np.uint64(1 << 62)


def _hash(text: str, *, is_whole: bool) -> int:
    """Bit 62 is set if the feature weighs 1; a word and an n-gram with the same spelling have different hashes."""
    salt = b"word" if is_whole else b"gram"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=salt).digest()
    number = int.from_bytes(digest, "little")
    return number | int(_WHOLE) if is_whole else number & ~int(_WHOLE)


def _unit_rows(rows: csr_array) -> csr_array:
    lengths = np.sqrt(np.add.reduceat(np.append(rows.data**2, 0), rows.indptr[:-1]))
    lengths[np.diff(rows.indptr) == 0] = 1
    lengths[lengths == 0] = 1
    data = rows.data / np.repeat(lengths, np.diff(rows.indptr))
    return csr_array((data.astype(np.float32), rows.indices, rows.indptr), shape=(len(lengths), rows.shape[1]))


def _stack(blocks: list[csr_array]) -> csr_array:
    if len(blocks) == 1:
        return blocks[0]
    starts = np.concatenate([[0], *(np.diff(block.indptr) for block in blocks)]).cumsum()
    data, indices = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("data", "indices"))
    return csr_array((data, indices, starts), shape=(len(starts) - 1, blocks[0].shape[1]))
