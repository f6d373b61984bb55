"""MCP: the release as tools and resources of a language model, on standard input and output or over HTTP."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any, Final, TypeVar

import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer, ResourceSecurity
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, ValidationError

from sag_retrieval.api import Release
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.public import __version__
from sag_retrieval.serve import doors
from sag_retrieval.serve.access import Service, key_of

T = TypeVar("T")

_READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_UNKNOWN: Final = (
    "Search and questions over a collection of documents. Use `search` for passages and `ask` for a cited answer; read "
    "sag://release/status for what it holds, by language, date and type of key. Cite document_id "
    "and the characters start–end."
)


def build_server(service: Service) -> MCPServer:
    """The server with its tools and resources; its instructions say what the documents are."""
    server = MCPServer(
        "sag", title="sag: documents", version=__version__, instructions=_instructions(service), log_level="ERROR"
    )
    for name, door in doors.DOORS.items():
        server.add_tool(_tool(service, name, door), annotations=_READS)
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


async def _call(service: Service, context: Context, ask: Callable[[Release], T], **how: bool) -> T:
    """What a call of the release gives, in a thread; errors in the words of the other doors."""

    def run() -> T:
        with service.use(key_of(context.request_context.request), **how) as release:
            return ask(release)

    try:
        return await anyio.to_thread.run_sync(run)
    except ValidationError as error:
        raise ToolError("; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())) from None
    except SagError as error:
        raise ToolError(doors.told_error(error, service.homes)[1]) from None


def _tool(service: Service, name: str, door: doors.Door) -> Callable[..., Any]:
    """A tool whose arguments are the fields of the request: flat ones are what models fill in best."""

    async def tool(*, context: Context, **given: Any) -> BaseModel:  # noqa: ANN401  as the request says
        is_heavy = door.is_heavy or given.get("mode", "fast") != "fast"

        def ask(release: Release) -> BaseModel:
            return door.ask(release, door.request(**given))

        return await _call(service, context, ask, is_heavy=is_heavy, is_search=door.is_search)

    wanted: dict[str, Any] = {"context": Context}
    fields = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=Context)]
    for each, field in sorted(door.request.model_fields.items(), key=lambda one: not one[1].is_required()):
        wanted[each] = Annotated[field.annotation, field]
        usual = Parameter.empty if field.is_required() else field.default
        usual = doors.FOR_MODELS if each == "max_characters" else usual
        fields.append(Parameter(each, Parameter.KEYWORD_ONLY, default=usual, annotation=wanted[each]))
    tool.__name__, tool.__doc__ = name, door.ask.__doc__
    tool.__annotations__ = wanted | {"return": door.answer}
    tool.__signature__ = Signature(fields, return_annotation=door.answer)  # type: ignore[attr-defined]
    return tool


def _add_resources(server: MCPServer, service: Service) -> None:
    any_text = ResourceSecurity(exempt_params=frozenset({"document_id"}))

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

    @server.resource("sag://release/{part}", mime_type="application/json")
    async def the_release(part: str, context: Context) -> str:
        """`status`: counts, languages and key types; `tables`: tables and columns."""
        if part not in {"status", "tables"}:
            raise ResourceNotFoundError(f"the release has no part {part!r}; there are status and tables")
        door = doors.DOORS[part]
        return (await read(context, lambda release: door.ask(release, None))).model_dump_json()

    @server.resource("sag://reports/{period}", mime_type="text/markdown")
    async def a_report(period: str, context: Context) -> str:
        """An overview as Markdown: `all`, or a period such as `2024` or `2019..2021-06`."""
        asked = doors.ReportRequest(period="" if period == "all" else period)
        return (await read(context, lambda release: doors.report(release, asked), is_heavy=True)).markdown
