"""The public class `Release`: search, ask, report, and read tables of an opened release."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import numpy as np
from scipy.sparse import issparse

from sag_retrieval.ask.options import SearchFunction
from sag_retrieval.core.errors import QueryError, ReleaseError, nearest, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.core.public import public
from sag_retrieval.core.settings import OFFLINE, Settings, load_settings
from sag_retrieval.core.telemetry import span
from sag_retrieval.models.open import open_chat, open_embedder
from sag_retrieval.models.protocols import ChatModel, embed_queries
from sag_retrieval.notebook import render_html
from sag_retrieval.release.arrays import Allowed, Index
from sag_retrieval.release.manifest import Manifest, Verify
from sag_retrieval.release.reader import Reader, open_reader
from sag_retrieval.release.releases import paths_of
from sag_retrieval.release.sandbox import SqlResult
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.tables import VectorMode
from sag_retrieval.release.vectors import projected
from sag_retrieval.search.calibration import count_likely, shares_nothing
from sag_retrieval.search.hits import build_result
from sag_retrieval.search.lookup import (
    ChunkResult,
    DocumentResult,
    SegmentSpec,
    chunk_by_id,
    document_by_id,
    find_keys,
    join_segments,
)
from sag_retrieval.search.method import Method, Query
from sag_retrieval.search.registry import MethodName, resolve_method
from sag_retrieval.search.result import SearchResult
from sag_retrieval.search.revised import changes_since, is_day, said_by, with_revisions
from sag_retrieval.search.segments import CANDIDATES, segment_options

if TYPE_CHECKING:
    from datetime import date

    from sag_retrieval.ask import Answer, AskOptions, Mode, Progress, ReleaseContext
    from sag_retrieval.ask.relations import Relation
    from sag_retrieval.pipelines import PipelineFile
    from sag_retrieval.rag.stages import RAGData
    from sag_retrieval.search.methods.hybrid import HybridOptions
    from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions
    from sag_retrieval.search.methods.tiers.workflow import TiersOptions
    from sag_retrieval.search.options import SearchOptions

    MethodOptions = SearchOptions | HybridOptions | GraphOptions | TiersOptions | Mapping[str, Any]
    import numpy.typing as npt
    import pandas as pd

    from sag_retrieval.llm_writing.lines import Themes
    from sag_retrieval.llm_writing.written import WritingPlan
    from sag_retrieval.reports.options import ReportOptions
    from sag_retrieval.reports.report import Report
    from sag_retrieval.search.methods.tiers.method import Conversation
    from sag_retrieval.search.methods.tiers.result import TiersResult
    from sag_retrieval.search.methods.tiers.workflow import TiersOptions
    from sag_retrieval.search.revised import Seen


def open_release(
    home: Path | str | None = None,
    *,
    release: str | None = None,
    verify: Verify = "lazy",
    vectors: VectorMode = "mapped",
) -> "Release":
    """Open the current release below `home` (or SAG_HOME), or the one with the given id.

    Opening maps files and reads little; the release does not change while it is open, even if others are published.

    Examples:
        >>> with open_release() as release:
        ...     release.search("Who made the O-ring?").hits[0].document_id
        'kestrel-7-recall-2022.md'

    Args:
        home: Folder of releases; None: SAG_HOME.
        release: Id of a release; None: the current one.
        verify: When files are compared with their checksums: `lazy` on first use, `full` when opening, `off` never.
            Lengths are always compared.
        vectors: Who finds the nearest vectors: `mapped` arrays in memory, or the Lance tables of the release with their
            index (`lance`), which needs `pip install sag[lance]` and dense vectors, and less memory.

    Raises:
        ReleaseError: If there is none, it cannot be used by this package, or it is damaged; damage that opening does
            not find is raised by the first use of the file.
        SettingsError: If a setting is wrong.
    """
    if release is not None and not isinstance(release, str):
        raise ReleaseError(f"release must be an id, got {shown(release)}; `sag releases list` shows what is there")
    settings = load_settings(home=home)
    return Release(open_reader(settings.home, release, open_embedder, verify, vectors), settings)


_NO_CATEGORIES: Final = (
    "categories are made of the whole release, and what may be seen here is restricted or was disabled since, which "
    "`sag ingest` follows; use another method"
)


def _check_restricted(reader: Reader, method: object, segments: object) -> None:
    """Refuse what shows more of a release than a restriction leaves.

    Raises:
        QueryError: If it does.
    """
    if not reader.within:
        return
    if method == "tiers":
        raise QueryError(_NO_CATEGORIES)
    if segments is not None and not reader.sandbox.shows_whole_documents:
        raise QueryError("segments join passages with what lies between, and what may be seen here is restricted")


@public
class Release:
    """An opened release. Threads can share it, and many processes can open the same one.

    Raises:
        ReleaseError: By every method, if the release is closed or damaged.
        FilterError: Where a restriction, by `sql` or `where`, is refused.
        SettingsError: Where an option is unknown or out of bounds.
    """

    def __init__(self, reader: Reader, settings: Settings) -> None:
        self._held = reader
        self._settings = settings
        self._is_closed = False
        self._bounds: tuple[tuple[str | tuple[str, ...] | None, Mapping[str, Any] | None], ...] = ()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ReleaseError("this release is closed; open it again with open_release()")

    @property
    def _reader(self) -> Reader:
        self._check_open()
        return self._held

    @property
    def release_id(self) -> str:
        """Its id, a hash of its content."""
        return self.manifest.release_id

    @property
    def manifest(self) -> Manifest:
        """Its manifest: counts, embedder, hashes, checks."""
        return self._held.manifest

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._held.folder

    @property
    def paths(self) -> dict[str, Path]:
        """What other programs open: `duckdb`, a file of views, `parquet` and `lance`, folders; those that there are.

        Examples:
            >>> sorted(open_release().paths)
            ['duckdb', 'lance', 'parquet']
        """
        return paths_of(self.path)

    def vector(self, text: str) -> "npt.NDArray[np.floating[Any]]":
        """The vector of a question as the Lance tables of the release have those of their rows, for a search there.

        Examples:
            >>> open_release().vector("Who made the O-ring?").shape
            (512,)

        Raises:
            QueryError: If the text is empty.
            ModelError: If an embedding server gives no vector.
        """
        if not text.strip():
            raise QueryError("the text is empty")
        found = embed_queries(self.index.embedder, [text])
        rows: npt.NDArray[np.floating[Any]] = projected(found) if issparse(found) else np.asarray(found, np.float32)
        return rows[0]  # type: ignore[no-any-return]

    @property
    def index(self) -> Index:
        """Rows, arrays and embedder, for your own ranking."""
        return self._reader.index

    @cached_property
    def chat(self) -> ChatModel | None:
        """The language model of the settings; None for `offline`."""
        return open_chat(self._settings)

    @property
    def tables(self) -> dict[str, int]:
        """Number of rows of each table, by name.

        Examples:
            >>> release = open_release()
            >>> sorted(release.tables)[:4]
            ['calls', 'chunk_keys', 'chunks', 'documents']
        """
        return {name: self.manifest.counts[name] for name in TABLES if name in self.manifest.counts}

    def table(self, name: str) -> "pd.DataFrame":
        """Read a table of the release (docs/release-format.md) as a DataFrame, in the release's order.

        Examples:
            >>> release = open_release()
            >>> len(release.table("events")) == release.tables["events"]
            True

        Args:
            name: One of `release.tables`.

        Raises:
            QueryError: If the release has no table of this name.
        """
        reader = self._reader
        if self._bounds:
            raise QueryError(
                f"table {shown(name)} is whole; what may be seen here is restricted to a part of the release"
            )
        if not isinstance(name, str) or name not in self.tables:
            raise QueryError(f"table {shown(name)} is none of {', '.join(self.tables)}{nearest(name, self.tables)}")
        rows = reader.sandbox.left.tables[name].select(TABLES[name].names) if reader.gone else reader.index.rows[name]
        frame: pd.DataFrame = rows.to_pandas()
        return frame

    def sql(self, query: str) -> SqlResult:
        """Run one SELECT over the release's tables, read-only and bounded like a filter.

        Examples:
            >>> release = open_release()
            >>> release.sql("SELECT language, count(*) AS n FROM documents GROUP BY language ORDER BY language").columns
            ('language', 'n')

        Args:
            query: A SELECT over the tables and functions that docs/algorithm.md lists.

        Returns:
            The rows: at most a million, within five seconds and a gigabyte.

        Raises:
            FilterError: If it is refused, invalid, or exceeds these limits.
        """
        return SqlResult(query, self._reader.sandbox.select(query))

    def find_keys(self, text: str = "", *, type: str | None = None, most: int = 40) -> SqlResult:  # noqa: A002  a word of the field
        """List keys by name, each with its other names.

        Examples:
            >>> release = open_release()
            >>> release.find_keys("Marlow", most=1).columns
            ('key_id', 'type', 'value', 'events', 'documents', 'aliases')

        Args:
            text: A name or alias, or a part of one; empty: every key.
            type: Only keys of this type, such as `person`.
            most: Largest number of keys.

        Returns:
            One row a key: those of exactly this name first, then by the events that have them.

        Raises:
            FilterError: If no key has the type.
        """
        reader = self._reader
        return find_keys(reader.index, reader.sandbox, text, type, most)

    def changes(self, since: str | None = None) -> dict[str, list[dict[str, Any]]]:
        """Statements that later ones revised; with `since` also those that are new or were withdrawn.

        Examples:
            >>> release = open_release()
            >>> sorted(release.changes())
            ['new', 'revised', 'withdrawn']

        Args:
            since: A day, month or year (ISO): what was said then or later; or the id of another release: what that
                one has not, and what only that one has.

        Raises:
            ReleaseError: If there is no such release, or one is closed or damaged.
        """
        if not since or is_day(since):
            return changes_since(self._seen, since or "")
        with open_release(self._settings.home, release=since) as whole:
            before = whole
            for sql, where in self._bounds:
                before = before.restricted(sql=sql, where=where)
            return changes_since(self._seen, before=before._seen)  # noqa: SLF001  of the same class

    @property
    def seen_as(self) -> tuple[str, str]:
        """What names all that can be seen here: the release, and in words what of it may be; the same answers then.

        Examples:
            >>> release = open_release()
            >>> release.seen_as[0] == release.release_id, release.seen_as[1]
            (True, '')
        """
        return self.release_id, self._reader.within

    @property
    def _seen(self) -> "Seen":
        return self.index, self.allowed

    def document(self, document_id: str) -> DocumentResult:
        """Read a document: its text, metadata, and the ids of its chunks.

        Examples:
            >>> release = open_release()
            >>> release.document("kestrel-7-recall-2022.md").language
            'en'

        Args:
            document_id: Its id, as in hits and tables.

        Raises:
            QueryError: If the release has no such document.
        """
        return document_by_id(self.index, document_id, self.allowed)

    def chunk(self, chunk_id: str) -> ChunkResult:
        """Read a chunk: its text and position, its events and keys.

        Examples:
            >>> release = open_release()
            >>> hit = release.search("Who made the O-ring?")[0]
            >>> release.chunk(hit.chunk_id).text == hit.text
            True

        Args:
            chunk_id: Its id, as in hits and tables.

        Raises:
            QueryError: If the release has no such chunk.
        """
        return chunk_by_id(self.index, chunk_id, self.allowed)

    def retrieve(
        self,
        messages: "Conversation",
        *,
        sql: str | None = None,
        where: Mapping[str, Any] | None = None,
        method: Literal["rag", "llm"] | None = None,
        options: "TiersOptions | Mapping[str, Any] | None" = None,
    ) -> "TiersResult":
        """Find categories, events and documents for the last turn of a conversation, until they suffice.

        The question is rewritten with what it refers to: by the language model, or by rule where there is none.

        Examples:
            >>> release = open_release()
            >>> talk = [
            ...     {"role": "user", "content": "Who made the O-ring of the Kestrel 7?"},
            ...     {"role": "assistant", "content": "Marlow Seals."},
            ...     {"role": "user", "content": "Where is its factory?"},
            ... ]
            >>> found = release.retrieve(talk, where={"language": "en"})
            >>> found.rewritten_query
            'Where is its factory? (Marlow Seals, ...)'
            >>> len(found.items), found.items[0].document_id
            (5, ...)

        Args:
            messages: A question, or the turns of a conversation; the last one is the user's question.
            sql: Restriction: a SELECT of ids, or a condition.
            where: Restriction, as conditions.
            method: `rag` chooses rows by vectors, `llm` by the language model, or by vectors where there is none;
                None: that of the options, which is `rag`.
            options: Which tiers are searched, how many rows, and what the categories are: an object, or names and
                values.

        Raises:
            QueryError: If there is no question, or the last turn is not of the user.
            RecordError: If a message has an unknown form.
        """
        from sag_retrieval.search.methods.tiers.method import retrieve_tiers  # noqa: PLC0415  not needed for searching

        reader = self._reader
        if reader.within:
            raise QueryError(_NO_CATEGORIES)
        allowed = reader.allowed(sql, where or None)
        return retrieve_tiers(reader, messages, allowed, options, method=method, chat=self.chat)

    def restricted(
        self, *, sql: str | tuple[str, ...] | None = None, where: Mapping[str, Any] | None = None
    ) -> "Release":
        """The release for someone who may see a part of it: every search, answer and report is joined with this.

        It reads the same files; closing it closes nothing. What may name more than that part is refused: SQL, whole
        tables, categories (the method `tiers`), and the release's counts stay those of the whole. Only the weights of
        words are shared.

        Examples:
            >>> english = open_release().restricted(where={"language": "en"})
            >>> {hit.document_id for hit in english.search("地铁二号线的延误", where={"language": "zh"})}
            set()

        Args:
            sql: A SELECT of ids, or a condition; of several, each must hold.
            where: Conditions by field.
        """
        found = Release(self._reader.under(sql, where), self._settings)
        found._bounds = (*self._bounds, (sql, where))
        return found

    @property
    def allowed(self) -> Allowed | None:
        """The rows that the restriction of `restricted` leaves, by table; None: all.

        Examples:
            >>> release = open_release()
            >>> release.allowed is None, int(release.restricted(where={"language": "en"}).allowed.events.sum())
            (True, 123)
        """
        return self._reader.allowed()

    def close(self) -> None:
        """Release the read lock, so that the release can be pruned; closing twice is no error.

        Examples:
            >>> release = open_release()
            >>> release.close()
            >>> release
            Release('r...', 23 documents, 260 events, closed)
        """
        self._is_closed = True
        self._held.close()

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.tables.get(name, 0)} {name}" for name in ("documents", "events"))
        return f"Release({self.release_id!r}, {counts}{', closed' if self._is_closed else ''})"

    def _repr_html_(self) -> str:
        return render_html(
            "release", manifest=self.manifest, tables=self.tables, path=self.path, is_closed=self._is_closed
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(  # noqa: PLR0913  the search and its restrictions
        self,
        query: str,
        keys: Sequence[str] | None = None,
        sql: str | tuple[str, ...] | None = None,
        top_k: int = 10,
        *,
        method: MethodName | str | Method = "sag",
        options: "MethodOptions | None" = None,
        where: Mapping[str, Any] | None = None,
        as_of: "date | str | None" = None,
        segments: SegmentSpec | None = None,
        min_score: float = 0.0,
        explain: bool = False,
        gold_documents: Sequence[str] = (),
    ) -> SearchResult:
        """Find the best chunks for a query, each with its events and keys.

        Examples:
            >>> release = open_release()
            >>> result = release.search("Who made the O-ring?", top_k=3, where={"language": "en"})
            >>> len(result), result[0].document_id
            (3, 'kestrel-7-recall-2022.md')

        Args:
            query: The question.
            keys: Names related to the answer, if known, or other names of them; `result.notes` tells of one that is
                no name but spelt like one.
            sql: A SELECT of event_id, chunk_id or document_id, or a condition over events, that restricts candidates
                before ranking; of several, each must hold.
            top_k: Maximum number of hits, 1 or more.
            method: One of `METHODS`, or your own function: see `Method`.
            options: Options of the method: an object such as `SearchOptions`, or names and values (`{"hops": 2}`).
            where: Conditions such as `{"language": "zh", "key.person": "…", "key.amount__gte": 3}`.
            as_of: Only what had been said by this day, month or year, such as `2025-06`; what has no date is left out.
            segments: A preset (`balanced`, `precision`, `find_all`) or options: also join neighbouring hits into
                `result.segments`.
            min_score: Leave out hits with a lower score, from 0 to 1: how likely a hit answers the query.
            explain: Fill `result.trace`: the candidates of each stage, and the path from the query to each hit.
            gold_documents: With `explain`, documents known to be relevant: the trace counts how many each stage kept.

        Returns:
            At most `top_k` hits, best first. Offsets count characters of the document's text; seconds are wall time.

        Raises:
            QueryError: If the query is empty, the method unknown, or an argument of the wrong kind.
        """
        reader, where = self._reader, said_by(where, as_of)
        asked = Query(query, () if keys is None else keys, top_k, None, explain, gold_documents)
        if top_k < 1:
            raise QueryError(f"top_k must be at least 1, got {top_k}")
        is_free = sql is None and (where is None or where == {})
        with span("search", top_k=top_k, is_restricted=not is_free or bool(reader.within)) as watched:
            allowed = reader.allowed(sql, where)
            _check_restricted(reader, method, segments)
            wanted = max(top_k, CANDIDATES) if segments is not None else top_k
            asked = replace(asked, top_k=wanted, allowed=allowed)
            name, rank = resolve_method(method, options, chat=self.chat, home=reader.folder)
            watched["method"] = name
            ranking = rank(reader.index, asked)
            if isinstance(method, str) and shares_nothing(reader.index, asked, ranking):
                ranking = ranking.first(0)
            ranking = with_revisions(reader.index, asked, ranking)
            if min_score != 0:
                ranking = ranking.first(count_likely(reader.index, asked, ranking.chunks, min_score))
            joined = join_segments(reader.index, ranking, segments) if segments is not None else ()
            best = ranking.first(top_k)
            found = build_result(reader.index, asked, best, release=self.release_id, method=name)
            watched["hits"] = len(found)
        return replace(found, segments=joined, notes=reader.index.misspelt(asked.keys))

    def searcher(
        self,
        method: MethodName | str | Method = "sag",
        *,
        sql: str | None = None,
        where: Mapping[str, Any] | None = None,
        options: "MethodOptions | None" = None,
    ) -> SearchFunction:
        """Bind the search to a method, its options and a restriction, for evaluation and asking.

        Examples:
            >>> release = open_release()
            >>> find = release.searcher("bm25", where={"language": "en"})
            >>> [hit.document_id for hit in find("O-ring", top_k=1).hits]
            ['kestrel-7-recall-2022.md']

        Args:
            method: One of `METHODS`, or your own function.
            sql: Restriction of every search, in addition to one given with a search.
            where: Restriction of every search, as conditions.
            options: Options of the method.
        """

        def search(text: str, keys: Sequence[str] = (), sql: str | None = None, top_k: int = 10) -> SearchResult:
            both = tuple(each for each in (bound, sql) if each is not None) or None
            return self.search(text, keys, both, top_k, method=method, options=options, where=where)

        bound = sql
        return search

    def ask(  # noqa: PLR0913  the question, how it is searched, and its restrictions
        self,
        query: str | None = None,
        *,
        messages: "Conversation | None" = None,
        mode: "Mode" = "fast",
        method: MethodName | str | Method = "sag",
        keys: Sequence[str] | None = None,
        sql: str | None = None,
        where: Mapping[str, Any] | None = None,
        as_of: "date | str | None" = None,
        segments: SegmentSpec | None = None,
        options: "AskOptions | Mapping[str, Any] | None" = None,
        search_options: "MethodOptions | None" = None,
        on_event: Callable[["Progress"], None] = lambda _: None,
    ) -> "Answer":
        """Answer a question with citations by character span, or report that the documents do not contain it.

        Examples:
            >>> release = open_release()
            >>> answer = release.ask("Which company made the part that caused the sensors to leak?")
            >>> answer.citations[0].quote
            'The leak came from an O-ring made by Marlow Seals.'

        Args:
            query: The question; with `messages` the next one of the conversation.
            messages: Turns of a conversation, `{"role", "content"}`; the question, else its last turn, is asked with
                the names that it refers to.
            mode: `fast` (no model), `normal` (the model rewrites the question), `deep` (a plan of sub-questions) or
                `global` (a question about all documents, answered from their themes).
            method: How to search: one of `METHODS`, or your own function.
            keys: Names related to the answer, if known: every search starts from them too.
            sql: Restriction of every search.
            where: Restriction of every search, as conditions.
            as_of: Only what had been said by this day, month or year, such as `2025-06`; what has no date is left out.
            segments: A preset (`balanced`, `precision`, `find_all`) or options: answer from neighbouring chunks joined
                into longer passages; the searches of the deep mode are joined together.
            options: Budgets and choices, an object or names and values; the arguments `keys` and `sql` replace theirs.
            search_options: Options of the method.
            on_event: Called with each step while it runs, by one thread at a time.

        Returns:
            An answer in every case: failures of the model and spent budgets are in its `notes`.

        Raises:
            QueryError: If the question is blank or the mode or method unknown.
        """
        from sag_retrieval.ask import AskOptions, Progress, ask  # noqa: PLC0415  searching alone needs none of it

        self._check_open()
        told = self.index.misspelt(keys or ())
        for note in told:
            on_event(Progress("note", {"text": note}))
        where = said_by(where, as_of)
        query = self._stand_alone(query, messages)
        default = AskOptions(language=self._settings.language)
        chosen = build_options(AskOptions, options, what="ask", base=default)
        if self._reader.within:  # the vocabulary is that of the whole, and so is the sentence before a passage
            _check_restricted(self._reader, method, segments)
            chosen = replace(
                chosen, vocabulary=0, context=chosen.context and self._reader.sandbox.shows_whole_documents
            )
        bound = chosen.sql if sql is None else sql  # bound to the search, so that a model's restriction narrows it
        context = self._context_under(bound, where) if mode == "global" else self._context
        if bound or where:
            context = replace(context, select=None)
        with span("ask", mode=mode) as watched, self._asked(mode) as chat:
            answer = ask(
                self.searcher(method, sql=bound, where=where, options=search_options),
                query,
                mode=mode,
                chat=chat,
                options=replace(chosen, sql=None, keys=chosen.keys if keys is None else tuple(Query("", keys).keys)),
                on_event=on_event,
                context=context,
                segments=None if segments is None else segment_options(segments),
            )
            watched["outcome"] = "answered" if answer.is_found else "refused"
        return replace(answer, notes=(*told, *answer.notes)) if told else answer

    def _stand_alone(self, query: str | None, messages: "Conversation | None") -> str:
        """The question as it is asked without the turns before it."""
        if messages is None:
            if query is None:
                raise QueryError(f"a question must be text, got {query}; a conversation is given as messages")
            return query
        from sag_retrieval.search.methods.tiers.method import turns_of  # noqa: PLC0415  most questions stand alone
        from sag_retrieval.search.methods.tiers.workflow import Turn, stand_alone  # noqa: PLC0415

        turns = turns_of(messages) if query is None else [*turns_of(messages, is_asked=False), Turn(query)]
        return stand_alone(self.index, turns[-1].text, turns[:-1], self.allowed)

    @cached_property
    def _context(self) -> "ReleaseContext":
        """What asking knows of the release besides its search."""
        from sag_retrieval.ask import ReleaseContext  # noqa: PLC0415
        from sag_retrieval.release.where import schema_of_release  # noqa: PLC0415

        described, reader = self._reader.manifest.key_schema, self._reader
        select = None if reader.within else reader.sandbox.select
        schema = schema_of_release(described) if described else None
        return ReleaseContext(self.index, schema=schema, select=select, relations=lambda: self._relations)

    @cached_property
    def _relations(self) -> "tuple[Relation, ...]":
        from sag_retrieval.ask.relations import read_relations  # noqa: PLC0415

        return read_relations(self.index)

    def _context_under(self, sql: str | None, where: Mapping[str, Any] | None = None) -> "ReleaseContext":
        """What asking knows of the release, with the themes of the events that a restriction leaves."""
        return replace(self._context, themes=partial(self._themes, sql=sql, where=where))

    def run(self, pipeline: "PipelineFile | Path | str", question: "str | Mapping[str, Any]") -> "RAGData":
        """Run a pipeline of RAGData stages, and keep what every stage made.

        Examples:
            >>> release = open_release()
            >>> record = release.run("examples/pipeline.yaml", "Which company made the O-ring?")
            >>> record["retrieval_results"][0]["metadata"]["document_id"]
            'kestrel-7-recall-2022.md'
            >>> record["generated"]
            'The leak came from an O-ring made by Marlow Seals. ...'

        Args:
            pipeline: A file, or what `load_pipeline` read from one.
            question: The question, or a record with its `query`; a record is not changed, and old names of fields are
                read too.

        Raises:
            SettingsError: If the file is no pipeline, or an option is unknown or out of bounds.
            QueryError: If the question is blank, or a stage misses what it needs.
            ModelError: If the language model gave no answer that `generate` could use.
        """
        from sag_retrieval.pipelines import (  # noqa: PLC0415  searching alone needs none of it
            PipelineFile,
            Resources,
            bind_pipeline,
            load_pipeline,
        )
        from sag_retrieval.rag.stages import migrate  # noqa: PLC0415

        self._check_open()
        chosen = pipeline if isinstance(pipeline, PipelineFile) else load_pipeline(pipeline)
        chat = self.chat if chosen.uses_model else None
        given = Resources(searcher=self.searcher, document=self.document, chat=chat, context=self._context_under)
        bound = bind_pipeline(chosen, given)
        return bound.run(migrate({"query": question} if isinstance(question, str) else question))

    def report(  # noqa: PLR0913  what it is about, how, by what, and where to
        self,
        *,
        sql: str | None = None,
        where: Mapping[str, Any] | None = None,
        as_of: "date | str | None" = None,
        period: str = "",
        title: str = "",
        only_new: bool = False,
        model: str = "",
        out: Path | str | None = None,
        is_kept: bool = True,
        options: "ReportOptions | Mapping[str, Any] | None" = None,
    ) -> "Report":
        """Write a report: events in themes, each statement cited, as a page, as Markdown and as tables.

        With a language model it writes titles, summaries and findings; what its events do not support is left out.
        Answers are kept in the home: the same report asks nothing again.

        Examples:
            >>> release = open_release()
            >>> report = release.report(period="2022..2023", title="Two years")
            >>> report.page.name, report.markdown.name
            ('report.html', 'report.md')

        Args:
            sql: Which events: a SELECT of ids, or a condition.
            where: Which events, as conditions.
            as_of: Only what had been said by this day, month or year.
            period: Which events by date: `2024`, `2024-03`, `2019..2021-06`, `last 7 days`, `this quarter`.
            title: Its heading; empty: that of the options, else made of what it is about.
            only_new: Only events that the last report of the same kind was not about.
            model: The language model that writes, such as `openai:gpt-5-mini`, or `offline`; empty: SAG_CHAT_MODEL.
            out: Folder for the files; below `home/reports` if not given.
            is_kept: Whether it is one of a series below `home/reports`, and compared with the one before; if not, give
                `out`.
            options: Title, language, clustering, budget and level of detail: an object, or names and values.

        Raises:
            QueryError: If the period is none of these.
            SettingsError: If an option or the model is unknown, or a value out of bounds.
        """
        from sag_retrieval.reports.options import ReportOptions  # noqa: PLC0415
        from sag_retrieval.reports.report import make_report  # noqa: PLC0415  not needed for searching
        from sag_retrieval.reports.scope import Scope  # noqa: PLC0415

        reader, folder = self._reader, Path(out) if out else None
        self._known_themes.clear()  # the report names them
        chosen = build_options(ReportOptions, options, what="report")
        chosen = replace(chosen, title=title) if title else chosen
        within = reader.within
        scope = Scope(sql=sql, where=said_by(where, as_of), period=period, only_new=only_new, within=within)
        if folder is None and not is_kept:
            raise QueryError("a report that is not kept needs a folder; give out")
        home = self._settings.home if is_kept or folder is None else folder / "series"
        with self._writer(model) as chat:
            return make_report(reader, home, scope=scope, options=chosen, out=folder, chat=chat)

    def report_plan(
        self,
        *,
        sql: str | None = None,
        where: Mapping[str, Any] | None = None,
        period: str = "",
        only_new: bool = False,
        model: str = "",
        options: "ReportOptions | Mapping[str, Any] | None" = None,
    ) -> "WritingPlan":
        """The calls and tokens that a model would take at most for a report; nothing is asked or written.

        Arguments and errors are those of `report`.

        Examples:
            >>> plan = open_release().report_plan(options={"max_calls": 4})
            >>> plan.calls, plan.themes, plan.left_out > 0
            (4, 2, True)
        """
        from sag_retrieval.reports.facts import pile_of  # noqa: PLC0415
        from sag_retrieval.reports.options import ReportOptions  # noqa: PLC0415
        from sag_retrieval.reports.prepare import Definition, prepare_report  # noqa: PLC0415
        from sag_retrieval.reports.scope import Scope  # noqa: PLC0415

        chosen = build_options(ReportOptions, options, what="report")
        definition = Definition(
            Scope(sql=sql, where=where, period=period, only_new=only_new, within=self._reader.within), chosen
        )
        made = prepare_report(self._reader, self._settings.home, definition)
        with self._writer(model) as chat:
            return made.writer(pile_of(self._reader.index, self._settings.home, made.options.released)).plan(chat)

    def _themes(self, *, sql: str | None = None, where: Mapping[str, Any] | None = None) -> "Themes":
        """Themes that a global question is asked of: those of the last report about everything, else made and kept."""
        from sag_retrieval.reports.prepare import release_themes  # noqa: PLC0415  not needed for searching

        asked = json.dumps([sql, where, self._reader.within], sort_keys=True, default=str)
        if asked not in self._known_themes:
            self._known_themes[asked] = release_themes(self._reader, self._settings, sql, where)
        return self._known_themes[asked]

    @cached_property
    def _known_themes(self) -> "dict[str, Themes]":
        """Themes by restriction: many questions are asked of the same ones."""
        return {}

    @contextmanager
    def _writer(self, model: str = "") -> Iterator[ChatModel | None]:
        """The language model with the answers that the home keeps."""
        settings = self._settings.model_copy(update={"chat_model": model}) if model else self._settings
        if settings.chat_model == OFFLINE:
            yield None
            return
        from sag_retrieval.models.cached_chat import open_cached_chat  # noqa: PLC0415  most calls ask no model

        with open_cached_chat(settings) as chat:
            yield chat

    @contextmanager
    def _asked(self, mode: str) -> Iterator[ChatModel | None]:
        """The language model of a mode; a global question, which asks about every theme, keeps its answers."""
        if mode == "global":
            with self._writer() as chat:
                yield chat
        else:
            yield None if mode == "fast" else self.chat
