"""What the page of `sag serve` reads besides the doors, and its files with a strict policy."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import FastAPI, Query, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from sag_retrieval.api import Release
from sag_retrieval.core.types import Floats, Rows
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.mapped_arrays import take_rows
from sag_retrieval.serve.access import Service, key_of
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
_TIES: Final = 3
"""Topics that one is drawn tied to, and names that say why."""
_KEPT: Final = 32
"""Answers about all statements that are kept: they stay the same for a release and who sees it."""
_SHOWN: Final = ["event_id", "content", "document_id", "title", "start", "end", "date", "said"]
Most = Annotated[int, Query(ge=1, le=500)]


class FiltersAnswer(Bounded):
    """What a search can be restricted by: values by key type, counts of first folders, of statements by month."""

    keys: dict[str, list[str]]
    folders: dict[str, int]
    months: dict[str, int]


class PageRows(Bounded):
    """Statements with their places, topics with their typical statements, or corrections with both statements."""

    rows: list[dict[str, Any]]


def filters(release: Release) -> FiltersAnswer:
    """Key types with their frequent values, folders and dates."""
    index, allowed, events = release.index, release.allowed, _events(release)
    keys = index.rows["keys"].select(["key_type", "value_string", "event_count"])
    keys = keys if allowed is None else take_rows(keys, np.flatnonzero(allowed.keys))
    named = keys.filter(pc.is_valid(keys["value_string"])).sort_by([("event_count", "descending")])
    values = {
        name: named.filter(pc.equal(named["key_type"], name))["value_string"].slice(0, _VALUES).to_pylist()
        for name in named["key_type"].unique().to_pylist()
    }
    documents = events["document_id"].unique().to_pylist()
    folders = Counter(each.partition("/")[0] for each in documents if "/" in each)
    dates = events["date"].filter(pc.greater(pc.utf8_length(pc.fill_null(events["date"], "")), 0))
    counted = pc.value_counts(pc.utf8_slice_codeunits(dates, 0, 7)).to_pylist()
    months = {each["values"]: each["counts"] for each in sorted(counted, key=lambda each: str(each["values"]))}
    first = dict(folders.most_common(_VALUES))
    return FiltersAnswer(release=release.release_id, keys=values, folders=first, months=months)


def timeline(release: Release, period: str, most: int) -> PageRows:
    """The statements whose date is in a year, month or day, or all that have one; the latest first."""
    events = _events(release)
    dates = pc.fill_null(events["date"], "")
    chosen = events.filter(pc.and_(pc.not_equal(dates, ""), pc.starts_with(dates, period)))
    latest = chosen.sort_by([("date", "descending"), ("event_id", "descending")])
    return _first(release, _marked(release, latest.slice(0, most)), len(chosen))


def topics(release: Release, most: int) -> PageRows:
    """The themes of the release, the largest first, with those that share names; made when first asked for."""
    themes, events = release._themes(), release.index.rows["events"].select(_SHOWN)  # noqa: SLF001  those of `ask`
    places = pc.index_in(pa.array(themes.events.event_ids, pa.string()), value_set=events["event_id"].combine_chunks())
    found = sorted(themes.communities.at(0), key=lambda one: (-len(one.members), one.community_id))
    members = [places.take(pa.array(each.members)) for each in found[:most]]
    ties, revised, rows = _ties(release.index, [np.asarray(each) for each in members]), _revised(release), []
    for each, own, tied in zip(found, members, ties, strict=False):
        dates = pc.min_max(events["date"].take(own)).as_py()
        told = {"title": each.title, "size": len(own), "since": dates["min"] or "", "until": dates["max"] or ""}
        typical = _marked(release, events.take(own.slice(0, _TYPICAL)), revised)
        rows.append(told | {"ties": tied, "statements": typical})
    return _first(release, rows, len(found))


def _ties(index: Index, members: list[Rows]) -> list[list[dict[str, Any]]]:
    """Of each topic those before it that share most names, by place, with a weight and the rarest names.

    A name weighs the less the more topics have it, as it tells them apart less.
    """
    links, values = index.arrays.event_keys, index.rows["keys"]["value_string"]
    is_named = np.asarray(pc.is_valid(values))
    own = [np.unique(links.items[links.gather(rows)[1]]) for rows in members]
    keys, places = np.unique(np.concatenate([*own, np.zeros(0, np.int32)]), return_inverse=True)
    has = np.zeros((len(own), len(keys)))
    has[np.repeat(np.arange(len(own)), [len(each) for each in own]), places] = 1
    has *= is_named[keys]
    share = has / np.maximum(has.sum(axis=0), 1)
    weights = (share @ has.T) / np.sqrt(np.maximum(np.outer(has.sum(axis=1), has.sum(axis=1)), 1))
    found = []
    for place in range(len(own)):
        near = [int(each) for each in np.argsort(-weights[place, :place], kind="stable")[:_TIES]]
        tied = [(each, share[place] * has[each]) for each in near if weights[place, each] > 0]
        found.append(
            [
                {
                    "topic": each,
                    "weight": float(weights[place, each]),
                    "keys": values.take(pa.array(keys[_first_of(both)])).to_pylist(),
                }
                for each, both in tied
            ]
        )
    return found


def _first_of(weights: Floats) -> Rows:
    return np.argsort(-weights, kind="stable")[: min(_TIES, int((weights > 0).sum()))].astype(np.int32)


def corrections(release: Release, most: int) -> PageRows:
    """Statements with what revised them, the latest first: `changes` with both texts and places."""
    found, events = release.changes()["revised"], _events(release)
    latest = list(reversed(found))[:most]
    wanted = pa.array([row[f"{side}_event_id"] for row in latest for side in ("earlier", "later")], pa.string())
    rows = events.filter(pc.is_in(events["event_id"], value_set=wanted))
    seen = {row["event_id"]: row for row in _marked(release, rows, {row["earlier_event_id"] for row in found})}
    revised = [row | {side: seen[row[f"{side}_event_id"]] for side in ("earlier", "later")} for row in latest]
    return _first(release, revised, len(found))


def _events(release: Release) -> pa.Table:
    table, allowed = release.index.rows["events"].select(_SHOWN), release.allowed
    return table if allowed is None else take_rows(table, np.flatnonzero(allowed.events))


def _revised(release: Release) -> set[str]:
    """Ids of the statements that something that may be seen revised."""
    return {row["earlier_event_id"] for row in release.changes()["revised"]}


def _marked(release: Release, rows: pa.Table, revised: set[str] | None = None) -> list[dict[str, Any]]:
    """Statements, each with whether it is one of `revised`, or of those of the release."""
    known = _revised(release) if revised is None else revised
    return [row | {"is_revised": row["event_id"] in known} for row in rows.to_pylist()]


def _first(release: Release, rows: list[dict[str, Any]], whole: int) -> PageRows:
    cut = f"{whole - len(rows):,} of {whole:,} left out" if whole > len(rows) else ""
    return PageRows(release=release.release_id, rows=rows, cut=cut)


def add_to(app: FastAPI, service: Service) -> None:
    """Mount the page and the routes that it reads; each answers from the release as the key of the request sees it."""
    kept: dict[tuple[object, ...], bytes] = {}

    def answer(request: Request, ask: Callable[..., Bounded], *asked: str | int, is_heavy: bool = False) -> Response:
        with service.use(key_of(request), is_heavy=is_heavy) as release:
            name = (*release.seen_as, ask.__name__, *asked)
            told = kept.pop(name, b"") or ask(release, *asked).model_dump_json().encode()
            kept[name] = told
            for oldest in list(kept)[: max(0, len(kept) - _KEPT)]:  # a list, as other threads add to it
                kept.pop(oldest, None)
            return Response(told, media_type="application/json")

    @app.get("/v1/filters", response_model=FiltersAnswer, description=filters.__doc__)
    def filters_(request: Request) -> Response:
        return answer(request, filters)

    @app.get("/v1/timeline", response_model=PageRows, description=timeline.__doc__)
    def timeline_(request: Request, period: Annotated[str, Query(max_length=40)] = "", most: Most = 100) -> Response:
        return answer(request, timeline, period, most)

    @app.get("/v1/topics", response_model=PageRows, description=topics.__doc__)
    def topics_(request: Request, most: Most = 40) -> Response:
        return answer(request, topics, most, is_heavy=True)

    @app.get("/v1/corrections", response_model=PageRows, description=corrections.__doc__)
    def corrections_(request: Request, most: Most = 100) -> Response:
        return answer(request, corrections, most)

    app.mount("/", _Files(directory=FOLDER, html=True))


class _Files(StaticFiles):
    """The files of the page: nothing but these files runs in it, and nothing outside is asked."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response
