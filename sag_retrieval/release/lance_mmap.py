"""Vectors of a release where they lie in its Lance files: mapped into memory and read by row, without Lance."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import MEND, ReleaseError
from sag_retrieval.core.types import Floats32, Rows64
from sag_retrieval.release.bundle import FilePlace
from sag_retrieval.release.csr import map_array, save_array

PLACED: Final = ".lance_rows.npy"
"""Ending after the table's name: for each row the id of its row in Lance, -1 for none."""
LANCE: Final = "lance"
_FLOAT: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Rows of Lance that lie one after another in a file; sorted by the id of their first row."""

    first: Rows64
    file: Rows64
    """Number of the file in `names`."""
    start: Rows64
    """Byte of the first row."""
    count: Rows64
    names: Sequence[str]
    """Below the folder of the Lance table."""
    dimension: int
    table: str = ""
    """The table of the home that the files belong to."""
    moved: Rows64 = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """Rows that were written again: the first id that they had, sorted, the first that they have, and how many."""

    def now(self, row_ids: Rows64) -> Rows64:
        """The ids that rows have, of ids that they have or had."""
        if not len(self.moved):
            return row_ids
        had, have, count = self.moved.T
        at = np.searchsorted(had, row_ids, side="right") - 1
        behind = row_ids - had[at]
        return np.where((at >= 0) & (behind < count[at]), have[at] + behind, row_ids)


def write_placed(folder: Path, name: str, row_ids: Rows64) -> None:
    """Write which row of Lance each row has."""
    folder.mkdir(parents=True, exist_ok=True)
    save_array(folder / f"{name}.lance_rows", row_ids.astype(np.int64))


def write_runs(
    folder: Path,
    name: str,
    runs: Sequence[tuple[int, str, int, int]],
    dimension: int,
    table: str = "",
    moved: Sequence[tuple[int, int, int]] = (),
) -> None:
    """Write where the rows of a Lance table lie, its name in the home, and the ids that rows had; see `Runs`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.runs.json").unlink(missing_ok=True)
    told = {"dimension": dimension, "table": table, "runs": runs, "moved": moved}
    (folder / f"{name}.runs.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


def read_runs(folder: Path, name: str) -> Runs:
    """Where the rows of a Lance table lie.

    Raises:
        ReleaseError: If the file is missing or damaged.

    """
    path = folder / f"{name}.runs.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        listed = sorted((int(first), str(file), int(at), int(n)) for first, file, at, n in told["runs"])
        names = sorted({file for _, file, _, _ in listed})
        numbers = np.array([(first, names.index(file), at, n) for first, file, at, n in listed], np.int64).reshape(
            -1, 4
        )
        dimension, table = int(told["dimension"]), str(told["table"])
        moved = np.array(sorted(told["moved"]), np.int64).reshape(-1, 3)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ReleaseError(f"{path} is missing or damaged ({error}); {MEND}") from error
    first, file, start, count = numbers.T
    return Runs(first, file, start, count, names, dimension, table, moved)


class PlacedRows:
    """Rows of float32 in the files of a Lance table, as an array of shape (rows, dimension)."""

    def __init__(self, table: Path, row_ids: Rows64, runs: Runs) -> None:
        """Map the files of a Lance table; `row_ids` may be mapped too.

        Raises:
            ReleaseError: If a file is missing, or a run reaches beyond its end.

        """
        self.row_ids, self.runs, self.table = row_ids, runs, table
        self.shape = (len(row_ids), runs.dimension)
        self._files = [_floats(table / name) for name in runs.names]
        ends = runs.start + runs.count * runs.dimension * _FLOAT
        lengths = np.array([len(each) * _FLOAT for each in self._files], np.int64)[runs.file]
        if not len(ends) or (ends > lengths).any() or (runs.start < 0).any() or (runs.start % _FLOAT).any():
            raise ReleaseError(f"{table} is damaged: vectors lie beyond the ends of its files; {MEND}")
        self._before = np.cumsum(np.append(0, runs.count))

    def __len__(self) -> int:
        """How many rows there are."""
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Floats32:  # noqa: ANN401  whatever an array takes
        """The rows of a slice or of row numbers; zeros where there is no vector."""
        number, at = self._places(rows)
        found = np.zeros((len(number), self.shape[1]), np.float32)
        for file, floats in enumerate(self._files):
            chosen = np.flatnonzero(number == file)
            if len(chosen) == len(number):
                return np.asarray(_windows(floats, self.shape[1])[at // _FLOAT])
            if len(chosen):
                found[chosen] = _windows(floats, self.shape[1])[at[chosen] // _FLOAT]
        return found

    def products(self, query: Floats32) -> Floats32:
        """The product of every row with a query, run by run: nothing is copied."""
        scores = [np.zeros(1, np.float32)]
        width = self.shape[1]
        for file, start, count in zip(self.runs.file, self.runs.start, self.runs.count, strict=True):
            first = start // _FLOAT
            scores.append(np.vecdot(self._files[file][first : first + count * width].reshape(count, width), query))
        run, behind = self._run_of(np.asarray(self.row_ids))
        return np.asarray(np.concatenate(scores)[np.where(run < 0, 0, 1 + self._before[run] + behind)], np.float32)

    def bytes_of(self, rows: Any) -> Iterator[tuple[str, Rows64]]:  # noqa: ANN401
        """Files that hold some rows, below the folder of the table, and the byte each row starts at."""
        number, at = self._places(rows)
        for file, name in enumerate(self.runs.names):
            chosen = at[number == file]
            if len(chosen):
                yield name, chosen

    def fault(self) -> str:
        """Why a row id cannot be read; empty if all can."""
        given = np.asarray(self.row_ids)
        run, _ = self._run_of(given)
        wrong = given[(run < 0) & (given != -1)]
        return f"row {wrong[0]} lies nowhere" if len(wrong) else ""

    def _places(self, rows: Any) -> tuple[Rows64, Rows64]:  # noqa: ANN401
        """Number of the file of each row, -1 for none, and the byte it starts at."""
        run, behind = self._run_of(np.asarray(self.row_ids[rows]))
        at = self.runs.start[run] + behind * self.shape[1] * _FLOAT
        return np.where(run < 0, -1, self.runs.file[run]), at

    def _run_of(self, row_ids: Rows64) -> tuple[Rows64, Rows64]:
        """The run of each row, -1 for none, and its place in it."""
        run = np.searchsorted(self.runs.first, row_ids, side="right") - 1
        behind = row_ids - self.runs.first[run]
        return np.where((run >= 0) & (behind < self.runs.count[run]), run, -1), behind


def open_placed(folder: FilePlace, name: str, release: Path | None = None) -> PlacedRows:
    """The vectors of a table; `folder` is `arrays/vectors` of a release, or of a layer of `release`.

    Raises:
        ReleaseError: If a file is missing or damaged.

    """
    release = release or Path(str(folder)).parent.parent
    runs = read_runs(release / "arrays" / "vectors", name)
    return PlacedRows(release / LANCE / f"{name}.lance", runs.now(map_array(folder / f"{name}.lance_rows")), runs)


def joined_rows(layers: Sequence[PlacedRows], source: Rows64) -> PlacedRows:
    """Some rows of several layers, which lie in one Lance table; `source` numbers those of all layers in order."""
    return PlacedRows(layers[0].table, np.concatenate([layer.row_ids for layer in layers])[source], layers[0].runs)


def _floats(path: Path) -> Floats32:
    try:
        return np.memmap(path, np.float32, "r", shape=(path.stat().st_size // _FLOAT,))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path} is missing or damaged ({error}); {MEND}") from error


def _windows(floats: Floats32, width: int) -> npt.NDArray[np.float32]:
    """Every `width` consecutive floats as a row, so that rows at any place are read by one index."""
    return np.lib.stride_tricks.as_strided(floats, (len(floats) - width + 1, width), (_FLOAT, _FLOAT), writeable=False)
