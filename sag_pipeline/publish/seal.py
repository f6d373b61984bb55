"""The last look at a release before it is named: every file measured and on disk, then the manifest."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from sag_retrieval.core import durable
from sag_retrieval.release.contents import CHECKSUMS, summed
from sag_retrieval.release.files import Manifest
from sag_retrieval.release.sums import Measure, measure

LANCE: Final = "lance"
_SYNCS_AT_ONCE: Final = 8
"""Syncs wait for the disk, which takes many of them together; hashing keeps the processors busy meanwhile."""


def seal(draft: Path, manifest: Manifest) -> None:
    """Write the checksums and the manifest of a finished release; all its files and folders are on disk then."""
    paths = sorted(path for path in draft.rglob("*") if path.is_file())
    with ThreadPoolExecutor(_SYNCS_AT_ONCE) as pool:
        measured = dict(
            zip((path.relative_to(draft).as_posix() for path in paths), pool.map(_settle, paths), strict=True)
        )
    sums = [measured[name].sums for name in summed(measured)]
    np.save(draft / CHECKSUMS, np.concatenate([np.zeros(0, np.uint64), *sums]))
    measured[CHECKSUMS] = _settle(draft / CHECKSUMS)
    durable.sync_all(Path(folder) for folder, _, _ in os.walk(draft))
    files = {name: (measured[name].length, measured[name].digest) for name in sorted(measured)}
    replace(manifest, files=files).write(draft)


def _settle(path: Path) -> Measure:
    durable.sync(path)
    return measure(path)
