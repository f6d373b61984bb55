"""What Dagster shows is as recorded: a change of lineage, jobs or checks is seen in review as a diff."""

from pathlib import Path

import dagster as dg

from sag_pipeline.definitions import defs
from sag_pipeline.publish.checks import NAMES
from sag_pipeline.tables import INPUTS, RECORDS, STORED, VERSIONS, schema_of
from sag_retrieval.release.schema import TABLES

ROOT = Path(__file__).parents[2]
NOT_ROWS_OF_A_RELEASE = {
    "summaries": "a column of documents",
    "idf": "how keys are weighed",
    "vectors": "arrays, not a table",
    "release": "the whole of them",
    "communities": "beside a release",
    "report": "a page",
    "storage": "what lies below the home, measured",
    "kg_output": "a file, the triples in another form",
}


def test_the_asset_graph_is_as_recorded(snapshot):
    graph = {
        spec.key.to_user_string(): {
            "group": spec.group_name,
            "after": sorted(dep.asset_key.to_user_string() for dep in spec.deps),
        }
        for spec in sorted(defs.resolve_all_asset_specs(), key=lambda spec: spec.key.to_user_string())
    }

    assert graph == snapshot


def test_jobs_schedules_and_sensors_are_as_recorded(snapshot):
    graph = defs.resolve_asset_graph()
    found = {
        "jobs": {
            job.name: sorted(key.to_user_string() for key in job.asset_layer.executable_asset_keys)
            for job in (defs.resolve_job_def(name) for name in ("ingest", "report", "prune", "export"))
        },
        "schedules": {each.name: (each.cron_schedule, each.job_name) for each in defs.schedules or []},
        "sensors": {each.name: each.job_name if each.targets else None for each in defs.sensors or []},
        "checks": sorted(key.to_user_string() for key in graph.asset_check_keys),
    }

    assert found == snapshot


def test_every_asset_says_what_its_rows_are_and_has_an_owner():
    for spec in defs.resolve_all_asset_specs():
        assert spec.description, spec.key
        assert spec.owners, spec.key
        assert spec.group_name in {"read", "extract", "publish", "report"}


def test_every_check_blocks_what_follows():
    checks = [
        spec for asset in defs.assets or [] if isinstance(asset, dg.AssetsDefinition) for spec in asset.check_specs
    ]

    assert {spec.name for spec in checks} >= set(NAMES)
    assert all(spec.blocking for spec in checks if spec.name in NAMES)


def test_one_word_names_a_table_everywhere():
    assets = {spec.key.to_user_string() for spec in defs.resolve_all_asset_specs()}

    assert set(STORED) <= assets
    assert set(INPUTS) <= assets
    assert set(VERSIONS) == set(RECORDS)
    assert assets - set(NOT_ROWS_OF_A_RELEASE) <= set(TABLES)


def test_what_a_step_reads_stands_before_it_in_the_graph():
    graph = defs.resolve_asset_graph()
    for table, inputs in INPUTS.items():
        before = {key.to_user_string() for key in graph.get(dg.AssetKey(table)).parent_keys}
        assert set(inputs) <= before, table


def test_every_table_shows_its_columns_with_their_meaning_and_the_ids_they_come_from():
    by_name = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    for name in (*STORED, "event_keys", "idf"):
        shown = by_name[name].metadata["dagster/column_schema"]
        assert [column.name for column in shown.columns if not column.description] == [], name
    assert [column.name for column in by_name["events"].metadata["dagster/column_schema"].columns] == list(
        schema_of("events").names
    )

    came = by_name["keys"].metadata["dagster/column_lineage"].deps_by_column
    assert [(dep.asset_key.to_user_string(), dep.column_name) for dep in came["event_id"]] == [("events", "event_id")]


def test_the_version_of_a_tables_code_is_that_of_its_step():
    versions = {spec.key.to_user_string(): spec.code_version for spec in defs.resolve_all_asset_specs()}

    assert {name: versions[name] for name in STORED} == {name: str(version) for name, version in VERSIONS.items()}
