"""What every door does: a typed request, one call of `Release`, and a typed answer of bounded size."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict  # that of typing says too little for pydantic before 3.12

from sag_retrieval.api import Release
from sag_retrieval.ask.options import Mode
from sag_retrieval.ask.session import Progress
from sag_retrieval.core.errors import QueryError, SagError, SettingsError, shown
from sag_retrieval.search.result import Hit, SearchResult

MOST_CHARACTERS: Final = 200_000
"""Characters of texts in one answer; a language model that reads them asks for fewer."""
FOR_MODELS: Final = 20_000
"""Characters of texts in one answer for a language model: some 5,000 tokens."""
MOST_HITS: Final = 200
MOST_ROWS: Final = 1_000
_MOST_ANSWER_ROWS: Final = 100
_LONGEST_ID: Final = 4_000
_LONGEST_CELL: Final = 4_000
"""Characters of a value of a table that are shown; `document` shows a whole text."""

T = TypeVar("T")


class _Record(BaseModel):
    """A part of an answer; read from a record of the library by the names of its fields."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


def _asked_like(*examples: dict[str, Any]) -> ConfigDict:
    """A request with examples; an unknown field is an error, so that a misspelt restriction is not left out."""
    return ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": list(examples)})


class _Request(BaseModel):
    model_config = _asked_like()


WhereField = Annotated[
    dict[str, Any] | None,
    Field(
        description='conditions by field, all of which must hold: {"language": "en", "key.person": "Ada", '
        '"key.money__gte": 1000000, "date__gte": "2024-05", "metadata.source": "mail"}'
    ),
]
SqlField = Annotated[
    str | None,
    Field(description="one read-only SELECT of event_id, chunk_id or document_id, or a condition over events"),
]
Characters = Annotated[int, Field(ge=100, le=MOST_CHARACTERS, description="most characters of texts in the answer")]


class Restricted(_Request):
    """What restricts what may be found, before ranking."""

    where: WhereField = None
    sql: SqlField = None
    as_of: Annotated[str | None, Field(description="only what had been said by this day, month or year")] = None

    def restriction(self) -> dict[str, Any]:
        """The arguments of `Release`."""
        return {"where": self.where, "sql": self.sql, "as_of": self.as_of}


class SearchRequest(Restricted):
    """A search."""

    model_config = _asked_like(
        {"query": "Who supplies the sensors?", "top_k": 5},
        {"query": "price", "where": {"language": "en", "key.money__gte": 1_000_000}},
    )

    query: str
    keys: Annotated[list[str], Field(description="names that the answer is about")] = []
    top_k: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10
    method: str = "sag"
    options: Annotated[dict[str, Any] | None, Field(description="options of the method: names and values")] = None
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_characters: Characters = MOST_CHARACTERS


class ChatTurn(BaseModel):
    """A turn of a conversation; the parts of one that has several are joined, and other fields are left out."""

    role: str = "user"
    content: str | list[dict[str, Any]] | None = ""

    @property
    def text(self) -> str:
        """What is said."""
        if isinstance(self.content, list):
            return "\n".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")
        return self.content or ""


class AskRequest(Restricted):
    """A question, or a conversation whose last turn is one."""

    model_config = _asked_like(
        {"query": "Who supplies the sensors of the buoy?"},
        {
            "messages": [
                {"role": "user", "content": "Who supplies the sensors?"},
                {"role": "assistant", "content": "Lumen Optics."},
                {"role": "user", "content": "Where is its factory?"},
            ]
        },
    )

    query: str | None = None
    messages: list[ChatTurn] | None = None
    mode: Mode = "fast"
    keys: list[str] = []
    method: str = "sag"
    options: Annotated[dict[str, Any] | None, Field(description="options of asking: names and values")] = None

    @property
    def is_heavy(self) -> bool:
        """Whether it may ask a language model, or make themes of all documents."""
        return self.mode != "fast"


class NothingAsked(_Request):
    """A question without a choice."""


class DocumentSpan(_Request):
    """Characters `start` to before `end`, and how many around them."""

    start: Annotated[int, Field(ge=0)] = 0
    end: Annotated[int | None, Field(ge=0)] = None
    around: Annotated[int, Field(ge=0, le=MOST_CHARACTERS, description="characters shown before and after")] = 1_000
    max_characters: Characters = MOST_CHARACTERS


class DocumentRequest(DocumentSpan):
    """A document, or its text around a span."""

    document_id: str


class ChangesRequest(_Request):
    """What was revised, is new or was withdrawn."""

    since: Annotated[str | None, Field(description="a day, month or year; or the id of another release")] = None
    most: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100
    max_characters: Characters = MOST_CHARACTERS


class SqlRequest(_Request):
    """One SELECT."""

    model_config = _asked_like({"query": "SELECT language, count(*) AS n FROM documents GROUP BY language"})

    query: str
    most: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 200
    max_characters: Characters = MOST_CHARACTERS


class ReportRequest(Restricted):
    """What a report is about."""

    model_config = _asked_like({"title": "Two years", "period": "2022..2023"})

    title: str = ""
    period: Annotated[str, Field(description="2024, 2024-03, 2019..2021-06, `last 7 days`, `this quarter`")] = ""
    language: Literal["auto", "zh", "en"] = "auto"
    max_characters: Characters = MOST_CHARACTERS


class FoundKey(TypedDict):
    """A key: a typed value that statements share."""

    type: str
    value: str | float | bool | None
    unit: str | None


class FoundEvent(TypedDict):
    """A statement of a passage, and when it was said."""

    content: str
    said: str | None


class FoundRevision(_Record):
    """What another statement says instead of one of a passage, or beside it: its place and words."""

    kind: str
    own_value: str
    other_value: str
    quote: str
    document_id: str
    title: str
    said: str
    other_start: int
    other_end: int


class ServedPassage(TypedDict):
    """A passage: `text` is characters `start` to before `end` of the document."""

    rank: int
    score: Annotated[float, Field(description="how likely it answers, from 0 to 1")]
    document_id: str
    chunk_id: str
    title: str
    place: Annotated[str, Field(description="page, slide or sheet; empty where the file has none")]
    start: int
    end: int
    text: str
    events: list[FoundEvent]
    keys: list[FoundKey]
    revised_by: Annotated[list[FoundRevision], Field(description="later statements that stand in its place")]


class Bounded(_Record):
    """An answer that says what was left out of it."""

    release: str
    cut: Annotated[str, Field(description="what was left out for its size; empty: nothing")] = ""


class SearchAnswer(Bounded):
    """Passages, best first; `fits` is whether the best one is likely enough for an answer."""

    query: str
    method: str
    fits: bool
    hits: list[ServedPassage]


class CitedPlace(_Record):
    """What `[marker]` in an answer points to."""

    marker: int
    document_id: str
    title: str
    place: str
    start: int
    end: int
    quote: str


class AskAnswer(Bounded):
    """An answer with citations; where it is not found, the closest passages are cited."""

    question: Annotated[str, Field(description="the question as it was asked, without the turns before it")]
    answer: str
    is_found: bool
    mode: str
    citations: list[CitedPlace]
    notes: list[str]
    sql: Annotated[str, Field(description="the SELECT that made the answer, for `sql`; empty where none did")] = ""
    rows: Annotated[list[dict[str, Any]], Field(description="its first rows, at most 100")] = []
    seconds: float
    calls: int
    input_tokens: int
    output_tokens: int


class DocumentAnswer(Bounded):
    """Characters `start` to before `end` of a document of `characters`."""

    document_id: str
    title: str
    source: str
    language: str
    metadata: dict[str, Any]
    summary: str
    characters: int
    start: int
    end: int
    text: str


class FoundWay(_Record):
    """How a passage was found."""

    rank: int
    document_id: str
    title: str
    why: str
    parts: Annotated[dict[str, float], Field(description="the terms of its raw score")]
    seed_key: FoundKey | None = None
    event: str = ""
    key: FoundKey | None = None
    over: Annotated[FoundKey | None, Field(description="the key of a bridge from another document")] = None


class WeighedKey(_Record):
    """A key that took part: hop 0 is one that the search started from."""

    type: str
    value: str | float | bool | None
    unit: str | None
    weight: float
    hop: int
    reason: str


class ExplainAnswer(Bounded):
    """How each passage was found: from the query over keys and events."""

    query: str
    method: str
    ways: list[FoundWay]
    keys: list[WeighedKey]
    stages: list[dict[str, Any]]


class ChangesAnswer(Bounded):
    """Statements that were revised, are new, or were withdrawn."""

    revised: list[dict[str, Any]]
    new: list[dict[str, Any]]
    withdrawn: list[dict[str, Any]]


class TablesAnswer(Bounded):
    """The tables that `sql` reads: rows and columns."""

    tables: dict[str, list[str]]
    rows: dict[str, int]


class SqlAnswer(Bounded):
    """Rows of a SELECT."""

    columns: list[str]
    rows: list[dict[str, Any]]


class OverviewAnswer(Bounded):
    """A report as Markdown."""

    headline: str
    markdown: str
    counts: dict[str, int]


class StatusAnswer(Bounded):
    """What the release holds."""

    created_at: str
    embedding_model: str
    chat_model: str
    counts: dict[str, int]
    languages: dict[str, int]
    key_types: dict[str, int]


class NotThere(QueryError):  # noqa: N818  reads better where it is caught
    """A document is not in the release, or not for the one who asks: both have the same message."""


def search(release: Release, asked: SearchRequest) -> SearchAnswer:
    """Find the passages that answer a query, best first, each with its document, characters, statements and keys.

    Documents are joined over the names and values that they share, so that a question whose answer lies in several
    documents needs one search. `where` and `sql` restrict exactly, before ranking. `fits` false: nothing clearly fits.
    `revised_by` names later statements that correct or replace a passage: prefer those.
    """
    found = _searched(release, asked)
    hits, cut = _within(list(map(_passage, found)), asked.max_characters, lambda hit: hit["text"])
    return SearchAnswer.model_construct(  # of values that need no look: checking them took as long as writing them
        query=found.query, release=found.release, method=found.method, fits=found.fits, hits=hits, cut=cut
    )


def _passage(hit: Hit) -> ServedPassage:
    """A passage as plain values: a model of each of its many keys cost more than all the rest of an answer."""
    told: Any = {name: getattr(hit, name) for name in _OF_HIT}
    told["events"] = [{"content": event.content, "said": event.said} for event in hit.events]
    told["keys"] = [{"type": key.type, "value": key.value, "unit": key.unit} for key in hit.keys]
    told["revised_by"] = [FoundRevision.model_validate(one) for one in hit.revised_by]
    return cast("ServedPassage", told)


_OF_HIT: Final = tuple(ServedPassage.__annotations__)


def _searched(release: Release, asked: SearchRequest, **more: Any) -> SearchResult:  # noqa: ANN401  as of `search`
    return release.search(
        asked.query,
        asked.keys,
        top_k=asked.top_k,
        method=asked.method,
        options=asked.options,
        min_score=asked.min_score,
        **asked.restriction(),
        **more,
    )


def ask(release: Release, asked: AskRequest, on_event: Callable[[Progress], None] = lambda _: None) -> AskAnswer:
    """Answer a question, or the last turn of a conversation, with citations.

    `[1]` in the answer points to a document and its characters. `is_found` false: the documents do not clearly say it,
    and the closest passages are cited. Mode `fast` quotes, `normal` and `deep` ask the server's model, `global` answers
    a question about all documents.
    """
    turns = None if asked.messages is None else [{"role": m.role, "content": m.text} for m in asked.messages]
    found = release.ask(
        asked.query,
        messages=turns,
        mode=asked.mode,
        keys=asked.keys or None,
        method=asked.method,
        options=asked.options,
        on_event=on_event,
        **asked.restriction(),
    )
    usage = found.usage
    return AskAnswer(
        release=release.release_id,
        question=found.question,
        answer=found.text,
        is_found=found.is_found,
        mode=found.mode,
        citations=[CitedPlace.model_validate(each) for each in found.citations],
        notes=list(found.notes),
        sql=found.sql,
        rows=[_plain(row) for row in found.rows[:_MOST_ANSWER_ROWS]],
        cut=_left_out(min(len(found.rows), _MOST_ANSWER_ROWS), len(found.rows), "rows"),
        seconds=found.seconds,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
    )


def document(release: Release, asked: DocumentRequest) -> DocumentAnswer:
    """Read a document, or its text around the characters of a hit or citation."""
    try:
        found = release.document(asked.document_id[:_LONGEST_ID])
    except QueryError:
        raise NotThere(f"no document {shown(asked.document_id)} in this release") from None
    whole = len(found.text)
    start = min(max(0, asked.start - asked.around), whole) if asked.end is not None or asked.start else 0
    wanted = whole if asked.end is None else min(max(asked.end, asked.start) + asked.around, whole)
    end = min(wanted, start + asked.max_characters)
    return DocumentAnswer(
        release=release.release_id,
        document_id=found.document_id,
        title=found.title,
        source=Path(found.source).name,  # not where the file lies on this machine
        language=found.language,
        metadata=found.metadata,
        summary=found.summary,
        characters=whole,
        start=start,
        end=end,
        text=found.text[start:end],
        cut=f"characters {end} to {wanted} left out; ask from start={end}" if end < wanted else "",
    )


def explain(release: Release, asked: SearchRequest) -> ExplainAnswer:
    """Say how each passage for a query was found: from which key, over which statement, by which bridge."""
    found = _searched(release, asked, explain=True)
    traced = {way["chunk_id"]: way for way in found.trace.get("hits", [])}
    told = _contents(release, {way.get("event_id", "") for way in traced.values()})
    every = [_way(hit, traced.get(hit.chunk_id, {}), told) for hit in found]
    ways, cut = _within(every, asked.max_characters, lambda way: way.why + way.event, "ways")
    keys = [WeighedKey.model_validate(key) for key in found.keys[:_KEYS]]
    return ExplainAnswer(
        query=found.query,
        release=found.release,
        method=found.method,
        ways=ways,
        keys=keys,
        stages=[dict(stage) for stage in found.trace.get("stages", [])],
        cut="; ".join(filter(None, (cut, _left_out(len(keys), len(found.keys), "keys")))),
    )


_KEYS: Final = 30


def _contents(release: Release, event_ids: set[str]) -> dict[str, str]:
    """What statements say, wherever they stand; of those that may be seen."""
    events = release.index.rows["events"].select(["event_id", "content"])
    events = events if release.allowed is None else events.filter(pa.array(release.allowed.events))
    rows = events.filter(pc.is_in(events["event_id"], pa.array(sorted(event_ids), pa.string()))).to_pylist()
    return {row["event_id"]: row["content"] for row in rows}


def _way(hit: Hit, traced: dict[str, Any], events: dict[str, str]) -> FoundWay:
    return FoundWay(
        rank=hit.rank,
        document_id=hit.document_id,
        title=hit.title,
        why=traced.get("why", ""),
        parts=dict(hit.parts),
        seed_key=traced.get("seed_key"),
        event=events.get(traced.get("event_id", ""), ""),
        key=traced.get("key"),
        over=(traced.get("bridge") or {}).get("over"),
    )


def changes(release: Release, asked: ChangesRequest) -> ChangesAnswer:
    """List statements that later ones corrected or replaced; with `since` also new and withdrawn ones."""
    told, cuts = dict[str, Any](), []
    for name, rows in release.changes(asked.since).items():
        latest, most = [_plain(row) for row in rows[: -asked.most - 1 : -1]], asked.max_characters // 3
        told[name], cut = _within(latest, most, lambda row: "".join(map(str, row.values())), name, len(rows))
        cuts.append(cut)
    return ChangesAnswer(release=release.release_id, cut="; ".join(filter(None, cuts)), **told)


def tables(release: Release, _: NothingAsked | None = None) -> TablesAnswer:
    """List the tables and columns that `sql` reads, and how many rows each has."""
    from sag_retrieval.release.schema import QUERYABLE, TABLES  # noqa: PLC0415  needs none of it elsewhere

    release.sql("SELECT 1 AS allowed")
    named = {name: list(TABLES[name].names) for name in sorted(QUERYABLE) if name in TABLES}
    return TablesAnswer(release=release.release_id, tables=named, rows=release.tables)


def sql(release: Release, asked: SqlRequest) -> SqlAnswer:
    """Count, list or join by one read-only SELECT in DuckDB's dialect: how many, since when, which of all."""
    found = release.sql(asked.query)
    first = [_plain(row) for row in found.to_arrow().slice(0, asked.most).to_pylist()]
    rows, cut = _within(first, asked.max_characters, lambda row: "".join(map(str, row.values())), "rows", len(found))
    return SqlAnswer(release=release.release_id, columns=list(found.columns), rows=rows, cut=cut)


def report(release: Release, asked: ReportRequest) -> OverviewAnswer:
    """Write an overview of the documents, or of those that a restriction leaves: topics, each statement cited.

    It is written for this request alone: nothing of it is kept, and no model is asked.
    """
    with tempfile.TemporaryDirectory(prefix="sag-report-") as folder:
        made = release.report(
            title=asked.title,
            period=asked.period,
            model="offline",
            options={"language": asked.language},
            out=folder,
            is_kept=False,
            **asked.restriction(),
        )
        text = made.markdown.read_text(encoding="utf-8")
    cut = _left_out(min(len(text), asked.max_characters), len(text), "characters")
    return OverviewAnswer(
        release=release.release_id,
        headline=made.headline,
        markdown=text[: asked.max_characters],
        counts=dict(made.counts),
        cut=cut,
    )


def status(release: Release, _: NothingAsked | None = None) -> StatusAnswer:
    """Say what the release holds: counts, languages and types of keys."""
    index, allowed = release.index, release.allowed
    owner = np.repeat(np.arange(index.arrays.document_count), np.diff(index.arrays.document_chunks))
    documents = np.unique(owner if allowed is None else owner[allowed.chunks])
    keys = np.arange(len(index.rows["keys"])) if allowed is None else np.flatnonzero(allowed.keys)
    counts = {
        "documents": len(documents),
        "chunks": len(owner) if allowed is None else int(allowed.chunks.sum()),
        "events": index.arrays.event_count if allowed is None else int(allowed.events.sum()),
        "keys": len(keys),
    }
    return StatusAnswer(
        release=release.release_id,
        created_at=release.manifest.created_at,
        embedding_model=release.manifest.embedding_model.partition(":")[0],
        chat_model=release.chat.model_id if release.chat else "offline",
        counts=counts,
        languages=_counted(index.rows["documents"]["language"], documents),
        key_types=_counted(index.rows["keys"]["key_type"], keys),
    )


def _counted(column: Any, rows: npt.NDArray[np.integer]) -> dict[str, int]:  # noqa: ANN401  an Arrow column
    """How often each value stands in rows, the most frequent first."""
    counted = pc.value_counts(column.take(rows)).to_pylist()
    most_first = sorted(counted, key=lambda each: (-each["counts"], each["values"]))
    return {each["values"]: each["counts"] for each in most_first}


def described(release: Release) -> str:
    """What the corpus is about, for a language model that chooses between tools."""
    told = status(release)
    languages = ", ".join(f"{name} {count}" for name, count in told.languages.items())
    types = ", ".join(list(told.key_types)[:_TYPES])
    return (
        f"Search and questions over {told.counts['documents']} documents ({languages}), release {told.release} of "
        f"{told.created_at[:10]}. Use `search` for passages and `ask` for a cited answer whenever a question may be "
        "about these documents; do not answer from memory. `where` restricts both exactly: by language, date__gte, "
        f'metadata.NAME, and by keys of the types {types}, as in {{"key.person": "…"}}. `document` shows the text '
        "around a citation, `explain` how a passage was found, `changes` what was corrected since, `tables` and `sql` "
        "count and list, `report` gives an overview. Cite document_id and the characters start–end."
    )


_TYPES: Final = 20


def told_error(error: Exception, homes: Iterable[str] = ()) -> tuple[int, str]:
    """The HTTP status and the words for an error, without a trace and without the place of the home."""
    if isinstance(error, NotThere):
        return 404, str(error)
    if not isinstance(error, SagError):
        return 500, "internal error; the log of the server has it"
    text = str(error).encode("utf-8", "backslashreplace").decode()  # an answer of HTTP has no half characters
    for home in sorted(filter(None, homes), key=len, reverse=True):
        text = text.replace(home, "SAG_HOME")
    return (422 if isinstance(error, QueryError | SettingsError | ValueError) else 503), text


@dataclass(frozen=True, slots=True)
class Door:
    """What may be asked, what comes back, whether it may take long or searches; its docstring is for models too."""

    ask: Callable[[Release, Any], BaseModel]
    request: type[BaseModel]
    answer: type[BaseModel]
    is_heavy: bool = False
    is_search: bool = False


DOORS: Final = {
    "search": Door(search, SearchRequest, SearchAnswer, is_search=True),
    "ask": Door(ask, AskRequest, AskAnswer, is_search=True),
    "document": Door(document, DocumentRequest, DocumentAnswer),
    "explain": Door(explain, SearchRequest, ExplainAnswer, is_search=True),
    "changes": Door(changes, ChangesRequest, ChangesAnswer),
    "tables": Door(tables, NothingAsked, TablesAnswer),
    "sql": Door(sql, SqlRequest, SqlAnswer),
    "report": Door(report, ReportRequest, OverviewAnswer, is_heavy=True),
    "status": Door(status, NothingAsked, StatusAnswer),
}
"""Every door by name: REST has a route and MCP a tool for each."""


def _within(
    rows: Sequence[T], most: int, text: Callable[[T], str], what: str = "hits", whole: int | None = None
) -> tuple[list[T], str]:
    """The first rows whose texts have at most `most` characters, one at least; and what was left out."""
    kept: list[T] = []
    size = 0
    for row in rows:
        size += len(text(row))
        if kept and size > most:
            break
        kept.append(row)
    return kept, _left_out(len(kept), len(rows) if whole is None else whole, what)


def _left_out(kept: int, whole: int, what: str) -> str:
    return f"{whole - kept:,} of {whole:,} {what} left out" if kept < whole else ""


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose values JSON has."""
    return {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> Any:  # noqa: ANN401  of any column
    if isinstance(value, int | float | bool | None):
        return value
    text = str(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}… ({len(text):,} characters)"
