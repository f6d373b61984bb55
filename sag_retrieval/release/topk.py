"""Find the highest scores: exact top-k, and binary quantization that selects the rows to score.

A float32 scan is bound by memory: 384 columns take 1,536 bytes per row, one bit per column takes 48.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import MEND, ReleaseError
from sag_retrieval.core.types import Flags, Floats32, Rows, Words64
from sag_retrieval.release.mapped_arrays import FilePlace, map_array, new_array

_STRIPES: Final = 32
INDEXED_ROWS: Final = 5_000
"""Up to this number of rows an exact scan is as fast."""
RECALL_GOAL: Final = 0.95
_LEAST_SHARE, _MOST_SHARE = 1 / 250, 1 / 10
_WIDEST: Final = 64_000
"""Reaches tried: from 1,000 rows, or this share of many rows, to this number or half the rows, or the other share."""
_LEAST_KEPT: Final = 500
_KEPT: Final = 4
"""Of this number of rows that signs alone select, one is kept by what the query weighs at each sign."""
_QUERIES: Final = 32
_NEAREST: Final = 50
_BITS: Final = 64
_BLOCK: Final = 65_536
_UNPACKED: Final = 4_096
"""Rows whose signs are unpacked at a time."""
_SAMPLED: Final = 16_384
_SAMPLE_MARGIN, _SAMPLE_MORE = 1.1, 32
"""The sampled bound is taken this share, and this number of sampled values, above the expected place."""


class _Matrix(Protocol):
    """Vectors by row, in memory or in files."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any:  # noqa: ANN401  whatever an array takes
        ...


def top_k(scores: Floats32, k: int, rows: Rows | None = None) -> tuple[Rows, Floats32]:
    """The k highest scores above 0, best first, ties by row, and their numbers in `rows`, ascending; None: 0, 1, …."""
    chosen = np.flatnonzero(scores >= kth_largest(scores, k))
    chosen = chosen[scores[chosen] > 0]
    order = chosen[np.argsort(-scores[chosen], kind="stable")][: max(k, 0)]
    return (order if rows is None else rows[order]).astype(np.int32), scores[order]


def kth_largest(scores: npt.NDArray[Any], k: int) -> float:
    """The k-th highest score, -inf where there are no more than k.

    The k-th highest maximum of a block is a lower bound of it, so only scores from that bound up are partitioned.
    """
    if not 0 < k < len(scores):
        return -np.inf
    whole = len(scores) // _STRIPES * _STRIPES
    if whole >= 2 * k * _STRIPES:
        highest = scores[:whole].reshape(_STRIPES, -1).max(axis=0)
        scores = scores[scores >= np.partition(highest, -k)[-k]]
    return float(np.partition(scores, -k)[-k])


@dataclass(frozen=True, slots=True, eq=False)
class BinaryIndex:
    """Sign bits of shape (words, rows), 64 columns per word; `reach` rows are selected by them for the best 50."""

    words: Words64
    reach: int
    least_kept: int = _LEAST_KEPT
    """Selected rows that are kept in any case."""

    def oversampling_for(self, k: int) -> int:
        """Number of rows to select by signs for the best k rows."""
        return max(self.least_kept, self.reach * k // _NEAREST)

    def kept_of(self, reach: int) -> int:
        """Number of candidates among the rows selected by signs: those are scored exactly."""
        return max(self.least_kept, reach // _KEPT)

    def candidates(self, query: Floats32, reach: int, allowed: Flags | None = None) -> Rows:
        """Rows to score exactly, ascending: of those that `near` selects, the ones that may be nearest.

        A sign counts as much as the query weighs in its column, which tells apart rows at the same distance.
        """
        near, kept = self.near(query, reach, allowed), self.kept_of(reach)
        if len(near) <= kept:
            return near
        blocks = (near[start : start + _UNPACKED] for start in range(0, len(near), _UNPACKED))
        weighed = np.concatenate([self._weighed(query, block) for block in blocks])
        return near[weighed >= kth_largest(weighed, kept)]

    def near(self, query: Floats32, reach: int, allowed: Flags | None = None) -> Rows:
        """The `reach` allowed rows at the smallest Hamming distance from the query, and their ties; ascending."""
        distance = _distances(self.words, pack(query[None, :])[:, 0])
        rows = None if allowed is None else np.flatnonzero(allowed)
        near = nearest(distance if rows is None else distance[rows], reach)
        return (near if rows is None else rows[near]).astype(np.int32)

    def likeness(self, query: Floats32) -> Floats32:
        """Share of columns with the sign of the query less that of the others, of each row."""
        distance = _distances(self.words, pack(query[None, :])[:, 0])
        return np.asarray(1 - distance * np.float32(2 / max(1, len(query))), np.float32)

    def _weighed(self, query: Floats32, rows: Rows) -> Floats32:
        signs = np.ascontiguousarray(self.words[:, rows].T).view(np.uint8)
        return np.asarray(np.unpackbits(signs, axis=1, count=len(query)).astype(np.float32) @ query, np.float32)


def _distances(words: Words64, asked: Words64) -> npt.NDArray[np.uint16]:
    """Hamming distance of each row; one block at a time, which fits the processor's cache."""
    found = np.zeros(words.shape[1], np.uint16)
    for start in range(0, len(found), _BLOCK):
        block = found[start : start + _BLOCK]
        for stored, query in zip(words, asked, strict=True):
            block += np.bitwise_count(stored[start : start + _BLOCK] ^ query)
    return found


def nearest(distance: npt.NDArray[np.uint16], count: int) -> npt.NDArray[np.int64]:
    """Places of the values up to the `count`-th lowest (counted from 0) and its ties, ascending.

    A sample gives a bound that almost always lies above it, so that only the values up to the bound are partitioned;
    where it lies below, all are.
    """
    if count >= len(distance):
        return np.arange(len(distance))
    sample = distance[:: max(1, len(distance) // _SAMPLED)]
    place = min(len(sample) - 1, int(len(sample) * count / len(distance) * _SAMPLE_MARGIN) + _SAMPLE_MORE)
    below = np.flatnonzero(distance <= np.partition(sample, place)[place])
    if len(below) <= count:
        below = np.arange(len(distance))
    found = distance[below]
    return np.asarray(below[found <= np.partition(found, count)[count]])


def pack(vectors: Floats32) -> Words64:
    """Sign bits of shape (words, rows): whether each column is above 0, 64 columns per word."""
    columns = -(-vectors.shape[1] // _BITS) * _BITS
    bits = np.zeros((len(vectors), columns), np.bool_)
    np.greater(vectors, 0, out=bits[:, : vectors.shape[1]])
    return np.ascontiguousarray(np.packbits(bits, axis=1).view(np.uint64).T)


def write_binary_index(folder: Path, name: str, matrix: _Matrix) -> None:
    """Write `<name>.signs.npy`, and `<name>.signs.json` with the smallest reach that meets the recall goal.

    Where no reach meets the goal, no index is kept, and the table is scanned exactly.
    """
    shape = (-(-matrix.shape[1] // _BITS), len(matrix))
    words = new_array(folder / f"{name}.signs.npy", np.uint64, shape)
    for start, block in _blocks(matrix):
        words[:, start : start + len(block)] = pack(block)
    words.flush()
    found = calibrate(matrix, words)
    if found["recall_chosen_on"] < RECALL_GOAL:
        (folder / f"{name}.signs.npy").unlink()
        return
    (folder / f"{name}.signs.json").write_text(json.dumps(found) + "\n", encoding="utf-8")


def read_binary_index(folder: FilePlace, name: str) -> BinaryIndex | None:
    """The binary index of a table; None for a table without one."""
    described = describe_binary_index(folder, name)
    return BinaryIndex(map_array(folder / f"{name}.signs"), described["reach"]) if described else None


def describe_binary_index(folder: FilePlace, name: str) -> dict[str, Any]:
    """Reach and measured recall, as the manifest stores them; empty for a table without a binary index."""
    path = folder / f"{name}.signs.json"
    if not path.is_file():
        return {}
    try:
        described: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ReleaseError(f"{path} is damaged ({error}); {MEND}") from error
    return described


def calibrate(matrix: _Matrix, words: Words64) -> dict[str, Any]:
    """The smallest reach that meets the recall goal for the 50 nearest rows of sampled queries, and its recall.

    A query lies half way between two rows, as one about two texts does: a row itself would be too easy. The more rows
    there are, the more of them have the same distance, so a reach is at least a share of the rows. The recall is
    measured on as many other queries, because those that chose the reach would flatter it.
    """
    questions = np.concatenate([_between(matrix, 0), _between(matrix, 1)])
    truth = exact_nearest(matrix, questions, _NEAREST)
    recall, reach = 0.0, 0
    for reach in reaches(len(matrix)):
        signs = BinaryIndex(words, reach)
        recall = _mean_recall(matrix, signs, questions[:_QUERIES], truth[:_QUERIES])
        if recall >= RECALL_GOAL:
            break
    others = _mean_recall(matrix, BinaryIndex(words, reach), questions[_QUERIES:], truth[_QUERIES:])
    return {"kind": "signs", "reach": reach, "recall_chosen_on": round(recall, 3), "recall_at_50": round(others, 3)}


def _between(matrix: _Matrix, start: int) -> Floats32:
    """Queries half way between two rows; those of two starts share no row."""
    rows = np.linspace(0, len(matrix) - 2, _QUERIES).astype(np.int64) + start
    sampled = matrix[rows]
    return np.asarray(sampled + np.roll(sampled, 1, axis=0))


def _mean_recall(matrix: _Matrix, signs: BinaryIndex, questions: Floats32, truth: Sequence[Rows]) -> float:
    return float(np.mean([_recall(matrix, signs, *pair) for pair in zip(questions, truth, strict=True)]))


def reaches(row_count: int) -> Iterator[int]:
    """Reaches to try for a table, each twice the one before; there are some for any number of rows.

    Examples:
        >>> [*reaches(20_000)]
        [1000, 2000, 4000, 8000]
        >>> [*reaches(100_000_000)]
        [400000, 800000, 1600000, 3200000, 6400000]
    """
    reach = max(1_000, math.ceil(_LEAST_SHARE * row_count))
    while reach <= max(1_000, min(_WIDEST, row_count / 2), _MOST_SHARE * row_count):
        yield reach
        reach *= 2


def exact_nearest(matrix: _Matrix, questions: Floats32, k: int) -> Sequence[Rows]:
    """The rows of the k highest products above 0 with each query, best first; one pass for all queries."""
    found = [(np.zeros(0, np.int32), np.zeros(0, np.float32))] * len(questions)
    for start, block in _blocks(matrix):
        for number, products in enumerate(questions @ block.T):
            rows, scores = top_k(products, k)
            rows, scores = np.append(found[number][0], rows + start), np.append(found[number][1], scores)
            order = np.argsort(-scores, kind="stable")[:k]
            found[number] = rows[order].astype(np.int32), scores[order]
    return [rows for rows, _ in found]


def _recall(matrix: _Matrix, signs: BinaryIndex, question: Floats32, truth: Rows) -> float:
    near = signs.candidates(question, signs.reach)
    rows, _ = top_k(np.vecdot(matrix[near], question), len(truth), near)
    return len(np.intersect1d(rows, truth)) / max(1, len(truth))


def _blocks(matrix: _Matrix) -> Iterator[tuple[int, Floats32]]:
    for start in range(0, len(matrix), _BLOCK):
        yield start, np.asarray(matrix[start : start + _BLOCK])
