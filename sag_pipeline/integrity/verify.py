"""`sag verify`: compare everything below a home with what was written."""

import json
import shutil
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from sag_pipeline.embed.embed import load_fit, texts_of
from sag_pipeline.options import IngestOptions
from sag_pipeline.step_runner import step_of
from sag_pipeline.store.bucket import bucket_home
from sag_pipeline.store.lance_tables import SEALED, LanceTables
from sag_pipeline.store.ledger import Entry, Ledger, breaks, link_files
from sag_pipeline.store.parts import damage, of_documents, read_footer, read_rows
from sag_pipeline.store.source_list import FILE as SOURCES
from sag_pipeline.store.source_list import SourceList
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import KINDS, VectorStore, vector_ids
from sag_pipeline.tables import RECORDS, schema_of
from sag_retrieval.core import durable
from sag_retrieval.core.errors import BucketError, ReleaseError, SagError, SourceError, StoreError
from sag_retrieval.core.home_urls import shown_home
from sag_retrieval.core.settings import HASHING
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, Answered, columns_of, is_unchanged
from sag_retrieval.release.folders import ReadOnlyFolder, unfinished, write_lock, wrong_files, wrong_made
from sag_retrieval.release.manifest import MANIFEST
from sag_retrieval.release.reader import FileFault, verify_release
from sag_retrieval.release.releases import POINTER, FoundRelease, Releases
from sag_retrieval.release.remote import BESIDE, RemoteReleases
from sag_retrieval.remote.mirror import FILES, listed_below, measure
from sag_retrieval.reports.series import IN_BUCKET, pull_reports


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """What a home needs of its bucket, and what is wrong with it there."""

    count: int
    missing: Sequence[str] = ()
    """Keys of files that are not there, or have another length."""
    unused: Sequence[str] = ()
    """Keys of files that nothing names: of runs that were killed or lost a race. They are deleted after a day."""


def fetch_home(home: Path) -> BucketFiles | None:
    """Fetch what can be read of a home in a bucket; None for a home of its own. The caller holds the lock."""
    bucket = bucket_home(home)
    if bucket is None:
        return None
    bucket.pull(whole=True, is_tolerant=True)
    store = open_anyway(home)
    for table, part in parts_in_use(store):
        with suppress(StoreError):
            bucket.fetch(store.parts.path(table, part))
    _fetch_releases(home)
    with suppress(BucketError):
        pull_reports(home)
    there = {
        each.key: each.size for top in ("tables", FILES, "releases") for each in bucket.mirror.files.list(f"{top}/")
    }
    needed = {f"{FILES}/{digest}": length for digest, length in RemoteReleases(bucket.mirror).named().items()}
    needed |= {f"tables/{table}/{part}.parquet": -1 for table, part in parts_in_use(open_anyway(home))}
    needed |= {key: -1 for key in there if key.startswith("releases/")}
    missing = [key for key, length in needed.items() if key not in there or length not in (-1, there[key])]
    return BucketFiles(len(needed), sorted(missing), sorted(set(there) - set(needed)))


def _fetch_releases(home: Path) -> None:
    releases = Releases(home)
    if releases.remote is None:
        return
    for release_id in releases.remote.pull_manifests():
        with suppress(BucketError, FileNotFoundError):
            releases.remote.pull(release_id, is_tolerant=True)
    if named := releases.remote.current():
        durable.write_text(home / POINTER, f"{named}\n")


def send_home(home: Path, found: BucketFiles | None, *, is_changed: bool) -> list[tuple[str, str]]:
    """Make the bucket hold what the mirror holds after a repair; the caller holds the lock since `fetch_home`.

    Returns what was missing in the bucket, and what became of it; a BucketError if another run wrote to it meanwhile.
    """
    bucket = bucket_home(home)
    if bucket is None or found is None or not (is_changed or found.missing):
        return []
    bucket.probe()
    bucket.read_head()
    for key in found.missing:
        own = home / key
        if key.startswith(f"{FILES}/") and own.is_file() and measure(own)[1] == own.name:
            bucket.mirror.push(key, own)
    releases = Releases(home)
    if remote := releases.remote:
        here = {path.parent.name for path in releases.folder.glob(f"[!.]*/{MANIFEST}")}
        remote.delete(sorted(set(remote.ids()) - here))
        for release_id in sorted(here):
            with suppress(ReleaseError):
                remote.push(releases.folder / release_id)
                remote.push_beside(release_id)
    reports = home / "reports"
    bucket.mirror.update_tree(IN_BUCKET, reports, listed_below(reports), lambda _: True)
    bucket.commit(open_anyway(home).ledger.parts(), is_complete=True)
    return [(key, "sent again, or no longer named") for key in found.missing]


_PATIENCE_SECONDS = 10
_AGAIN = "made again by `sag repair` and `sag ingest`"


@dataclass(frozen=True, slots=True)
class HomeFault:
    """A file or folder, named below a home, that differs from what was written."""

    file: str
    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """One kind of file that was checked."""

    name: str
    count: int
    of: str
    faults: Sequence[HomeFault] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """What `sag verify` found."""

    home: str
    is_deep: bool
    checked: Sequence[CheckedFiles] = field(default_factory=list)

    @property
    def faults(self) -> list[HomeFault]:
        """All faults, in the order of what was checked."""
        return [fault for each in self.checked for fault in each.faults]

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self) | {"is_whole": not self.faults, "faults": [asdict(fault) for fault in self.faults]}


def verify_home(home: Path, *, deep: bool) -> Verified:
    """Check everything below a home, with `deep` every byte and row; nothing is changed, and no run writes meanwhile.

    Raises:
        SourceError: If there is no such home, or a run keeps writing below it.
    """
    if not home.is_dir():
        raise SourceError(f"there is no home at {home}; `sag ingest` makes one, SAG_HOME names another")
    if wrong := wrong_locks(home):
        return Verified(str(home), deep, [CheckedFiles("lock", len(wrong), "files", wrong)])
    try:
        with write_lock(home, _PATIENCE_SECONDS):
            bucket = fetch_home(home)
            found = look(home, deep=deep)
            return found if bucket is None else replace(found, checked=[*found.checked, *_bucket(bucket)])
    except ReadOnlyFolder:
        return look(home, deep=deep)


def wrong_locks(home: Path) -> list[HomeFault]:
    """What prevents locking a home or its reports."""
    return [
        HomeFault(name, "it is not a file, so no run can lock it", "moved away by `sag repair`")
        for name in ("lock", "reports/lock")
        if (home / name).exists() and not (home / name).is_file()
    ]


def look(home: Path, *, deep: bool) -> Verified:
    """Check everything; the caller holds the lock."""
    store = open_anyway(home)
    checked = [_sources(store), _ledger(store), _tables(store, deep=deep), _vectors(store, deep=deep), _embedder(store)]
    checked += [_answers(store, deep=deep), _releases(store, deep=deep), _reports(store)]
    return Verified(shown_home(home), deep, checked)


def _bucket(found: BucketFiles) -> list[CheckedFiles]:
    mend = "sent again by `sag repair` if this machine has it, else made again by `sag repair` and `sag ingest`"
    faults = [HomeFault(key, "it is missing in the bucket, or has another length", mend) for key in found.missing]
    unused = CheckedFiles("unused", len(found.unused), "files that nothing names, deleted after a day")
    return [CheckedFiles("bucket", found.count, "files", faults), unused]


def _sources(store: Store) -> CheckedFiles:
    mend = "removed by `sag repair`: sources are known by their names until they are ingested again"
    try:
        count = len(list(SourceList(store)))
    except SourceError as error:
        return CheckedFiles("sources", 1, "file", [HomeFault(SOURCES, str(error).partition("; ")[0], mend)])
    return CheckedFiles("sources", count, "sources")


def _ledger(store: Store) -> CheckedFiles:
    folder = store.home / "ledger"
    mend = "`sag repair` keeps the other commits; `sag ingest` finds out the content of this one again"
    faults = [HomeFault(_name(store, each.path), each.what, mend) for each in breaks(folder)]
    files = link_files(folder)
    if not files and not faults and (made := lost_ledger(store)):
        faults.append(HomeFault("ledger", f"it is missing, although {made} exists", mend))
    return CheckedFiles("ledger", len(files), "commits", faults)


def lost_ledger(store: Store) -> str:
    """A file that only exists after a first commit; empty if there is none."""
    made = [*store.home.glob("tables/chunks/*.parquet"), *store.home.glob("releases/*/manifest.json")]
    return _name(store, made[0]) if made else ""


def _tables(store: Store, *, deep: bool) -> CheckedFiles:
    faults = [HomeFault(_name(store, each.path), each.what, _AGAIN) for each in wrong_parts(store, deep=deep)]
    used = parts_in_use(store)
    unused = len(unused_parts(store, used))
    return CheckedFiles("tables", len(used), "parts" + (f", {unused} that no entry names" if unused else ""), faults)


def _vectors(store: Store, *, deep: bool) -> CheckedFiles:
    wrong = wrong_vectors(store.home, deep=deep)
    found = [(_name(store, path), what) for path, what in wrong.items()]
    if not wrong:
        lost = missing_vectors(store, deep=deep)
        found = [(f"vectors/{fingerprint}", f"{count} texts have no vector in it") for fingerprint, count in lost]
    faults = [HomeFault(file, what, "embedded again by `sag repair` and `sag ingest`") for file, what in found]
    return CheckedFiles("vectors", len(vector_files(store.home)), "files", faults)


def missing_vectors(store: Store, *, deep: bool) -> Iterator[tuple[str, int]]:
    """Fingerprints of embedders, each with the number of texts that the ledger lists as embedded but have no vector.

    Those of `hashing` are computed for each release. Without `deep` an embedder is checked only if it has no vector.
    """
    folders = {path.name for path in (store.home / "vectors").glob("*") if path.is_dir()}
    released = {manifest.embedder_fingerprint for manifest in Releases(store.home).manifests()}
    for fingerprint in sorted(folders | released):
        is_kept = not fingerprint.startswith(f"{HASHING}-")
        done = _embedded(store, fingerprint) if is_kept or fingerprint in released else []
        vectors = VectorStore(store.home, fingerprint, 0)
        if not done or (vectors.count() and not (deep and is_kept)):
            continue
        old = set(vectors.old_ids().tolist())
        lost = sum(len(ids - old - set(vectors.known(kind).tolist())) for kind, ids in _wanted(store, done).items())
        if lost:
            yield fingerprint, lost


def _embedded(store: Store, fingerprint: str) -> list[str]:
    """Documents with all current texts embedded by an embedder."""
    step = step_of("vectors", IngestOptions(), fingerprint)
    pending = {each.document_id for each in store.pending(step)}
    return [entry.unit for entry in store.ledger.entries("step = 'vectors'") if entry.unit not in pending]


def _wanted(store: Store, documents: Sequence[str]) -> dict[str, set[bytes]]:
    """Ids of the texts of documents by kind; damaged parts are left out, as they are made again anyway."""
    found: dict[str, set[bytes]] = {kind: set() for kind in KINDS}
    for table, ids in found.items():
        for part, members in store.places(table, documents).items():
            with suppress(StoreError, KeyError):  # a part of another table lacks the columns
                rows = of_documents(store.parts.read(table, part), members)
                ids.update(vector_ids(texts_of(table, rows).to_pylist()).tolist())
    return found


def _embedder(store: Store) -> CheckedFiles:
    name = "embedder/hashing.npy"
    try:
        fitted = load_fit(store.home)
    except StoreError as error:
        mend = "`sag repair` takes it from a release; without one, `sag ingest` fits it again"
        return CheckedFiles("embedder", 1, "files", [HomeFault(name, str(error).rpartition("; ")[0], mend)])
    return CheckedFiles("embedder", int(fitted is not None), "files")


def _answers(store: Store, *, deep: bool) -> CheckedFiles:
    path = store.home / ANSWERS
    mend = "`sag repair` saves what can be read; the rest is paid again when it is needed"
    if not path.exists():
        paid = len(paid_calls(store))
        what = f"it is missing, although {paid} calls were paid"
        return CheckedFiles("answers", 0, "answers", [HomeFault(ANSWERS, what, mend)] if paid else [])
    count, found = wrong_answers(path, deep=deep)
    return CheckedFiles("answers", count, "answers", [HomeFault(ANSWERS, what, mend) for what in found])


def paid_calls(store: Store) -> set[tuple[str, str, str]]:
    """Document, step and id of every paid call, as far as the table `calls` can be read."""
    found: set[tuple[str, str, str]] = set()
    for part in store.places("calls"):
        try:
            rows = store.parts.read("calls", part).to_pylist()
        except StoreError:
            continue
        found |= {(row["document_id"], row["step"], row["call_id"]) for row in rows if not row["is_cached"]}
    return found


def _releases(store: Store, *, deep: bool) -> CheckedFiles:
    folders = release_folders(store.home)
    mend = "removed by `sag repair`; published again by `sag ingest`"
    faults = [
        HomeFault(f"releases/{folder.name}/{fault.file}", fault.what, mend)
        for folder in folders
        for fault in wrong_release(folder, deep=deep)
    ]
    faults += [
        HomeFault(_name(store, folder / below), what, "removed by `sag repair`; made again by `sag ingest`")
        for folder in folders
        for below in BESIDE.values()
        if (what := wrong_made(folder / below))
    ]
    if what := wrong_pointer(store.home / "CURRENT", [folder.name for folder in folders], "release"):
        faults.append(HomeFault("CURRENT", what, "`sag repair` names the newest good release"))
    left = unfinished(store.home / "releases")
    more = f", {left} unfinished that the next ingest deletes" if left else ""
    other = sum(FoundRelease.look(folder).is_of_another_form for folder in folders)
    more += f", {other} of another version of sag, not compared" if other else ""
    return CheckedFiles("releases", len(folders), f"releases{more}", faults)


def _reports(store: Store) -> CheckedFiles:
    folders = report_folders(store.home)
    mend = "removed by `sag repair`; `sag report` writes the next one"
    faults = [HomeFault(_name(store, path), what, mend) for folder in folders for path, what in wrong_report(folder)]
    for series in sorted(path for path in (store.home / "reports").glob("*") if path.is_dir()):
        left = [folder.name for folder in folders if folder.parent == series]
        if what := wrong_pointer(series / "LATEST", left, "report"):
            faults.append(HomeFault(_name(store, series / "LATEST"), what, mend))
    return CheckedFiles("reports", len(folders), "reports", faults)


def _name(store: Store, path: Path) -> str:
    return path.relative_to(store.home).as_posix()


@dataclass(frozen=True, slots=True)
class WrongPart:
    """A part that differs from its ledger entries, and those entries."""

    path: Path
    what: str
    entries: Sequence[Entry]


def open_anyway(home: Path) -> Store:
    """The store of a home from its undamaged commits, for verify and repair."""
    folder = home / "ledger"
    harmed = {each.path for each in breaks(folder)}
    return Store(home, Ledger(folder, [path for path in link_files(folder) if path not in harmed]))


def parts_in_use(store: Store) -> dict[tuple[str, str], list[Entry]]:
    """Table and name of every part that a current entry names, with those entries."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in store.ledger.entries("part <> ''", view="stored"):
        found.setdefault((entry.step, entry.part), []).append(entry)
    return found


def wrong_parts(store: Store, *, deep: bool) -> list[WrongPart]:
    """Parts in use that are missing, unreadable or have other rows; with `deep` every byte is compared."""
    found = []
    for (table, part), entries in parts_in_use(store).items():
        path = store.parts.path(table, part)
        try:
            what = (damage(path) if deep else "") or _wrong_rows(table, path, entries, deep=deep)
        except StoreError as error:
            what = _reason(error)
        if what:
            found.append(WrongPart(path, what, entries))
    return found


def _wrong_rows(table: str, path: Path, entries: Sequence[Entry], *, deep: bool) -> str:
    footer = read_footer(path)
    live = sum(entry.row_count for entry in entries)
    if table in {*RECORDS, "calls"} and not _is_of(footer.schema.to_arrow_schema(), schema_of(table)):
        return f"its columns are not those of {table}"
    if entries[0].kind != "document":
        return "" if footer.num_rows == live else f"it has {footer.num_rows} rows, the ledger says {live}"
    if footer.num_rows < live:
        return f"it has {footer.num_rows} rows, the ledger says {live} at least"
    return _wrong_documents(path, entries) if deep else ""


def _is_of(found: pa.Schema, schema: pa.Schema) -> bool:
    """Whether a part has the columns of its table, or those of an earlier version that wrote fewer (`with_columns`)."""
    return bool(found.equals(pa.schema([field for field in schema if field.name in found.names or not field.nullable])))


def _wrong_documents(path: Path, entries: Sequence[Entry]) -> str:
    """What is wrong with the rows of documents; empty if those of each are present, once and adjacent."""
    counts: dict[str, list[int]] = {}
    for document, run in groupby(read_rows(path, ["document_id"])["document_id"].to_pylist()):
        counts.setdefault(document, []).append(len([*run]))
    for entry in entries:
        if counts.get(entry.unit) != [entry.row_count]:
            rows = sum(counts.get(entry.unit, []))
            return f"it has {rows} rows of document {entry.unit!r}, the ledger says {entry.row_count} together"
    return ""


def vector_files(home: Path) -> list[Path]:
    """Files of vectors that were written whole, of all embedders."""
    found = sorted((home / "vectors").rglob("*.parquet"))  # as version 0.1 kept them
    for folder in vector_folders(home):
        try:
            tables = LanceTables(folder).sealed()
        except StoreError:  # a fault of its own
            continue
        found += [folder / SEALED]
        found += [folder / table.folder / file for table in tables.values() for file in table.files]
    return found


def vector_folders(home: Path) -> list[Path]:
    """The folder of each embedder that has vectors."""
    return sorted(path.parent for path in (home / "vectors").rglob(SEALED))


def wrong_vectors(home: Path, *, deep: bool) -> dict[Path, str]:
    """Files of vectors that are missing or not as written; with `deep` every byte is compared."""
    found = {}
    for path in (home / "vectors").rglob("*.parquet"):
        try:
            what = damage(path) if deep else ""
            names = [] if what else read_footer(path).schema.to_arrow_schema().names
            if not what and names not in (["vector_id", "values"], ["vector_id", "indices", "values"]):
                what = f"its columns are {names}, not those of vectors"
        except StoreError as error:
            what = _reason(error)
        if what:
            found[path] = what
    for folder in vector_folders(home):
        try:
            found |= dict(LanceTables(folder).faults(deep=deep))
        except StoreError as error:
            found[folder / SEALED] = _reason(error)
    return found


def unused_parts(store: Store, used: Mapping[tuple[str, str], object]) -> dict[tuple[str, str], Path]:
    """Parts that no entry names: of an interrupted commit, or of a lost entry."""
    tables = store.home / "tables"
    every = {(path.parent.name, path.stem): path for path in sorted(tables.glob("*/*.parquet"))}
    return {key: path for key, path in every.items() if key not in used}


def _reason(error: StoreError) -> str:
    """The part of a message between the name of the file and the next command."""
    return str(error).partition(" is ")[2].rpartition("; ")[0]


def release_folders(home: Path) -> list[Path]:
    """Every folder of a release, whether it can be opened or not."""
    return sorted(path for path in (home / "releases").glob("*") if path.is_dir() and not path.name.startswith("."))


def wrong_release(folder: Path, *, deep: bool) -> list[FileFault]:
    """What is wrong with a release; nothing of one of version 0.1, which lists no files, or of another form."""
    found = FoundRelease.look(folder)
    if found.is_of_another_form or (found.manifest is not None and not found.manifest.files):
        return []
    try:
        return verify_release(folder, deep=deep)
    except (SagError, OSError, ValueError) as error:
        return [FileFault("", f"it cannot be opened ({error})")]


def wrong_pointer(path: Path, names: Sequence[str], kind: str) -> str:
    """What is wrong with a file that names the current one of some releases, or the latest of a series of reports."""
    try:
        named = path.read_bytes().decode("utf-8", "replace").removesuffix("\n")
    except FileNotFoundError:
        return f"it is missing, so no {kind} is named" if names else ""
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return "" if named in names else f"it names {named[:60]!r}, which is no {kind} that is there"


def report_folders(home: Path) -> list[Path]:
    """The folders of all reports."""
    return sorted(path for path in (home / "reports").glob("*/*") if path.is_dir() and not path.name.startswith("."))


def wrong_report(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files of a report that cannot be read or differ from what was written."""
    summary = folder / "report.json"
    try:
        json.loads(summary.read_text(encoding="utf-8"))["previous"]
    except FileNotFoundError:
        yield summary, "it is missing: writing the report was interrupted, or the file was deleted"
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield summary, f"it cannot be read ({error})"
    for name, what in wrong_files(folder):
        yield folder / name, what


_HEX = "0123456789abcdef"
_DEEPEST = 3
"""A range of call ids that cannot be read from either end is divided up to this number of digits, then given up."""
_SCHEMA_PAGE = 4096
PartRow = tuple[Any, ...]


def wrong_answers(path: Path, *, deep: bool) -> tuple[int, list[str]]:
    """The number of answers in a file, and what is wrong with it; with `deep` every answer is compared with its digest.

    Answers lost from a truncated log cannot be detected: the model is asked again for them.
    """
    if not path.is_file():
        return 0, ["it is not a file"]
    if path.stat().st_size == 0:
        return 0, ["it is empty, without the table of answers"]
    try:
        with closing(_open(path)) as connection:
            check = "integrity_check" if deep else "quick_check"
            found = [str(line) for (line,) in connection.execute(f"pragma {check}") if line != "ok"]
            ((count,),) = connection.execute("select count(*) from answers")
            if deep:
                found += [f"answer {row[0]} is not the one that was kept" for row in _all(connection) if _is_bad(row)]
    except (sqlite3.Error, UnicodeError) as error:
        return 0, [str(error)]
    return count, found[:1] + ([f"and {len(found) - 1} more"] if len(found) > 1 else [])


def salvage_answers(path: Path, into: Path) -> int:
    """Write every answer that can be read and agrees with its digest into a new file; the number of answers."""
    found: dict[str, PartRow] = {}
    with TemporaryDirectory(dir=path.parent, prefix=".salvage-") as folder:
        copies = [path]
        if path.is_file() and path.stat().st_size > _SCHEMA_PAGE:
            copies.append(_with_new_first_page(path, Path(folder)))
        for copy in copies:
            with suppress(sqlite3.Error), closing(_open(copy)) as connection:
                for row in _readable(connection):
                    found.setdefault(str(row[0]), row)
        draft = Path(folder) / "salvaged"
        with AnswerCache(draft) as kept:
            kept.keep(*(Answered(*row[:-1]) for _, row in sorted(found.items())))
        draft.replace(into)
    return len(found)


def known_calls(path: Path) -> set[str]:
    """The ids of all answers in a whole file; none if it is not there."""
    if not path.exists():
        return set()
    with closing(_open(path)) as connection:
        return {str(call_id) for (call_id,) in connection.execute("select call_id from answers")}


def _open(path: Path) -> sqlite3.Connection:
    """Open the file read-only: checking a damaged file must not change it or create others next to it."""
    has_log = path.with_name(f"{path.name}-wal").exists()
    return sqlite3.connect(f"{path.resolve().as_uri()}?{'mode=ro' if has_log else 'immutable=1'}", uri=True)


def _all(connection: sqlite3.Connection, where: str = "") -> Iterator[PartRow]:
    names = [row[1] for row in connection.execute("pragma table_info(answers)")]
    digest = "digest" if "digest" in names else "''"  # version 0.1 had none
    yield from connection.execute(f"select {columns_of()}, {digest} from answers {where}")  # noqa: S608  our own columns


def _is_bad(row: PartRow) -> bool:
    try:
        json.loads(row[1])
    except (TypeError, ValueError):
        return True
    return not is_unchanged(row)


def _readable(connection: sqlite3.Connection) -> Iterator[PartRow]:
    """Readable, unchanged rows: all at once, or by ranges of call ids, divided further where reading fails.

    A range is read from both ends, so only rows between two damaged places are lost.
    """
    ranges = [""]
    while ranges:
        prefix = ranges.pop()
        where = f"where call_id >= '{prefix}' and call_id < '{prefix}~' order by call_id"
        is_whole = yield from _read(connection, where)
        if not is_whole:
            yield from _read(connection, f"{where} desc")
            ranges += [prefix + digit for digit in _HEX if len(prefix) < _DEEPEST]


def _read(connection: sqlite3.Connection, where: str) -> Generator[PartRow, None, bool]:
    """Yield the unchanged rows of a range; returns whether it could be read to its end."""
    try:
        yield from (row for row in _all(connection, where) if not _is_bad(row))
    except (sqlite3.Error, UnicodeError):
        return False
    return True


def _with_new_first_page(path: Path, folder: Path) -> Path:
    """A copy with the first page of a new file, which has the header and schema; the answers are on later pages."""
    fresh, copy = folder / "fresh", folder / "copy"
    AnswerCache(fresh).close()
    shutil.copyfile(path, copy)
    pages = path.stat().st_size // _SCHEMA_PAGE
    first = bytearray(fresh.read_bytes()[:_SCHEMA_PAGE])
    first[28:32] = pages.to_bytes(4, "big")
    first[92:96] = first[24:28]  # the page count is valid for this state of the file
    with copy.open("r+b") as file:
        file.write(first)
    return copy
