"""All errors that this project raises on purpose, as one tree.

SagError
├── SettingsError      a setting or option is missing, misspelt or out of bounds
├── PluginError        an entry point of another installed package cannot be used
├── SourceError        a source of documents cannot be read at all
├── StoreError         a file that the pipeline keeps below SAG_HOME is damaged or missing
├── BucketError        the bucket of a home cannot be reached, refuses, or was changed by another run
├── ReleaseError       the release on disk cannot be used
│   └── SchemaMismatch a table does not have the columns of its schema
├── FilterError        a `where` or `sql` restriction was refused
├── QueryError         a query is empty or asks for what the release does not contain
│   └── RecordError    a record or query does not have the expected form
└── ModelError         a language or embedding model gave no usable answer
    ├── ModelUnavailable      the server cannot be reached; stop and resume later
    ├── AnswerError    the answer does not match the requested schema
    └── BudgetExceeded    the budget of calls, tokens or money is used up
"""

import reprlib
from collections.abc import Iterable
from typing import Final

from sag_retrieval.core.secrets import masked

MEND: Final = "run `sag repair`, then `sag ingest`"
"""Repairs a damaged release: the first command removes it if it can be rebuilt, the second publishes it again."""


_SYSTEM: Final = {
    ("No space left on device", "disk is full", "Disk quota exceeded", "File too large", " requested and "): (
        "no space is left on the disk; free some (`df` shows which disk, `sag releases prune` deletes old releases), "
        "then run the same command again: it goes on from what is stored"
    ),
    ("Read-only file system", "readonly database"): (
        "the file system is read-only; make it writable, or name another home by SAG_HOME, "
        "then run the same command again"
    ),
}
"""What to do, by the words of libraries: few of them keep the number of the system's error."""


def system_fault(message: str) -> str:
    """What to do about an error of the system that a library reports in its own words; empty for another error."""
    return next((told for signs, told in _SYSTEM.items() if any(sign in message for sign in signs)), "")


def shown(value: object) -> str:
    """A value shortened for a message; never raises, even for very long numbers or deeply nested lists."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"


def nearest(given: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: `; did you mean 'hops'?`, or nothing if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415  needed only when something is wrong

    found = get_close_matches(given, list(known), n=1, cutoff=0.5) if isinstance(given, str) else []
    return f"; did you mean {found[0]!r}?" if found else ""


class SagError(Exception):
    """Base of every error raised on purpose; the message names the value, the bound and the next command."""

    __module__ = "sag_retrieval"

    def __init__(self, *said: object) -> None:
        """Hold the message without secrets: a server may repeat the key that it was sent."""
        super().__init__(*(masked(each) if isinstance(each, str) else each for each in said))

    def __init_subclass__(cls) -> None:
        """Show the errors of this module in tracebacks under the name users import."""
        if cls.__module__ == __name__:
            cls.__module__ = "sag_retrieval"


class SettingsError(SagError, ValueError):
    """A setting or option is missing, misspelt or out of bounds."""


class PluginError(SagError):
    """An entry point of another installed package cannot be used."""


class SourceError(SagError):
    """A source of documents cannot be read at all."""


class StoreError(SagError):
    """A file that the pipeline keeps below SAG_HOME is damaged or missing; `sag repair` fixes it."""


class BucketError(SagError):
    """The bucket of a home cannot be reached, refuses a request, or was changed by another run."""


class ReleaseError(SagError):
    """The release on disk cannot be used."""


class SchemaMismatch(ReleaseError):  # noqa: N818  reads better where it is caught
    """A table's columns differ from the schema that names it."""

    def __init__(self, table: str, missing: set[str], extra: set[str]) -> None:
        super().__init__(
            f"table {table!r}: missing columns {sorted(missing)}, unexpected {sorted(extra)}; "
            f"rebuild it with `dagster asset materialize --select {table}`"
        )
        self.table = table


class FilterError(SagError, ValueError):
    """A `where` or `sql` restriction was refused."""


class QueryError(SagError, ValueError):
    """A query is empty or asks for what the release does not contain."""


class RecordError(QueryError, TypeError):
    """A record or query does not have the expected form."""


class ModelError(SagError):
    """A language or embedding model gave no usable answer."""


class ModelUnavailable(ModelError):  # noqa: N818  reads better where it is caught
    """The server cannot be reached; stop cleanly and resume later."""


class AnswerError(ModelError):
    """The answer does not match the requested schema."""


class BudgetExceeded(ModelError):  # noqa: N818  reads better where it is caught
    """The budget of calls, tokens or money is used up."""


QUERY_INTERRUPTED: Final = "Query interrupted"
"""What DuckDB's RuntimeError says after Ctrl-C: while it runs a query, it takes the interrupt for its own."""
