"""Reports of an opened release, and what a model would cost for one."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sag_retrieval.core.options import build_options
from sag_retrieval.core.settings import OFFLINE
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.opened import OpenedRelease

if TYPE_CHECKING:
    from sag_retrieval.llm_writing.themes import Themes
    from sag_retrieval.llm_writing.written import WritingPlan
    from sag_retrieval.reports.options import ReportOptions
    from sag_retrieval.reports.report import Report


class ReportingRelease(OpenedRelease):
    """The part of a release that writes reports."""

    def report(  # noqa: PLR0913  what it is about, how, by what, and where to
        self,
        *,
        sql: str | None = None,
        where: Mapping[str, Any] | None = None,
        period: str = "",
        title: str = "",
        only_new: bool = False,
        model: str = "",
        out: Path | str | None = None,
        options: "ReportOptions | Mapping[str, Any] | None" = None,
    ) -> "Report":
        """Write a report: events in themes, each statement cited, as a page, as Markdown and as tables.

        With a language model it writes titles, summaries and findings; what its events do not support is left out.
        Answers are kept in the home: the same report asks nothing again.

        Examples:
            >>> from sag_retrieval import open_release
            >>> release = open_release()
            >>> report = release.report(period="2022..2023", title="Two years")
            >>> report.page.name, report.markdown.name
            ('report.html', 'report.md')

        Args:
            sql: Which events: a SELECT of ids, or a condition.
            where: Which events, as conditions.
            period: Which events by date: `2024`, `2024-03`, `2019..2021-06`, `last 7 days`, `this quarter`.
            title: Its heading; empty: that of the options, else made of what it is about.
            only_new: Only events that the last report of the same kind was not about.
            model: The language model that writes, such as `openai:gpt-5-mini`, or `offline`; empty: SAG_CHAT_MODEL.
            out: Folder for the files; below `home/reports` if not given.
            options: Title, language, clustering, budget and level of detail: an object, or names and values.

        Raises:
            QueryError: If the period is none of these.
            SettingsError: If an option or the model is unknown, or a value out of bounds.
            FilterError: If the restriction was refused.
            ReleaseError: If the release is closed or damaged.

        """
        from sag_retrieval.reports.options import ReportOptions  # noqa: PLC0415
        from sag_retrieval.reports.report import make_report  # noqa: PLC0415  not needed for searching
        from sag_retrieval.reports.scope import Scope  # noqa: PLC0415

        reader, folder = self._reader, Path(out) if out else None
        self._known_themes.clear()  # the report names them
        chosen = build_options(ReportOptions, options, what="report")
        chosen = replace(chosen, title=title) if title else chosen
        scope = Scope(sql=sql, where=where, period=period, only_new=only_new)
        with self._writer(model) as chat:
            return make_report(reader, self._settings.home, scope=scope, options=chosen, out=folder, chat=chat)

    def report_plan(
        self,
        *,
        sql: str | None = None,
        where: Mapping[str, Any] | None = None,
        period: str = "",
        only_new: bool = False,
        model: str = "",
        options: "ReportOptions | Mapping[str, Any] | None" = None,
    ) -> "WritingPlan":
        """The calls and tokens that a model would take at most for a report; nothing is asked or written.

        Arguments and errors are those of `report`.

        Examples:
            >>> from sag_retrieval import open_release
            >>> plan = open_release().report_plan(options={"max_calls": 4})
            >>> plan.calls, plan.themes, plan.left_out > 0
            (4, 3, True)

        """
        from sag_retrieval.reports.options import ReportOptions  # noqa: PLC0415
        from sag_retrieval.reports.prepare import Definition, prepare_report  # noqa: PLC0415
        from sag_retrieval.reports.scope import Scope  # noqa: PLC0415

        chosen = build_options(ReportOptions, options, what="report")
        definition = Definition(Scope(sql=sql, where=where, period=period, only_new=only_new), chosen)
        made = prepare_report(self._reader, self._settings.home, definition)
        with self._writer(model) as chat:
            return made.writer().plan(chat)

    def themes(self, *, sql: str | None = None, where: Mapping[str, Any] | None = None) -> "Themes":
        """The themes that a global question is asked of: those of the last report about everything, else made and kept.

        Args:
            sql: Which events: a SELECT of ids, or a condition.
            where: Which events, as conditions.

        Raises:
            FilterError: If the restriction was refused.
            ReleaseError: If the release is closed or damaged.

        """
        from sag_retrieval.reports.themes import release_themes  # noqa: PLC0415  not needed for searching

        asked = json.dumps([sql, where], sort_keys=True, default=str)
        if asked not in self._known_themes:
            self._known_themes[asked] = release_themes(self._reader, self._settings, sql, where)
        return self._known_themes[asked]

    @cached_property
    def _known_themes(self) -> "dict[str, Themes]":
        """Themes by restriction: many questions are asked of the same ones."""
        return {}

    @contextmanager
    def _writer(self, model: str = "") -> Iterator[ChatModel | None]:
        """The language model with the answers that the home keeps."""
        settings = self._settings.model_copy(update={"chat_model": model}) if model else self._settings
        if settings.chat_model == OFFLINE:
            yield None
            return
        from sag_retrieval.models.open_cached import open_cached_chat  # noqa: PLC0415  most calls ask no model

        with open_cached_chat(settings) as chat:
            yield chat

    @contextmanager
    def _asked(self, mode: str) -> Iterator[ChatModel | None]:
        """The language model of a mode; a global question, which asks about every theme, keeps its answers."""
        if mode == "global":
            with self._writer() as chat:
                yield chat
        else:
            yield None if mode == "fast" else self.chat
