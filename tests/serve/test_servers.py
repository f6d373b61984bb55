"""Each door gives what `Release` gives: REST, OpenAI's interface, MCP over HTTP and on standard input and output."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qsl, quote

import httpx
import openai
import pytest

from sag_retrieval import open_release
from tests.serve.conftest import DOCUMENTS, serving
from tests.support.bare_ingest import bare_ingest
from tests.support.loops import finished

pytest.importorskip("fastapi", reason="serve: fastapi not installed, an extra")
mcp = pytest.importorskip("mcp", reason="serve: mcp not installed, an extra")

from sag_retrieval.serve.access import (  # noqa: E402
    LOOPBACK,
    CurrentRelease,
    Service,
)
from sag_retrieval.serve.agents import build_server  # noqa: E402
from sag_retrieval.serve.http import build_app  # noqa: E402

QUESTION = "Who built the Heron buoy?"
RESTRICTED = {"where": {"metadata.department": "sales", "date__gte": "2022"}}


@pytest.fixture(scope="module")
def release(served_home):
    with open_release(served_home) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(served):
    return openai.OpenAI(base_url=f"{served.base_url}/v1", api_key="none", max_retries=0)


def places(hits) -> list[tuple]:
    values = [
        hit if isinstance(hit, dict) else {n: getattr(hit, n) for n in ("document_id", "start", "end")} for hit in hits
    ]
    return [(hit["document_id"], hit["start"], hit["end"]) for hit in values]


@pytest.mark.parametrize(
    "more", [{}, RESTRICTED, {"sql": "document_id = 'notes/price.md'"}, {"method": "bm25", "top_k": 1}]
)
def test_every_door_finds_what_a_search_finds(release, served, more):
    wanted = places(release.search(QUESTION, **more))

    by_rest = served.post("/v1/search", json={"query": QUESTION, **more}).json()
    by_tool = call(str(served.base_url.join("/mcp")), "search", {"query": QUESTION, **more})

    assert wanted
    assert places(by_rest["hits"]) == places(by_tool["hits"]) == wanted
    texts = {
        hit["document_id"]: served.get(f"/v1/documents/{hit['document_id']}").json()["text"] for hit in by_rest["hits"]
    }
    assert all(texts[hit["document_id"]][hit["start"] : hit["end"]] == hit["text"] for hit in by_rest["hits"])


def call(target, tool: str, arguments: dict) -> dict:
    async def ask() -> dict:
        async with mcp.Client(target) as client:
            found = await client.call_tool(tool, arguments)
            assert not found.is_error, found.content
            return found.structured_content

    return finished(ask())


def test_answers_and_citations_are_those_of_ask(release, served, client):
    wanted = release.ask(QUESTION)
    quoted = [(each.marker, each.document_id, each.quote) for each in wanted.citations]

    plain = served.post("/v1/ask", json={"query": QUESTION}).json()
    message = client.chat.completions.create(model="sag-fast", messages=[{"role": "user", "content": QUESTION}])
    said = message.choices[0].message

    assert plain["answer"] == wanted.text
    assert said.content.startswith(wanted.text)
    for told in (plain["citations"], said.citations):
        assert [(each["marker"], each["document_id"], each["quote"]) for each in told] == quoted


def test_the_sources_of_a_chat_lead_to_what_they_cite(served, client):
    talk = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]

    said = client.chat.completions.create(model="sag-fast", messages=talk).choices[0].message
    links = re.findall(r"\[(\d+)\] \[[^\]]+\]\((http[^)]+)\)", said.content)

    assert [int(marker) for marker, _ in links] == [each["marker"] for each in said.citations]
    for (_, link), cited in zip(links, said.citations, strict=True):
        page, _, place = link.partition("#")
        at = dict(parse_qsl(place))
        shown = httpx.get(f"{page}v1/documents/{quote(at.pop('doc'), safe='')}", params=at).json()
        assert "page.js" in httpx.get(link).text
        assert shown["text"][cited["start"] - shown["start"] : cited["end"] - shown["start"]] == cited["quote"]


def test_a_stream_of_chat_joins_to_the_same_message(client):
    asked = {"model": "sag-deep", "messages": [{"role": "user", "content": QUESTION}]}

    whole = client.chat.completions.create(**asked).choices[0].message
    chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]

    assert "".join(delta.content or "" for delta in deltas) == whole.content
    assert next(delta.citations for delta in deltas if hasattr(delta, "citations")) == whole.citations
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.total_tokens == 0
    assert any(getattr(delta, "reasoning_content", "") for delta in deltas)


def test_a_conversation_goes_on_through_a_chat_client(client, release):
    talk = [{"role": "system", "content": "Be short."}, {"role": "user", "content": QUESTION}]
    first = client.chat.completions.create(model="sag-fast", messages=talk).choices[0].message.content
    talk += [{"role": "assistant", "content": first}, {"role": "user", "content": "Who leads it?"}]

    second = client.chat.completions.create(model="sag-fast", messages=talk).choices[0].message

    assert "Ada Brandt leads Lumen Optics." in [each["quote"] for each in second.citations]
    without_sources = [*talk[:2], {"role": "assistant", "content": release.ask(QUESTION).text}, talk[3]]
    assert second.content.startswith(release.ask(messages=without_sources).text)


def test_models_are_the_modes_and_another_is_not_found(client):
    assert [model.id for model in client.models.list()] == ["sag-fast", "sag-normal", "sag-deep", "sag-global"]
    assert client.models.retrieve("sag-deep").id == "sag-deep"
    with pytest.raises(openai.NotFoundError, match="sag-fast"):
        client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "x"}])
    with pytest.raises(openai.UnprocessableEntityError, match="no question given"):
        client.chat.completions.create(model="sag-fast", messages=[])


def test_asking_streams_steps_sentences_and_citations(served):
    with served.stream("POST", "/v1/ask?stream=true", json={"query": QUESTION, "mode": "deep"}) as answer:
        text = "".join(answer.iter_text())
    events = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")]
    kinds = [event["event"] for event in events]
    done = json.loads(events[-1]["data"])

    assert kinds == sorted(kinds, key=["step", "sentence", "citation", "done"].index)
    assert len(set(kinds)) == 4
    told = [json.loads(event["data"]) for event in events]
    sentences = [each for kind, each in zip(kinds, told, strict=True) if kind == "sentence"]
    assert "".join(each["text"] for each in sentences) == done["answer"]
    assert [m for each in sentences for m in each["citations"]] == [each["marker"] for each in done["citations"]]


def test_the_other_routes_answer_too(served, release):
    explained = served.post("/v1/explain", json={"query": QUESTION, "top_k": 2}).json()
    counted = served.post("/v1/sql", json={"query": "SELECT count(*) AS n FROM documents"}).json()
    cut = served.post("/v1/sql", json={"query": "SELECT event_id FROM events", "most": 2}).json()

    assert explained["ways"][0]["why"]
    assert counted["rows"] == [{"n": len(DOCUMENTS)}]
    assert (len(cut["rows"]), cut["cut"]) == (
        2,
        f"{release.tables['events'] - 2:,} of {release.tables['events']:,} rows left out",
    )
    least = served.get("/v1/changes", params={"since": "2020", "max_characters": 100}).json()
    few = served.post("/v1/explain", json={"query": QUESTION, "max_characters": 100}).json()
    assert (len(least["new"]), len(few["ways"])) == (1, 1)
    assert "new left out" in least["cut"]
    assert "ways left out" in few["cut"]
    assert served.get("/v1/status").json()["counts"]["documents"] == len(DOCUMENTS)
    assert served.get("/v1/changes", params={"since": "2020"}).json()["new"]
    assert "documents" in served.get("/v1/tables").json()["tables"]
    assert served.post("/v1/report", json={"title": "All"}).json()["markdown"].startswith("# All")
    assert not list(release.path.parents[1].glob("reports/*/*/report.*"))
    around = served.get("/v1/documents/notes/heron.md", params={"start": 10, "end": 20, "around": 5}).json()
    assert (around["start"], around["end"]) == (5, 25)
    assert served.get("/health").json() == {"status": "ok"}
    assert served.get("/ready").json() == {"status": "ready"}


def test_the_description_has_an_example_of_each_question(served):
    described = served.get("/openapi.json").json()

    for path in ("search", "ask", "explain", "sql", "report"):
        body = described["paths"][f"/v1/{path}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert described["components"]["schemas"][body["$ref"].rpartition("/")[2]]["examples"]
    assert described["paths"]["/v1/search"]["post"]["description"].startswith("Find the passages")


def test_tools_describe_themselves_and_only_read(served_home):
    async def look():
        async with mcp.Client(build_server(Service(CurrentRelease(served_home)))) as client:
            return (await client.list_tools()).tools, client.instructions, await client.list_resource_templates()

    tools, instructions, resources = finished(look())

    assert {tool.name for tool in tools} == {
        "search",
        "ask",
        "document",
        "explain",
        "changes",
        "tables",
        "sql",
        "report",
        "status",
    }
    assert all(tool.annotations.read_only_hint and tool.output_schema and len(tool.description) > 40 for tool in tools)
    assert f"{len(DOCUMENTS)} documents" in instructions
    assert {each.uri_template for each in resources.resource_templates} == {
        "sag://documents/{+document_id}",
        "sag://release/{part}",
        "sag://reports/{period}",
    }


@pytest.mark.slow
def test_a_client_starts_the_command_and_talks_to_it(served_home, release):
    environment = {**os.environ, "SAG_HOME": str(served_home)}
    command = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "sag_retrieval.cli.main", "mcp"], env=environment
    )

    async def talk():
        async with mcp.Client(command) as client:
            found = await client.call_tool("search", {"query": QUESTION})
            text = await client.read_resource("sag://documents/notes/heron.md")
            many = await asyncio.gather(*(client.call_tool("ask", {"query": QUESTION}) for _ in range(20)))
            wrong = [
                await client.call_tool("search", {"query": ""}),
                await client.call_tool("sql", {"query": "DROP TABLE x"}),
            ]
            return found, text, many, wrong

    found, text, many, wrong = finished(talk())

    assert places(found.structured_content["hits"]) == places(release.search(QUESTION))
    assert text.contents[0].text == DOCUMENTS[0]["text"]
    assert {each.structured_content["answer"] for each in many} == {release.ask(QUESTION).text}
    assert all(each.is_error for each in wrong)


@pytest.mark.slow
def test_the_command_serves_until_it_is_stopped(served_home):
    command = [sys.executable, "-m", "sag_retrieval.cli.main", "serve", "--port", "0", "--json"]
    environment = {**os.environ, "SAG_HOME": str(served_home), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        told = ""
        while not told.rstrip().endswith("}"):
            told += process.stdout.readline()
        url = json.loads(told)["url"]
        found = httpx.post(f"{url}/v1/search", json={"query": QUESTION}, timeout=60)
        process.terminate()
        _, errors = process.communicate(timeout=300)

    assert (found.status_code, process.returncode, errors) == (200, 0, "")


@pytest.mark.slow
def test_releases_published_meanwhile_are_taken_by_new_requests(served_home, tmp_path, monkeypatch):
    home = shutil.copytree(served_home, tmp_path / "home")
    shutil.copy(served_home.parent / "documents.jsonl", tmp_path / "documents.jsonl")
    monkeypatch.setenv("SAG_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    answers, stop = [], threading.Event()
    current = CurrentRelease(home)

    def ask(address: str) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            while not stop.wait(0.02):  # in this process the ingests would else wait for the clients
                answers.append(client.post("/v1/search", json={"query": QUESTION}))

    with serving(build_app(Service(current), LOOPBACK)) as address:
        threads = [threading.Thread(target=ask, args=(address,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        made = [current._releases.current()]
        for number in range(3):
            row = {"id": f"new/{number}", "text": f"Lumen Optics sold {number + 2} Heron buoys to Fjord Ltd in 2024."}
            with Path("documents.jsonl").open("a", encoding="utf-8") as file:
                file.write(f"\n{json.dumps(row)}")
            made.append(bare_ingest(["documents.jsonl"])["release"])
            now = httpx.post(f"{address}/v1/search", json={"query": QUESTION}, timeout=60).json()
            assert now["release"] == made[-1]
        stop.set()
        for thread in threads:
            thread.join()

    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["release"] for answer in answers} <= set(made)
    for answer in answers:
        found = answer.json()
        known = {f"new/{number}" for number in range(made.index(found["release"]))}
        assert {hit["document_id"] for hit in found["hits"] if hit["document_id"].startswith("new/")} <= known
