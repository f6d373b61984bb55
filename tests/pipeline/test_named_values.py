"""Without a model, a value has the type whose name stands near it."""

import json
from pathlib import Path
from typing import Any

import pytest

from sag_pipeline.extract.rules.keys import read_mentions
from sag_pipeline.extract.rules.named_values import with_own_types
from sag_retrieval import open_release
from sag_retrieval.core.errors import FilterError
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.schema_file import default_schema, load_schema, read_schema
from tests.pipeline.test_own_key_types import put
from tests.support.bare_ingest import bare_ingest, kept_ingest

SCHEMA: dict[str, Any] = {
    "types": [
        *("organisation", "date", "money"),
        {"name": "revenue", "kind": "number", "unit": "CNY", "aliases": ["营业收入", "turnover"]},
        {"name": "fine", "kind": "number", "unit": "CNY", "aliases": ["罚款"]},
        {"name": "headcount", "kind": "number", "aliases": ["employee"]},
        {"name": "distance", "kind": "number", "unit": "km"},
        {"name": "signed on", "kind": "date", "aliases": ["签署日期"]},
        {"name": "grade", "values": ["A", "AA"], "aliases": ["信用等级"]},
        {"name": "audited", "kind": "boolean", "aliases": ["是否审计"]},
    ]
}
FILES = {
    "heron.md": "# Heron\n\nHeron Ltd had a revenue of 3 billion yuan in 2023 and paid a 2 million yuan fine.\n",
    "海鹭.md": "# 海鹭\n\n海鹭公司2023年营业收入为2000万元，被处以罚款20亿元。海鹭公司的信用等级为A。\n",
    "egret.md": "# Egret\n\nEgret Ltd had a revenue of $4 billion in 2022.\n",
}


def typed(text: str, language: str, schema: KeySchema) -> set[tuple[str, object, str | None]]:
    mentions = read_mentions(text, language)[0]
    return {(m.key_type, m.value, m.unit) for m in with_own_types(text, mentions, schema.default, language)}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (
            "Heron Ltd had a revenue of 3 billion yuan and paid a 2 million yuan fine.",
            "en",
            {("organisation", "Heron Ltd", None), ("revenue", 3e9, "CNY"), ("fine", 2e6, "CNY")},
        ),
        (
            "海鹭公司营业收入为20亿元，被处以罚款300万元。",
            "zh",
            {("organisation", "海鹭公司", None), ("revenue", 2e9, "CNY"), ("fine", 3e6, "CNY")},
        ),
        ("The distance is 5 miles.", "en", {("distance", 8.04672, "km")}),
        ("Turnover rose 12 % to 3 million yuan.", "en", {("revenue", 3e6, "CNY")}),
        ("Headcount: 1,340; audited: no", "en", {("headcount", 1340.0, None), ("audited", False, None)}),
        ("信用等级为AA，是否审计：是", "zh", {("grade", "AA", None), ("audited", True, None)}),
        ("It paid 3 million yuan. The fine was lifted.", "en", {("money", 3e6, "CNY")}),
    ],
)
def test_the_nearest_name_gives_a_value_its_type(
    text: str, language: str, expected: set[tuple[str, object, str | None]]
):
    assert expected <= typed(text, language, read_schema(SCHEMA))
    assert {kind for kind, _, _ in typed(text, language, read_schema(SCHEMA))} <= {k for k, _, _ in expected} | {
        "entity"
    }


def test_a_date_near_a_name_stays_a_date_too():
    found = typed("合同签署日期：2024年3月5日。", "zh", read_schema(SCHEMA))

    assert {("date", "2024-03-05", None), ("signed on", "2024-03-05", None)} <= found


def test_the_default_changes_nothing():
    for text in ("Heron Ltd paid a fine of 3 million yuan in 2023.", "海鹭公司营业收入为20亿元。"):
        mentions = read_mentions(text, "en")[0]
        assert with_own_types(text, mentions, default_schema().default, "en") == mentions


@pytest.fixture
def release(home: Path, source):
    source(FILES)
    put(home, SCHEMA)
    kept_ingest(["inbox"])
    with open_release(home) as found:
        yield found


@pytest.mark.slow
def test_filters_ask_of_one_dimension_alone_in_any_of_its_names(release):
    def found(**where: object) -> set[str]:
        return {hit.document_id for hit in release.search("Heron 海鹭 Egret", where=where, top_k=9)}

    assert found(**{"key.revenue__gt": 1e9}) == {"heron.md"}
    assert found(**{"key.fine__gt": 1e9}) == {"海鹭.md"}
    assert found(**{"key.营业收入__gt": "10 亿"}) == found(**{"key.turnover__gt": "1 bn"}) == {"heron.md"}
    assert found(**{"key.罚款__gt": "10 亿元"}) == {"海鹭.md"}
    assert found(**{"key.revenue__gt": "1 bn USD"}) == {"egret.md"}  # never compared with yuan
    assert found(**{"key.信用等级": "A"}) == {"海鹭.md"}
    with pytest.raises(FilterError, match="no key of this release has the type 'revenu'; did you mean 'revenue'"):
        found(**{"key.revenu__gt": 1})


@pytest.mark.slow
def test_a_release_describes_its_types_to_readers_and_models(release, home: Path):
    from sag_retrieval.ask.release_context import ReleaseContext
    from sag_retrieval.release.where import schema_of_release

    schema = schema_of_release(release.manifest.key_schema)
    shown = ReleaseContext(release.index, schema=schema).vocabulary(4_000)

    assert schema == load_schema(home / "schema.yaml")
    assert '"key_type": "revenue"' in shown
    assert "营业收入" in shown


@pytest.mark.slow
def test_a_schema_that_is_described_otherwise_makes_another_release(release, home: Path):
    put(home, {"types": [*SCHEMA["types"][:-1], SCHEMA["types"][-1] | {"description": "by a firm of auditors"}]})

    again = bare_ingest(["inbox"])

    assert again["release"] != release.release_id
    assert bare_ingest(["inbox"])["release"] == again["release"]


@pytest.mark.slow
def test_the_date_of_an_event_is_iso_or_null(home: Path, source):
    keys = [{"type": "date", "value": value} for value in ("last summer", "2024-13-01", "2024-02-30", "0000")]
    lines = [{"id": "a", "text": "It opened.", "events": [{"content": "It opened.", "keys": keys}]}]
    lines += [
        {
            "id": "b",
            "text": "It shut.",
            "events": [{"content": "It shut.", "keys": [{"type": "date", "value": "2024-02"}, *keys]}],
        }
    ]
    Path("given.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    bare_ingest(["given.jsonl"])

    with open_release(home) as found:
        dates = found.sql("SELECT document_id, date FROM events ORDER BY 1").to_pandas()
    assert dates["date"].astype(object).where(dates["date"].notna(), None).tolist() == [None, "2024-02"]
