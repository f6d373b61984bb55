"""After a run: dead rows out of the tables, unused vectors out of their store."""

from pathlib import Path

from sag_pipeline.embed import wanted_vectors
from sag_pipeline.store.compact import compact
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.store import PURGE, Store
from sag_pipeline.store.vectors import VectorStore
from sag_pipeline.tables import INPUTS
from sag_retrieval.release.files import Releases
from sag_retrieval.release.leftovers import sweep

_UNUSED_SHARE = 0.3


def vacuum(store: Store, vectors: VectorStore) -> None:
    """Rewrite what wastes space; after a removal, whatever still holds a row of what was removed.

    Vectors of another embedder stay as long as a release that was made with it.
    """
    sweep_drafts(store.home)
    vectors.drop_others(each.embedder_fingerprint for each in Releases(store.home).manifests())
    purge = store.ledger.whole(PURGE) is not None
    for table in INPUTS:
        if table != "vectors":
            compact(store, table, purge=purge)
    if purge or _is_wasteful(store, vectors):
        vectors.purge(wanted_vectors(store))
        store.ledger.commit([Entry.of_whole(PURGE, "removed")])
    if purge:
        store.ledger.take_snapshot()


def sweep_drafts(home: Path) -> None:
    """Delete what a killed process was writing; for whoever holds the lock."""
    sweep(home)
    for kind in ("ledger", "tables/*", "vectors/*"):
        for draft in home.glob(f"{kind}/.*"):
            draft.unlink(missing_ok=True)


def _is_wasteful(store: Store, vectors: VectorStore) -> bool:
    known = vectors.count()
    # Chunks and events have a vector each; of keys at most one a row.
    return known * (1 - _UNUSED_SHARE) > store.ledger.row_count("chunks", "events", "keys")
