"""The routes by which people merge and split keys on the page: the mechanism of `sag keys`, for who has the right."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from sag_retrieval.core.errors import SourceError
from sag_retrieval.serve.access import NameDecider, Service
from sag_retrieval.serve.doors import told_error
from sag_retrieval.serve.page import KeyOf

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


def add_names(app: FastAPI, service: Service, key_of: KeyOf) -> None:
    """Add the routes; decisions hold from the next ingest on, and are lines of a file that `sag keys` shows."""
    _add_listing(app, service, key_of)

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


def _add_listing(app: FastAPI, service: Service, key_of: KeyOf) -> None:
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
