"""After each ingest: rewrite parts without dead rows, delete old releases, reports and run records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pyarrow as pa

from sag_pipeline.embed.embed import wanted_vectors
from sag_pipeline.options import Keep
from sag_pipeline.runs.dagster_runs import prune_runs
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.parts import of_documents
from sag_pipeline.store.store import PURGE, Store
from sag_pipeline.store.vectors import KINDS, VectorStore
from sag_pipeline.tables import INPUTS
from sag_retrieval.core.errors import SagError
from sag_retrieval.release.folders import sweep
from sag_retrieval.release.releases import Releases, prune_releases
from sag_retrieval.reports.series import prune_reports

_DEAD_SHARE, _UNUSED_SHARE = 0.3, 0.3
"""Above this share of dead rows a part is rewritten; of unused vectors, their store."""
_SMALL_PART, _MOST_SMALL_PARTS, _ROWS_A_PART = 20_000, 24, 200_000


def compact(store: Store, table: str, *, purge: bool = False) -> int:
    """Rewrite parts with many dead rows, with `purge` all with any, and delete unused ones; the number deleted."""
    live = store.ledger.select(
        "SELECT part, sum(row_count)::BIGINT FROM stored "
        "WHERE step = ? AND kind = 'document' AND part <> '' GROUP BY 1",
        table,
    )
    counts = {str(part): (int(str(rows)), store.parts.row_count(table, str(part))) for part, rows in live}
    chosen = wasteful(counts, purge=purge, dead_share=_DEAD_SHARE, small=_SMALL_PART, most=_MOST_SMALL_PARTS)
    places = store.places(table, view="stored") if chosen else {}
    found = store.ledger.entries("step = ? AND kind = 'document'", table, view="stored") if chosen else ()
    entries = {entry.unit: entry for entry in found}
    for group in _groups(sorted(chosen), counts):
        units = [unit for part in group for unit in places[part]]
        rows = pa.concat_tables([of_documents(store.parts.read(table, part), places[part]) for part in group])
        part = store.parts.write(table, rows, [f"{u}|{entries[u].output_hash}" for u in units])
        store.ledger.commit([replace(entries[unit], part=part) for unit in units])
    return drop_unused(store, table)


def drop_unused(store: Store, table: str) -> int:
    """Delete the parts of a table that no entry names, such as those of a killed process; how many there were."""
    unused = store.parts.names(table) - {part for step, part in store.ledger.parts() if step == table}
    for part in unused:
        store.parts.delete(table, part)
    return len(unused)


def wasteful(rows: Mapping[str, tuple[int, int]], *, purge: bool, dead_share: float, small: int, most: int) -> set[str]:
    """Parts to rewrite, given each part's (live, all) rows.

    Parts with more than `dead_share` dead rows (with `purge`: with any), and, once more than `most` parts are smaller
    than `small` rows, those small ones together.
    """
    dead = {
        part for part, (live, total) in rows.items() if live < total and (purge or total - live > dead_share * total)
    }
    little = {part for part, (live, _) in rows.items() if live < small}
    return dead | (little if len(little) > most else set())


def _groups(parts: Sequence[str], counts: Mapping[str, tuple[int, int]]) -> Iterator[list[str]]:
    """Parts to be rewritten together: up to about `_ROWS_A_PART` live rows."""
    group: list[str] = []
    rows = 0
    for part in parts:
        group.append(part)
        rows += counts[part][0]
        if rows >= _ROWS_A_PART:
            yield group
            group, rows = [], 0
    if group:
        yield group


def forget(store: Store, vectors: VectorStore) -> None:
    """After a removal, rewrite the vectors without what was removed, before a release links their files.

    The mark of the removal keeps for which texts that was done, so that it is done once.
    """
    mark, state = store.ledger.whole(PURGE), f"{vectors.fingerprint} {store.state_hash(KINDS)}"
    if mark is not None and mark.input_hash != state:
        vectors.purge(wanted_vectors(store))
        store.ledger.commit([replace(mark, input_hash=state)])


def vacuum(store: Store, vectors: VectorStore) -> None:
    """Rewrite parts and vectors with much unused content; after a removal, everything that still holds removed rows.

    Vectors of another embedder stay as long as a release that uses it.
    """
    sweep_drafts(store.home)
    vectors.drop_others(each.embedder_fingerprint for each in Releases(store.home).manifests())
    purge = store.ledger.whole(PURGE) is not None
    by_document = [table for table in INPUTS if table != "vectors"]
    for table in by_document:
        compact(store, table, purge=purge)
    for table in store.parts.tables():
        if table not in by_document:
            drop_unused(store, table)
    forget(store, vectors)
    if not purge and _is_wasteful(store, vectors):
        vectors.purge(wanted_vectors(store))
    if purge:
        store.ledger.commit([Entry.of_whole(PURGE, "removed")])
        store.ledger.take_snapshot()
    if store.bucket:
        store.bucket.collect(store.ledger.parts())


def sweep_drafts(home: Path) -> None:
    """Delete drafts of a killed process; the caller holds the lock."""
    sweep(home)
    for kind in ("ledger", "tables/*", "vectors/*"):
        for draft in home.glob(f"{kind}/.*"):
            draft.unlink(missing_ok=True)


def _is_wasteful(store: Store, vectors: VectorStore) -> bool:
    known = vectors.count()
    # One vector per chunk and event, at most one per row of keys.
    return known * (1 - _UNUSED_SHARE) > store.ledger.row_count("chunks", "events", "keys")


def prune_all(home: Path, instance: dg.DagsterInstance | None, keep: Keep) -> tuple[dict[str, int], list[str]]:
    """Prune releases, reports and run records; the number of each deleted, and why some could not be."""
    work: dict[str, Callable[[], int]] = {
        "pruned_releases": lambda: len(prune_releases(home, keep=keep.keep_releases, grace_hours=keep.grace_hours)),
        "pruned_reports": lambda: len(prune_reports(home, keep=keep.keep_reports, grace_hours=keep.grace_hours)),
        "pruned_runs": lambda: prune_runs(instance, keep=keep.keep_runs, days=keep.keep_run_days) if instance else 0,
    }
    gone, faults = dict.fromkeys(work, 0), list[str]()
    for name, prune in work.items():
        try:
            gone[name] = prune()
        except (OSError, SagError) as error:
            faults.append(f"{name}: {error}")
    return gone, faults
