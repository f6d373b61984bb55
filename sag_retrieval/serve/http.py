"""The server: REST, the face of OpenAI's interface, MCP and the page, on one port."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final, Literal

from fastapi import Body, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException

from sag_retrieval.core.errors import SagError, SourceError
from sag_retrieval.core.public import __version__
from sag_retrieval.serve import chat, doors, page
from sag_retrieval.serve.access import Guard, NameDecider, Service, error_body, key_of
from sag_retrieval.serve.agents import build_server
from sag_retrieval.serve.chat import AnswerEvent, Coming, answered, sentences
from sag_retrieval.serve.doors import told_error

_Name = Annotated[str, Field(min_length=1, max_length=500)]


class NameDecided(BaseModel):
    """What is decided of two names: one key (`merge`), or never one (`split`)."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"examples": [{"decision": "merge", "name": "NHL", "other": "National Hockey League"}]},
    )

    decision: Literal["merge", "split"]
    name: _Name
    other: _Name


class ListedKeys(BaseModel):
    """Keys with their other names, and whether the asker may decide on them."""

    release: str
    rows: list[dict[str, Any]]
    decides: bool


class ListedDecisions(BaseModel):
    """Every decision, and close names that nobody decided on."""

    decided: list[dict[str, Any]]
    close: list[dict[str, Any]]


def add_names(app: FastAPI, service: Service) -> None:
    """Add the routes; decisions hold from the next ingest on, and are lines of a file that `sag keys` shows."""
    _add_listing(app, service)

    def decider(request: Request) -> NameDecider:
        found = service.decider(key_of(request))
        if found is None:
            raise HTTPException(
                403, "this key does not decide on names; `decides: true` in the file of keys lets it, or use `sag keys`"
            )
        return found

    def told(who: NameDecider, change: Callable[[], None] = lambda: None) -> ListedDecisions:
        try:
            change()
            return ListedDecisions(decided=who.decided(), close=who.close(_CLOSE))
        except SourceError as error:
            raise HTTPException(409, told_error(error, service.homes)[1]) from None

    @app.get("/v1/decisions")
    def decisions(request: Request) -> ListedDecisions:
        """What was decided of names, and what may be worth deciding."""
        return told(decider(request))

    @app.post("/v1/decisions")
    def decide(request: Request, asked: NameDecided) -> ListedDecisions:
        """Make two names one key, or keep them two, from the next ingest on."""
        who = decider(request)
        return told(who, lambda: who.decide("merge" if asked.decision == "merge" else "apart", asked.name, asked.other))

    @app.delete("/v1/decisions/{line}")
    def undo(request: Request, line: int) -> ListedDecisions:
        """Take a decision back."""
        who = decider(request)
        return told(who, lambda: who.undo(line))


def _add_listing(app: FastAPI, service: Service) -> None:
    @app.get("/v1/keys")
    def keys(
        request: Request,
        text: Annotated[str, Query(max_length=500)] = "",
        most: Annotated[int, Query(ge=1, le=200)] = 40,
    ) -> ListedKeys:
        """Keys called so, or whose name has the text, those of most statements first."""
        key = key_of(request)
        with service.use(key) as release:
            rows = release.find_keys(text, most=most).rows
            return ListedKeys(release=release.release_id, rows=rows, decides=service.decider(key) is not None)


_CLOSE = 12
"""Close pairs that are shown."""


_ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    404: {"description": "not in the release, or not for this key"},
    422: {"description": "refused: the message says what, the bound and what to do"},
    429: {"description": "the rate of the key is used up"},
    503: {"description": "no release yet, or too many long questions"},
}


def build_app(service: Service, hosts: Collection[str] = ()) -> Guard:
    """The application behind its guard; `hosts` are the names that it answers for, empty: any."""
    agents = build_server(service)
    of_agents = agents.streamable_http_app(stateless_http=True, json_response=True, host="")

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        async with agents.session_manager.run():
            yield
        service.current.close()

    app = FastAPI(title="sag", version=__version__, docs_url=None, redoc_url=None, lifespan=running)
    _add_errors(app, service)
    _add_health(app, service)
    _add_doors(app, service)
    _add_asking(app, service)
    add_names(app, service)
    app.include_router(chat.router(service))
    app.router.routes.extend(of_agents.routes)
    page.add_to(app, service)
    return Guard(app, keys=service.keys, hosts=hosts, open_paths=page.OPEN_PATHS)


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


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/health", tags=["server"])
    async def health() -> dict[str, str]:
        """Whether the server runs."""
        return {"status": "ok"}

    @app.get("/ready", tags=["server"], responses={503: _ERRORS[503]})
    def ready() -> dict[str, str]:
        """Whether it has a release to answer from."""
        with service.use():
            return {"status": "ready"}


def _add_doors(app: FastAPI, service: Service) -> None:
    """A route for each door: what is read by GET, what is asked by POST."""

    async def answer(request: Request, name: str, asked: BaseModel) -> Response:
        door = doors.DOORS[name]

        def told() -> str:
            with service.use(key_of(request), is_heavy=door.is_heavy, is_search=door.is_search) as release:
                return door.ask(release, asked).model_dump_json()

        text = await asyncio.get_running_loop().run_in_executor(service.threads, told)
        return Response(text, media_type="application/json")

    for name, door in doors.DOORS.items():
        if name not in {"ask", "document"}:
            _add_route(app, name, door, answer)

    @app.get("/v1/documents/{document_id:path}", response_model=doors.DocumentAnswer, responses=_ERRORS)
    async def documents(request: Request, document_id: str, span: Annotated[doors.DocumentSpan, Query()]) -> Response:
        """A document, or its text around a span."""
        return await answer(request, "document", doors.DocumentRequest(document_id=document_id, **span.model_dump()))


def _add_route(
    app: FastAPI, name: str, door: doors.Door, answer: Callable[[Request, str, BaseModel], Awaitable[Response]]
) -> None:
    is_read = name in {"status", "changes", "tables"}

    async def route(request: Request, asked: BaseModel) -> Response:
        return await answer(request, name, asked)

    route.__annotations__["asked"] = Annotated[door.request, Query() if is_read else Body()]
    told: dict[str, Any] = {"response_model": door.answer, "responses": _ERRORS, "description": door.ask.__doc__}
    app.add_api_route(f"/v1/{name}", route, methods=["GET" if is_read else "POST"], name=name, **told)


def _add_asking(app: FastAPI, service: Service) -> None:
    """The one route that also streams."""

    @app.post("/v1/ask", response_model=doors.AskAnswer, responses=_ERRORS)
    async def ask(
        request: Request,
        asked: doors.AskRequest,
        stream: Annotated[  # noqa: FBT002  as in the address
            bool, Query(description="events: step, sentence, citation, done or error")
        ] = False,
    ) -> Response:
        """An answer with citations; with `?stream=true` as server-sent events."""
        coming = answered(service, key_of(request), asked)
        event = await anext(coming)  # a wrong request has a status of its own
        if stream:
            return StreamingResponse(_events(service, event, coming), media_type="text/event-stream")
        while not isinstance(event, doors.AskAnswer):
            event = await anext(coming)
        return Response(event.model_dump_json(), media_type="application/json")


async def _events(service: Service, first: AnswerEvent, coming: Coming) -> AsyncIterator[str]:
    """Server-sent events of a question: `step`, then `sentence`, `citation` and `done`; `error` where it ends so."""
    try:
        event = first
        while not isinstance(event, doors.AskAnswer):
            yield _event("step", {"kind": event.kind, "text": str(event)})
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
