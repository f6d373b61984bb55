"""Immutable Parquet parts: written once, read by document, rewritten only to drop dead rows."""

from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.store.parts import read_footer, read_rows, write_sealed


class Parts:
    """The part files of every table below one folder."""

    def __init__(self, folder: Path) -> None:
        """Hold the folder; it is made when the first part is written."""
        self._folder = folder
        self._last: tuple[Path, pa.Table] | None = None

    def path(self, table: str, part: str) -> Path:
        """Where a part lies."""
        return self._folder / table / f"{part}.parquet"

    def write(self, table: str, rows: pa.Table, outcome: Sequence[str]) -> str:
        """Name of a new part, the hashes of what it holds and of its bytes: the same commit again gives the same."""
        held = blake2b("\x1f".join(outcome).encode(), digest_size=12).hexdigest()
        return write_sealed(rows, self._folder / table, held).stem

    def read(self, table: str, part: str, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows of a part, dead ones too; with `columns`, those alone.

        Raises:
            StoreError: If the file is damaged or missing.

        """
        path = self.path(table, part)
        if columns is not None:
            return read_rows(path, columns)
        if self._last is None or self._last[0] != path:  # batches read documents in part order
            self._last = (path, read_rows(path))
        return self._last[1]

    def row_count(self, table: str, part: str) -> int:
        """Rows of a part, dead ones too, without reading them."""
        return int(read_footer(self.path(table, part)).num_rows)

    def names(self, table: str) -> set[str]:
        """Every part file of a table, in use or not."""
        return {path.stem for path in (self._folder / table).glob("*.parquet")}

    def delete(self, table: str, part: str) -> None:
        """Remove a part that no entry names any more."""
        self.path(table, part).unlink(missing_ok=True)
        self._last = None

    def bytes_used(self) -> int:
        """Bytes of all parts on disk."""
        return sum(path.stat().st_size for path in self._folder.rglob("*.parquet"))


def of_documents(rows: pa.Table, documents: Collection[str]) -> pa.Table:
    """The rows of the given documents, in their order."""
    chosen = pc.is_in(rows["document_id"], pa.array(sorted(documents), pa.string()))
    return rows.filter(chosen)


def by_document(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Each document's rows; a document's rows stand together in a part."""
    runs = pc.run_end_encode(rows["document_id"].combine_chunks())
    start = 0
    for document, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield document, rows.slice(start, end - start)
        start = end
