"""Locks on open files, which the system releases when the process ends, however it ends."""

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

_fcntl: Final[Any] = import_module("fcntl") if find_spec("fcntl") else None
"""None on Windows."""


def take_lock(file: int, *, is_shared: bool = False, waits: bool = False) -> bool:
    """Lock an open file against other processes and other openings in this one; whether it was free.

    On Windows a shared lock is the open file itself, which nobody can rename or delete there.

    Args:
        file: Descriptor of the file.
        is_shared: Whether others may hold a shared lock too.
        waits: Wait until it is free.
    """
    if _fcntl is None:
        return is_shared or _lock_byte(file, waits=waits)
    try:
        _fcntl.flock(file, (_fcntl.LOCK_SH if is_shared else _fcntl.LOCK_EX) | (0 if waits else _fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _lock_byte(file: int, *, waits: bool) -> bool:
    """Lock the first byte, which need not be there; the system tries ten times, a second apart, if asked to wait."""
    import msvcrt  # noqa: PLC0415  of Windows alone

    os.lseek(file, 0, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
