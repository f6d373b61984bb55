"""Spans and figures reach a real receiver where OTEL_* turns them on, hold no text, and cost nothing where they are off."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.chat_server import ChatServer
from tests.support.deployed import free_port
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SECRET, TEXT = "sk-figures-never-see-this", "Quillfeather Instruments"


class Receiver:
    """A collector of OTLP over HTTP on 127.0.0.1."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[bytes]] = {"/v1/traces": [], "/v1/metrics": []}
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies[self.path].append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def spans(self) -> list:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Request

        found = [Request.FromString(body) for body in self.bodies["/v1/traces"]]
        return [one for each in found for r in each.resource_spans for scope in r.scope_spans for one in scope.spans]

    def figures(self) -> dict[str, list]:
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest as Request

        found = [Request.FromString(body) for body in self.bodies["/v1/metrics"]]
        metrics = [m for each in found for r in each.resource_metrics for s in r.scope_metrics for m in s.metrics]
        return {m.name: list(m.sum.data_points or m.histogram.data_points) for m in metrics}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def attributes(one) -> dict[str, object]:
    kinds = {each.key: each.value for each in one.attributes}
    return {name: getattr(value, value.WhichOneof("value")) for name, value in kinds.items()}


def around(home: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command: its home, and nothing of ours but some variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "SAG_", "OPENAI_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "SAG_HOME": str(home), **variables}


def run(home: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Code in a process that has imported nothing."""
    command = [sys.executable, "-c", code]
    environment = around(home, variables)
    return subprocess.run(command, env=environment, cwd=home.parent, capture_output=True, text=True, check=False)


def sag(home: Path, *command: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    done = forked.sag(*command, cwd=home.parent, env=around(home, variables))
    assert done.returncode == code, done.stderr
    return done


def fill(folder: Path) -> None:
    (folder / "inbox").mkdir()
    (folder / "inbox/a.md").write_text(f"# {TEXT}\n\n{TEXT} sold 120 buoys in 2021.", encoding="utf-8")


@pytest.fixture
def inbox(home) -> str:
    fill(home.parent)
    return "inbox"


@pytest.fixture
def new(home, inbox) -> Path:
    """A home without a release."""
    return home


@pytest.fixture(scope="module")
def ingested(tmp_path_factory) -> Path:
    """A home with the release of the inbox beside it: another ingest of that finds nothing to do."""
    folder = tmp_path_factory.mktemp("ingested")
    fill(folder)
    done = forked.sag("ingest", "inbox", cwd=folder, env={**os.environ, "SAG_HOME": str(folder / "home")})
    assert done.returncode == 0, done.stderr
    return folder / "home"


def test_an_ingest_and_a_search_send_spans_and_figures_without_any_text(home, inbox, receiver):
    on = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address, "OTEL_SERVICE_NAME": "records"}

    sag(home, "ingest", inbox, **on, OPENAI_API_KEY=SECRET)
    ingest, figures = receiver.spans(), receiver.figures()
    sag(home, "search", f"Who sold buoys, {TEXT}?", **on, OPENAI_API_KEY=SECRET)
    search = receiver.spans()[len(ingest) :]

    (whole,) = [one for one in ingest if one.name == "run"]
    steps = {attributes(one)["step"]: one for one in ingest if one.name == "step"}
    assert {"documents", "chunks", "events", "keys", "vectors", "release"} <= set(steps)
    assert all(one.parent_span_id == whole.span_id for one in steps.values())
    counted = {
        (attributes(p)["step"], attributes(p)["outcome"]): p.as_double or p.as_int for p in figures["sag.documents"]
    }
    assert counted["documents", "new"] == counted["chunks", "new"] == 1
    assert {attributes(p)["step"] for p in figures["sag.step.duration"]} == set(steps)
    (asked,) = [one for one in search if one.name == "search"]
    assert attributes(asked) == {"top_k": 10, "is_restricted": False, "method": "sag", "hits": 1}
    stages = {one.name for one in search if one.parent_span_id == asked.span_id}
    assert {"search.read", "search.hop", "search.rank"} <= stages
    assert receiver.figures()["sag.search.duration"][0].count == 1
    sent = b"".join(body for bodies in receiver.bodies.values() for body in bodies)
    assert b"records" in sent
    for never in (SECRET, TEXT, "buoys", "Who sold", str(home)):
        assert never.encode() not in sent, never


def test_calls_to_a_model_are_counted_by_model_and_a_failure_has_its_class_alone(home, inbox, receiver):
    on = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address, "SAG_CHAT_MODEL": "openai:scripted"}
    with ChatServer(read_well) as server:
        sag(home, "ingest", inbox, **on, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=SECRET)
        asked = len(server.calls)
    nowhere = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": SECRET}
    good = receiver.figures()
    Path("inbox/b.md").write_text(f"# More\n\n{TEXT} sold 7 boats in 2022.", encoding="utf-8")
    few = ("--set", "tries=1", "--set", "failures_until_down=1", "--set", "patience_seconds=0")
    sag(home, "ingest", inbox, *few, code=1, **on, **nowhere)

    assert sum(p.as_double or p.as_int for p in good["sag.model.calls"]) == asked > 0
    directions = {attributes(p)["direction"] for p in good["sag.model.tokens"]}
    assert directions == {"input", "output"}
    models = [one for one in receiver.spans() if one.name == "model"]
    assert {attributes(one)["gen_ai.request.model"] for one in models} == {"scripted"}
    wrong = [attributes(one)["error.type"] for one in models if "error.type" in attributes(one)]
    assert wrong
    sent = b"".join(body for bodies in receiver.bodies.values() for body in bodies)
    for never in (SECRET, TEXT, "boats"):
        assert never.encode() not in sent, never


def test_prometheus_reads_the_figures_of_searches(ingested):
    port = str(free_port())
    code = (
        "import sys, urllib.request\nfrom sag_retrieval import open_release\n"
        "release = open_release()\n"
        "for _ in range(3): release.search('Who sold buoys?')\n"
        "release.ask('Who sold buoys?')\n"
        f"print(urllib.request.urlopen('http://127.0.0.1:{port}/metrics').read().decode())"
    )
    variables = {"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT": port}
    done = run(ingested, code, **variables, OTEL_EXPORTER_PROMETHEUS_HOST="127.0.0.1")

    assert done.returncode == 0, done.stderr
    (searches,) = [line for line in done.stdout.splitlines() if line.startswith("sag_search_duration_seconds_count")]
    assert 'method="sag"' in searches
    assert float(searches.rpartition(" ")[2]) >= 4
    assert any(line.startswith("sag_ask_duration_seconds_count") for line in done.stdout.splitlines())


def test_a_taken_port_of_prometheus_is_told_and_stops_nothing(ingested, receiver):
    variables = {
        "OTEL_METRICS_EXPORTER": "prometheus",
        "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1",
        "OTEL_EXPORTER_PROMETHEUS_PORT": str(receiver.server.server_port),
    }

    done = sag(ingested, "search", "buoys", **variables)

    assert "set OTEL_EXPORTER_PROMETHEUS_PORT to a free port" in done.stderr


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_nothing_is_imported_where_nothing_is_turned_on(request, variables):
    home = request.getfixturevalue("ingested" if variables else "new")  # all the work of an ingest once
    code = (
        "import json, sys\nfrom sag_retrieval.cli.main import main\n"
        "for command in (['ingest', 'inbox', '--json'], ['search', 'Who sold buoys?', '--json']):\n"
        "    try: main(command)\n    except SystemExit as ended: assert not ended.code, ended.code\n"
        "print(json.dumps([name for name in sys.modules if name.startswith(('opentelemetry.sdk', "
        "'opentelemetry.exporter', 'prometheus_client'))]))"
    )
    done = run(home, code, **variables)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_a_receiver_that_is_away_stops_nothing(ingested):
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}

    done = sag(ingested, "search", "Who sold buoys?", "--json", **away)

    assert json.loads(done.stdout)["hits"]
