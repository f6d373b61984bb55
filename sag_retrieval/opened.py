"""What an opened release gives without ranking chunks: tables, documents, tiers."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from sag_retrieval.core.errors import QueryError, ReleaseError, nearest, shown
from sag_retrieval.core.settings import Settings
from sag_retrieval.models.open import open_chat
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.notebook import render_html
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.manifest import Manifest
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.sandbox_results import SqlResult
from sag_retrieval.release.schema import TABLES
from sag_retrieval.search.lookup import ChunkResult, DocumentResult, chunk_by_id, document_by_id

if TYPE_CHECKING:
    import pandas as pd

    from sag_retrieval.search.methods.tiers.options import TiersOptions
    from sag_retrieval.search.methods.tiers.result import TiersResult
    from sag_retrieval.search.methods.tiers.retrieval import Conversation


class OpenedRelease:
    """The part of a release that needs no search method; `Release` adds searching and asking."""

    def __init__(self, reader: Reader, settings: Settings) -> None:
        """Keep an opened release and the settings that name the language model."""
        self._held = reader
        self._settings = settings
        self._is_closed = False

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
            >>> from sag_retrieval import open_release
            >>> release = open_release()
            >>> sorted(release.tables)[:4]
            ['calls', 'chunk_keys', 'chunks', 'documents']

        """
        return {name: self.manifest.counts[name] for name in TABLES if name in self.manifest.counts}

    def table(self, name: str) -> "pd.DataFrame":
        """Read a table of the release (docs/release-format.md) as a DataFrame, in the release's order.

        Examples:
            >>> from sag_retrieval import open_release
            >>> release = open_release()
            >>> len(release.table("events")) == release.tables["events"]
            True

        Args:
            name: One of `release.tables`.

        Raises:
            QueryError: If the release has no table of this name.
            ReleaseError: If the release is closed or damaged.

        """
        reader = self._reader
        if not isinstance(name, str) or name not in self.tables:
            raise QueryError(f"table {shown(name)} is none of {', '.join(self.tables)}{nearest(name, self.tables)}")
        frame: pd.DataFrame = reader.index.rows[name].to_pandas()
        return frame

    def sql(self, query: str) -> SqlResult:
        """Run one SELECT over the release's tables, read-only and bounded like a filter.

        Examples:
            >>> from sag_retrieval import open_release
            >>> release = open_release()
            >>> release.sql("SELECT language, count(*) AS n FROM documents GROUP BY language ORDER BY language").columns
            ('language', 'n')

        Args:
            query: A SELECT over the tables and functions that docs/algorithm/filters.md lists.

        Returns:
            The rows: at most a million, within five seconds and a gigabyte.

        Raises:
            FilterError: If it is refused, invalid, or exceeds these limits.
            ReleaseError: If the release is closed or damaged.

        """
        return SqlResult(query, self._reader.sandbox.select(query))

    def document(self, document_id: str) -> DocumentResult:
        """Read a document: its text, metadata, and the ids of its chunks.

        Examples:
            >>> from sag_retrieval import open_release
            >>> release = open_release()
            >>> release.document("kestrel-7-recall-2022.md").language
            'en'

        Args:
            document_id: Its id, as in hits and tables.

        Raises:
            QueryError: If the release has no such document.
            ReleaseError: If the release is closed or damaged.

        """
        return document_by_id(self.index, document_id)

    def chunk(self, chunk_id: str) -> ChunkResult:
        """Read a chunk: its text and position, its events and keys.

        Examples:
            >>> from sag_retrieval import open_release
            >>> release = open_release()
            >>> hit = release.search("Who made the O-ring?")[0]
            >>> release.chunk(hit.chunk_id).text == hit.text
            True

        Args:
            chunk_id: Its id, as in hits and tables.

        Raises:
            QueryError: If the release has no such chunk.
            ReleaseError: If the release is closed or damaged.

        """
        return chunk_by_id(self.index, chunk_id)

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
            SettingsError: If an option is unknown or out of bounds.
            FilterError: If the restriction was refused.
            ReleaseError: If the release is closed or damaged.

        """
        from sag_retrieval.search.methods.tiers.retrieval import retrieve_tiers  # noqa: PLC0415  not needed for searching

        reader = self._reader
        allowed = None if sql is None and not where else reader.sandbox.allowed(sql, where)
        return retrieve_tiers(reader, messages, allowed, options, method=method, chat=self.chat)

    def close(self) -> None:
        """Release the read lock, so that the release can be pruned; closing twice is no error.

        Examples:
            >>> from sag_retrieval import open_release
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
