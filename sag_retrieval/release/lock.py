"""One writer below a home: whoever publishes, promotes, prunes or commits holds its `lock`; reports have their own."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sag_retrieval.core import durable
from sag_retrieval.core.errors import SourceError

_WAIT = 0.05


@contextmanager
def write_lock(folder: Path, patience: float = 600) -> Iterator[None]:
    """Keep other writers out of a folder, in this process and others; not reentrant.

    The system lets go of the lock when the process ends, however it ends.

    Raises:
        SourceError: If another process still writes below the folder after `patience` seconds.

    """
    durable.make_folder(folder, 0o700)  # documents and answers are private
    until = time.monotonic() + patience
    with (folder / "lock").open("ab") as held:
        while not _is_taken(held.fileno()):
            if time.monotonic() >= until:
                raise SourceError(
                    f"another run has been writing below {folder} for {patience:.0f} s; `sag status` shows what is done"
                )
            time.sleep(_WAIT)
        yield


def _is_taken(held: int) -> bool:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
