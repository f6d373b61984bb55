"""The tables of links of what publishing builds, read back from the arrays."""

from pathlib import Path

import pyarrow as pa

from sag_pipeline.publish.build import Relational
from sag_retrieval.release.arrays import chunk_key_rows, event_key_rows, open_arrays, write_arrays


def with_links(made: Relational, folder: Path) -> dict[str, pa.Table]:
    """All tables, with arrays written below the folder."""
    write_arrays(folder, made.parts, made.tables)
    arrays, keys = open_arrays(folder, {}), made.tables["keys"]["key_id"]
    return dict(made.tables) | {
        "event_keys": event_key_rows(arrays, made.tables["events"]["event_id"], keys),
        "chunk_keys": chunk_key_rows(arrays, made.tables["chunks"]["chunk_id"], keys),
    }
