"""Hashes of the files of a report, or of communities, written beside them when all are there."""

import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from sag_retrieval.core import durable

SUMS = "sums.json"


def write_sums(folder: Path) -> None:
    """Write down what each file below the folder is now."""
    files = {path.relative_to(folder).as_posix(): _hash(path.read_bytes()) for path in _files(folder)}
    told = {"files": files, "own": _hash(json.dumps(files, sort_keys=True).encode())}
    durable.write_text(folder / SUMS, json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False))


def wrong_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Files that are not as they were written, and what is wrong; none where nothing was written down (version 0.1)."""
    if not (folder / SUMS).exists():
        return
    try:
        told = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        files = dict(told["files"])
        is_own = told["own"] == _hash(json.dumps(files, sort_keys=True).encode())
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield SUMS, f"it cannot be read ({error})"
        return
    if not is_own:
        yield SUMS, "its bytes are not those that were written"
        return
    for name, digest in files.items():
        try:
            if _hash((folder / name).read_bytes()) != digest:
                yield name, "its bytes are not those that were written"
        except OSError as error:
            yield name, f"it cannot be read ({error.strerror})"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()
