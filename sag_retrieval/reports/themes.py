"""The themes that a question about all documents is asked of: made once for the events of a release, and kept."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np

from sag_retrieval.clusters.events import Flags, event_table
from sag_retrieval.clusters.storage import (
    COMMUNITIES,
    DAMAGE,
    REPORTS,
    read_communities,
    read_tables,
    settings_hash,
    write_communities,
)
from sag_retrieval.core.public import __version__
from sag_retrieval.core.settings import Settings
from sag_retrieval.llm_writing.themes import Themes
from sag_retrieval.release.folders import delete, mark_of, write_made
from sag_retrieval.release.reader import Reader
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.prepare import Definition, Prepared, prepare_report
from sag_retrieval.reports.scope import Scope, chosen_flags

THEMES: Final = "themes"
"""Folder of kept themes inside that of a release, or below SAG_CACHE where the release cannot be written to."""
_MOST_KEPT: Final = 32
"""Restrictions whose themes are kept, the newest."""


def release_themes(reader: Reader, settings: Settings, sql: str | None, where: Mapping[str, Any] | None) -> Themes:
    """The themes of the events that a restriction selects; those of the plain report of the release where there is one.

    Made the first time, and kept beside the release: the same events have the same themes as long as version and
    options are the same. Several processes may make them at once: the first one's are kept.

    Raises:
        FilterError: If the restriction was refused.

    Source:
        docs/algorithm.md §answers.9.

    """
    definition = Definition(Scope(sql=sql, where=where or None))
    flags = chosen_flags(reader, definition.scope)
    mark = _mark(flags)
    places = _places(reader, settings, mark)
    kept = [each for each in places if mark_of(each) == mark]
    if sql is None and not where:
        kept.insert(0, settings.home / REPORTS / definition.series / reader.manifest.release_id / COMMUNITIES)
    events = event_table(reader.index, flags)
    for folder in kept:
        with suppress(*DAMAGE):
            return Themes(events, read_communities(read_tables(folder), events.event_ids))
    made = prepare_report(reader, settings.home, definition)
    return Themes(made.events, made.communities, _keep(places, mark, made))


def _mark(flags: Flags) -> str:
    """What themes are made with: version, options, and the events."""
    chosen = blake2b(np.packbits(flags).tobytes(), digest_size=8).hexdigest()
    return settings_hash(__version__, asdict(ReportOptions()), len(flags), chosen)


def _places(reader: Reader, settings: Settings, mark: str) -> tuple[Path, ...]:
    """Where themes are kept, the first that can be written to."""
    return reader.folder / THEMES / mark, settings.cache.expanduser() / THEMES / f"{reader.manifest.release_id}-{mark}"


def _keep(places: Sequence[Path], mark: str, made: Prepared) -> str:
    """Write themes to the first place that takes them; what the asker should know."""
    for folder in places:
        try:
            if folder.exists() and mark_of(folder) != mark:
                delete(folder)
            write_communities(folder, made.communities, made.events.event_ids, lambda draft: write_made(draft, mark))
            _bound(folder.parent)
        except OSError:
            if mark_of(folder) != mark:  # else another process was first
                continue
        return "the themes were made for this question and are kept for the next"
    return f"the themes were made for this question and could not be kept in {places[0].parent} or {places[-1].parent}"


def _bound(folder: Path) -> None:
    """Delete the themes that were made longest ago, beyond `_MOST_KEPT`."""
    kept = sorted((each for each in folder.glob("[!.]*") if each.is_dir()), key=lambda each: each.stat().st_mtime_ns)
    for each in kept[: max(0, len(kept) - _MOST_KEPT)]:
        with suppress(OSError):  # another process deleted it
            delete(each)
