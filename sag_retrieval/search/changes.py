"""What changed since a day or since another release: statements that were revised, that are new, and that are gone."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sag_retrieval.release.arrays import Index

_DAY = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


def is_day(since: str) -> bool:
    """Whether what a call gives is a date rather than the id of a release.

    Examples:
        >>> is_day("2025-06"), is_day("r0123456789ab")
        (True, False)

    """
    return _DAY.fullmatch(since) is not None


def changes_since(index: Index, day: str = "", before: Index | None = None) -> dict[str, list[dict[str, Any]]]:
    """Statements that were revised, are new, and were withdrawn; sorted by when they were said.

    Args:
        index: The release.
        day: Only what was said on this day, in this month or year, or later; empty: whenever.
        before: Another release: only what that one has not, and what only that one has.

    Returns:
        `revised`: rows of the table `revisions`; `new` and `withdrawn`: events with their document and `said`.

    """
    now = _events(index)
    known = _events(before) if before else {}
    revised = index.rows["revisions"].to_pylist()
    if before:
        old = {(row["earlier_event_id"], row["later_event_id"]) for row in before.rows["revisions"].to_pylist()}
        revised = [row for row in revised if (row["earlier_event_id"], row["later_event_id"]) not in old]
    if day:
        revised = [row for row in revised if (row["later_said"] or "") >= day]
    is_asked = bool(day or before)
    new = [event for name, event in now.items() if is_asked and name not in known and (event["said"] or "") >= day]
    gone = [event for name, event in known.items() if name not in now]
    return {"revised": _by_day(revised, "later_said"), "new": _by_day(new, "said"), "withdrawn": _by_day(gone, "said")}


def _events(index: Index) -> dict[str, dict[str, Any]]:
    rows = index.rows["events"].select(["event_id", "document_id", "content", "said"]).to_pylist()
    return {row["event_id"]: row for row in rows}


def _by_day(rows: Iterable[Mapping[str, Any]], said: str) -> list[dict[str, Any]]:
    return sorted(map(dict, rows), key=lambda row: row[said] or "")
