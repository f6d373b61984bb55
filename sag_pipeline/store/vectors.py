"""Vectors by what they are of: each distinct text is embedded once by an embedder, whoever shares the text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.sparse import csr_array, issparse, vstack

from sag_pipeline.store.ledger import write_durably
from sag_retrieval.errors import ModelError
from sag_retrieval.models.protocols import Vectors

VectorIds = npt.NDArray[np.bytes_]
"""Shape (texts,), 16 bytes each: hashes of the embedded texts."""


def vector_ids(texts: Sequence[str]) -> VectorIds:
    """Hash of each text."""
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
    return np.array(digests, dtype="S16")


class VectorStore:
    """The vectors of one embedder, in immutable Parquet parts below `home/vectors/<fingerprint>`."""

    def __init__(self, home: Path, fingerprint: str, dimension: int) -> None:
        """Hold the folder; it is made with the first part."""
        self._folder = home / "vectors" / fingerprint
        self._dimension = dimension

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.parquet"))

    def known(self) -> VectorIds:
        """Ids of all texts that have a vector, sorted."""
        ids = [_ids(pq.read_table(path, columns=["vector_id"])) for path in self._paths()]
        return np.unique(np.concatenate(ids)) if ids else np.empty(0, "S16")

    def count(self) -> int:
        """Vectors kept, used or not."""
        return sum(pq.read_metadata(path).num_rows for path in self._paths())

    def append(self, ids: VectorIds, vectors: Vectors) -> None:
        """Add a part, durably.

        Raises:
            ModelError: If a vector is missing, has another dimension than its store, or is not finite.

        """
        if vectors.shape != (len(ids), self._dimension):
            raise ModelError(
                f"{len(ids)} texts of dimension {self._dimension} expected, the embedder gave {vectors.shape}; "
                "check SAG_EMBEDDING_MODEL"
            )
        values = vectors.data if issparse(vectors) else vectors
        if not np.isfinite(np.asarray(values)).all():
            raise ModelError("the embedder gave a vector with NaN or infinity; check SAG_EMBEDDING_MODEL")
        name = blake2b(ids.tobytes(), digest_size=12).hexdigest()
        write_durably(_to_rows(ids, vectors), self._folder / f"{name}.parquet", packed=False)

    def blocks(self, ids: VectorIds, rows_a_block: int) -> Iterator[tuple[npt.NDArray[np.int32], Vectors]]:
        """Vectors of the texts, in order, with their numbers: ascending, texts without a vector left out.

        Memory: one block and one part at a time.
        """
        places = _Places.of([_ids(pq.read_table(path, columns=["vector_id"])) for path in self._paths()])
        for start in range(0, len(ids), rows_a_block):
            found, parts, positions = places.find(ids[start : start + rows_a_block])
            if len(found):
                yield (found + start).astype(np.int32), self._take(parts, positions)

    def _take(self, parts: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]) -> Vectors:
        paths, order = self._paths(), np.argsort(parts, kind="stable")
        numbers, first = np.unique(parts[order], return_index=True)
        groups = zip(numbers, np.split(order, first[1:]), strict=True)
        pieces = ((rows, self._from_rows(pq.read_table(paths[part]))[positions[rows]]) for part, rows in groups)
        rows, piece = next(pieces)
        if isinstance(piece, csr_array):
            found = [piece, *(csr_array(more) for _, more in pieces)]
            return csr_array(vstack(found, format="csr"))[np.argsort(order, kind="stable")]
        out = np.empty((len(order), self._dimension), np.float32)
        out[rows] = np.asarray(piece)
        for rows, piece in pieces:  # one part in memory besides the block
            out[rows] = np.asarray(piece)
        return out

    def purge(self, keep: VectorIds) -> int:
        """Drop the vectors of texts that are not kept (sorted ids); how many went."""
        dropped = 0
        for path in self._paths():
            rows = pq.read_table(path)
            wanted = np.isin(_ids(rows), keep)
            if wanted.all():
                continue
            dropped += int((~wanted).sum())
            if wanted.any():
                write_durably(rows.filter(pa.array(wanted)), path, packed=False)
            else:
                path.unlink()
        return dropped

    def _from_rows(self, rows: pa.Table) -> Vectors:
        values = rows["values"].combine_chunks()
        if "indices" not in rows.column_names:
            raw = np.frombuffer(values.buffers()[1], "<f4", len(values) * self._dimension)
            return raw.reshape(len(rows), self._dimension)
        indices = rows["indices"].combine_chunks().flatten().to_numpy().astype(np.int32)
        starts = values.offsets.to_numpy()
        return csr_array((values.flatten().to_numpy(), indices, starts - starts[0]), shape=(len(rows), self._dimension))


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the vector of each text lies, by sorted id."""

    ids: VectorIds
    part: npt.NDArray[np.int64]
    position: npt.NDArray[np.int64]

    @classmethod
    def of(cls, parts: Sequence[VectorIds]) -> "_Places":
        if not parts:
            return cls(np.empty(0, "S16"), np.empty(0, np.int64), np.empty(0, np.int64))
        ids, first = np.unique(np.concatenate(parts), return_index=True)
        part = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
        position = np.concatenate([np.arange(len(p)) for p in parts])
        return cls(ids, part[first], position[first])

    def find(self, wanted: VectorIds) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Numbers of the wanted ids that are there, and the part and position of each."""
        if not len(self.ids):
            return np.empty(0, np.intp), self.part, self.position
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        found = np.flatnonzero(self.ids[at] == wanted)
        return found, self.part[at[found]], self.position[at[found]]


def _ids(rows: pa.Table) -> VectorIds:
    column = rows["vector_id"].combine_chunks()
    raw = np.frombuffer(column.buffers()[1], dtype="S16", count=len(column), offset=16 * column.offset)
    return raw.copy()


def _to_rows(ids: VectorIds, vectors: Vectors) -> pa.Table:
    key = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(ids.tobytes())])
    if isinstance(vectors, csr_array):
        offsets = pa.array(vectors.indptr, pa.int32())
        return pa.table(
            {
                "vector_id": key,
                "indices": pa.ListArray.from_arrays(offsets, pa.array(vectors.indices.astype(np.uint16))),
                "values": pa.ListArray.from_arrays(offsets, pa.array(vectors.data.astype(np.float32))),
            }
        )
    raw = np.ascontiguousarray(vectors, dtype="<f4")
    width = pa.binary(4 * raw.shape[1])  # ten times faster to read than a list of floats
    return pa.table(
        {
            "vector_id": key,
            "values": pa.FixedSizeBinaryArray.from_buffers(width, len(raw), [None, pa.py_buffer(raw)]),
        }
    )
