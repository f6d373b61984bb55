"""What should hold of each table, with figures to plot over time; read from the ledger, not from rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from sag_pipeline.publish.checks import Check
from sag_pipeline.store.store import Store
from sag_pipeline.tables import INPUTS, RECORDS
from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.core.types import Floats
from sag_retrieval.release.manifest import Manifest
from sag_retrieval.release.releases import Releases

_MOST_UNREAD: Final = 0.05
"""A folder of people's files has a few that are broken or locked; more is a change in what arrives."""
_MOST_WITHOUT_ROWS: Final = {"events": 0.2, "keys": 0.2, "triples": 0.8}
"""Documents of headings or figures alone have no event; most short ones state no relation that becomes a triple."""
_MOST_WITHOUT_ROWS_ELSE: Final = 0.05
_STEADY: Final = (0.7, 1.4)
"""Bounds of rows per document against those of the current release: a changed model or option shows here."""
_FEW_DOCUMENTS: Final = 20
"""Below, one long document moves every ratio."""
_MOST_ALIGNED: Final = 0.5
_MOST_REVISED: Final = 0.25
"""A pile that revises itself has one statement in eight revised (`benchmarks/revisions.py`)."""


@dataclass(frozen=True, slots=True)
class TableCheck:
    """A check of a table: its name and what it says."""

    name: str
    meaning: str
    blocks: bool = False
    """Whether a failure stops what follows, so that no release is made; else it is a warning."""


_READ = TableCheck("files_are_read", f"At most {_MOST_UNREAD:.0%} of the files are skipped with errors.")
_DONE = TableCheck("every_document_is_done", "No document failed in this step, or lacks a part of its rows.")
_HAS_ROWS = TableCheck("documents_have_rows", "All but a small share of the documents have rows in this table.")
_STAYS = TableCheck(
    "rows_are_steady",
    f"There are {_STEADY[0]:.0%} to {_STEADY[1]:.0%} as many rows per document as in the current release.",
)
_ALIGNED = TableCheck("few_names_are_one", f"At most {_MOST_ALIGNED:.0%} of the names were aligned with another one.")
_REVISED = TableCheck(
    "few_statements_are_revised", f"At most {_MOST_REVISED:.0%} of the events are revised by later ones."
)
_FINITE = TableCheck("weights_are_finite", "No weight of a key is negative or not finite.", blocks=True)
_EMBEDDED = TableCheck(
    "every_text_has_a_vector", "Every document with chunks, events and keys has its vectors.", blocks=True
)
_DENSE = TableCheck("communities_are_dense", "Events share more keys within communities than chance would have it.")
_WHOLE = TableCheck("report_is_whole", "The report has events, and nothing kept it from its predecessor.")
_EXPORTED = TableCheck("file_has_every_triple", "The file has as many triples as the release.")
_ROOM = TableCheck("disk_has_room", "The disk has room for twice what all releases take, which the next ones may need.")

CHECKS: Final[Mapping[str, tuple[TableCheck, ...]]] = {
    "documents": (_READ,),
    **{name: (_DONE, _HAS_ROWS, _STAYS) for name in RECORDS if name != "documents"},
    **dict.fromkeys(("summaries", "keys"), (_DONE, _HAS_ROWS)),  # rows of a release are counted otherwise
    "event_keys": (_ALIGNED, _STAYS),
    "idf": (_FINITE,),
    "revisions": (_REVISED,),
    "vectors": (_EMBEDDED,),
    "communities": (_DENSE,),
    "report": (_WHOLE,),
    "kg_output": (_EXPORTED,),
    "storage": (_ROOM,),
}
"""By asset; the checks of a release are in `publish/checks.py`."""


def check_table(store: Store, table: str) -> list[Check]:
    """The checks of a table kept by document."""
    made: dict[str, Callable[[], Check]] = {
        _READ.name: lambda: _files_are_read(store),
        _DONE.name: lambda: _every_document_is_done(store, table),
        _HAS_ROWS.name: lambda: _documents_have_rows(store, table),
        _STAYS.name: lambda: rows_are_steady(store, table, store.ledger.row_count(table)),
        _EMBEDDED.name: lambda: _every_text_has_a_vector(store),
    }
    return [made[check.name]() for check in CHECKS[table]]


def _files_are_read(store: Store) -> Check:
    found = store.ledger.counts("documents")
    documents, unread = found["documents"], found["skipped"]
    share = _share(unread, documents + unread)
    numbers = {"documents": documents, "skipped_with_errors": unread, "share": share}
    said = f"{unread:,} of {documents + unread:,} files are skipped with errors"
    return Check(_READ.name, passed=share <= _MOST_UNREAD, message=said, numbers=numbers)


def _every_document_is_done(store: Store, table: str) -> Check:
    found = store.ledger.counts(table)
    wrong = found["failed"] + found["partial"]
    numbers = {name: found[name] for name in ("documents", "failed", "partial")}
    said = f"{wrong:,} of {found['documents']:,} documents failed or are incomplete"
    return Check(_DONE.name, passed=not wrong, message=said, numbers=numbers)


def _documents_have_rows(store: Store, table: str) -> Check:
    found = store.ledger.counts(table)
    share = _share(found["without_rows"], found["documents"])
    numbers = {
        "rows_per_document": round(_share(found["rows"], found["documents"]), 3),
        "without_rows": found["without_rows"],
        "share": round(share, 4),
    }
    said = f"{found['without_rows']:,} of {found['documents']:,} documents have no row"
    most = _MOST_WITHOUT_ROWS.get(table, _MOST_WITHOUT_ROWS_ELSE)
    return Check(_HAS_ROWS.name, passed=share <= most, message=said, numbers=numbers)


def rows_are_steady(store: Store, table: str, rows: int) -> Check:
    """Whether a table has about as many rows per document as in the current release."""
    documents, before = store.ledger.document_count("documents"), _current(store)
    if before is None or not before.counts.get(table) or min(documents, before.counts["documents"]) < _FEW_DOCUMENTS:
        return Check(_STAYS.name, passed=True, message="not compared: no release, or too few documents")
    own, theirs = rows / documents, before.counts[table] / before.counts["documents"]
    low, high = _STEADY
    numbers = {"rows_per_document": round(own, 3), "before": round(theirs, 3), "ratio": round(own / theirs, 3)}
    said = f"{theirs:.2f} → {own:.2f} rows per document"
    return Check(_STAYS.name, passed=low <= own / theirs <= high, message=said, numbers=numbers)


def _every_text_has_a_vector(store: Store) -> Check:
    wanted = store.ledger.documents_with(INPUTS["vectors"])
    missing = len(wanted - store.ledger.documents_with(("vectors",)))
    numbers = {"documents": len(wanted), "missing": missing}
    said = f"{missing:,} of {len(wanted):,} documents have no vectors"
    return Check(_EMBEDDED.name, passed=not missing, message=said, numbers=numbers)


def few_statements_are_revised(revised: int, events: int) -> Check:
    """Whether more events are revised by others than a pile that revises itself has."""
    share = _share(revised, events)
    numbers = {"events": events, "revised": revised, "share": round(share, 4)}
    said = f"{revised:,} of {events:,} events are revised"
    return Check(_REVISED.name, passed=share <= _MOST_REVISED, message=said, numbers=numbers)


def few_names_are_one(aligned: int, keys: int) -> Check:
    """Whether entity resolution left most names as they are."""
    share = _share(aligned, keys)
    numbers = {"aligned": aligned, "keys": keys, "share": round(share, 4)}
    said = f"{aligned:,} of {keys:,} names were aligned with another one"
    return Check(_ALIGNED.name, passed=share <= _MOST_ALIGNED, message=said, numbers=numbers)


def weights_are_finite(weights: Floats) -> Check:
    """Whether every weight of a key can be multiplied with."""
    wrong = int((~np.isfinite(weights) | (weights < 0)).sum())
    numbers = {"wrong": wrong, "median": float(np.median(weights)) if len(weights) else 0.0}
    return Check(_FINITE.name, passed=not wrong, message=f"{wrong:,} of {len(weights):,} are not", numbers=numbers)


def communities_are_dense(quality: Mapping[str, float], count: int) -> Check:
    """Whether grouping found any structure; without communities there is nothing to say."""
    if not quality:
        return Check(_DENSE.name, passed=True, message="no communities were made")
    modularity = quality["modularity"]
    said = f"modularity {modularity:.3f} of {count:,} communities"
    return Check(_DENSE.name, passed=modularity > 0, message=said, numbers={**quality, "communities": count})


def report_is_whole(counts: Mapping[str, int], fault: str) -> Check:
    """Whether the report has events, and was compared with the one before where there is one."""
    said = fault or f"{counts.get('events', 0):,} events"
    return Check(_WHOLE.name, passed=not fault and counts.get("events", 0) > 0, message=said, numbers=counts)


def file_has_every_triple(written: int, published: int) -> Check:
    """Whether an export lost nothing."""
    numbers = {"triples": written, "published": published}
    said = f"{written:,} of {published:,} triples are in the file"
    return Check(_EXPORTED.name, passed=written == published, message=said, numbers=numbers)


def disk_has_room(free: float, releases: float) -> Check:
    """Whether the disk has room for further releases; both in megabytes."""
    numbers = {"free_megabytes": round(free, 1), "releases_megabytes": round(releases, 1)}
    said = f"{free:,.0f} MB are free, releases take {releases:,.0f} MB"
    return Check(_ROOM.name, passed=free >= 2 * releases, message=said, numbers=numbers)


def _current(store: Store) -> Manifest | None:
    try:
        return Manifest.read(Releases(store.home).path())
    except ReleaseError:
        return None


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
