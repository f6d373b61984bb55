"""The server: REST, the face of OpenAI's interface, MCP, and the place of the page, on one port."""

import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from fastapi import Body, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from sag_retrieval.api import Release
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.public import __version__
from sag_retrieval.serve import chat, doors
from sag_retrieval.serve.access import Key, Service
from sag_retrieval.serve.agents import build_server
from sag_retrieval.serve.guard import Guard, error_body
from sag_retrieval.serve.streaming import Coming, Event, answered, sentences, told_step

AnswerT = TypeVar("AnswerT", bound=BaseModel)
_PAGE: Final = Path(__file__).parent / "static"
"""Files of the page, served below `/` where there are any."""
_ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    404: {"description": "not in the release, or not for this key"},
    422: {"description": "refused: the message says what, the bound and what to do"},
    429: {"description": "the rate of the key is used up"},
    503: {"description": "no release yet, or too many long questions"},
}
_EXAMPLES: Final = {
    "plain": {"value": {"query": "Who made the O-ring?", "top_k": 5}},
    "restricted": {"value": {"query": "price", "where": {"language": "en", "key.money__gte": 1_000_000}}},
}
_ASKED: Final = {
    "plain": {"value": {"query": "Which company made the part that caused the sensors to leak?"}},
    "conversation": {
        "value": {
            "messages": [
                {"role": "user", "content": "Who made the O-ring of the Kestrel 7?"},
                {"role": "assistant", "content": "Marlow Seals."},
                {"role": "user", "content": "Where is its factory?"},
            ],
            "mode": "normal",
        }
    },
}
_SELECT: Final = {"plain": {"value": {"query": "SELECT language, count(*) AS n FROM documents GROUP BY language"}}}
_OVERVIEW: Final = {"plain": {"value": {"title": "Two years", "period": "2022..2023"}}}


def build_app(service: Service, hosts: Collection[str] = ()) -> Guard:
    """The application behind its guard.

    Args:
        service: The release and who may ask.
        hosts: Names that it answers for; empty: any.

    """
    agents = build_server(service)
    of_agents = agents.streamable_http_app(stateless_http=True, json_response=True, host="")

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        async with agents.session_manager.run():
            yield
        service.current.close()

    app = FastAPI(title="sag", version=__version__, docs_url=None, redoc_url=None, lifespan=running)
    _add_errors(app, service)
    _add_reading(app, service)
    _add_asking(app, service)
    app.include_router(chat.router(service))
    app.router.routes.extend(of_agents.routes)
    if _PAGE.is_dir():
        app.mount("/", StaticFiles(directory=_PAGE, html=True))
    return Guard(app, keys=service.keys, hosts=hosts)


def key_of(request: Request) -> Key | None:
    """The key that the guard found."""
    found = request.scope.get("state", {}).get("sag_key")
    return found if isinstance(found, Key) else None


def _add_errors(app: FastAPI, service: Service) -> None:
    """Errors in one form, without what was sent and without a trace."""

    @app.exception_handler(SagError)
    async def of_sag(_: Request, error: SagError) -> Response:
        status, text = doors.told_error(error, service.homes)
        waits = {"Retry-After": "5"} if status == 503 else {}  # noqa: PLR2004  not yet, or busy
        return JSONResponse(error_body(status, text), status, waits)

    @app.exception_handler(RequestValidationError)
    @app.exception_handler(ValidationError)
    async def of_form(_: Request, error: RequestValidationError | ValidationError) -> Response:
        wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()][:5]
        text = "; ".join(wrong).encode("utf-8", "backslashreplace").decode()[:1_000]
        return JSONResponse(error_body(422, text), 422)

    @app.exception_handler(HTTPException)
    async def of_http(_: Request, error: HTTPException) -> Response:
        return JSONResponse(error_body(error.status_code, str(error.detail)), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def of_any(_: Request, error: Exception) -> Response:
        status, text = doors.told_error(error)
        return JSONResponse(error_body(status, text), status)


def _answering(service: Service) -> Callable[..., Response]:
    def answer(request: Request, ask: Callable[[Release], BaseModel], *, is_heavy: bool = False) -> Response:
        with service.use(key_of(request), is_heavy=is_heavy) as release:
            return Response(ask(release).model_dump_json(), media_type="application/json")

    return answer


def _add_reading(app: FastAPI, service: Service) -> None:
    """What is read: health, status, documents, changes."""
    answer = _answering(service)

    @app.get("/health", tags=["server"])
    async def health() -> dict[str, str]:
        """Whether the server runs."""
        return {"status": "ok"}

    @app.get("/ready", tags=["server"], responses={503: _ERRORS[503]})
    def ready() -> dict[str, str]:
        """Whether it has a release to answer from."""
        with service.use():
            return {"status": "ready"}

    @app.get("/v1/status", response_model=doors.StatusAnswer, responses=_ERRORS)
    def status(request: Request) -> Response:
        """What the release holds: counts, languages, types of keys."""
        return answer(request, doors.status)

    @app.get("/v1/documents/{document_id:path}", response_model=doors.DocumentAnswer, responses=_ERRORS)
    def documents(
        request: Request,
        document_id: str,
        start: int = 0,
        end: int | None = None,
        around: int = 1_000,
        max_characters: int = doors.MOST_CHARACTERS,
    ) -> Response:
        """A document, or its text around the characters `start` to before `end`."""
        asked = doors.DocumentRequest(
            document_id=document_id, start=start, end=end, around=around, max_characters=max_characters
        )
        return answer(request, lambda release: doors.document(release, asked))

    @app.get("/v1/changes", response_model=doors.ChangesAnswer, responses=_ERRORS)
    def changes(
        request: Request,
        since: Annotated[str | None, Query(description="a day, month or year; or the id of another release")] = None,
        most: int = 100,
    ) -> Response:
        """Statements that were revised; with `since` also new and withdrawn ones."""
        asked = doors.ChangesRequest(since=since, most=most)
        return answer(request, lambda release: doors.changes(release, asked))

    @app.get("/v1/tables", response_model=doors.TablesAnswer, responses=_ERRORS)
    def tables(request: Request) -> Response:
        """The tables and columns that `sql` reads."""
        return answer(request, doors.tables)


def _add_asking(app: FastAPI, service: Service) -> None:
    """What is asked: search, explain, ask, sql, report."""
    answer = _answering(service)

    @app.post("/v1/search", response_model=doors.SearchAnswer, responses=_ERRORS)
    def search(request: Request, asked: Annotated[doors.SearchRequest, Body(openapi_examples=_EXAMPLES)]) -> Response:
        """Passages for a query, best first."""
        return answer(request, lambda release: doors.search(release, asked))

    @app.post("/v1/explain", response_model=doors.ExplainAnswer, responses=_ERRORS)
    def explain(request: Request, asked: Annotated[doors.SearchRequest, Body(openapi_examples=_EXAMPLES)]) -> Response:
        """How each passage was found: from which key, over which statement."""
        return answer(request, lambda release: doors.explain(release, asked))

    @app.post("/v1/ask", response_model=doors.AskAnswer, responses=_ERRORS)
    async def ask(
        request: Request,
        asked: Annotated[doors.AskRequest, Body(openapi_examples=_ASKED)],
        stream: Annotated[  # noqa: FBT002  as in the address
            bool, Query(description="events: step, sentence, citation, done or error")
        ] = False,
    ) -> Response:
        """An answer with citations; with `?stream=true` as server-sent events."""
        coming = answered(service, key_of(request), asked)
        first = await anext(coming)  # what is wrong with the request is told by its status
        if stream:
            return StreamingResponse(_events(service, first, coming), media_type="text/event-stream")
        last = first
        async for event in coming:
            last = event
        assert isinstance(last, doors.AskAnswer)
        return Response(last.model_dump_json(), media_type="application/json")

    @app.post("/v1/sql", response_model=doors.SqlAnswer, responses=_ERRORS)
    def sql(request: Request, asked: Annotated[doors.SqlRequest, Body(openapi_examples=_SELECT)]) -> Response:
        """Rows of one read-only SELECT."""
        return answer(request, lambda release: doors.sql(release, asked))

    @app.post("/v1/report", response_model=doors.ReportAnswer, responses=_ERRORS)
    def report(request: Request, asked: Annotated[doors.ReportRequest, Body(openapi_examples=_OVERVIEW)]) -> Response:
        """An overview as Markdown."""
        return answer(request, lambda release: doors.report(release, asked), is_heavy=True)


async def _events(service: Service, first: Event, coming: Coming) -> AsyncIterator[str]:
    """Server-sent events of a question: `step`, then `sentence`, `citation` and `done`; `error` where it ends so."""
    try:
        event = first
        while not isinstance(event, doors.AskAnswer):
            yield _event("step", told_step(event))
            event = await anext(coming)
        for text, markers in sentences(event):
            yield _event("sentence", {"text": text, "citations": markers})
        for citation in event.citations:
            yield _event("citation", citation.model_dump())
        yield _event("done", event.model_dump())
    except SagError as error:
        status, text = doors.told_error(error, service.homes)
        yield _event("error", error_body(status, text)["error"])
    finally:
        await coming.aclose()


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
