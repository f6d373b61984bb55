"""Vectors by the hash of their text: an embedder embeds each distinct text once, however many rows share it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array, issparse, vstack

from sag_pipeline.store.parts import read_footer, read_rows, write_sealed
from sag_retrieval.core.errors import ModelError, StoreError
from sag_retrieval.core.types import Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.folders import delete, sweep

VectorIds = npt.NDArray[np.bytes_]
"""Shape (texts,), 16 bytes each: hashes of the embedded texts."""


def vector_ids(texts: Iterable[str]) -> VectorIds:
    """Hash of each text."""
    digests = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(b"".join(digests), "S16")


def name_of(ids: VectorIds) -> str:
    """Name of a file of these vectors, before the hash of its bytes."""
    return blake2b(ids.tobytes(), digest_size=12).hexdigest()


def fixed(ids: VectorIds) -> pa.FixedSizeBinaryArray:
    """Ids as a column."""
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(ids.tobytes())])


def raw(column: pa.FixedSizeBinaryArray) -> VectorIds:
    """The ids of a column without nulls."""
    return np.frombuffer(column.buffers()[1], dtype="S16", count=len(column), offset=16 * column.offset)


def stored_vectors(home: Path) -> int:
    """Number of vectors below a home, of all embedders together; none of a damaged file, which `sag verify` names."""
    count = 0
    for path in (home / "vectors").glob("*/*.parquet"):
        with suppress(StoreError):
            count += read_footer(path).num_rows
    return count


class VectorStore:
    """The vectors of one embedder, in immutable Parquet parts below `home/vectors/<fingerprint>`."""

    def __init__(self, home: Path, fingerprint: str, dimension: int) -> None:
        """Keep the folder; it is created with the first part."""
        self._all = home / "vectors"
        self._folder = self._all / fingerprint
        self._dimension = dimension

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.parquet"))

    def known(self) -> VectorIds:
        """Ids of all texts that have a vector, sorted."""
        ids = [_ids(read_rows(path, ["vector_id"])) for path in self._paths()]
        return np.unique(np.concatenate(ids)) if ids else np.empty(0, "S16")

    def count(self) -> int:
        """Number of stored vectors, used or not."""
        return sum(read_footer(path).num_rows for path in self._paths())

    def append(self, ids: VectorIds, vectors: Vectors) -> None:
        """Add a part, durably.

        Raises:
            ModelError: If a vector is missing, has another dimension than the store, or is not finite.

        """
        if vectors.shape != (len(ids), self._dimension):
            raise ModelError(
                f"{len(ids)} texts of dimension {self._dimension} expected, the embedder gave {vectors.shape}; "
                "check SAG_EMBEDDING_MODEL"
            )
        values = vectors.data if issparse(vectors) else vectors
        if not np.isfinite(np.asarray(values)).all():
            raise ModelError("the embedder gave a vector with NaN or infinity; check SAG_EMBEDDING_MODEL")
        write_sealed(_to_rows(ids, vectors), self._folder, name_of(ids), packed=False)

    def blocks(self, ids: VectorIds, rows_a_block: int) -> Iterator[tuple[npt.NDArray[np.int32], Vectors]]:
        """Vectors of the texts with their numbers, each number once; texts without a vector are left out.

        Sparse vectors come in order, one block at a time. Dense ones come in the order of the parts, so each part is
        read once whatever the order of the texts. Memory: one block and one part at a time.
        """
        paths = self._paths()
        found, parts, positions = _find([_ids(read_rows(path, ["vector_id"])) for path in paths], ids)
        if not len(found):
            return
        if "indices" in read_footer(paths[0]).schema.to_arrow_schema().names:
            for start in range(0, len(ids), rows_a_block):
                inside = slice(*np.searchsorted(found, [start, start + rows_a_block]))
                if inside.start < inside.stop:
                    pieces = [
                        (rows, csr_array(piece)) for rows, piece in self._pieces(parts[inside], positions[inside])
                    ]
                    order = np.argsort(np.concatenate([rows for rows, _ in pieces]), kind="stable")
                    yield found[inside], csr_array(vstack([piece for _, piece in pieces], format="csr"))[order]
        else:
            for rows, piece in self._pieces(parts, positions):
                yield found[rows], piece

    def _pieces(self, parts: Rows64, positions: Rows64) -> Iterator[tuple[Rows64, Vectors]]:
        """Vectors by part: positions in the arguments that the part serves, ascending, and their vectors."""
        paths, order = self._paths(), np.argsort(parts, kind="stable")
        numbers, first = np.unique(parts[order], return_index=True)
        for part, rows in zip(numbers, np.split(order, first[1:]), strict=True):
            yield rows, self._from_rows(read_rows(paths[part]))[positions[rows]]

    def purge(self, keep: VectorIds) -> int:
        """Delete the vectors of texts that are not in `keep` (sorted ids); the number deleted."""
        dropped = 0
        for path in self._paths():
            rows = read_rows(path)
            wanted = np.isin(_ids(rows), keep)
            if wanted.all():
                continue
            dropped += int((~wanted).sum())
            if wanted.any():
                left = rows.filter(pa.array(wanted))
                write_sealed(left, self._folder, name_of(_ids(left)), packed=False)
            path.unlink()
        return dropped

    def drop_others(self, kept: Iterable[str]) -> list[str]:
        """Delete the vectors of embedders other than this one and those in `kept`; their fingerprints."""
        names = {Path(each).parts[0] for each in kept if each} | {self._folder.relative_to(self._all).parts[0]}
        gone = sorted(path for path in self._all.glob("[!.]*") if path.name not in names)
        for path in gone:
            delete(path)
        sweep(self._all)
        return [path.name for path in gone]

    def _from_rows(self, rows: pa.Table) -> Vectors:
        values = rows["values"].combine_chunks()
        if "indices" not in rows.column_names:
            flat = np.frombuffer(values.buffers()[1], "<f4", len(values) * self._dimension)
            return flat.reshape(len(rows), self._dimension)
        indices = rows["indices"].combine_chunks().flatten().to_numpy().astype(np.int32)
        starts = values.offsets.to_numpy()
        return csr_array((values.flatten().to_numpy(), indices, starts - starts[0]), shape=(len(rows), self._dimension))


def _find(parts: Sequence[VectorIds], wanted: VectorIds) -> tuple[npt.NDArray[np.int32], Rows64, Rows64]:
    """Numbers of the wanted ids that were found, ascending, and the part and position of each."""
    starts = np.cumsum([0, *(len(part) for part in parts)])
    known = fixed(np.concatenate([np.empty(0, "S16"), *parts]))
    at = np.asarray(pc.fill_null(pc.index_in(fixed(wanted), known), -1)).astype(np.int64)
    found = np.flatnonzero(at >= 0)
    part = np.searchsorted(starts, at[found], side="right") - 1
    return found.astype(np.int32), part, at[found] - starts[part]


def _ids(rows: pa.Table) -> VectorIds:
    return raw(rows["vector_id"].combine_chunks()).copy()


def _to_rows(ids: VectorIds, vectors: Vectors) -> pa.Table:
    key = fixed(ids)
    if isinstance(vectors, csr_array):
        offsets = pa.array(vectors.indptr, pa.int32())
        return pa.table(
            {
                "vector_id": key,
                "indices": pa.ListArray.from_arrays(offsets, pa.array(vectors.indices.astype(np.uint16))),
                "values": pa.ListArray.from_arrays(offsets, pa.array(vectors.data.astype(np.float32))),
            }
        )
    flat = np.ascontiguousarray(vectors, dtype="<f4")
    width = pa.binary(4 * flat.shape[1])  # read ten times faster than a list of floats
    return pa.table(
        {
            "vector_id": key,
            "values": pa.FixedSizeBinaryArray.from_buffers(width, len(flat), [None, pa.py_buffer(flat)]),
        }
    )
