"""A source on the web: a page, or those that a sitemap or a feed lists; fetched politely, and only where changed."""

import gzip
import io
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urldefrag, urljoin, urlsplit

from sag_pipeline.sources.folders import Place, SourceOptions, WebOptions, matches, printable
from sag_retrieval.core import durable
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.home_urls import mirror_folder
from sag_retrieval.core.settings import load_settings

_AGENT: Final = "sag"
_STATE: Final = "pages.json"
_REDIRECTS: Final = 5
_LISTS: Final = 3
_SECONDS: Final = 30
"""Without a byte from a server; and all of an answer takes at most ten times as long."""
_FAILURES: Final = 3
"""In a row, after which nothing more is asked for in this run."""
_BLOCK: Final = 1 << 16
_GONE: Final = frozenset({404, 410})
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_SUFFIXES: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/pdf": ".pdf",
}


class _RefusedError(OSError):
    """An address that is never asked; the page stays as it was."""


@dataclass(slots=True)
class _Copy:
    """What is known of a page since it was last fetched."""

    file: str = ""
    etag: str = ""
    last_modified: str = ""
    lastmod: str = ""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    headers: dict[str, str]


def walk_web(url: str, options: SourceOptions) -> Iterator[Place]:
    """Every page of a source by its address; one that cannot be fetched is unknown, so that its last version stays.

    A page that the server says is gone (404, 410) or that the sitemap lists no more is left out, as a deleted file is.
    A page that only leaves a feed stays: feeds list what is new.

    Raises:
        SourceError: If the address itself cannot be fetched, or lists nothing: a server that fails removes nothing.
    """
    folder = mirror_folder(url, load_settings().cache) / "web"
    durable.make_folder(folder, 0o700)
    state = folder / _STATE
    known = {name: _Copy(**page) for name, page in json.loads(state.read_bytes()).items()} if state.is_file() else {}
    site = _Site(url, options, folder, known)
    try:
        answer = site.found(url)
        listed, is_feed = _listed(site, url, answer.body, _LISTS)
        pages = {**dict.fromkeys(known, ""), **listed} if is_feed else listed
    except (OSError, HTTPException, ValueError) as error:
        raise SourceError(f"source {url!r} cannot be fetched: {error}; nothing of it was changed") from error
    try:
        yield from site.places(pages or {url: ""}, {} if pages else {url: answer})
    finally:
        kept = {name: asdict(page) for name, page in site.known.items() if name in (pages or {url: ""})}
        durable.write_text(state, json.dumps(kept, ensure_ascii=False) + "\n")
        for copy in set(folder.iterdir()) - {state, *(folder / page["file"] for page in kept.values())}:
            copy.unlink()  # what is gone from the web goes from this machine too


@dataclass
class _Site:
    """The pages of a source, asked for one at a time, with a pause between two."""

    url: str
    options: SourceOptions
    folder: Path
    known: dict[str, _Copy]
    robots: dict[str, Any] = field(default_factory=dict)
    asked_at: float = 0.0
    failures: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def web(self) -> WebOptions:
        """Bounds on what is asked of servers."""
        return self.options.web

    def places(self, pages: dict[str, str], fetched: dict[str, _Answer]) -> Iterator[Place]:
        """The pages in order; those over the bound on their number are unknown."""
        for number, (url, lastmod) in enumerate(sorted(pages.items())):
            path = printable(url)
            if matches(path, self.options.exclude) or (
                self.options.include and not matches(path, self.options.include)
            ):
                continue
            try:
                if number >= self.web.pages:
                    raise _RefusedError(f"over the limit of {self.web.pages:,} pages; raise `web.pages`")
                file = self._file(url, lastmod, fetched.get(url))
            except (OSError, HTTPException, ValueError) as error:
                self.failures += not isinstance(error, _RefusedError)
                yield Place(path, self.folder / "none.html", f"cannot be fetched: {error}", is_unknown=True)
                continue
            if file is not None:
                yield Place(path, file)

    def _file(self, url: str, lastmod: str, answer: _Answer | None) -> Path | None:
        """The copy of a page, fetched where it may have changed; None if it is gone."""
        page = self.known.get(url, _Copy())
        copy = self.folder / page.file
        if not (page.file and copy.is_file()):
            page = _Copy()
        elif lastmod and lastmod == page.lastmod:
            return copy
        conditions = {"If-None-Match": page.etag, "If-Modified-Since": page.last_modified}
        answer = answer or self.get(url, {name: value for name, value in conditions.items() if value})
        if answer.status in _GONE:
            self.known.pop(url, None)
            return None
        if answer.status == HTTPStatus.NOT_MODIFIED and page.file:
            page.lastmod = lastmod
            return copy
        if answer.status != HTTPStatus.OK:
            raise OSError(f"the server answers {answer.status}")
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        suffix = _SUFFIXES.get(kind) or PurePosixPath(urlsplit(url).path).suffix.lower() or ".html"
        page = _Copy(
            blake2b(url.encode(), digest_size=12).hexdigest() + suffix,
            answer.headers.get("etag", ""),
            answer.headers.get("last-modified", ""),
            lastmod,
        )
        (self.folder / page.file).write_bytes(answer.body)
        self.known[url] = page
        return self.folder / page.file

    def found(self, url: str) -> _Answer:
        answer = self.get(url)
        if answer.status != HTTPStatus.OK:
            raise OSError(f"the server answers {answer.status} for {url}")
        return answer

    def get(self, url: str, headers: dict[str, str] | None = None) -> _Answer:
        """What the server answers, after redirects to hosts that are allowed."""
        if self.failures >= _FAILURES:
            raise _RefusedError(f"{_FAILURES} requests failed; the next run asks again")
        if time.monotonic() - self.started > self.web.seconds:
            raise _RefusedError(f"the run took more than {self.web.seconds:,} s; the next one goes on")
        for _ in range(_REDIRECTS):
            rules = self._rules(url)
            if not rules.can_fetch(url, _AGENT):
                raise _RefusedError("robots.txt does not allow it")
            pause = max(self.web.pause, min(rules.crawl_delay(_AGENT) or 0, _SECONDS))
            time.sleep(max(0.0, self.asked_at + pause - time.monotonic()))
            self.asked_at = time.monotonic()
            answer = self._asked(url, headers or {})
            if answer.status not in _MOVED:
                if answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    self.failures = 0
                return answer
            url = urldefrag(urljoin(url, answer.headers.get("location", "")))[0]
        raise OSError(f"more than {_REDIRECTS} redirects")

    def _rules(self, url: str) -> Any:  # noqa: ANN401  protego has no types
        """What robots.txt of a host allows: all without one; nothing while it cannot be fetched (RFC 9309)."""
        from protego import Protego  # noqa: PLC0415  only needed for such sources

        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}"
        if root not in self.robots:
            answer = self._asked(f"{root}/robots.txt", {})
            if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise OSError(f"robots.txt: the server answers {answer.status}")
            text = answer.body.decode("utf-8", "replace") if answer.status == HTTPStatus.OK else ""
            self.robots[root] = Protego.parse(text)
        return self.robots[root]

    def _asked(self, url: str, headers: dict[str, str]) -> _Answer:
        parts = urlsplit(url)
        self._check_host(parts.scheme, parts.hostname or "")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
        connection._create_connection = partial(_connected, allow_private=self.web.private)  # type: ignore[attr-defined]  # noqa: SLF001  the address that is checked is the one that is used
        try:
            target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
            connection.request("GET", target, headers={"User-Agent": _AGENT, "Accept-Encoding": "identity", **headers})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return _Answer(response.status, _body(response, self.options.max_bytes), found)
        finally:
            connection.close()

    def _check_host(self, scheme: str, host: str) -> None:
        allowed = (urlsplit(self.url).hostname or "", *self.web.hosts)
        if scheme not in ("http", "https") or not matches(host, allowed):
            raise _RefusedError(
                f"{host or scheme!r} is not among the hosts {', '.join(allowed)}; add it to `web.hosts`"
            )


def _connected(address: tuple[str, int], timeout: float, *_: object, allow_private: bool) -> socket.socket:
    """A connection to the first address of a host that answers; none to a private one, whatever the name says."""
    fault = OSError(f"{address[0]} has no address")
    for family, kind, protocol, _name, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        own = ip_address(str(place[0]).partition("%")[0])
        own = getattr(own, "ipv4_mapped", None) or own
        if not own.is_global and not allow_private:
            raise _RefusedError(f"{address[0]} lies at the private address {own}; `web.private=true` allows such")
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(timeout)
        try:
            connection.connect(place)
        except OSError as error:
            connection.close()
            fault = error
        else:
            return connection
    raise fault


def _body(response: HTTPResponse, most: int) -> bytes:
    """The bytes of an answer, as long as they are few and come in time."""
    until = time.monotonic() + 10 * _SECONDS
    held = bytearray()
    while block := response.read1(_BLOCK):
        held += block
        if len(held) > most:
            raise OSError(f"more than {most:,} bytes; raise `max_bytes`")
        if time.monotonic() > until:
            raise OSError(f"its answer takes more than {10 * _SECONDS} s")
    if response.length:
        raise OSError(f"its answer ends {response.length:,} bytes early")
    return bytes(held)


def _listed(site: _Site, url: str, body: bytes, levels: int) -> tuple[dict[str, str], bool]:
    """The pages that a sitemap or a feed lists, with when they changed, and whether it is a feed; none of a page."""
    root = _xml(body, site.options.max_bytes)
    kind = "" if root is None else str(root.tag).rpartition("}")[2]
    if kind == "sitemapindex":
        if not levels:
            raise ValueError("sitemaps that list sitemaps are nested too deeply")
        pages: dict[str, str] = {}
        for each in _texts(root, "sitemap", "loc")[: site.web.pages]:
            pages |= _listed(site, each[0], site.found(each[0]).body, levels - 1)[0]
        return pages, False
    if kind not in ("urlset", "rss", "feed", "RDF"):
        return {}, False
    found = _texts(root, "url", "loc", "lastmod") if kind == "urlset" else _links(root)
    pages = {urldefrag(urljoin(url, link))[0]: changed for link, changed in found}
    if not pages:
        raise ValueError(f"the {kind} lists no page")
    return pages, kind != "urlset"


def _xml(body: bytes, most: int) -> Any:  # noqa: ANN401  lxml has no types
    """The root of a list in XML, perhaps packed; None for anything else. No entity is resolved."""
    from lxml import etree  # noqa: PLC0415  only needed for such sources

    if body.startswith(b"\x1f\x8b"):
        with gzip.open(io.BytesIO(body)) as packed:
            body = packed.read(most + 1)
        if len(body) > most:
            raise ValueError(f"more than {most:,} bytes when unpacked; raise `max_bytes`")
    try:
        return etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None


def _texts(root: Any, item: str, name: str, more: str = "") -> list[tuple[str, str]]:  # noqa: ANN401
    pairs = (
        (each.findtext(f"{{*}}{name}"), each.findtext(f"{{*}}{more}") if more else "")
        for each in root.iterfind(f"{{*}}{item}")
    )
    return [(first.strip(), (second or "").strip()) for first, second in pairs if first and first.strip()]


def _links(root: Any) -> list[tuple[str, str]]:  # noqa: ANN401
    """The addresses of the entries of a feed; RSS and Atom write them differently."""
    entries = [*root.iter("{*}item"), *root.iter("{*}entry")]
    links = (
        link for entry in entries for link in entry.iterfind("{*}link") if link.get("rel", "alternate") == "alternate"
    )
    return [(found, "") for link in links if (found := (link.get("href") or link.text or "").strip())]
