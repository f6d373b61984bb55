"""The lease of a home in a bucket: runs on several machines write one after another instead of losing to one another.

LEASE names the run that writes; it is replaced on the tag that was seen. The lease saves work and guards nothing: a
commit is refused by the tag of HEAD alone, so a run that lost its lease without knowing it damages nothing.
"""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final
from uuid import uuid4

from sag_retrieval.core import durable
from sag_retrieval.core.errors import BucketError, SourceError
from sag_retrieval.remote.buckets import write_conditional
from sag_retrieval.remote.mirror import Mirror

KEY: Final = "LEASE"
LAPSES: Final = 30.0
"""Seconds after which a lease that was not renewed belongs to nobody: its run was killed."""
_POLL: Final = 0.5
_HOLDER: Final = ".holder"
_log = logging.getLogger(__name__)


@contextmanager
def lease(mirror: Mirror, patience: float = 600, lapses: float = LAPSES) -> Iterator[None]:
    """Let no run on another machine write meanwhile.

    Clocks of machines are not compared: a lease lapses when its tag has not changed for a time of this machine's clock.

    Args:
        mirror: The mirror, locked on this machine: so a lease of its own is one of a run that was killed.
        patience: Seconds to wait for the run that has it.
        lapses: Seconds after which a lease that was not renewed is taken over.

    Raises:
        SourceError: If another run still writes after `patience` seconds.
        BucketError: If the bucket cannot be read or written.

    """
    held = _Held(mirror, _taken(mirror, patience, lapses))
    stop = Event()
    thread = Thread(target=held.renew, args=(stop, lapses / 3), name="sag-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        with suppress(BucketError):  # it lapses
            held.write("")


class _Held:
    """A lease, and its tag."""

    def __init__(self, mirror: Mirror, tag: str | None) -> None:
        self._mirror, self._tag = mirror, tag

    def renew(self, stop: Event, period: float) -> None:
        """Replace it again and again, so that nobody takes it for one of a killed run."""
        while not stop.wait(period):
            with suppress(BucketError):  # tried again
                self.write(_holder(self._mirror.folder))

    def write(self, holder: str) -> None:
        """Replace it, unless another run took it over."""
        if self._tag is not None:
            self._tag = write_conditional(self._mirror.files, KEY, _told(holder), self._tag)


def _taken(mirror: Mirror, patience: float, lapses: float) -> str:
    """Take the lease as soon as nobody has it; its tag."""
    own, started = _holder(mirror.folder), time.monotonic()
    seen, since, is_told = "", started, False
    while True:
        found = mirror.read(KEY)
        tag, now = "" if found is None else found[1], time.monotonic()
        if tag != seen:
            seen, since = tag, now
        if found is None or _holder_in(found[0]) in ("", own) or now - since >= lapses:
            taken = write_conditional(mirror.files, KEY, _told(own), tag or None)
            if taken is not None:
                return taken
        elif now - started >= patience:
            raise SourceError(
                f"another run has been writing to {mirror.url} for {patience:.0f} s; `sag status` shows what is done"
            )
        elif not is_told:
            _log.warning("another run writes to %s; this one waits for it", mirror.url)
            is_told = True
        time.sleep(_POLL)


def _told(holder: str) -> bytes:
    return json.dumps({"holder": holder, "writer": uuid4().hex}).encode()


def _holder_in(body: bytes) -> str:
    """Who has a lease; nobody, if it cannot be read."""
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(body)["holder"])
    return ""


def _holder(folder: Path) -> str:
    """The name of this mirror, made up once."""
    path = folder / _HOLDER
    if not path.exists():
        durable.write_text(path, uuid4().hex)
    return path.read_text(encoding="ascii")
