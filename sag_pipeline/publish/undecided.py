"""Close names that are two keys of the last ingest, and that nobody has decided on."""

from pathlib import Path
from typing import Any

from sag_pipeline.publish.links import text_keys, whole_table
from sag_pipeline.steps.close_pairs import close_pairs
from sag_pipeline.steps.entity_resolution import KeyColumns
from sag_pipeline.steps.name_decisions import decisions_file, read_decisions
from sag_pipeline.store.store import Store
from sag_retrieval.core.settings import Settings


def undecided_pairs(settings: Settings, most: int) -> tuple[Path, list[dict[str, Any]]]:
    """The file of decisions, and the closest pairs of names, the closest first.

    Raises:
        SourceError: If nothing was ingested yet, or a line of the file is wrong.

    """
    path, store = decisions_file(settings), Store(settings.home)
    decided = {frozenset(pair) for pair in read_decisions(path).pairs("apart", "merge", "rename")}
    keys = text_keys(whole_table(store, "distinct_keys"))
    aligned = frozenset(whole_table(store, "canonical")["key_id"].to_pylist())
    rows = [row for row, key_id in enumerate(keys.key_ids) if key_id not in aligned]
    pairs = (pair for pair in close_pairs(keys, rows) if {keys.names[pair.one], keys.names[pair.other]} not in decided)
    found = [
        {"closeness": pair.score, "name": _described(keys, pair.one), "other": _described(keys, pair.other)}
        for pair, _ in zip(pairs, range(most), strict=False)
    ]
    return path, found


def _described(keys: KeyColumns, row: int) -> dict[str, Any]:
    return {"name": keys.values[row], "type": keys.key_types[row], "events": keys.event_counts[row]}
