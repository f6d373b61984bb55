"""What the page of `sag serve` reads besides the doors, and its files with a strict policy."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pyarrow.compute as pc
from fastapi import FastAPI, Query, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from sag_retrieval.api import Release
from sag_retrieval.release.mapped_arrays import take_rows
from sag_retrieval.serve.access import AccessKey, Service
from sag_retrieval.serve.doors import Bounded

FOLDER: Final = Path(__file__).parent / "static"
OPEN_PATHS: Final = frozenset({"/", *(f"/{each.name}" for each in FOLDER.iterdir())})
"""Paths without a key: the page asks for one."""
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_VALUES: Final = 40
"""Values of a key type, and first folders, that are offered; any other can be typed or asked for."""
_TYPICAL: Final = 8
_SHOWN: Final = ["event_id", "content", "document_id", "title", "start", "end", "date", "said"]
Most = Annotated[int, Query(ge=1, le=500)]
KeyOf = Callable[[Request], AccessKey | None]


class FiltersAnswer(Bounded):
    """What a search can be restricted by: values by key type, counts of first folders, of statements by month."""

    keys: dict[str, list[str]]
    folders: dict[str, int]
    months: dict[str, int]


class ListedAnswer(Bounded):
    """Statements with their places, topics with their typical statements, or corrections with both statements."""

    rows: list[dict[str, Any]]


def filters(release: Release) -> FiltersAnswer:
    """Key types with their frequent values, folders and dates."""
    index, allowed, events = release.index, release.allowed, _events(release)
    keys = index.rows["keys"].select(["key_type", "value_string", "event_count"])
    keys = keys if allowed is None else take_rows(keys, np.flatnonzero(allowed.keys))
    named = keys.filter(pc.is_valid(keys["value_string"])).sort_by([("event_count", "descending")])
    values: dict[str, list[str]] = {}
    for row in named.to_pylist():
        if len(found := values.setdefault(row["key_type"], [])) < _VALUES:
            found.append(row["value_string"])
    documents = {row["document_id"] for row in events}
    folders = Counter(each.partition("/")[0] for each in documents if "/" in each)
    months = Counter(row["date"][:7] for row in events if row["date"])
    first = dict(folders.most_common(_VALUES))
    return FiltersAnswer(release=release.release_id, keys=values, folders=first, months=dict(sorted(months.items())))


def timeline(release: Release, period: str, most: int) -> ListedAnswer:
    """The statements whose date is in a year, month or day, or all that have one; the latest first."""
    chosen = [row for row in _marked(release) if row["date"] and row["date"].startswith(period)]
    return _first(release, sorted(chosen, key=lambda row: (row["date"], row["event_id"]), reverse=True), most)


def topics(release: Release, most: int) -> ListedAnswer:
    """The themes of the release, the largest first; made the first time that anyone asks for them."""
    themes, seen = release._themes(), {row["event_id"]: row for row in _marked(release)}  # noqa: SLF001  those of `ask`
    found = []
    for each in sorted(themes.communities.at(0), key=lambda one: (-len(one.members), one.community_id)):
        rows = [seen[themes.events.event_ids[member]] for member in each.members.tolist()]
        dates = sorted(row["date"] for row in rows if row["date"]) or [""]
        told = {"title": each.title, "size": len(rows), "since": dates[0], "until": dates[-1]}
        found.append(told | {"statements": rows[:_TYPICAL]})
    return _first(release, found, most)


def corrections(release: Release, most: int) -> ListedAnswer:
    """Statements with what revised them, the latest first: `changes` with both texts and places."""
    found = release.changes()["revised"]
    seen = {row["event_id"]: row for row in _marked(release, found)}
    revised = [row | {side: seen[row[f"{side}_event_id"]] for side in ("earlier", "later")} for row in reversed(found)]
    return _first(release, revised, most)


def _events(release: Release) -> list[dict[str, Any]]:
    """The statements that may be seen."""
    table, allowed = release.index.rows["events"].select(_SHOWN), release.allowed
    seen = table if allowed is None else take_rows(table, np.flatnonzero(allowed.events))
    return list(seen.to_pylist())


def _marked(release: Release, revised: Sequence[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """The same, each with whether something that may be seen revised it; `revised`: of `changes`, where it is known."""
    found = release.changes()["revised"] if revised is None else revised
    earlier = {row["earlier_event_id"] for row in found}
    return [row | {"is_revised": row["event_id"] in earlier} for row in _events(release)]


def _first(release: Release, rows: Sequence[dict[str, Any]], most: int) -> ListedAnswer:
    cut = f"{len(rows) - most:,} of {len(rows):,} left out" if len(rows) > most else ""
    return ListedAnswer(release=release.release_id, rows=list(rows[:most]), cut=cut)


def add_to(app: FastAPI, service: Service, key_of: KeyOf) -> None:
    """Mount the page and the routes that it reads; each answers from the release as the key of the request sees it."""

    def answer(request: Request, ask: Callable[[Release], Bounded], *, is_heavy: bool = False) -> Response:
        with service.use(key_of(request), is_heavy=is_heavy) as release:
            return Response(ask(release).model_dump_json(), media_type="application/json")

    @app.get("/v1/filters", response_model=FiltersAnswer, description=filters.__doc__)
    def filters_(request: Request) -> Response:
        return answer(request, filters)

    @app.get("/v1/timeline", response_model=ListedAnswer, description=timeline.__doc__)
    def timeline_(request: Request, period: str = "", most: Most = 100) -> Response:
        return answer(request, lambda release: timeline(release, period, most))

    @app.get("/v1/topics", response_model=ListedAnswer, description=topics.__doc__)
    def topics_(request: Request, most: Most = 40) -> Response:
        return answer(request, lambda release: topics(release, most), is_heavy=True)

    @app.get("/v1/corrections", response_model=ListedAnswer, description=corrections.__doc__)
    def corrections_(request: Request, most: Most = 100) -> Response:
        return answer(request, lambda release: corrections(release, most))

    app.mount("/", _Files(directory=FOLDER, html=True))


class _Files(StaticFiles):
    """The files of the page: nothing but these files runs in it, and nothing outside is asked."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response
