"""Prepare a report: choose its events, group and name them by rules, and find the report before it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Flags, event_table
from sag_retrieval.clusters.groups import Communities
from sag_retrieval.clusters.options import ClusterOptions
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
from sag_retrieval.llm_writing.lines import Themes
from sag_retrieval.llm_writing.write import ReportFacts, Writer
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.folders import delete, mark_of, write_made
from sag_retrieval.release.reader import Reader
from sag_retrieval.reports.context import page_language
from sag_retrieval.reports.facts import Pile, listed_events, newest_day
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.scope import Scope, chosen_events, chosen_flags, only_unseen, seen_before, statement_keys
from sag_retrieval.reports.series import Before, find_before
from sag_retrieval.search.revised import said_later
from sag_retrieval.statements.scorer import SCORERS, QuotableEvents
from sag_retrieval.topics.naming import KnownNames, known_names, name_communities
from sag_retrieval.topics.stored import kept_communities, stored_names
from sag_retrieval.topics.titler import TITLERS
from sag_retrieval.topics.topics import build_topics


@dataclass(frozen=True, slots=True)
class Definition:
    """What a report is about, how it looks, and which series it belongs to."""

    scope: Scope = field(default_factory=Scope)
    options: ReportOptions = field(default_factory=ReportOptions)

    @property
    def series(self) -> str:
        """Name of the series: reports of one scope, title, language and grouping."""
        scope, options = self.scope, self.options
        delta = (*(("new",) if scope.only_new else ()), *((scope.within,) if scope.within else ()))
        grouped = asdict(options.cluster)
        return settings_hash(options.title, scope.in_words(), scope.period, grouped, options.language, *delta)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A report before a model is asked: its events, communities named by rules, and the report before it."""

    events: EventTable
    communities: Communities
    options: ReportOptions
    before: Before
    seen: frozenset[str] = frozenset()
    """What a report about new events, and those before it, were about."""
    later: Mapping[str, str] = field(default_factory=dict)
    """By id of a revised event: what was said later in its place."""

    def writer(self, pile: Pile) -> Writer:
        """What lets a model write about it."""
        day = newest_day(self.events, pile, self.options)
        listed = listed_events(self.events, pile, day)
        known = ReportFacts(later=self.later, listed=listed, newest=day)
        return Writer(self.events, self.communities, self.options, self.options.language, known)


def prepare_report(reader: Reader, home: Path, definition: Definition, chat: ChatModel | None = None) -> Prepared:
    """Choose the events of a report, group and name them; no model is asked.

    Raises:
        FilterError: If the restriction was refused.
        QueryError: If the period is none.

    """
    scope, options = definition.scope, definition.options
    series = home / REPORTS / definition.series
    scorer = SCORERS.function(options.statement_scorer)
    events: EventTable = QuotableEvents.of(chosen_events(reader, scope), scorer)
    before = find_before(series, series / reader.manifest.release_id, events.event_ids)
    since, seen = "", frozenset(statement_keys(events)) if scope.only_new else frozenset()
    if scope.only_new and before.release:
        earlier = seen_before(series, before.release)
        events = QuotableEvents.of(only_unseen(reader, scope, earlier), scorer)
        since, seen = before.release, seen | earlier
        before = replace(before, previous=None)
    language = page_language(events, options, before.language)
    events = replace(events, keys=events.keys.in_script_of(language))
    options = replace(
        options,
        language=language,
        release=reader.manifest.release_id,
        released=reader.manifest.created_at[:10],
        scope=scope.in_words(),
        period=scope.period,
        since=since,
        events_before=int(chosen_flags(reader, Scope()).sum()),
        events_after=len(events),
        models=f"{chat.model_id if chat else 'offline'}, {reader.manifest.embedding_model}",
    )
    known = known_names(before.communities) if before.communities is not None else {}
    built, names = _communities(reader, events, options.cluster, chat)
    named = name_communities(
        events, built, None, {**names, **known}, titler=TITLERS.function(options.titler)
    ).communities
    bare = tuple(replace(each, summary=()) for each in named)  # on the page, rules quote and a model writes
    return Prepared(events, replace(named, communities=bare), options, before, seen, said_later(reader.index))


def _communities(
    reader: Reader, events: EventTable, options: ClusterOptions, chat: ChatModel | None
) -> tuple[Communities, KnownNames]:
    """The communities of the events, and names to keep: those of the release where the report is about all of it."""
    kept = kept_communities(reader, options) if len(events) == reader.index.arrays.event_count else None
    if kept is None:
        return build_topics(events, options), {}
    return kept, stored_names(reader.folder / COMMUNITIES).by(chat).names


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
    definition = Definition(Scope(sql=sql, where=where or None, within=reader.within))
    flags = chosen_flags(reader, definition.scope)
    mark = _mark(flags)
    places = _places(reader, settings, mark)
    kept = [each for each in places if mark_of(each) == mark]
    if sql is None and not where and not reader.within:
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
