"""A Lance table holds exactly its source, written anew or brought up to date from an older release."""

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from sag_pipeline.publish import lance
from sag_pipeline.publish.lance import LanceSource, write_lance
from sag_pipeline.store.vectors import vector_ids
from sag_retrieval.release.vectors import DenseVectors

pytestmark = pytest.mark.slow


def source(texts: dict[str, str], dimension: int = 4) -> LanceSource:
    values = list(texts.values())
    hashes = vector_ids(values)
    vectors = np.frombuffer(hashes.tobytes(), np.uint8).reshape(len(values), 16)[:, :dimension].astype(np.float32)
    columns = (pa.chunked_array([pa.array(list(of), pa.string())]) for of in (texts, values))
    return LanceSource("events", *columns, hashes, lambda: DenseVectors(vectors))


def rows(folder) -> list[dict]:
    table = lancedb.connect(folder).open_table("events")
    return sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])


ten = {f"e{n}": f"text {n}" for n in range(10)}
CHANGES = {
    "nothing": ten,
    "one new": ten | {"e10": "text 10"},
    "one changed": ten | {"e3": "another text"},
    "one gone": {name: text for name, text in ten.items() if name != "e9"},
    "another order": dict(reversed(ten.items())),
    "most changed": {name: f"new {text}" for name, text in ten.items()},
    "another dimension": ten,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_brought_up_to_date_is_the_one_written_anew(tmp_path, change):
    dimension = 5 if change == "another dimension" else 4
    wanted = source(CHANGES[change], dimension)
    write_lance(tmp_path / "old", source(ten), None)
    before = rows(tmp_path / "old")

    write_lance(tmp_path / "new", wanted, tmp_path / "old")

    write_lance(tmp_path / "anew", wanted, None)
    assert rows(tmp_path / "new") == rows(tmp_path / "anew")
    assert rows(tmp_path / "old") == before


def test_rows_beside_the_indexes_are_taken_in_once_they_are_many(tmp_path, monkeypatch):
    monkeypatch.setattr(lance, "_UNINDEXED_AT_MOST", 0.15)
    write_lance(tmp_path / "0", source(ten), None)
    unindexed = []

    for n in range(1, 3):
        write_lance(
            tmp_path / str(n), source(ten | {f"new{m}": f"new text {m}" for m in range(n)}), tmp_path / f"{n - 1}"
        )
        table = lancedb.connect(tmp_path / str(n)).open_table("events")
        unindexed.append(max(index.num_unindexed_rows for index in table.list_indices()))

    assert unindexed == [1, 0]
