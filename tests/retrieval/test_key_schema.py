"""A schema of key types: what it holds, how its types are named, and what a wrong one is told."""

import json
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.schema_file import default_schema, default_text, load_schema, read_schema

REVENUE = {"name": "revenue", "kind": "number", "unit": "CNY", "aliases": ["营业收入", "turnover"]}


def test_the_default_has_fourteen_types_with_names_in_both_languages():
    types = default_schema().default

    assert len(types.enum("en")) == len(set(types.enum("zh"))) == 14
    assert all(each.label["en"].isascii() and not each.label["zh"].isascii() for each in types)
    assert [each.name for each in types] == list(types.enum("en"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [("人物", "person"), ("Organization", "organisation"), ("公司", "organisation"), (" DATE ", "date"), ("??", None)],
)
def test_a_type_is_found_by_each_of_its_names(written: str, meant: str | None):
    found = default_schema().default.named(written)

    assert (found and found.name) == meant


def test_the_default_as_a_file_is_the_default(tmp_path: Path):
    (tmp_path / "schema.yaml").write_text(default_text(), encoding="utf-8")

    assert load_schema(tmp_path / "schema.yaml") == default_schema()


def test_a_bare_name_is_the_type_of_the_default_or_of_the_schema():
    schema = read_schema({"types": ["person", REVENUE], "sources": {"annual-reports": ["date", "revenue"]}})

    assert schema.types[0] == default_schema().default.named("person")
    assert [each.name for each in schema.of_source("in/annual-reports")] == ["date", "revenue"]
    assert [each.name for each in schema.of_source("in/letters")] == ["person", "revenue"]
    assert schema.of_source("in/annual-reports").named("营业收入").unit == "CNY"  # type: ignore[union-attr]


def test_the_first_pattern_that_fits_a_source_counts():
    schema = read_schema({"types": ["person"], "sources": {"*/contracts": ["law"], "contracts": ["date"]}})

    assert [each.name for each in schema.of_source("2024/contracts")] == ["law"]
    assert [each.name for each in schema.of_source("contracts")] == ["date"]


def test_every_type_of_all_sources_has_its_names_once():
    other = {"name": "fee", "kind": "number", "aliases": ["turnover"], "label": {"zh": "费用"}}
    schema = read_schema({"types": ["person", REVENUE], "sources": {"a": [other]}})

    assert [each.name for each in schema.every] == ["person", "revenue", "fee"]
    assert schema.every.named("turnover").name == "revenue"  # type: ignore[union-attr]
    assert schema.every.named("费用").name == "fee"  # type: ignore[union-attr]


def test_prompts_show_kind_unit_values_and_description_in_their_language():
    grade = {"name": "grade", "description": {"en": "of credit", "zh": "信用等级"}, "values": ["A", "B"]}
    types = read_schema({"types": ["person", REVENUE | {"label": {"zh": "营业收入"}, "aliases": []}, grade]}).default

    assert types.line("en") == "revenue (number in CNY); grade (of credit, one of A, B)"
    assert types.line("zh") == "营业收入（数值，单位 CNY）；grade（信用等级，取值为A、B）"


def test_the_digest_follows_what_keys_depend_on():
    first, again = (read_schema({"types": ["person", REVENUE]}).default for _ in range(2))

    assert first.digest == again.digest
    assert first.digest == pickle.loads(pickle.dumps(first)).digest
    for change in ({"unit": "EUR"}, {"aliases": []}, {"description": "what was sold"}):
        assert read_schema({"types": ["person", REVENUE | change]}).default.digest != first.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("types:\n- persn", r"line 2: types\.0: 'persn' is no type.*did you mean 'person'"),
        ("types:\n- name: a\n  kind: numbr", r"line 3: types\.0\.kind: 'numbr' is none of .*did you mean 'number'"),
        ("types:\n- {name: a, unti: EUR}", r"line 2: types\.0\.unti is none of .*did you mean 'unit'"),
        ("types:\n- {name: a, unit: EUR}", "unit is for types of kind number; 'a' is of kind text"),
        ("types:\n- {name: a, kind: number, values: [b]}", "values is for types of kind text"),
        ("types: [person, {name: a, aliases: [人物]}]", "'人物' names both 'person' and 'a'"),
        ("types: [{name: Title}]", "'title' is a type of every schema"),
        ("types: [{name: ''}]", "'' is no name"),
        ("types: [{name: 'a=b'}]", "'a=b' is no name"),
        ("types: [{name: a, label: {english: b}}]", "'english' is no language"),
        ("types: [person]\nsource: {}", "line 2: source is none of types, sources.*did you mean 'sources'"),
        ("types: [person]\nsources:\n  a: [persn]", r"line 3: sources\.a\.0: 'persn' is no type"),
        ("types: []", "at least 1 item"),
        ("types: person", "a schema is `types:`"),
        ("", "a schema is `types:`.*sag schema write"),
        ("types: [", "line 1: not YAML"),
        ("a: &x 1\ntypes: *x", "line 2: not YAML: aliases"),
        ("types: [person]\ntypes: [date]", "line 2: 'types' is given twice"),
        ("? [a]\n: b", "line 1: a name must be text"),
        ("[" * 5_000 + "]" * 5_000, "line 1: nested more than 20 levels deep"),
    ],
)
def test_a_wrong_file_is_told_where_and_why(text: str, message: str, tmp_path: Path):
    (tmp_path / "schema.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(SettingsError, match=message):
        load_schema(tmp_path / "schema.yaml")


def test_values_that_yaml_reads_as_flags_stay_text(tmp_path: Path):
    (tmp_path / "schema.yaml").write_text("types: [{name: vote, values: [yes, no, 2024-01-02]}]", encoding="utf-8")

    assert load_schema(tmp_path / "schema.yaml").types[0].values == ("yes", "no", "2024-01-02")


def test_a_file_that_is_not_there_names_the_next_command(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"cannot be read.*sag schema write"):
        load_schema(tmp_path / "schema.yaml")


def test_the_command_shows_checks_and_writes_key_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def sag(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["schema", *arguments])

    monkeypatch.setenv("SAG_HOME", str(tmp_path / "home"))
    assert sag("write").exit_code == 0
    path = tmp_path / "home" / "schema.yaml"
    assert load_schema(path) == default_schema()
    assert "exists already" in sag("write").output
    path.write_text("types: [person, {name: fine, kind: number, unit: CNY}]\nsources: {a: [person]}", encoding="utf-8")
    assert [each["name"] for each in json.loads(sag("--json").stdout)["types"]] == ["person", "fine"]
    assert "CNY" in sag().stdout
    assert json.loads(sag("check", str(path), "--json").stdout) == {"types": 2, "sources": 1}
    path.write_text("types: [persn]", encoding="utf-8")
    assert sag("check", str(path)).exit_code == 1
    assert "line 1: types.0: 'persn' is no type" in sag("check", str(path)).output
