"""The files of `deploy/`: every command of ours is run as a plain process, and an ingest through them succeeds."""

import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
import yaml

from sag_pipeline.definitions import defs
from tests.support.buckets import environment_of, new_bucket, s3_server
from tests.support.deployed import ROOT, compose, composed, program, until

DEPLOY = ROOT / "deploy"
OURS = {"code", "webserver", "daemon", "serve"}
OTHERS = {"postgres": "postgres:", "objects": "minio/minio:", "bucket": "minio/mc:"}
"""Services by images of others; a PostgreSQL of a package stands in for the first."""


@pytest.mark.slow
def test_the_services_of_the_compose_file_ingest_into_a_bucket_and_the_page_shows_it(tmp_path, database):
    """A home in a folder: `test_killed_processes.py`."""
    checks = {
        name: service["healthcheck"]["test"][1:] for name, service in compose().items() if "healthcheck" in service
    }
    with s3_server() as address:
        services = composed(tmp_path, database, SAG_HOME=f"s3://{new_bucket(address)}/home", **environment_of(address))
        port = services.environment["SAG_CODE_PORT"]
        code_check = [port if word == "4000" else word for word in checks["code"]]
        try:
            (services.folder / "srv/inbox/a.md").write_text("# Heron\n\nLumen Optics sold 120 buoys in 2021.")
            services.start("code", "webserver", "daemon")
            until(services.is_up, "the page")
            wanted = {"SENSOR", "SCHEDULER", "QUEUED_RUN_COORDINATOR", "MONITORING"}
            until(lambda: wanted <= services.healthy_daemons(), "the daemons")  # so that one check is enough
            until(lambda: services.run(*code_check) == 0, "the health check of the code location", pause=2)
            until(lambda: services.run(*checks["daemon"]) == 0, "the health check of the daemon", pause=2)

            assert services.ended(services.launch("ingest")) == "SUCCESS"
            until(lambda: wanted <= services.healthy_daemons(), "daemons without a fault")
            assert services.ended(services.launch("prune")) == "SUCCESS"
            assert list((services.folder / "srv/home").iterdir()) == []
            assert list((services.folder / "srv/cache").iterdir())
            found = subprocess.run(
                program(["sag", "search", "Who sold buoys?"]),
                env=services.environment, cwd=services.folder, capture_output=True, text=True, check=True,
            )  # fmt: skip
            assert "Lumen Optics sold 120 buoys" in found.stdout
            assert psutil.Process(services.running["code"].pid).is_running()
        finally:
            services.stop()


def test_every_service_is_ours_or_a_known_image_of_others():
    found = compose()

    assert set(found) == OURS | set(OTHERS)
    for name, start in OTHERS.items():
        assert re.fullmatch(rf"{re.escape(start)}[\w.-]+", found[name]["image"]), name
    for name in OURS:
        assert found[name]["build"]["dockerfile"] == "deploy/Dockerfile"
        assert program(found[name]["command"])[0] == sys.executable, name
        ports = found[name].get("ports", [])
        assert all(port.startswith("127.0.0.1:") for port in ports), name


def test_the_image_runs_as_another_user_and_its_command_is_that_of_the_code_location():
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    (command,) = re.findall(r"^CMD (.+)$", text, re.MULTILINE)

    assert yaml.safe_load(command) == compose()["code"]["command"]
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    assert len(re.findall(r"^FROM ", text, re.MULTILINE)) == 2
    for copied in re.findall(r"deploy/postgres/\S+\.yaml", text):
        assert (ROOT / copied).is_file()


def test_the_image_is_written_as_the_rules_for_images_say():
    """What a checker of such files looks for: known instructions, pinned images, nothing left of a package manager."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    known = {"FROM", "WORKDIR", "COPY", "ARG", "RUN", "ENV", "USER", "CMD"}

    assert {name for name, _ in lines} <= known
    assert lines[0][0] == "FROM"
    assert [name for name, _ in lines].count("CMD") == 1
    assert all(re.match(r"[\w./-]+:[\w.-]*\d", rest) for name, rest in lines if name == "FROM")
    for _, rest in (line for line in lines if line[0] == "RUN"):
        assert "sudo" not in rest
        assert "pip install" not in rest or "--no-cache-dir" in rest
        wanted = ("--no-install-recommends", "rm -rf /var/lib/apt/lists/*", "--yes", "apt-get update &&")
        assert "apt-get install" not in rest or all(each in rest for each in wanted)
        assert subprocess.run(["sh", "-nc", rest], check=False).returncode == 0, rest
    shown = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert shown[0] == "*"
    for kept in (line.removeprefix("!") for line in shown if line.startswith("!")):
        assert (ROOT / kept).exists(), kept
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for needed in ("pyproject.toml", project["project"]["readme"], "constraints.txt", "sag_retrieval", "sag_pipeline"):
        assert f"!{needed}" in shown
    extras = re.search(r"^ARG EXTRAS=(.+)$", text, re.MULTILINE)[1].split(",")
    assert {*extras} <= {*project["project"]["optional-dependencies"]}


@pytest.mark.slow
def test_the_server_of_the_compose_file_answers_who_has_a_key(tmp_path):
    pytest.importorskip("uvicorn", reason="serve: uvicorn not installed, an extra")
    service, keys = compose()["serve"], tmp_path / "keys.yaml"
    made = subprocess.run(
        program(["sag", "serve", "--new-key", "me", "--json"]), capture_output=True, text=True, check=True
    )
    key = json.loads(made.stdout)
    keys.write_text(json.dumps([{"name": key["name"], "hash": key["hash"]}]), encoding="utf-8")
    command = [str(keys) if word == "/run/secrets/keys" else word for word in service["command"]]
    with subprocess.Popen(
        program([*command, "--port", "0"]),
        env=os.environ | {"SAG_HOME": str(tmp_path / "home"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            port = server.stdout.readline().rpartition(":")[2].strip()
            check = [word.replace("8321", port) for word in service["healthcheck"]["test"][1:]]
            assert subprocess.run(program(check), check=False).returncode == 0
            asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/models", headers={"X-Api-Key": key["key"]})
            assert json.load(urllib.request.urlopen(asked))["object"] == "list"
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/status")
        finally:
            server.terminate()
    assert service["ports"] == ["127.0.0.1:8321:8321"]


def test_the_values_of_the_charts_name_what_the_image_has():
    values = yaml.safe_load((DEPLOY / "helm/dagster.yaml").read_text(encoding="utf-8"))
    (ours,) = values["dagster-user-deployments"]["deployments"]
    ray = yaml.safe_load((DEPLOY / "helm/raycluster.yaml").read_text(encoding="utf-8"))
    image = compose()["code"]["image"]

    assert f"{ours['image']['repository']}:{ours['image']['tag']}" == image
    assert f"{ray['image']['repository']}:{ray['image']['tag']}" == f"{image}-ray"
    assert ours["dagsterApiGrpcArgs"] == compose()["code"]["command"][-2:]
    assert {each["name"] for each in ours["volumes"]} == {each["name"] for each in ours["volumeMounts"]}
    assert values["concurrency"]["pools"] == {"granularity": "run", "defaultLimit": 1}
    assert values["dagsterDaemon"]["runMonitoring"]["enabled"]
    assert defs.resolve_job_def("ingest")


def test_every_setting_reaches_the_services_and_what_they_get_is_a_setting():
    from sag_retrieval.core.settings import Settings

    given = compose()["code"]["environment"]
    places = {"SAG_DAGSTER_PG_URL", "SAG_CODE_HOST", "SAG_CODE_PORT"}

    assert {f"SAG_{name.upper()}" for name in Settings.model_fields} | places == {
        name for name in given if name.startswith("SAG_")
    }
    assert {name for name in given if name.startswith("AWS_")} >= {*environment_of(""), "AWS_SESSION_TOKEN"}
    assert {name for name in given if not name.startswith(("SAG_", "AWS_", "OPENAI_", "OTEL_"))} == set()
    for name in OURS:
        assert compose()[name]["environment"] == given
    values = yaml.safe_load((DEPLOY / "helm/dagster.yaml").read_text(encoding="utf-8"))
    (ours,) = values["dagster-user-deployments"]["deployments"]
    of_chart = {each["name"]: each["value"] for each in ours["env"]}
    assert Settings(**{name.removeprefix("SAG_").lower(): value for name, value in of_chart.items()})
    mounted = {each["mountPath"] for each in ours["volumeMounts"]}
    assert {of_chart["SAG_HOME"], of_chart["SAG_CACHE"], of_chart["SAG_SOURCE"]} == mounted


def test_the_image_has_what_a_home_in_a_bucket_needs():
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")

    assert "ARG EXTRAS=pipeline,object-store,serve\n" in text
    folders = {each.partition(":")[0]: each.split(":")[1] for each in compose()["code"]["volumes"]}
    assert folders["cache"] == compose()["code"]["environment"]["SAG_CACHE"]
    assert f"SAG_CACHE={folders['cache']} " in text
    assert all(place in text for place in (folders["home"], folders["cache"]))


def test_every_variable_of_ours_is_a_setting():
    from sag_retrieval.core.settings import Settings

    known = {f"SAG_{name.upper()}" for name in Settings.model_fields}
    known |= {"SAG_DAGSTER_PG_URL", "SAG_CODE_HOST", "SAG_CODE_PORT"}
    named = set()
    for path in (*DEPLOY.rglob("*.yaml"), DEPLOY / "Dockerfile"):
        named |= set(re.findall(r"\bSAG_[A-Z_]+", Path(path).read_text(encoding="utf-8")))

    assert named <= known
