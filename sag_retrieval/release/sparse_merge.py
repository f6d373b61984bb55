"""Blocks of sparse vectors put on disk by dimension, and laid together, so that never more than one is held."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from sag_retrieval.core.types import Rows
from sag_retrieval.release.csr import Starts, map_array, save_array


@dataclass(frozen=True, slots=True)
class SparseRun:
    """One block on disk, by dimension."""

    starts: Starts
    rows: Path
    values: Path


def write_run(path: Path, rows: Rows, block: csc_array) -> SparseRun:
    """Write a block's entries by dimension beside `path`; `rows` are its row numbers."""
    block.sort_indices()
    spilled = SparseRun(block.indptr.astype(np.int64), path.with_suffix(".rows"), path.with_suffix(".values"))
    save_array(spilled.rows, rows[block.indices])
    save_array(spilled.values, block.data.astype(np.float32, copy=False))
    return spilled


def merge_runs(path: Path, dtype: npt.DTypeLike, starts: Starts, parts: list[tuple[Starts, Path]]) -> None:
    """Lay the blocks' entries of each dimension behind one another; blocks come in ascending row order."""
    if starts[-1] == 0:
        save_array(path, np.zeros(0, dtype))
        return
    target = path.with_name(f"{path.name}.npy")
    merged = np.lib.format.open_memmap(target, "w+", np.dtype(dtype), (int(starts[-1]),))
    free = starts[:-1].copy()
    for first, spilled in parts:
        block, sizes = map_array(spilled), np.diff(first)
        for column in np.flatnonzero(sizes):
            merged[free[column] : free[column] + sizes[column]] = block[first[column] : first[column + 1]]
        free += sizes
    merged.flush()
