"""MCP: the release as tools and resources of a language model, on standard input and output or over HTTP."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final, TypeVar

import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer, ResourceSecurity
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from sag_retrieval.api import Release
from sag_retrieval.ask.options import Mode
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.public import __version__
from sag_retrieval.serve import doors
from sag_retrieval.serve.access import Key, Service

T = TypeVar("T")

_READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_UNKNOWN: Final = (
    "Search and questions over a collection of documents. Use `search` for passages and `ask` for a cited answer; read "
    "sag://release/status for what it holds, by language, date and type of key. Cite document_id "
    "and the characters start–end."
)
Query = Annotated[str, Field(description="a question or words, in the language of the documents or of the user")]
Size = Annotated[int, Field(ge=100, le=doors.MOST_CHARACTERS, description="most characters of texts in the answer")]


def build_server(service: Service) -> MCPServer:
    """The server with its tools and resources; its instructions say what the documents are."""
    server = MCPServer(
        "sag", title="sag: documents", version=__version__, instructions=_instructions(service), log_level="ERROR"
    )
    _add_finding(server, service)
    _add_reading(server, service)
    _add_counting(server, service)
    _add_resources(server, service)
    return server


def _instructions(service: Service) -> str:
    """What the corpus is about; nothing of it where some keys see only a part."""
    if service.keys is not None:
        return _UNKNOWN
    try:
        with service.use() as release:
            return doors.described(release)
    except SagError:
        return _UNKNOWN


async def _call(service: Service, context: Context, ask: Callable[[Release], T], *, is_heavy: bool = False) -> T:
    """What a door answers, in a thread; errors in the words of the doors."""

    def run() -> T:
        with service.use(_key_of(context), is_heavy=is_heavy) as release:
            return ask(release)

    try:
        return await anyio.to_thread.run_sync(run)
    except ValidationError as error:
        raise ToolError("; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())) from None
    except SagError as error:
        raise ToolError(doors.told_error(error, service.homes)[1]) from None


def _key_of(context: Context) -> Key | None:
    """The key that came with the request over HTTP; None on standard input."""
    request = context.request_context.request
    found = request.scope.get("state", {}).get("sag_key") if request is not None else None
    return found if isinstance(found, Key) else None


def _add_finding(server: MCPServer, service: Service) -> None:
    @server.tool(annotations=_READS)
    async def search(  # noqa: PLR0913  flat arguments are what models fill in best
        *,
        context: Context,
        query: Query,
        top_k: Annotated[int, Field(ge=1, le=doors.MOST_HITS)] = 8,
        keys: Annotated[list[str] | None, Field(description="names that the answer is about, if known")] = None,
        where: doors.Where = None,
        sql: doors.Sql = None,
        as_of: str | None = None,
        method: Annotated[str, Field(description="sag (default), bm25, dense, hybrid, bridge, think-on-graph")] = "sag",
        max_characters: Size = doors.FOR_MODELS,
    ) -> doors.SearchAnswer:
        """Find the passages that answer a query, best first, each with its document, characters, statements and keys.

        Documents are joined over the names and values that they share, so that a question whose answer lies in several
        documents needs one search. `where` and `sql` restrict exactly, before ranking. `fits` false: nothing clearly
        fits. `revised_by` names later statements that correct or replace a passage: prefer those.
        """
        asked = {"query": query, "top_k": top_k, "keys": keys or [], "method": method, "max_characters": max_characters}
        restricted = {"where": where, "sql": sql, "as_of": as_of}
        return await _call(
            service, context, lambda release: doors.search(release, doors.SearchRequest(**asked, **restricted))
        )

    @server.tool(annotations=_READS)
    async def ask(  # noqa: PLR0913
        *,
        context: Context,
        query: Query,
        mode: Annotated[
            Mode, Field(description="fast quotes; normal and deep ask the server's model; global: about all documents")
        ] = "fast",
        messages: Annotated[list[doors.Message] | None, Field(description="earlier turns, oldest first")] = None,
        where: doors.Where = None,
        sql: doors.Sql = None,
        as_of: str | None = None,
    ) -> doors.AskAnswer:
        """Answer a question with citations: `[1]` in the answer points to a document and its characters.

        `is_found` false: the documents do not clearly say it, and the closest passages are cited.
        """
        given = {"query": query, "mode": mode, "messages": messages, "where": where, "sql": sql, "as_of": as_of}
        return await _call(
            service,
            context,
            lambda release: doors.ask(release, doors.AskRequest(**given)),
            is_heavy=mode != "fast",
        )

    @server.tool(annotations=_READS)
    async def explain(
        context: Context,
        query: Query,
        top_k: Annotated[int, Field(ge=1, le=50)] = 5,
        where: doors.Where = None,
        sql: doors.Sql = None,
    ) -> doors.ExplainAnswer:
        """Say how each passage for a query was found: from which key, over which statement, by which bridge."""
        asked = {"query": query, "top_k": top_k, "where": where, "sql": sql}
        return await _call(service, context, lambda release: doors.explain(release, doors.SearchRequest(**asked)))


def _add_reading(server: MCPServer, service: Service) -> None:
    @server.tool(annotations=_READS)
    async def document(
        context: Context,
        document_id: str,
        start: Annotated[int, Field(ge=0, description="first character, as in a hit or citation")] = 0,
        end: Annotated[int | None, Field(description="the character after the last")] = None,
        around: Annotated[int, Field(ge=0, description="characters shown before and after")] = 1_000,
        max_characters: Size = doors.FOR_MODELS,
    ) -> doors.DocumentAnswer:
        """Read a document, or its text around the characters of a hit or citation."""
        given = {"start": start, "end": end, "around": around, "max_characters": max_characters}
        asked = partial(doors.DocumentRequest, document_id=document_id, **given)
        return await _call(service, context, lambda release: doors.document(release, asked()))

    @server.tool(annotations=_READS)
    async def changes(
        context: Context,
        since: Annotated[str | None, Field(description="a day, month or year; or the id of another release")] = None,
        most: Annotated[int, Field(ge=1, le=doors.MOST_ROWS)] = 50,
    ) -> doors.ChangesAnswer:
        """List statements that later ones corrected or replaced; with `since` also new and withdrawn ones."""
        return await _call(
            service, context, lambda release: doors.changes(release, doors.ChangesRequest(since=since, most=most))
        )

    @server.tool(annotations=_READS)
    async def report(
        context: Context,
        title: str = "",
        period: Annotated[str, Field(description="2024, 2024-03, 2019..2021-06, `last 7 days`, `this quarter`")] = "",
        where: doors.Where = None,
        sql: doors.Sql = None,
        max_characters: Size = doors.FOR_MODELS,
    ) -> doors.ReportAnswer:
        """Write an overview of the documents, or of those that a restriction leaves: topics, each statement cited."""
        asked = {"title": title, "period": period, "where": where, "sql": sql, "max_characters": max_characters}
        return await _call(
            service, context, lambda release: doors.report(release, doors.ReportRequest(**asked)), is_heavy=True
        )


def _add_counting(server: MCPServer, service: Service) -> None:
    @server.tool(annotations=_READS)
    async def tables(context: Context) -> doors.TablesAnswer:
        """List the tables and columns that `sql` reads."""
        return await _call(service, context, doors.tables)

    @server.tool(annotations=_READS)
    async def sql(
        context: Context,
        query: Annotated[str, Field(description="one SELECT over the tables that `tables` lists, in DuckDB's dialect")],
        most: Annotated[int, Field(ge=1, le=doors.MOST_ROWS)] = 100,
        max_characters: Size = doors.FOR_MODELS,
    ) -> doors.SqlAnswer:
        """Count, list or join by one read-only SELECT: how many, since when, which of all."""
        asked = {"query": query, "most": most, "max_characters": max_characters}
        return await _call(service, context, lambda release: doors.sql(release, doors.SqlRequest(**asked)))


def _add_resources(server: MCPServer, service: Service) -> None:
    as_json, any_text = "application/json", ResourceSecurity(exempt_params=frozenset({"document_id"}))

    async def read(context: Context, ask: Callable[[Release], T], *, is_heavy: bool = False) -> T:
        try:
            return await _call(service, context, ask, is_heavy=is_heavy)
        except ToolError as error:
            raise ResourceNotFoundError(str(error)) from None

    @server.resource("sag://documents/{+document_id}", mime_type="text/plain", security=any_text)
    async def a_document(document_id: str, context: Context) -> str:
        """The text of a document."""
        asked = doors.DocumentRequest(document_id=document_id)
        return (await read(context, lambda release: doors.document(release, asked))).text

    @server.resource("sag://release/{part}", mime_type=as_json)
    async def the_release(part: str, context: Context) -> str:
        """`status`: counts, languages and key types; `tables`: tables and columns."""
        known: dict[str, Callable[[Release], BaseModel]] = {"status": doors.status, "tables": doors.tables}
        if part not in known:
            raise ResourceNotFoundError(f"the release has no part {part!r}; there are {', '.join(known)}")
        return (await read(context, known[part])).model_dump_json()

    @server.resource("sag://reports/{period}", mime_type="text/markdown")
    async def a_report(period: str, context: Context) -> str:
        """An overview as Markdown: `all`, or a period such as `2024` or `2019..2021-06`."""
        asked = doors.ReportRequest(period="" if period == "all" else period)
        return (await read(context, lambda release: doors.report(release, asked), is_heavy=True)).markdown
