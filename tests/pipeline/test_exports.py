"""A release as files for other programs: its graph is read again and the same as an asset, its tables are a database."""

import csv
import json

import dagster as dg
import duckdb
import networkx as nx
import pandas as pd
import pytest
from click.testing import CliRunner

from sag_pipeline.definitions import defs
from sag_retrieval import open_release
from sag_retrieval.cli.main import main
from tests.support.bare_ingest import bare_ingest, kept_ingest

pytestmark = pytest.mark.slow

TEXTS = {
    "acme.md": "# Acme\n\nAcme bought Beta Labs on 3 May 2019 for 20 million dollars. Anna Ott founded Beta Labs in Oslo.\n",
    "jia.md": "# 海澜能源公司\n\n海澜能源公司由沈若溪创立。沈若溪毕业于澜湾大学。\n",
}


def facts(path):
    graph = json.loads(path.read_text(encoding="utf-8"))
    parts = ("doc_id", "head", "head_type", "relation", "tail", "tail_type", "properties")
    return sorted(json.dumps({part: triple[part] for part in parts}, ensure_ascii=False) for triple in graph["triples"])


def sag(*words):
    outcome = CliRunner().invoke(main, list(words))
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


@pytest.mark.usefixtures("home")
def test_what_is_exported_and_imported_gives_the_same_triples(source, tmp_path, monkeypatch):
    kept_ingest([source(TEXTS)])
    told = sag("export", "kg", "--out", "first.json")
    sag("import", "kg", "first.json", "--out", "again.jsonl")
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "second"))
    bare_ingest(["again.jsonl"])
    sag("export", "kg", "--out", "second.json")

    first = facts(tmp_path / "first.json")
    assert first == facts(tmp_path / "second.json")
    assert any('"relation": "bought"' in fact and '"money": ["20000000 USD"]' in fact for fact in first)
    assert any('"head": "沈若溪"' in fact and '"relation": "创立"' in fact for fact in first)
    assert f"{len(first)} triples" in told


@pytest.mark.usefixtures("home")
def test_every_form_is_read_back_by_its_own_library_with_names_types_and_aliases(source, tmp_path):
    kept_ingest([source(TEXTS)])
    for form in ("kg", "jsonl", "graphml", "neo4j", "parquet"):
        sag("export", form, "--out", f"out.{form}")
    graph = json.loads((tmp_path / "out.kg").read_text(encoding="utf-8"))
    entities = {(each["id"], each["name"], each["type"], ";".join(each["aliases"])) for each in graph["entities"]}
    triples = sorted((each["head_id"], each["relation"], each["tail_id"], each["doc_id"]) for each in graph["triples"])
    assert triples

    read = nx.read_graphml(tmp_path / "out.graphml", force_multigraph=True)
    nodes = dict(read.nodes(data=True))
    assert {(n["id"], n["name"], n["type"], n["aliases"]) for n in nodes.values()} == entities
    found = [(nodes[a]["id"], e["relation"], nodes[b]["id"], e["doc_id"]) for a, b, e in read.edges(data=True)]
    assert sorted(found) == triples

    nodes, edges = (
        list(csv.reader((tmp_path / "out.neo4j" / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
        for name in ("nodes", "relationships")
    )
    assert (nodes[0], {tuple(each) for each in nodes[1:]}) == ([":ID", "name", ":LABEL", "aliases:string[]"], entities)
    assert sorted((head, kind, tail, document) for head, tail, kind, document, _ in edges[1:]) == triples

    rows = pd.read_parquet(tmp_path / "out.parquet" / "triples.parquet")
    assert sorted(rows[["head_id", "relation", "tail_id", "doc_id"]].itertuples(index=False, name=None)) == triples
    assert set(pd.read_parquet(tmp_path / "out.parquet" / "entities.parquet")["name"]) == {
        one for _, one, *_ in entities
    }

    (tmp_path / "out.jsonl").rename(tmp_path / "lines.jsonl")
    sag("import", "kg", "lines.jsonl", "--out", "again.jsonl")
    given = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum(len(event["triples"]) for each in given for event in each["events"]) == len(triples)
    again = CliRunner().invoke(main, ["export", "neo4j", "--out", "out.neo4j"])
    assert "out.neo4j exists; remove it, or name another folder" in again.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]


@pytest.mark.usefixtures("home")
def test_the_asset_writes_what_the_command_writes(home, source, tmp_path):
    kept_ingest([source(TEXTS)])
    sag("export", "kg", "--out", "by-command.json")

    job = defs.resolve_implicit_global_asset_job_def()
    outcome = job.execute_in_process(asset_selection=[dg.AssetKey("kg_output")])

    assert outcome.success
    written = (home / "kg_output.json").read_text(encoding="utf-8")
    assert written == (tmp_path / "by-command.json").read_text(encoding="utf-8")


def test_graphs_of_single_documents_are_cleaned_merged_and_get_their_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    triple = {"head": "Ada", "head_type": "Person", "relation": "Works-At", "tail": "ACME", "tail_type": "Organization"}
    other = triple | {"tail": "Acme", "relation": "leads", "doc_id": "invented", "properties": {"since": 2020}}
    amount = triple | {"tail": "$3 million"}
    graphs = [{"doc_id": 1, "triples": [triple, amount]}, {"doc_id": 2, "triples": [other]}]
    (tmp_path / "graphs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in graphs), encoding="utf-8")
    (tmp_path / "texts.jsonl").write_text(json.dumps({"doc_id": 1, "title": "One", "text": "Ada works."}) + "\n")

    sag("import", "kg", "graphs.jsonl", "--out", "out.jsonl", "--documents", "texts.jsonl")

    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines())
    assert (first["id"], first["title"], first["text"]) == ("1", "One", "Ada works.")
    assert [event["triples"] for event in first["events"]] == [[["Ada", "works_at", "ACME"]]]
    assert second["events"][0]["triples"][0]["properties"] == {"since": 2020}
    assert second["text"] == "Ada leads Acme."


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("g.json", "no graph", "no JSON object"),
        ("g.json", "{}", "no list `triples`"),
        ("g.jsonl", '{"triples": []}\n', "row 1: no `doc_id`"),
    ],
)
def test_a_file_without_a_graph_is_refused_with_the_reason(tmp_path, monkeypatch, name, text, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")

    outcome = CliRunner().invoke(main, ["import", "kg", name, "--out", "out.jsonl"])

    assert outcome.exit_code == 1
    assert reason in str(outcome.output) + str(outcome.exception)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.usefixtures("home")
def test_the_tables_of_a_release_are_written_as_a_database_that_is_never_replaced(source, tmp_path):
    kept_ingest([source(TEXTS)])

    told = sag("export", "duckdb", "--out", "release.duckdb")

    with open_release() as release, duckdb.connect(str(tmp_path / "release.duckdb"), read_only=True) as database:
        for name, count in release.tables.items():
            rows = database.sql(f'SELECT * FROM "{name}"').to_arrow_table()
            assert rows.num_rows == count
            assert f"{count:,} {name}" in told
        titles = database.sql("SELECT title FROM documents ORDER BY document_id").fetchall()
        assert [title for (title,) in titles] == release.table("documents")["title"].tolist()
    again = CliRunner().invoke(main, ["export", "duckdb", "--out", "release.duckdb"])
    assert again.exit_code == 1
    assert "Warning: `sag export duckdb` goes" in again.stderr
    assert "release.duckdb exists; remove it, or name another file with --out" in again.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".release")] == []
