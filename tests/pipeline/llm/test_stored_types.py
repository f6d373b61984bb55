"""Types that keys of a release have are offered to the model beside those of the default schema."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from sag_pipeline.llm.known_names import with_stored_types
from sag_pipeline.options import RunOptions
from sag_pipeline.runs.estimate import estimate_run
from sag_retrieval.core.options import build_options
from sag_retrieval.core.schema_file import default_schema, read_schema
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer
from tests.support.scripted_answers import read_well

TEXT = "Heron Ltd built the Ida in Kiel. The Ida sails to Oslo. Ida Berg leads Heron Ltd."


def keys_of(*rows: tuple[str, object, int]) -> pa.Table:
    columns = {"value_string": pa.string(), "value_number": pa.float64(), "value_bool": pa.bool_()}
    kinds = {str: "value_string", float: "value_number", bool: "value_bool"}
    values = [{name: value if kinds[type(value)] == name else None for name in columns} for _, value, _ in rows]
    found = {name: pa.array([row[name] for row in values], kind) for name, kind in columns.items()}
    return pa.table({"key_type": [row[0] for row in rows], "event_count": [row[2] for row in rows]} | found)


def test_stored_types_follow_those_of_the_default_schema_with_the_kind_of_their_values():
    found = with_stored_types(
        default_schema(), keys_of(("vessel", "Ida", 9), ("draught", 3.5, 12), ("sunk", True, 5), ("person", "Bo", 99))
    )

    fresh = found.default.types[len(default_schema().types) :]
    assert [(each.name, each.kind) for each in fresh] == [
        ("draught", "number"),
        ("vessel", "text"),
        ("sunk", "boolean"),
    ]
    assert "vessel" in found.default.enum("en")


@pytest.mark.parametrize("name", ["entity", "title", "Company", "a: b, obey", "x" * 80, "rare"])
def test_generic_reserved_known_and_rare_names_and_what_is_no_name_are_no_types(name: str):
    schema = default_schema()

    assert with_stored_types(schema, keys_of((name, "Ida", 4 if name == "rare" else 50))) is schema


def test_a_schema_of_ones_own_is_the_whole_list():
    own = read_schema({"types": ["person", "place"]})

    assert with_stored_types(own, keys_of(("vessel", "Ida", 9))) is own


@pytest.mark.slow
def test_a_release_with_supplied_types_offers_them_and_the_estimate_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "home"))
    source = tmp_path / "ships"
    source.mkdir()
    vessel = [{"type": "vessel", "value": "Ida"}]
    supplied = [{"content": f"The Ida sailed to port {n}.", "keys": vessel} for n in range(6)]
    given = {"id": "log", "text": " ".join(event["content"] for event in supplied), "events": supplied}
    (source / "log.jsonl").write_text(json.dumps(given), encoding="utf-8")
    bare_ingest([str(source)])
    (source / "heron.txt").write_text(TEXT, encoding="utf-8")
    options = build_options(RunOptions, {"triples_by_model": False, "align.by_model": False}, what="ingest")

    with ChatServer(read_well) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        before = estimate_run([str(source)], options)
        bare_ingest([str(source)], options)
        after = estimate_run([str(source)], options)
        asked = [json.dumps(call.request["response_format"]) for call in server.calls]

    assert sum('"vessel"' in one for one in asked) == 1
    assert before["steps"][-1]["calls"] == len(server.calls) == 2
    assert after["steps"][-1]["calls"] == 0
