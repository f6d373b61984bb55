"""Parquet files that carry the hash of their own bytes in their names, so that any of them can be proved whole."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.core import durable
from sag_retrieval.core.errors import StoreError

_BLOCK = 1 << 22
_SEALED = re.compile(r"-[0-9a-f]{24}$")


def write_sealed(rows: pa.Table, folder: Path, name: str, *, packed: bool = True) -> Path:
    """Write `<name>-<hash of its bytes>.parquet`: whole or absent, also after power is lost.

    Pages carry checksums besides, which reading compares at next to no cost. `packed=False` neither compresses nor
    looks for repeats: vectors have none, and read four times faster.
    """
    durable.make_folder(folder)
    draft = folder / f".{name}.{uuid4().hex}"
    try:
        pq.write_table(
            rows, draft, compression="zstd" if packed else "none", use_dictionary=packed, write_page_checksum=True
        )
        path = folder / f"{name}-{_hash(draft)}.parquet"
        durable.sync(draft)
        durable.rename(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def read_rows(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a file, every page compared with its checksum.

    Raises:
        StoreError: If the file is damaged or missing.

    """
    with reading(path):
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        return pq.read_table(
            path,
            columns=None if columns is None else list(columns),
            partitioning=None,
            page_checksum_verification=True,
        )


def read_footer(path: Path) -> pq.FileMetaData:
    """What a file says of its rows and columns.

    Raises:
        StoreError: If the file is damaged or missing.

    """
    with reading(path):
        return pq.read_metadata(path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name the file, and what to do, where it cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise StoreError(f"{path} is missing; `sag repair` mends it") from None
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise StoreError(f"{path} is damaged ({_told(error)}); `sag repair` mends it") from error


def damage(path: Path) -> str:
    """What is wrong with the bytes of a file; empty if they are those that were written, or carry no hash."""
    try:
        if not is_sealed(path):
            pq.read_table(path, partitioning=None).validate(full=True)
        elif _hash(path) != path.stem[-24:]:
            return "its bytes are not those that were written"
    except FileNotFoundError:
        return "it is missing"
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        return _told(error)
    return ""


def discard(path: Path) -> None:
    """Delete a file, or whatever stands in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_sealed(path: Path) -> bool:
    """Whether the name has the hash: version 0.1 wrote none."""
    return _SEALED.search(path.stem) is not None


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


def _hash(path: Path) -> str:
    digest = blake2b(digest_size=12)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
