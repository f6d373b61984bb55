"""Releases and reports on disk: what is there, and what is wrong with it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from sag_retrieval.release.folders import wrong_files

from sag_retrieval.core.errors import SagError
from sag_retrieval.release.reader import FileFault, verify_release


def release_folders(home: Path) -> list[Path]:
    """Every folder of a release, whether it can be opened or not."""
    return sorted(path for path in (home / "releases").glob("*") if path.is_dir() and not path.name.startswith("."))


def wrong_release(folder: Path, *, deep: bool) -> list[FileFault]:
    """What is wrong with a release; one of version 0.1 names no files, so that there is nothing to compare."""
    try:
        return [fault for fault in verify_release(folder, deep=deep) if "names no files" not in fault.what]
    except (SagError, OSError, ValueError) as error:
        return [FileFault("", f"it cannot be opened ({error})")]


def wrong_pointer(path: Path, releases: Sequence[str]) -> str:
    """What is wrong with CURRENT."""
    try:
        said = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return "it is not there, so no release is in force" if releases else ""
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return "" if said.removesuffix("\n") in releases else f"it names {said[:60]!r}, which is no release here"


def wrong_latest(latest: Path, reports: Sequence[str]) -> str:
    """What is wrong with the name of the latest report of a series."""
    try:
        named = latest.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return "it is missing" if reports else ""
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return "" if named in reports else f"it names {named[:60]!r}, which is no report here"


def report_folders(home: Path) -> list[Path]:
    """The folder of every report."""
    return sorted(path for path in (home / "reports").glob("*/*") if path.is_dir() and not path.name.startswith("."))


def wrong_report(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files of a report that cannot be read or are not as they were written."""
    told = folder / "report.json"
    try:
        json.loads(told.read_text(encoding="utf-8"))["previous"]
    except FileNotFoundError:
        yield told, "it is missing: the report was cut off, or lost it"
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield told, f"it cannot be read ({error})"
    for name, what in wrong_files(folder):
        yield folder / name, what
