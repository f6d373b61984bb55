"""Documents that people disabled or deleted are found through no door, at once; an ingest follows, and both go back."""

import json
import shutil

import httpx
import pytest
from click.testing import CliRunner

from sag_pipeline.integrity.verify import verify_home
from sag_pipeline.runs.status import status_of
from sag_retrieval import FilterError, QueryError, ReleaseError, decide_documents, documents_away, open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.settings import load_settings
from tests.conftest import json_lines
from tests.pipeline.publish.histories import ONE_BY_ONE
from tests.serve.conftest import DOCUMENTS, SECRET, serving
from tests.support.bare_ingest import bare_ingest
from tests.support.loops import finished

QUESTIONS = ("Who did Lumen Optics sue over the Heron buoy?", f"{SECRET} Ltd", "What is the price of the Heron buoy?")
LEGAL = {"metadata.department": "legal"}
FOREIGN = f"legal/{SECRET}.md"
CLIENT = httpx.Client(timeout=60, headers={"Connection": "close"})  # one: each reads all certificates of the machine


@pytest.fixture
def home(served_home, tmp_path, monkeypatch):
    """A home of its own, whose source is a file of lines."""
    shutil.copytree(served_home, tmp_path / "home")
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(served_home.parent)
    return tmp_path / "home"


def told(found) -> str:
    """All that an answer says, without the words of the question itself."""
    values = found if isinstance(found, dict | list) else found.to_dict()
    values = values | {name: "" for name in ("query", "question") if name in values}
    return json.dumps(values, ensure_ascii=False, default=str)


def sag(*arguments, ends=0):
    done = CliRunner().invoke(main, [*arguments], catch_exceptions=False)
    assert done.exit_code == ends, done.output
    return done.output


def stored_text(home) -> bytes:
    """Every byte below the tables, the releases and the ledger of a home; releases not in force may be old."""
    current = home / "releases" / (home / "CURRENT").read_text(encoding="utf-8").strip()
    folders = (home / "tables", home / "ledger", current)
    return b"".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())


def ask(address, key, path, **body):
    headers = {"Authorization": f"Bearer {key}"}
    return CLIENT.request("POST" if body else "GET", f"{address}{path}", json=body or None, headers=headers)


def answers(address, key) -> str:
    """What the doors of a server say of everything to a key."""
    chat = {"model": "sag-fast", "messages": [{"role": "user", "content": "Heron buoy"}]}
    found = [ask(address, key, f"/v1/{name}", query="Heron buoy") for name in ("search", "ask")]
    found.append(ask(address, key, "/v1/chat/completions", **chat))
    lists = ("status", "filters", "timeline", "topics", "corrections", f"documents/{FOREIGN}")
    found += [ask(address, key, f"/v1/{name}") for name in lists]
    return "".join(each.text for each in found).replace(FOREIGN, "")


@pytest.mark.parametrize("verb", ["disable", "delete"])
def test_an_open_release_shows_nothing_of_them_at_once(home, verb, tmp_path):
    with open_release(home) as release:
        assert SECRET in told(release.search(QUESTIONS[0])) + told(release.sql("SELECT text FROM documents"))

        named = decide_documents(verb, where=LEGAL)

        assert [one.document_id for one in named] == [FOREIGN]
        for question in QUESTIONS:
            for method in ("sag", "sag-literal", "bm25", "dense", "hybrid", "bridge", "think-on-graph"):
                said = told(release.search(question, method=method, explain=True))
                assert SECRET.lower() not in said.replace(question, "").lower()
            for mode in ("fast", "deep", "global"):
                assert SECRET.lower() not in told(release.ask(question, mode=mode)).replace(question, "").lower()
        for sql in ("SELECT text FROM documents", "SELECT content FROM events", "SELECT alias FROM key_aliases"):
            assert len(release.sql(sql)) > 0
            assert SECRET not in told(release.sql(sql))
        for name in release.tables:
            assert SECRET not in release.table(name).to_json()
        assert SECRET not in told(release.find_keys()) + told(release.changes("2020"))
        assert len(release.search("Heron", sql=f"content LIKE '%{SECRET}%'")) == 0
        report = release.report(out=tmp_path / "report", is_kept=False)
        assert SECRET not in report.page.read_text(encoding="utf-8")
        with pytest.raises(QueryError, match="is not in documents"):
            release.document(FOREIGN)
        with pytest.raises(QueryError, match="sag ingest"):
            release.search("Heron", method="tiers")

        decide_documents("enable", where=LEGAL)
        assert release.document(FOREIGN).title.startswith(SECRET)
        assert SECRET in told(release.search(QUESTIONS[0]))
        assert release.allowed is None


def test_every_door_follows_and_no_key_of_a_server_decides(home):
    pytest.importorskip("fastapi", reason="serve: fastapi not installed, an extra")
    mcp = pytest.importorskip("mcp", reason="serve: mcp not installed, an extra")
    from mcp.client.streamable_http import streamable_http_client

    from sag_retrieval.serve.access import AccessKey, AccessKeys, CurrentRelease, Service, hash_of
    from sag_retrieval.serve.http import build_app

    keys = AccessKeys(
        [
            AccessKey(name="all", hash=hash_of("all")),
            AccessKey(name="legal", hash=hash_of("legal"), where=LEGAL),
            AccessKey(name="sales", hash=hash_of("sales"), where={"metadata.department": "sales"}),
            AccessKey(name="sql", hash=hash_of("sql"), sql="SELECT document_id FROM documents"),
        ]
    )

    async def searched(address):
        from mcp.shared._httpx_utils import create_mcp_http_client

        headers = {"Authorization": "Bearer all"}
        async with (
            create_mcp_http_client(headers=headers) as client,
            mcp.Client(streamable_http_client(f"{address}/mcp", http_client=client)) as agent,
        ):
            return str(await agent.call_tool("search", {"query": "Heron buoy"}))

    with serving(build_app(Service(CurrentRelease(home), keys))) as address:
        assert SECRET in answers(address, "all")
        assert SECRET in finished(searched(address))
        sag("documents", "disable", "--where", "metadata.department=legal", "--yes")

        for key in ("all", "legal", "sales", "sql"):
            assert SECRET not in answers(address, key)
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                for path in ("/v1/documents", "/v1/documents/disable", f"/v1/documents/{FOREIGN}"):
                    headers = {"Authorization": f"Bearer {key}"}
                    assert CLIENT.request(method, f"{address}{path}", headers=headers).status_code in {404, 405}
        assert ask(address, "legal", "/v1/search", query="Heron buoy").json()["hits"] == []
        assert SECRET not in finished(searched(address))
        assert len(documents_away(home)) == 1
        sag("documents", "enable", "--where", "metadata.department=legal", "--yes")
        for key in ("all", "legal", "sql"):
            assert SECRET in answers(address, key)


@pytest.mark.slow
def test_an_ingest_publishes_without_what_is_disabled_and_enabling_reads_nothing_again(home):
    before = (home / "CURRENT").read_text(encoding="utf-8")
    decide_documents("disable", where=LEGAL)

    bare_ingest(["documents.jsonl"])

    with open_release(home) as release:
        assert release.tables["documents"] == len(DOCUMENTS) - 1
        assert release.search(QUESTIONS[0], method="tiers")
        assert SECRET not in told(release.find_keys())
    assert SECRET.encode() in stored_text(home)
    assert not verify_home(home, deep=True).faults
    assert sum(row["documents"] for row in status_of(load_settings())["sources"]) == len(DOCUMENTS) - 1

    assert [one.verb for one in decide_documents("enable", where=LEGAL)] == ["disable"]
    bare_ingest(["documents.jsonl"])
    assert (home / "CURRENT").read_text(encoding="utf-8") == before


@pytest.mark.slow
def test_what_is_deleted_leaves_no_byte_and_stays_away_though_its_source_has_it(home):
    decide_documents("disable", where={"document_id": "notes/price.md"})
    decide_documents("delete", where=LEGAL)

    for _ in range(2):
        bare_ingest(["documents.jsonl"])
        assert SECRET.lower().encode() not in stored_text(home).lower()
        with open_release(home) as release:
            assert release.tables["documents"] == 1
    assert not verify_home(home, deep=True).faults

    decide_documents("enable", sql="SELECT document_id FROM documents")
    bare_ingest(["documents.jsonl"])
    with open_release(home) as release:
        assert release.tables["documents"] == len(DOCUMENTS)
        assert SECRET in told(release.search(QUESTIONS[0]))


@pytest.mark.slow
def test_a_home_of_layers_hides_documents_of_each(home, tmp_path, monkeypatch):
    monkeypatch.setattr("sag_pipeline.publish.publish._LAYERING", ONE_BY_ONE)  # a large home has layers by itself
    more = [{"id": f"more/{n}.md", "text": f"The buoy Egret {n} costs {n + 2} euros."} for n in range(42)]
    for count in (40, 41, 42):  # so few more that the embedder is not fitted again
        (tmp_path / "more.jsonl").write_text(json_lines(more[:count]), encoding="utf-8")
        bare_ingest([str(tmp_path / "more.jsonl")])
    wanted = {FOREIGN, "more/1.md", "more/41.md"}
    with open_release(home) as release:
        assert len(release.manifest.layers) > 1

        decide_documents("disable", where={"document_id__in": sorted(wanted)})

        every = {row["document_id"] for row in release.sql("SELECT document_id FROM documents").rows}
        assert every == {each["id"] for each in DOCUMENTS + more} - wanted
        assert not wanted & {hit.document_id for hit in release.search("Egret Heron buoy", top_k=50)}
    bare_ingest([str(tmp_path / "more.jsonl")])
    with open_release(home) as release:
        assert {*release.table("documents")["document_id"]} == every
        assert not wanted & {hit.document_id for hit in release.search("Egret Heron buoy", top_k=50)}


def test_the_command_shows_what_it_would_do_and_asks(home):
    refused = CliRunner().invoke(main, ["documents", "delete", "--where", "metadata.department=legal"], input="n\n")
    assert refused.exit_code == 1
    assert "Delete 1 document?" in refused.output
    assert documents_away() == []

    done = CliRunner().invoke(main, ["documents", "delete", "--where", "metadata.department=legal"], input="y\n")
    assert done.exit_code == 0
    (away,) = json.loads(sag("documents", "--json"))
    assert away == {
        "document_id": FOREIGN,
        "title": DOCUMENTS[2]["title"],
        "source": away["source"],
        "state": "deleted",
    }
    nothing = sag("documents", "disable", "--where", "metadata.department=legal", "--yes", ends=2)
    assert "no document to disable is named; nothing was changed" in nothing
    listed = json.loads(sag("documents", "list", "--where", 'metadata.department__in=["legal","sales"]', "--json"))
    assert [each["state"] for each in listed] == ["found", "found", "deleted"]
    assert json.loads(sag("documents", "enable", "--where", "title__contains=case", "--yes", "--json")) == {
        "decision": "enable",
        "documents": [FOREIGN],
    }
    assert "no document is away" in sag("documents")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["disable"], "no document is named; name some by where"),
        (["enable", "--where", "key.person=Ada"], "are known by document_id, source, title, language, metadata alone"),
        (["disable", "--where", "nothing=1"], "unknown filter field"),
        (["disable", "--sql", "DROP TABLE documents"], "sql refused"),
        (["delete", "--sql", "SELECT 1 AS x"], "sql must return one column"),
        (["delete", "--where", "language=en", "--json"], "needs --yes"),
        (["disable", "--where", "language=en"], "needs --yes"),  # standard input is closed
    ],
)
def test_a_wrong_call_changes_nothing_and_says_what_to_do(home, arguments, says):
    decide_documents("disable", where=LEGAL)
    before = documents_away()

    done = CliRunner().invoke(main, ["documents", *arguments])

    assert done.exit_code in {1, 2}
    assert says in done.stderr
    assert documents_away() == before


@pytest.mark.parametrize("text", ["hide,a.md", "disable", "disable,", "\xff", 'disable,"a'])
def test_a_damaged_file_shows_nothing_and_says_its_line(home, text):
    with open_release(home) as release:
        (home / "documents.csv").write_bytes(f"decision,document_id\n{text}\n".encode("latin-1"))

        for ask in (lambda: release.search("Heron"), lambda: release.sql("SELECT 1 AS x"), documents_away):
            with pytest.raises(ReleaseError, match=r"documents\.csv.*write decision,document_id"):
                ask()


def test_a_decision_or_filter_of_another_kind_is_refused(home):
    with pytest.raises(QueryError, match="none of disable, delete, enable"):
        decide_documents("hide", where=LEGAL)
    with pytest.raises(QueryError, match="no document is named"):
        decide_documents("disable", where={"language": None})
    with pytest.raises(FilterError):
        decide_documents("disable", where=["language"])
