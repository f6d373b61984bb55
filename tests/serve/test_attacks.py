"""What comes from outside: refused in one line, no way around a restriction, no trace, no path of the home."""

import http.client
import json
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest
import yaml
from click.testing import CliRunner

from sag_retrieval.cli.main import main
from tests.serve.conftest import SECRET, serving
from tests.support.chat_server import Answer, ChatServer
from tests.support.deployed import until
from tests.support.loops import finished

pytest.importorskip("fastapi", reason="serve: fastapi not installed, an extra")
mcp = pytest.importorskip("mcp", reason="serve: mcp not installed, an extra")

from sag_retrieval.serve import access  # noqa: E402
from sag_retrieval.serve.access import (  # noqa: E402
    LOOPBACK,
    AccessKey,
    AccessKeys,
    CurrentRelease,
    Service,
    hash_of,
    read_keys,
)
from sag_retrieval.serve.http import build_app  # noqa: E402

FOREIGN = f"legal/{SECRET}.md"
KEYS = AccessKeys(
    [
        AccessKey(name="all", hash=hash_of("open")),
        AccessKey(name="sales", hash=hash_of("sales"), where={"metadata.department": "sales"}),
        AccessKey(name="notes", hash=hash_of("notes"), sql="document_id LIKE 'notes/%'"),
        AccessKey(name="slow", hash=hash_of("slow"), rate=2),
        AccessKey(name="stale", hash=hash_of("stale"), where={"key.no_such_type": "x"}),
    ]
)
QUESTIONS = [f"Who is {SECRET} Ltd?", "Who did Lumen Optics sue?", "Heron buoy euros"]


@pytest.fixture(scope="module")
def guarded(served_home):
    """The address of a server with keys."""
    with serving(build_app(Service(CurrentRelease(served_home), KEYS))) as address:
        yield address


@pytest.fixture(params=["sales", "notes"])
def restricted(guarded, request):
    """A client whose key sees two of three documents."""
    headers = {"Authorization": f"Bearer {request.param}"}
    with httpx.Client(base_url=guarded, headers=headers, timeout=60) as client:
        yield client


def check_refusal(answer: httpx.Response, home, *statuses: int) -> str:
    """The message of an answer that is an error in our form and tells nothing of this machine."""
    assert answer.status_code in statuses, answer.text[:300]
    assert "Traceback" not in answer.text
    assert 'File "' not in answer.text
    assert str(home) not in answer.text
    assert len(answer.text) < 5_000
    return answer.json()["error"]["message"]


WRONG = [
    {"query": ""},
    {"query": " \t"},
    {"query": "x" * 900_000},
    {"query": "\ud800"},
    {"query": None},
    {"query": 7},
    {"query": {"$ne": 1}},
    {},
    {"query": "x", "top_k": 10**6},
    {"query": "x", "top_k": 0},
    {"query": "x", "top_k": "many"},
    {"query": "x", "min_score": 2},
    {"query": "x", "method": "guess"},
    {"query": "x", "method": "../../etc/passwd"},
    {"query": "x", "options": {"hops": -1}},
    {"query": "x", "options": {"no": 1}},
    {"query": "x", "where": []},
    {"query": "x", "where": {"text": {"$regex": ".*"}}},
    {"query": "x", "where": {"language'; DROP TABLE documents; --": 1}},
    {"query": "x", "where": {f"metadata.m{n}": n for n in range(500)}},
    {"query": "x", "sql": "DROP TABLE events"},
    {"query": "x", "sql": "SELECT document_id FROM read_csv('/etc/passwd')"},
    {"query": "x", "sql": "SELECT document_id FROM documents; SELECT 1"},
    {"query": "x", "as_of": "yesterday"},
    {"query": "x", "restriction": {"language": "en"}},
    [],
    "x",
]


@pytest.mark.parametrize("asked", WRONG, ids=lambda asked: str(asked)[:40])
@pytest.mark.parametrize("path", ["/v1/search", "/v1/explain", "/v1/ask", "/v1/ask?stream=true"])
def test_a_wrong_question_is_refused_in_one_line(served, served_home, path, asked):
    if "/ask" in path and isinstance(asked, dict) and not {"top_k", "min_score"}.isdisjoint(asked):
        asked = {"query": 7}

    answer = served.post(path, content=json.dumps(asked), headers={"Content-Type": "application/json"})

    assert "\n" not in check_refusal(answer, served_home, 422)


@pytest.mark.parametrize("body", [b"", b"\x00\xff\xfe" * 100, b"{", b'{"query": NaN}', b"[" * 100_000])
def test_a_body_that_is_no_json_is_refused(served, served_home, body):
    for path in ("/v1/search", "/v1/chat/completions"):
        answer = served.post(path, content=body, headers={"Content-Type": "application/json"})
        check_refusal(answer, served_home, 422, 400)
    assert (
        served.post("/v1/search", content=b'{"query": "x"}', headers={"Content-Type": "text/plain"}).status_code == 422
    )


def test_a_body_that_is_too_large_is_refused_whatever_its_header_says(served, served_home):
    def parts():
        for _ in range(20):
            yield b"x" * 100_000

    for path in ("/v1/search", "/mcp"):
        check_refusal(served.post(path, content=b"x" * 1_000_001), served_home, 413)
        check_refusal(served.post(path, content=parts()), served_home, 413)


@pytest.mark.parametrize(
    "wanted",
    [
        "..",
        "../../../etc/passwd",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "notes%2Fheron.md%00",
        "%00",
        "CURRENT",
        "a" * 9000,
        "%FF%FE",
    ],
)
def test_no_id_leads_to_a_file(served, served_home, wanted):
    connection = http.client.HTTPConnection(served.base_url.host, served.base_url.port)
    connection.request("GET", f"/v1/documents/{wanted}")
    answer = connection.getresponse()
    text = answer.read().decode()

    assert answer.status == 404
    assert "root:" not in text
    assert str(served_home) not in text


def test_names_of_other_hosts_and_pages_of_other_sites_are_refused(served, served_home):
    for headers in (
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
    ):
        for path in ("/v1/status", "/mcp", "/health"):
            check_refusal(served.get(path, headers=headers), served_home, 421)
    for headers in ({"Host": "localhost:9"}, {"Origin": "http://localhost:3000"}):
        assert served.get("/v1/status", headers=headers).status_code == 200


def test_without_a_valid_key_there_is_no_answer(guarded, served_home):
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "sales"}, {"X-Api-Key": hash_of("open")}):
        for path in ("/v1/status", "/v1/models", "/openapi.json", f"/v1/documents/{FOREIGN}", "/mcp"):
            check_refusal(httpx.get(guarded + path, headers=headers), served_home, 401)
    assert httpx.get(f"{guarded}/health").status_code == 200
    assert httpx.get(f"{guarded}/v1/status", headers={"X-Api-Key": "open"}).status_code == 200


def test_a_key_has_its_rate(guarded, served_home):
    slow = {"Authorization": "Bearer slow"}
    answers = [httpx.get(f"{guarded}/v1/models", headers=slow) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 31


def test_a_rate_fills_up_again():
    keys = AccessKeys([key := AccessKey(name="a", hash=hash_of("a"), rate=60)])

    assert [keys.wait(key, now=1_000.0) for _ in range(60)] == [0.0] * 60
    assert keys.wait(key, now=1_000.0) == pytest.approx(1.0)
    assert keys.wait(key, now=1_001.0) == 0.0


def test_a_restriction_that_no_longer_fits_shows_nothing(guarded, served_home):
    answer = httpx.get(f"{guarded}/v1/status", headers={"Authorization": "Bearer stale"})

    assert "does not fit this release" in check_refusal(answer, served_home, 503)


def test_a_foreign_document_is_told_as_an_absent_one(restricted, served_home):
    told = []
    for wanted in (FOREIGN, "legal/Absent-it-is.md"):
        answer = restricted.get(f"/v1/documents/{wanted}")
        told.append(check_refusal(answer, served_home, 404).replace(wanted, "it"))
    assert told[0] == told[1]
    whole = httpx.get(restricted.base_url.join(f"/v1/documents/{FOREIGN}"), headers={"Authorization": "Bearer open"})
    assert SECRET in whole.json()["text"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_door_shows_a_restricted_key_more(restricted, served_home, question):
    """Every route and every tool, with everything that might widen a restriction."""
    wide = [
        {},
        {"where": {"metadata.department": "legal"}},
        {"where": {"document_id": FOREIGN}},  # which a report repeats
        {"where": {"title__ne": "x"}},
    ]
    answers = [
        restricted.get(path) for path in ("/v1/status", "/v1/changes", "/v1/changes?since=2020", "/openapi.json")
    ]
    for more in wide:
        asking = ("search", "explain", "ask", "ask?stream=true")
        answers += [restricted.post(f"/v1/{path}", json={"query": question, **more}) for path in asking]
        chat = {"messages": [{"role": "user", "content": question}], **more}
        for model in ("sag-fast", "sag-deep", "sag-global"):
            answers += [
                restricted.post("/v1/chat/completions", json={"model": model, "stream": s, **chat})
                for s in (True, False)
            ]
        answers.append(restricted.post("/v1/report", json=more))
    answers.append(restricted.post("/v1/search", json={"query": question, "method": "think-on-graph"}))

    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert SECRET.lower() not in answer.text.replace(question, "").replace(FOREIGN, "").lower()
        assert str(served_home) not in answer.text


@pytest.mark.parametrize(
    "sql",
    [f"EXISTS (SELECT 1 FROM documents WHERE text LIKE '%{SECRET}%')", "SELECT document_id FROM documents", "TRUE"],
)
def test_sql_is_no_way_around_a_restriction(restricted, served_home, sql):
    chat = {"model": "sag-fast", "messages": [{"role": "user", "content": "Heron"}], "sql": sql}
    asked = [("search", {"query": "Heron", "sql": sql}), ("explain", {"query": "Heron", "sql": sql})]
    asked += [("ask", {"query": "Heron", "sql": sql}), ("report", {"sql": sql}), ("chat/completions", chat)]
    asked += [("sql", {"query": sql}), ("sql", {"query": "SELECT text FROM documents"})]

    for path, body in asked:
        assert "restricted" in check_refusal(restricted.post(f"/v1/{path}", json=body), served_home, 422)
    check_refusal(restricted.get("/v1/tables"), served_home, 422)
    check_refusal(restricted.post("/v1/search", json={"query": "Heron", "method": "tiers"}), served_home, 422)


def test_tools_keep_the_restriction_of_the_key_too(guarded):
    from mcp.client.streamable_http import streamable_http_client

    async def ask():
        headers = {"Authorization": "Bearer sales"}
        async with (
            httpx_client(headers) as http_client,
            mcp.Client(streamable_http_client(f"{guarded}/mcp", http_client=http_client)) as client,
        ):
            told = [client.instructions]
            for more in ({}, {"where": {"metadata.department": "legal"}}):
                asked = {"query": QUESTIONS[1], **more}
                told += [await client.call_tool(tool, asked) for tool in ("search", "ask", "explain")]
            told.append(await client.call_tool("changes", {"since": "2020"}))
            told.append(await client.call_tool("report", {}))
            told.append(await client.read_resource("sag://release/status"))
            refused = [
                await client.call_tool("document", {"document_id": wanted}) for wanted in (FOREIGN, "legal/absent.md")
            ]
            refused.append(await client.call_tool("sql", {"query": "SELECT text FROM documents"}))
            refused.append(await client.call_tool("tables", {}))
            return told, refused

    told, refused = finished(ask())

    assert SECRET not in "".join(map(str, told))
    assert all(each.is_error for each in refused)
    assert str(refused[0].content).replace(FOREIGN, "it") == str(refused[1].content).replace("legal/absent.md", "it")


def httpx_client(headers):
    from mcp.shared._httpx_utils import create_mcp_http_client

    return create_mcp_http_client(headers=headers)


def test_titles_leave_neither_a_list_of_sources_nor_a_page(served):
    asked = {
        "model": "sag-fast",
        "messages": [{"role": "user", "content": "Who did Lumen Optics sue over the Heron buoy?"}],
    }

    answer = served.post("/v1/chat/completions", json=asked)
    said = answer.json()["choices"][0]["message"]

    assert FOREIGN in {each["document_id"] for each in said["citations"]}
    listed = said["content"].partition("Sources:")[2]
    assert "<script" not in listed
    assert "](http://evil" not in listed
    assert answer.headers["Content-Type"] == "application/json"
    assert served.get(f"/v1/documents/{FOREIGN}").headers["Content-Type"] == "application/json"


def test_no_address_in_a_request_is_opened(served):
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.5)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/x"
        parts = [{"type": "text", "text": f"Heron {url}"}, {"type": "image_url", "image_url": {"url": url}}]
        chat = {"model": "sag-fast", "messages": [{"role": "user", "content": parts}], "url": url}
        asked.append(served.post("/v1/chat/completions", json=chat).status_code)
        for sql in (f"SELECT document_id FROM read_csv('{url}')", f"SELECT document_id FROM '{url}'"):
            asked += [served.post("/v1/search", json={"query": "Heron", "sql": sql}).status_code]
            asked += [served.post("/v1/sql", json={"query": sql}).status_code]
        asked.append(served.get(f"/v1/documents/{url}").status_code)
        asked.append(served.get("/v1/changes", params={"since": url}).status_code)
        asked.append(served.post("/v1/report", json={"title": f"![x]({url})"}).status_code)

        with pytest.raises(TimeoutError):
            listening.accept()
    assert asked == [200, 422, 422, 422, 422, 404, asked[6], 200]
    assert 400 <= asked[6] < 600


def test_a_file_that_is_none_of_the_page_is_not_served(served, served_home):
    for path in ("/..%2f..%2fhttp.py", "/%2e%2e/http.py", "/page.js%00", "/..%5c..%5chttp.py", "/CURRENT"):
        answer = served.get(path)
        assert answer.status_code == 404
        assert "import" not in answer.text
        assert str(served_home) not in answer.text


def test_of_200_deep_questions_some_are_answered_and_the_others_told_to_wait(served_home):
    service = Service(CurrentRelease(served_home), heavy=2)
    with serving(build_app(service, LOOPBACK)) as address, httpx.Client(timeout=120) as client:
        with ThreadPoolExecutor(50) as pool:
            asked = [
                pool.submit(client.post, f"{address}/v1/ask", json={"query": q, "mode": "deep"})
                for q in ["Heron buoy?"] * 200
            ]
            answers = [each.result() for each in asked]

        codes = {answer.status_code for answer in answers}
        assert codes <= {200, 503}
        assert 200 in codes
        assert all("Retry-After" in answer.headers for answer in answers if answer.status_code == 503)
        assert client.post(f"{address}/v1/ask", json={"query": "Heron buoy?", "mode": "deep"}).status_code == 200


def test_work_stops_when_its_client_has_gone(served_home, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def script(request):
        begun.set()
        go_on.wait(30)
        return Answer({"question": "Who built the Heron buoy?", "keys": [], "sql": ""})

    with ChatServer(script) as server:
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        service = Service(CurrentRelease(served_home), heavy=1)
        asked = {"query": "Who built the Heron buoy?", "mode": "normal"}
        with serving(build_app(service, LOOPBACK)) as address:
            with httpx.stream("POST", f"{address}/v1/ask?stream=true", json=asked, timeout=60) as answer:
                assert answer.status_code == 200
                assert begun.wait(300)
            port = httpx.URL(address).port
            held = psutil.Process().net_connections
            until(lambda: not any(one.laddr.port == port and one.raddr for one in held()), "the closed connection")
            go_on.set()
            until(lambda: not service.current._held.users, "the end of the work", pause=0.01)

            assert len(server.calls) == 1, "the question was rewritten, and not answered"
            with service.use(is_heavy=True):
                pass


def test_without_a_release_the_server_says_what_to_do(tmp_path):
    home = tmp_path / "home"
    with serving(build_app(Service(CurrentRelease(home)), LOOPBACK)) as address:
        assert httpx.get(f"{address}/health").status_code == 200
        for answer in (
            httpx.get(f"{address}/ready"),
            httpx.post(f"{address}/v1/search", json={"query": "x"}),
            httpx.post(f"{address}/v1/ask?stream=true", json={"query": "x"}),
        ):
            assert "sag ingest" in check_refusal(answer, home, 503)


def test_a_damaged_release_is_told_without_its_place(served_home, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(served_home, home)
    for rows in (home / "releases").glob("*/rows"):
        shutil.rmtree(rows)
    with serving(build_app(Service(CurrentRelease(home)), LOOPBACK)) as address:
        check_refusal(httpx.post(f"{address}/v1/search", json={"query": "x"}), home, 503)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "keys: 3",
        "keys: [{name: a}]",
        "- {name: a, hash: secret}",
        "\x00",
        "- {name: a, hash: HASH, wher: {}}",
        "[{name: a, hash: HASH}, {name: a, hash: HASH}]",
    ],
)
def test_a_wrong_file_of_keys_starts_no_server(tmp_path, served_home, monkeypatch, text):
    file = tmp_path / "keys.yaml"
    file.write_text(text.replace("HASH", hash_of("x")), encoding="utf-8")
    monkeypatch.setenv("SAG_HOME", str(served_home))

    done = CliRunner().invoke(main, ["serve", "--keys", str(file)])

    assert done.exit_code == 1
    assert done.stderr.startswith("Error: ")


def test_a_new_key_opens_what_its_entry_says(tmp_path):
    done = CliRunner().invoke(main, ["serve", "--new-key", "sales: [x"])
    file = tmp_path / "keys.yaml"
    file.write_text(done.stdout, encoding="utf-8")
    key = done.stderr.split()[1]

    assert read_keys(file).named_by(key).name == "sales: [x"
    assert key not in done.stdout
    assert read_keys(file).named_by(key + "x") is None
    assert yaml.safe_load(done.stdout)[0]["hash"] == access.hash_of(key)
    refused = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0"])
    assert (refused.exit_code, "--keys" in refused.stderr) == (2, True)


def test_names_are_decided_by_who_has_the_right_alone(served_home, tmp_path, guarded, monkeypatch):
    from sag_pipeline.runs.status import HomeDecider

    home = tmp_path / "home"
    shutil.copytree(served_home, home)
    monkeypatch.delenv("SAG_ALIASES", raising=False)
    keys = AccessKeys(
        [
            AccessKey(name="all", hash=hash_of("open")),
            AccessKey(name="sales", hash=hash_of("sales"), where={"metadata.department": "sales"}),
            AccessKey(name="editor", hash=hash_of("editor"), decides=True),
        ]
    )
    body = {"decision": "split", "name": "Lumen Optics", "other": "Ada Brandt"}
    with serving(build_app(Service(CurrentRelease(home), keys, decider=HomeDecider(home)))) as address:

        def send(method, path, key, **more):
            headers = {"Authorization": f"Bearer {key}"}
            return httpx.request(method, f"{address}{path}", headers=headers, timeout=60, **more)

        for key in ("open", "sales"):
            for method, path in (("GET", ""), ("POST", ""), ("DELETE", "/2")):
                refused = send(method, f"/v1/decisions{path}", key, json=body if method == "POST" else None)
                check_refusal(refused, home, 403)
        check_refusal(send("GET", "/v1/keys", "sales"), home, 422)
        assert send("GET", "/v1/keys", "open").json()["decides"] is False
        assert not (home / "aliases.csv").exists()

        assert send("POST", "/v1/decisions", "editor", json=body).json()["decided"] == [
            {"line": 2, "decision": "apart", "name": "Lumen Optics", "other": "Ada Brandt"}
        ]
        assert "says so already" in check_refusal(send("POST", "/v1/decisions", "editor", json=body), home, 409)
        merged = send("POST", "/v1/decisions", "editor", json=body | {"decision": "merge"})
        assert "SAG_HOME" in check_refusal(merged, home, 409)
        for wrong in ({"decision": "delete"}, {"name": ""}, {"name": "x" * 501}, {"name": "\ud800"}, {"more": 1}):
            asked = json.dumps(body | wrong)
            check_refusal(send("POST", "/v1/decisions", "editor", content=asked), home, 422)
        check_refusal(send("DELETE", "/v1/decisions/9", "editor"), home, 409)
        assert send("DELETE", "/v1/decisions/2", "editor").json()["decided"] == []
    for more in ({}, {"decider": None}):  # a server of another machine without a right, and one without the pipeline
        with serving(build_app(Service(CurrentRelease(home), **more), LOOPBACK)) as address:
            check_refusal(httpx.post(f"{address}/v1/decisions", json=body), home, 403)
            evil = httpx.post(f"{address}/v1/decisions", json=body, headers={"Origin": "http://evil.example"})
            check_refusal(evil, home, 421)
    with pytest.raises(ValueError, match="sees everything"):
        AccessKey(name="both", hash=hash_of("both"), decides=True, sql="TRUE")
