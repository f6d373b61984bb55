"""Sources on the web, from a server on 127.0.0.1."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.folders import SourceOptions, WebOptions
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.errors import SagError, SourceError
from sag_retrieval.core.records import Quarantined
from tests.support.bare_ingest import bare_ingest
from tests.support.mailbox import serving

pytestmark = pytest.mark.usefixtures("home")
FREE = SourceOptions(web=WebOptions(private=True, pause=0))
PAGE = "<html><head><title>{0}</title></head><body><nav><a href='/'>Home</a></nav><p>{0} is dry.</p></body></html>"


class Web:
    """What a server answers by path: a status, a body, headers; and what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str, dict[str, str]]] = {"/robots.txt": (404, "", {})}
        self.asked: list[str] = []
        self.address = ""

    def put(self, path: str, body: str, status: int = 200, **headers: str) -> None:
        self.answers[path] = (status, body, {"Content-Type": "text/html", **headers})

    def pages(self, *names: str, lastmod: str = "") -> None:
        """Pages with a tag each, and a sitemap that lists them."""
        for name in names:
            self.put(f"/{name}", PAGE.format(name), ETag=f'"{name}"')
        mod = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
        locations = "".join(f"<url><loc>{self.address}/{name}</loc>{mod}</url>" for name in names)
        self.put("/sitemap.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>')

    def taken(self) -> list[str]:
        """What was asked since the last call, without robots.txt."""
        found, self.asked = [path for path in self.asked if path != "/robots.txt"], []
        return found


@contextmanager
def web_server() -> Iterator[Web]:
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append(self.path)
            status, body, headers = web.answers.get(self.path, (404, "", {}))
            if headers.get("ETag") and self.headers["If-None-Match"] == headers["ETag"]:
                status, body = 304, ""
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body.encode())), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        web.address = f"http://127.0.0.1:{port}"
        yield web


@pytest.fixture
def web(tmp_path, monkeypatch) -> Iterator[Web]:
    monkeypatch.setenv("SAG_CACHE", str(tmp_path / "cache"))
    with web_server() as found:
        yield found


def listed(url: str, options: SourceOptions = FREE) -> dict[str, str]:
    """Path below the server → text, or why there is none."""
    found = [parse_document(each) if isinstance(each, RawDocument) else each for each in list_source(url, options)]
    texts = {
        each.path if isinstance(each, Quarantined) else each.document_id: each.reason
        if isinstance(each, Quarantined)
        else each.text
        for each in found
    }
    return {name.removeprefix(url.rsplit("/", 1)[0]): text for name, text in texts.items()}


def test_the_pages_of_a_sitemap_are_documents_and_asked_for_again_only_by_their_tag(web):
    web.pages("a", "b")

    first = listed(f"{web.address}/sitemap.xml")
    asked = web.taken()
    again = listed(f"{web.address}/sitemap.xml")

    assert first == again == {"/a": "a is dry.", "/b": "b is dry."}
    assert asked == web.taken() == ["/sitemap.xml", "/a", "/b"]


def test_a_page_whose_sitemap_says_that_it_did_not_change_is_not_asked_for(web):
    web.pages("a", lastmod="2025-03-01")
    listed(f"{web.address}/sitemap.xml")
    web.taken()

    assert listed(f"{web.address}/sitemap.xml") == {"/a": "a is dry."}
    assert web.taken() == ["/sitemap.xml"]

    web.pages("a", lastmod="2025-03-02")
    web.put("/a", PAGE.format("a new one"), ETag='"2"')
    assert listed(f"{web.address}/sitemap.xml") == {"/a": "a new one is dry."}


def test_a_page_alone_and_the_entries_of_a_feed_are_read_and_stay_when_they_leave_the_feed(web, tmp_path):
    web.pages("a", "b")
    entry = '<entry><link rel="self" href="/no"/><link href="/{0}"/></entry>'
    web.put("/feed", f'<feed xmlns="http://www.w3.org/2005/Atom">{entry.format("a")}</feed>')
    web.put("/rss", f"<rss><channel><item><link>{web.address}/a</link></item></channel></rss>")

    assert listed(f"{web.address}/a") == {"/a": "a is dry."}
    assert listed(f"{web.address}/rss") == listed(f"{web.address}/feed") == {"/a": "a is dry."}
    web.put("/feed", f'<feed xmlns="http://www.w3.org/2005/Atom">{entry.format("b")}</feed>')
    assert listed(f"{web.address}/feed") == {"/a": "a is dry.", "/b": "b is dry."}
    web.answers["/a"] = (410, "", {})
    assert listed(f"{web.address}/feed") == {"/b": "b is dry."}
    assert len(list(tmp_path.rglob("*.html"))) == 3  # nothing is kept of a page that is gone


def test_sitemaps_may_be_packed_and_list_sitemaps(web):
    web.pages("a", "b")
    web.put("/index.xml", f"<sitemapindex><sitemap><loc>{web.address}/sitemap.xml</loc></sitemap></sitemapindex>")
    assert sorted(listed(f"{web.address}/index.xml")) == ["/a", "/b"]

    web.put("/index.xml", f"<sitemapindex><sitemap><loc>{web.address}/index.xml</loc></sitemap></sitemapindex>")
    with pytest.raises(SourceError, match="nested too deeply; nothing of it was changed"):
        listed(f"{web.address}/index.xml")


@pytest.mark.parametrize(
    ("path", "status", "body", "said"),
    [
        ("/sitemap.xml", 500, "", "the server answers 500"),
        ("/sitemap.xml", 404, "", "the server answers 404"),
        ("/sitemap.xml", 200, "<urlset></urlset>", "the urlset lists no page"),
        ("/robots.txt", 503, "", "robots.txt: the server answers 503"),
        ("/robots.txt", 200, "User-agent: *\nDisallow: /*.xml", "robots.txt does not allow it"),
    ],
)
def test_a_source_that_fails_is_no_source_without_pages(web, path, status, body, said):
    web.pages("a")
    web.put(path, body, status)

    with pytest.raises(SourceError, match=f"{said}.*; nothing of it was changed"):
        listed(f"{web.address}/sitemap.xml")


def test_a_page_that_fails_is_unknown_and_after_three_nothing_more_is_asked(web):
    web.pages("a", "b", "c", "d", "e")
    for name in "bcd":
        web.put(f"/{name}", "", 500)

    found = listed(f"{web.address}/sitemap.xml")

    assert found["/a"] == "a is dry."
    assert found["/b"] == "cannot be fetched: the server answers 500"
    assert web.taken()[-1] != "/e"
    assert found["/e"] == "cannot be fetched: 3 requests failed; the next run asks again"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (WebOptions(private=True, pause=0, pages=1), "over the limit of 1 pages; raise `web.pages`"),
        (WebOptions(private=True, pause=0), "more than 400 bytes; raise `max_bytes`"),
    ],
)
def test_pages_over_a_bound_are_unknown(web, options, said):
    web.pages("a", "b")
    web.put("/b", "x" * 1000)

    found = listed(f"{web.address}/sitemap.xml", SourceOptions(web=options, max_bytes=400))

    assert found == {"/a": "a is dry.", "/b": f"cannot be fetched: {said}"}


def test_between_two_requests_is_the_pause_that_robots_ask_for(web, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    web.pages("a", "b")
    web.put("/robots.txt", "User-agent: *\nCrawl-delay: 7\nDisallow: /b")

    found = listed(f"{web.address}/sitemap.xml")

    assert found == {"/a": "a is dry.", "/b": "cannot be fetched: robots.txt does not allow it"}
    assert 6 < pauses[-1] <= 7


def test_no_redirect_and_no_list_leads_to_another_host_or_a_private_address(web):
    with web_server() as other:
        other.pages("secret")
        elsewhere = other.address.replace("127.0.0.1", "localhost")
        web.pages("a", "b")
        web.put("/a", "", 302, Location=f"{elsewhere}/secret")
        web.put("/b", "", 302, Location="file:///etc/passwd")
        web.answers["/sitemap.xml"][2]["ETag"] = ""
        root = f"{web.address}/sitemap.xml"
        found = listed(root)
        allowed = SourceOptions(web=WebOptions(private=True, pause=0, hosts=("local*",)))

        assert found["/a"].startswith("cannot be fetched: 'localhost' is not among the hosts 127.0.0.1;")
        assert found["/b"].startswith("cannot be fetched: 'file' is not among the hosts")
        assert other.taken() == []
        assert listed(root, allowed)["/a"] == "secret is dry."
        with pytest.raises(SourceError, match=r"lies at the private address 127\.0\.0\.1; `web\.private=true` allows"):
            listed(root, SourceOptions())
        with pytest.raises(SourceError, match=r"localhost lies at the private address (127\.0\.0\.1|::1)"):
            listed(f"{elsewhere}/secret", SourceOptions())
        with pytest.raises(SourceError, match=r"lies at the private address 127\.0\.0\.1"):
            listed(f"{web.address.replace('127.0.0.1', '[::ffff:127.0.0.1]')}/a", SourceOptions())
        assert other.taken() == ["/secret"]


@pytest.mark.slow
def test_a_deleted_page_leaves_and_a_failing_server_deletes_nothing(web, home):
    options = {"web.private": True, "web.pause": 0}
    web.pages("a", "b", "c", "d")
    root = f"{web.address}/sitemap.xml"
    assert bare_ingest([root], options)["steps"]["documents"]["new"] == 4

    web.put("/c", "", 404)
    gone = bare_ingest([root], options)["steps"]["documents"]
    assert (gone["removed"], gone["skipped"], gone["failed"]) == (1, 3, 0)

    web.put("/a", "", 503)
    failed = bare_ingest([root], options)["steps"]["documents"]
    assert (failed["removed"], failed["failed"]) == (0, 1)

    web.put("/sitemap.xml", "", 503)
    with pytest.raises(SagError, match="the server answers 503"):
        bare_ingest([root], options)
    assert threading.active_count() < 20
    assert not Path("http:").exists()
