"""Walk a source: whether a run may read it, which files it holds, why others are skipped, and when they change."""

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, BinaryIO, Final

from sag_retrieval.core import durable
from sag_retrieval.core.errors import SagError, SettingsError, SourceError
from sag_retrieval.core.home_urls import checked_url, is_url, names_bucket, names_web
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal, check_options
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.language.words import without_breaks

LEAST_MEMORY = 512 << 20
"""Bytes: the converters take a third of them before they read anything."""
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}
_SYSTEM_NAMES = frozenset(
    "thumbs.db|ehthumbs.db|desktop.ini|$recycle.bin|system volume information|lost+found|__macosx|@eadir".split("|")
)
_TEMPORARY = re.compile(
    r"~\$.*|.*~|~.*\.tmp|.*\.(?:tmp|temp|swp|swo|part|partial|crdownload|download|lock|lck)", re.DOTALL
)
_LANGUAGES = re.compile(r"(?:[A-Za-z][A-Za-z_]*(?:\+[A-Za-z][A-Za-z_]*)*)?")
_is_here: ContextVar[bool] = ContextVar("is_launched_here", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions(CheckedOptions):
    """Bounds on what is asked of web servers; `max_bytes` bounds each answer."""

    hosts: tuple[str, ...] = ()
    """Hosts besides the source's own that may be asked, such as `*.example.org`; redirects lead to no other either."""
    private: bool = False
    """Whether hosts may lie at private addresses, such as 127.0.0.1 or 10.0.0.1."""
    pages: Annotated[int, Bounds(1)] = 1_000
    """Pages of one source; further ones are skipped."""
    pause: Annotated[float, Bounds(0)] = 1.0
    """Seconds between two requests; a longer one that robots.txt asks for counts, up to 30."""
    seconds: Annotated[int, Bounds(1), Internal()] = 3_600
    """Of one run; pages that are not asked for by then keep their last version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Bounds on what is read."""

    max_bytes: Annotated[int, Bounds(1)] = 50_000_000
    """A larger file, line of a JSONL file, or text of a converted file, is skipped."""
    follow_links_outside: bool = False
    """Whether links that lead out of the source are read; otherwise they are skipped."""
    unpacked_bytes: Annotated[int, Bounds(1)] = 500_000_000
    """An office file that is larger when unpacked is skipped."""
    conversion_seconds: Annotated[int, Bounds(1)] = 60
    """Processor time of converting one file."""
    conversion_memory: Annotated[int, Bounds(LEAST_MEMORY)] = 2 << 30
    """Resident bytes of the converting process."""
    include: tuple[str, ...] = ()
    """Patterns of the files that are read, such as `*.pdf` or `reports/**`; none means every file."""
    exclude: tuple[str, ...] = ()
    """Patterns of files and folders that are not read; stronger than `include`."""
    ocr: str = ""
    """What reads pictures and PDF pages that are images: `rapidocr` (the extra `ocr`), or languages of the program
    Tesseract, such as `eng+chi_sim`; empty: no OCR."""
    web: WebOptions = field(default_factory=WebOptions)
    """Of sources on the web."""

    def __post_init__(self) -> None:
        """Refuse impossible bounds, and languages that are none."""
        check_options(self)
        if not _LANGUAGES.fullmatch(self.ocr):
            raise SettingsError(
                f"ocr must be rapidocr or languages by Tesseract's names, such as eng+chi_sim, got {self.ocr!r}; "
                "`sag settings --options ingest` lists all options"
            )


@dataclass(frozen=True, slots=True)
class BucketFile:
    """A file of a source that lies in a bucket, as it was listed."""

    url: str
    key: str
    tag: str
    """Another one whenever the bytes were written again."""
    size: int


@dataclass(frozen=True, slots=True)
class Place:
    """A file below a source; or, with a reason, a file or folder that is skipped."""

    path: str
    """Below the source, with `/`; the source's own name if it is a file."""
    file: Path
    reason: str = ""
    is_unknown: bool = False
    """Whether its content could not be listed, so that its last good version stays."""
    remote: BucketFile | None = None
    """Where its bytes lie, if not in `file`, to which they are fetched when they are read."""
    state: str = ""
    """Its size, times and number; empty where it has only just changed, or lies elsewhere."""


def suffix_of(file: Path) -> str:
    """The suffix by which a file is read, in lower case: that of its name; of a mail in a Maildir, `.eml`.

    Example:
        >>> [suffix_of(Path(name)) for name in ("a/Plan.PDF", "Mail/cur/1614345600.M1P2.host:2,S", "cur/plan.v1.2")]
        ['.pdf', '.eml', '.2']
    """
    name = file.name
    is_mail = name[:1].isdecimal() and name.count(".") > 1 and name.partition(".")[0].isdecimal()
    if is_mail and file.parent.name in ("cur", "new"):
        return ".eml"
    dot = name.rfind(".")
    return name[dot:].lower() if 0 < dot < len(name) - 1 else ""  # as `Path.suffix`, which takes three times as long


def walk(root: Path, options: SourceOptions | None = None) -> Iterator[Place]:
    """Every file below a folder, or the one file, sorted by name within each folder.

    Hidden, lock, temporary and system files are ignored, and what `include` and `exclude` leave out.

    Only regular files are opened. A linked file is read if it lies below the root too. A linked folder below the root
    is read only at its real place; with `follow_links_outside` others are read once, so loops end.

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
        yield from _Walk(real, options or SourceOptions()).below(entries)
    else:
        yield _regular(printable(root.name), root, root.stat)


def open_regular(file: Path) -> BinaryIO:
    """Open a regular file for reading; anything else is refused without blocking."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("it is no regular file any more")
    return os.fdopen(handle, "rb")


def printable(path: str) -> str:
    """The path as one line of valid text, as ids must be."""
    return without_breaks(path.encode("utf-8", "replace").decode("utf-8"))


def _listed(folder: Path) -> list["os.DirEntry[str]"]:
    """What is in a folder, by name, without hidden, lock, temporary and system files."""
    with os.scandir(folder) as entries:
        return sorted((each for each in entries if not is_ignored(each.name)), key=lambda each: each.name)


def is_ignored(name: str) -> bool:
    """Whether a file or folder of this name is hidden, or holds no document of a person.

    Example:
        >>> [is_ignored(name) for name in (".git", "~$plan.docx", "Thumbs.db", "plan.docx")]
        [True, True, True, False]
    """
    folded = name.lower()
    return folded.startswith(".") or folded in _SYSTEM_NAMES or _TEMPORARY.fullmatch(folded) is not None


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path below a source fits one of the patterns, in upper or lower case.

    A pattern without `/` is compared with the name, one with `/` with the whole path; `*` stands for any characters.

    Example:
        >>> [matches("plans/2024/Costs.PDF", [pattern]) for pattern in ("*.pdf", "plans/*", "2024", "costs/*")]
        [True, True, False, False]
    """
    folded = path.lower()
    name = folded.rpartition("/")[2]
    return any(fnmatchcase(folded if "/" in each else name, each.lower().lstrip("/")) for each in patterns)


class _Walk:
    def __init__(self, root: Path, options: SourceOptions) -> None:
        self._root = root
        self._options = options
        self._seen = {root}

    def below(self, entries: list["os.DirEntry[str]"]) -> Iterator[Place]:
        """Places in order; folders are kept on a stack, as they may nest deeper than Python calls may."""
        stack = [("", iter(entries))]
        while stack:
            before, rest = stack[-1]
            entry = next(rest, None)
            if entry is None:
                stack.pop()
                continue
            path = printable(f"{before}{entry.name}")
            if matches(path, self._options.exclude) or matches(f"{path}/", self._options.exclude):
                continue
            found = self._look(path, entry)
            if isinstance(found, list):
                stack.append((f"{before}{entry.name}/", iter(found)))
            elif not self._options.include or found.is_unknown or matches(path, self._options.include):
                yield found

    def _look(self, path: str, entry: "os.DirEntry[str]") -> Place | list["os.DirEntry[str]"]:
        """The file, the reason why it is skipped, or the entries of a folder."""
        file = Path(entry.path)
        try:
            if entry.is_symlink():
                target = Path(os.path.realpath(file, strict=True))
                if reason := self._hindrance(target):
                    return Place(path, file, reason)
                if target.is_dir():
                    self._seen.add(target)
            if entry.is_dir():
                return _listed(file)
        except OSError as error:
            return Place(path, file, f"cannot be read or listed: {error.strerror or error}", is_unknown=True)
        return _regular(path, file, entry.stat)

    def _hindrance(self, target: Path) -> str:
        is_inside = target.is_relative_to(self._root)
        if not is_inside and not self._options.follow_links_outside:
            return f"a link to {printable(str(target))!r}, outside of the source; `sag ingest --follow-links` reads it"
        if target.is_dir() and (is_inside or target in self._seen or self._root.is_relative_to(target)):
            return f"a link to the folder {printable(str(target))!r}, which is read only at its real place"
        return ""


def _regular(path: str, file: Path, read: Callable[[], os.stat_result]) -> Place:
    try:
        told = read()
    except OSError as error:
        return Place(path, file, f"cannot be read: {error.strerror or error}", is_unknown=True)
    kind = stat.S_IFMT(told.st_mode)
    if kind == stat.S_IFREG:
        return Place(path, file, state=durable.state_of(told) if durable.is_settled(told) else "")
    return Place(path, file, f"{_KINDS.get(kind, 'something')}, not a regular file; it is never opened")


@contextmanager
def launched_here() -> Iterator[None]:
    """Mark the runs of this context as started by this process, from a command or from code."""
    token = _is_here.set(True)
    try:
        yield
    finally:
        _is_here.reset(token)


def is_launched_here() -> bool:
    """Whether the run of this context was started by this process."""
    return _is_here.get()


def refuse_source(given: str, settings: Settings, own: Sequence[str] = ()) -> None:
    """Refuse a source that this run may not read.

    What the corpus is defined with (`own`; else SAG_SOURCE) may always be read. Anything else must lie below a folder
    of SAG_SOURCE_ROOTS. If that is empty, a command may read everything, and a run that was started elsewhere (the
    Dagster page) nothing else: whoever types a command has the rights of its shell, whoever reaches the page has not.
    """
    roots = [Path(os.path.realpath(root)) for root in settings.source_roots.split(os.pathsep) if root]
    is_free = not roots and is_launched_here()
    if is_free or _spelt(given) in map(_spelt, own or (settings.source,)):
        return
    if not (names_bucket(given) or names_web(given)) and any(map(Path(_spelt(given)).is_relative_to, roots)):
        return
    bounds = settings.source_roots or "none"
    raise SettingsError(
        f"source {given!r} is not below any of SAG_SOURCE_ROOTS ({bounds}) and is not SAG_SOURCE; "
        "add its folder to SAG_SOURCE_ROOTS in the environment of the pipeline"
    )


def _spelt(source: str) -> str:
    """A source in the one spelling that all of its spellings have."""
    if names_web(source):
        return source
    return checked_url(source) if names_bucket(source) else os.path.realpath(source)


_REST: Final = 1_000
"""Milliseconds without a change after which a run starts."""
_LONGEST: Final = 60_000
"""Milliseconds of changes without a rest after which a run starts all the same."""


def watch_sources(
    sources: Sequence[str], ingest: Callable[[], None], tell: Callable[[str], None], *, every: float | None = None
) -> None:
    """Ingest now, and again after each change, until it is interrupted; a run that fails ends nothing.

    Changes during a run lead to one more run after it.

    Raises:
        SourceError: If there is nothing to watch.
        KeyboardInterrupt: On Ctrl-C and SIGTERM.
    """
    places = [source for source in sources if not is_url(source)]
    missing = [source for source in places if not Path(source).exists()]
    if missing or not (places or every):
        raise SourceError(
            f"source {missing[0]!r} does not exist; give a folder or a file that does"
            if missing
            else "a bucket or the web cannot be watched; `sag watch SOURCE --every 3600` reads it once an hour"
        )
    for _ in _occasions(places, every):
        try:
            ingest()
        except SagError as error:
            tell(str(error))


def _occasions(places: Sequence[str], every: float | None) -> Iterator[None]:
    """When to ingest: at once, then at each change, also of those that come during a run."""
    from watchfiles import watch  # noqa: PLC0415  only needed here

    roots = [Path(place).resolve() for place in places]
    home = Path(load_settings().home).resolve()

    def may_be_document(_: object, name: str) -> bool:
        path = Path(name)
        parts = next((path.relative_to(root).parts for root in roots if path.is_relative_to(root)), path.parts)
        return not path.is_relative_to(home) and not any(map(is_ignored, parts))

    looks = watch(
        *(roots or [home.parent]),
        watch_filter=may_be_document if roots else lambda *_: False,
        debounce=_LONGEST,
        step=_REST,
        rust_timeout=_REST,
        yield_on_timeout=True,
    )
    last = None
    for found in looks:  # the first comes once the folders are watched, so that no change is missed
        if last is None or found or (every and time.monotonic() - last >= every):
            yield
            last = time.monotonic()
