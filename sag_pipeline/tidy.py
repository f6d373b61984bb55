"""After a run: dead rows out of the tables, unused vectors out of their store."""

from pathlib import Path

from sag_pipeline.embed import wanted_vectors
from sag_pipeline.follow import PURGE
from sag_pipeline.plan import INPUTS
from sag_pipeline.store.compact import compact
from sag_pipeline.store.ledger import WHOLE, Entry
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import VectorStore
from sag_retrieval.release.files import Releases
from sag_retrieval.release.leftovers import sweep

_UNUSED_SHARE = 0.3


def tidy(store: Store, vectors: VectorStore) -> None:
    """Rewrite what wastes space; after a removal, whatever still holds a row of what was removed.

    Vectors of another embedder stay as long as a release that was made with it.
    """
    sweep_drafts(store.home)
    vectors.drop_others(each.embedder_fingerprint for each in Releases(store.home).manifests())
    purge = bool(store.ledger.entries("step = ? AND unit = ?", PURGE, WHOLE))
    for table in INPUTS:
        if table != "vectors":
            compact(store, table, purge=purge)
    if purge or _is_wasteful(store, vectors):
        vectors.purge(wanted_vectors(store))
        store.ledger.commit([Entry(WHOLE, PURGE, "removed")])


def sweep_drafts(home: Path) -> None:
    """Delete what a killed process was writing; for whoever holds the lock."""
    sweep(home)
    for kind in ("ledger", "tables/*", "vectors/*"):
        for draft in home.glob(f"{kind}/.*.parquet.*"):
            draft.unlink(missing_ok=True)


def _is_wasteful(store: Store, vectors: VectorStore) -> bool:
    known = vectors.count()
    # Chunks and events have a vector each; of keys at most one a row.
    ((rows,),) = store.ledger.select(
        "SELECT coalesce(sum(row_count), 0) FROM current WHERE step IN ('chunks', 'events', 'keys')"
    )
    return known * (1 - _UNUSED_SHARE) > int(str(rows))
