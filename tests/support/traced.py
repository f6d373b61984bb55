"""What would be lost if the power failed: a run under strace, replayed onto a disk that keeps only what was synced."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CALLS = (
    "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,fallocate,copy_file_range,sendfile,mmap,munmap,"
    "fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat"
)
_WRITES = (
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "ftruncate",
    "fallocate",
    "copy_file_range",
    "sendfile",
)
_WHOLE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\w+)(?:<(.*)>)?(?: .*)?$")
_BEGUN = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_ENDED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\w+)(?:<(.*)>)?(?: .*)?$")
_HANDLE = re.compile(r"\b\d+<(/[^>]*)>")
_NAME = re.compile(r'(?:\d+<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Call:
    """A system call that went well, and the lines of the trace at which it began and ended."""

    name: str
    arguments: str
    result: str
    opened: str
    begun: int
    ended: int

    @property
    def handles(self) -> list[str]:
        return _HANDLE.findall(self.arguments)

    @property
    def names(self) -> list[str]:
        """Paths given as text; those below an opened folder with it before them."""
        return [str(Path(folder, _plain(name))) for folder, name in _NAME.findall(self.arguments)]


def _plain(name: str) -> str:
    return name.encode().decode("unicode_escape").encode("latin-1").decode()


def why_not() -> str:
    """Why nothing can be traced here; empty if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    return f"strace cannot run here: {tried.stderr.strip()}" if tried.returncode else ""


def trace(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> list[Call]:
    """Run a command in a folder; its calls in the order in which they ended."""
    log = folder / "trace"
    traced = ["strace", "-f", "-y", "-qq", "-s", "0", "-e", f"trace={CALLS}", "-o", str(log), *command]
    subprocess.run(traced, env=dict(environment), cwd=folder, check=True, capture_output=True)
    with log.open(encoding="utf-8", errors="replace") as lines:
        return list(read(lines))


def read(lines: Iterator[str] | Sequence[str]) -> Iterator[Call]:
    """The calls of a trace."""
    open_calls: dict[tuple[str, str], tuple[str, int]] = {}
    for number, line in enumerate(lines):
        if whole := _WHOLE.match(line.rstrip("\n")):
            _, name, arguments, result, opened = whole.groups()
            begun = number
        elif part := _BEGUN.match(line.rstrip("\n")):
            open_calls[part[1], part[2]] = part[3], number
            continue
        elif ended := _ENDED.match(line.rstrip("\n")):
            thread, name, rest, result, opened = ended.groups()
            before, begun = open_calls.pop((thread, name))
            arguments = before + rest
        else:
            continue
        if not result.startswith("-"):
            yield Call(name, arguments, result, opened or "", begun, number)


@dataclass
class Disk:
    """Files below a folder whose bytes, and names that themselves, would be lost now."""

    root: str
    dirty: dict[str, int] = field(default_factory=dict)
    """File → line at which it was last written to."""
    unnamed: dict[str, int] = field(default_factory=dict)
    """File or folder → line at which it got its name."""
    maps: dict[str, str] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)

    def lost(self, below: str = "") -> list[str]:
        """Finished files and folders below a folder of which bytes or names would be lost, and that folder itself."""
        start = f"{self.root}/{below}".rstrip("/")
        lost = {*self.dirty, *self.unnamed}
        return sorted(
            path.removeprefix(f"{self.root}/")
            for path in lost
            if (path == start or path.startswith(f"{start}/")) and "/." not in path.removeprefix(start)
        )

    def do(self, call: Call) -> None:
        """Bring the disk to what it is after a call."""
        if call.name in ("openat", "open", "creat"):
            self._open(call)
        elif call.name in _WRITES:
            self._write(call.handles[:1] if call.name != "copy_file_range" else call.handles[1:], call.ended)
        elif call.name in ("mmap", "munmap"):
            self._map(call)
        elif call.name in ("fsync", "fdatasync"):
            self._sync(call)
        else:
            self._change_names(call)

    def _change_names(self, call: Call) -> None:
        if call.name.startswith("rename"):
            self._rename(*call.names[:2], call.ended)
        elif call.name.startswith("link"):
            self._link(*call.names[:2], call.ended)
        elif call.name.startswith("mkdir"):
            self._name(call.names[0], call.ended)
        else:
            self._forget(call.names[0])

    def _is_here(self, path: str) -> bool:
        return path.startswith(f"{self.root}/")

    def _open(self, call: Call) -> None:
        path = call.opened
        if not self._is_here(path) or not ("O_CREAT" in call.arguments or call.name == "creat"):
            return
        if path not in self.files:
            self.files.add(path)
            self._name(path, call.ended)
            self.dirty[path] = call.ended
        elif "O_TRUNC" in call.arguments:
            self.dirty[path] = call.ended

    def _write(self, paths: list[str], line: int) -> None:
        self.dirty.update({path: line for path in paths if self._is_here(path)})

    def _map(self, call: Call) -> None:
        """A shared map may be written to as long as it lasts."""
        address = call.arguments.split(",")[0].strip()
        if call.name == "munmap":
            self._write([self.maps.pop(address)] if address in self.maps else [], call.ended)
        elif "PROT_WRITE" in call.arguments and "MAP_SHARED" in call.arguments and call.handles:
            self.maps[call.result] = call.handles[0]
            self._write(call.handles, call.ended)

    def _sync(self, call: Call) -> None:
        path = call.handles[0]
        if self.dirty.get(path, call.begun) < call.begun and path not in self.maps.values():
            del self.dirty[path]
        for name, line in list(self.unnamed.items()):
            if str(Path(name).parent) == path and line < call.begun:
                del self.unnamed[name]

    def _rename(self, old: str, new: str, line: int) -> None:
        for known in (self.dirty, self.unnamed):
            for path in [p for p in known if p == old or p.startswith(f"{old}/")]:
                known[new + path.removeprefix(old)] = known.pop(path)
        self.files = {new + p.removeprefix(old) if p == old or p.startswith(f"{old}/") else p for p in self.files}
        self._name(new, line)

    def _link(self, old: str, new: str, line: int) -> None:
        self._name(new, line)
        self.files.add(new)
        if old in self.dirty:
            self.dirty[new] = self.dirty[old]

    def _name(self, path: str, line: int) -> None:
        if self._is_here(path):
            self.unnamed[path] = line

    def _forget(self, path: str) -> None:
        for known in (self.dirty, self.unnamed):
            known.pop(path, None)
        self.files.discard(path)
