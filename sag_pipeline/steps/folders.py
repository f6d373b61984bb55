"""What lies below a folder: regular files in a stable order, and what is not read, with the reason."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sag_retrieval.core.errors import SourceError
from sag_retrieval.text.words import one_line

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A file below a source; with a reason, a file or folder that is not read."""

    path: str
    """Below the source, with `/`; the source's own name if it is a file."""
    file: Path
    reason: str = ""
    is_unknown: bool = False
    """Whether what lies there could not be seen, so that what is known of it stays."""


def walk(root: Path, *, follow_links_outside: bool = False) -> Iterator[Place]:
    """Every file below a folder, or the one file, by name, folder by folder; hidden ones are passed over.

    Only regular files are opened. A linked file is read if it lies below the root too. A linked folder below the root
    is read at its own place alone; with `follow_links_outside` others are read once, so loops end.

    Raises:
        SourceError: If there is no such file or folder, or the folder cannot be listed.

    """
    try:
        real = Path(os.path.realpath(root, strict=True))
        is_folder = real.is_dir()
        entries = _listed(real) if is_folder else []
    except FileNotFoundError:
        raise SourceError(f"source {str(root)!r} does not exist; give a folder or a file that does") from None
    except OSError as error:
        raise SourceError(f"source {str(root)!r} cannot be listed: {error.strerror or error}") from error
    if is_folder:
        yield from _Walk(real, follow_links_outside=follow_links_outside).below(entries)
    else:
        yield _regular(printable(root.name), root)


def open_regular(file: Path) -> BinaryIO:
    """Open a file for reading; what is no regular file never blocks.

    Raises:
        OSError: If the file is gone, cannot be read, or is no regular file.

    """
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("it is no regular file any more")
    return os.fdopen(handle, "rb")


def printable(path: str) -> str:
    """File names need not be text on one line; ids must be."""
    return one_line(path.encode("utf-8", "replace").decode("utf-8"))


def _listed(folder: Path) -> list[tuple[str, Path]]:
    """Names that are not hidden, and their files, in order."""
    return sorted((file.name, file) for file in folder.iterdir() if not file.name.startswith("."))


class _Walk:
    def __init__(self, root: Path, *, follow_links_outside: bool) -> None:
        self._root = root
        self._follows = follow_links_outside
        self._seen = {root}

    def below(self, entries: list[tuple[str, Path]]) -> Iterator[Place]:
        """Places in order; folders are kept in a stack, as they may nest deeper than calls may."""
        stack = [("", iter(entries))]
        while stack:
            before, rest = stack[-1]
            name, file = next(rest, ("", self._root))
            if not name:
                stack.pop()
                continue
            found = self._look(printable(f"{before}{name}"), file)
            if isinstance(found, list):
                stack.append((f"{before}{name}/", iter(found)))
            else:
                yield found

    def _look(self, path: str, file: Path) -> Place | list[tuple[str, Path]]:
        """The file, what hinders reading it, or what a folder holds."""
        try:
            if file.is_symlink():
                target = Path(os.path.realpath(file, strict=True))
                if reason := self._hindrance(target):
                    return Place(path, file, reason)
                if target.is_dir():
                    self._seen.add(target)
            if stat.S_ISDIR(file.stat().st_mode):
                return _listed(file)
        except OSError as error:
            return Place(path, file, f"cannot be read or listed: {error.strerror or error}", is_unknown=True)
        return _regular(path, file)

    def _hindrance(self, target: Path) -> str:
        is_inside = target.is_relative_to(self._root)
        if not is_inside and not self._follows:
            return f"a link to {printable(str(target))!r}, outside of the source; `sag ingest --follow-links` reads it"
        if target.is_dir() and (is_inside or target in self._seen or self._root.is_relative_to(target)):
            return f"a link to the folder {printable(str(target))!r}, which is read at its own place alone"
        return ""


def _regular(path: str, file: Path) -> Place:
    try:
        kind = stat.S_IFMT(file.stat().st_mode)
    except OSError as error:
        return Place(path, file, f"cannot be read: {error.strerror or error}", is_unknown=True)
    if kind == stat.S_IFREG:
        return Place(path, file)
    return Place(path, file, f"{_KINDS.get(kind, 'something')}, not a regular file; it is never opened")
