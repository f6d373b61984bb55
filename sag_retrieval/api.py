"""A release in the hand: search it, ask it, report on it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sag_retrieval.ask.protocols import SearchFunction
from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.models.open import open_chat, open_embedder
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.contents import Verify
from sag_retrieval.release.files import Manifest
from sag_retrieval.release.index import Index
from sag_retrieval.release.reader import Reader, open_reader
from sag_retrieval.search.join_segments import CANDIDATES, SegmentSpec, join_segments
from sag_retrieval.search.method import Query
from sag_retrieval.search.registry import method_named
from sag_retrieval.search.result import SearchResult, build_result

if TYPE_CHECKING:
    import pandas as pd

    from sag_retrieval.ask import Answer, AskOptions, Progress, Mode
    from sag_retrieval.reports.options import ReportOptions
    from sag_retrieval.reports.report import Report


def open_release(home: Path | str | None = None, *, release: str | None = None, verify: Verify = "lazy") -> "Release":
    """The release in force below `home` (or SAG_HOME), or the one with the given id.

    Opening maps files and reads little; the release stays as it is while it is held, whatever is published meanwhile.

    Args:
        home: Folder of releases; None: SAG_HOME.
        release: Id of a release; None: the one in force.
        verify: When the bytes of files are compared with the release's checksums: `lazy` when they are first used,
            `full` all while opening, `off` never. Lengths are always compared.

    Raises:
        ReleaseError: If there is none, it cannot be used by this package, or it is damaged; a damage that opening does
            not see is raised by what first needs the file.

    """
    settings = load_settings(home=home)
    return Release(open_reader(settings.home, release, open_embedder, verify), settings)


class Release:
    """An opened release. Safe to share between threads; many processes may open the same one."""

    def __init__(self, reader: Reader, settings: Settings) -> None:
        """Hold an opened release and the settings that name the language model."""
        self._reader = reader
        self._settings = settings

    @property
    def release_id(self) -> str:
        """Its id, which follows from its content."""
        return self.manifest.release_id

    @property
    def manifest(self) -> Manifest:
        """What it says of itself: counts, embedder, hashes, checks."""
        return self._reader.manifest

    @property
    def index(self) -> Index:
        """Rows, arrays and embedder, for those who write their own ranking."""
        return self._reader.index

    @cached_property
    def chat(self) -> ChatModel | None:
        """The language model of the settings; None for `offline`."""
        return open_chat(self._settings)

    def search(  # noqa: PLR0913  the atomic search and its restrictions
        self,
        query: str,
        keys: Sequence[str] | None = None,
        sql: str | None = None,
        top_k: int = 10,
        *,
        method: str = "sag",
        where: Mapping[str, Any] | None = None,
        segments: SegmentSpec | None = None,
        explain: bool = False,
        gold_documents: Sequence[str] = (),
    ) -> SearchResult:
        """The best chunks for a query, each with its events and keys.

        Args:
            query: The question.
            keys: Names the answer has to do with, if known.
            sql: A SELECT of event_id, chunk_id or document_id, or a condition over events, that restricts what may be
                found, before ranking.
            top_k: How many hits at the most.
            method: One of the contract's methods.
            where: Conditions such as `{"language": "zh", "key.person": "…", "key.amount__gte": 3}`.
            segments: A preset (`balanced`, `precision`, `find_all`) or options: also join hits that lie near each other
                into `result.segments`.
            explain: Fill `result.trace`: what each stage had, and the way from the query to each hit.
            gold_documents: With `explain`, documents known to be right: each stage tells how many it still had.

        Raises:
            QueryError: If the query is empty or the method unknown.
            FilterError: If the restriction was refused.

        """
        wanted = max(top_k, CANDIDATES) if segments else top_k
        allowed = self._reader.sandbox.allowed(sql, where) if sql or where else None
        asked = Query(query, keys or (), wanted, allowed, explain, tuple(gold_documents))
        ranking = method_named(method, chat=self.chat, home=self._reader.folder)(self.index, asked)
        joined = join_segments(self.index, ranking, segments) if segments else ()
        found = build_result(self.index, asked, ranking.first(top_k), release=self.release_id, method=method)
        return replace(found, segments=joined)

    def table(self, name: str) -> "pd.DataFrame":
        """A table of the release (`docs/release-format.md`) as a DataFrame, in the release's order.

        Raises:
            QueryError: If readers hold no table of this name.

        """
        rows = self.index.rows
        if name not in rows:
            raise QueryError(f"table {name!r} is none of {', '.join(sorted(rows))}")
        frame: pd.DataFrame = rows[name].to_pandas()
        return frame

    def searcher(self, method: str = "sag") -> SearchFunction:
        """Its search by one method, as evaluation and asking call it."""

        def search(text: str, keys: Sequence[str] = (), sql: str | None = None, top_k: int = 10) -> SearchResult:
            return self.search(text, keys, sql, top_k, method=method)

        return search

    def ask(
        self,
        query: str,
        mode: "Mode" = "fast",
        sql: str | None = None,
        *,
        method: str = "sag",
        options: "AskOptions | None" = None,
        on_event: Callable[["Progress"], None] = lambda _: None,
    ) -> "Answer":
        """An answer with citations down to the character, or that the documents do not hold it.

        Args:
            query: The question.
            mode: `fast` (no model), `normal` (the model rewrites the question) or `deep` (a plan of sub-questions).
            sql: Restriction of every search.
            method: How to search.
            options: Budgets and choices; `sql` given here wins over theirs.
            on_event: Hears of every step while it happens.

        Raises:
            QueryError: If the question is blank or the mode unknown.
            FilterError: If the restriction was refused.

        """
        from sag_retrieval.ask import AskOptions, ask  # noqa: PLC0415  searching alone needs none of it

        chosen = options or AskOptions(language=self._settings.language)
        chosen = replace(chosen, sql=sql) if sql else chosen
        chat = None if mode == "fast" else self.chat
        return ask(self.searcher(method), query, mode=mode, chat=chat, options=chosen, on_event=on_event)

    def report(
        self,
        sql: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        period: str = "",
        out: Path | str | None = None,
        options: "ReportOptions | None" = None,
    ) -> "Report":
        """Write a report: events in communities, each statement cited, as a page, as Markdown and as tables.

        Args:
            sql: Which events: a SELECT of ids, or a condition.
            where: Which events, as conditions.
            period: Which events by date, such as `2019..2021-06`.
            out: Folder for the files; below `home/reports` if not given.
            options: Title, language, clustering and how much is told.

        Raises:
            FilterError: If the restriction was refused.

        """
        from sag_retrieval.reports.build import Scope, make_report  # noqa: PLC0415  searching alone needs none of it

        scope = Scope(sql=sql, where=where, period=period)
        folder = Path(out) if out else None
        return make_report(self._reader, self._settings.home, scope=scope, options=options, out=folder, chat=self.chat)

    def close(self) -> None:
        """Let `sag releases prune` have it."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
