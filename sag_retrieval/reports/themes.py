"""The themes that a question about all documents is asked of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sag_retrieval.communities.events import event_table
from sag_retrieval.communities.storage import COMMUNITIES, DAMAGE, REPORTS, read_communities, read_tables
from sag_retrieval.findings.themes import Themes
from sag_retrieval.release.reader import Reader
from sag_retrieval.reports.prepare import Definition, prepare_report
from sag_retrieval.reports.scope import Scope


def release_themes(reader: Reader, home: Path, sql: str | None, where: Mapping[str, Any] | None) -> Themes:
    """The themes of the events that a restriction selects; those of the plain report of the release where there is one.

    Raises:
        FilterError: If the restriction was refused.

    """
    definition = Definition(Scope(sql=sql, where=where))
    if sql is None and not where:
        folder = home / REPORTS / definition.series / reader.manifest.release_id / COMMUNITIES
        try:
            events = event_table(reader.index)
            return Themes(events, read_communities(read_tables(folder), events.event_ids))
        except DAMAGE:
            pass
    made = prepare_report(reader, home, definition)
    note = "" if sql or where else "the themes were made for this question; `sag report` keeps them for the next"
    return Themes(made.events, made.communities, note)
