"""Every error this project raises on purpose.

SagError
├── SettingsError      a setting or option is missing, misspelt or out of bounds
├── PluginError        a part that another installed package adds cannot be used
├── SourceError        a source of documents cannot be read at all
├── StoreError         a file of the pipeline's own below SAG_HOME is damaged or missing
├── ReleaseError       the release on disk cannot be used
│   └── SchemaMismatch a table does not have the columns it promises
├── FilterError        a `where` or `sql` restriction was refused
├── QueryError         a query is empty or asks for what the release does not hold
│   └── RecordError    a record or query does not have the form that is read
└── ModelError         a language or embedding model gave no usable answer
    ├── ModelUnavailable      the server cannot be reached; stop and resume later
    ├── AnswerError    the answer does not have the shape that was asked for
    └── BudgetExceeded    the budget of calls, tokens or money is used up
"""

import reprlib


def shown(value: object) -> str:
    """A value as a message shows it: short, and without a fault of its own for numbers too long or lists too deep."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"


class SagError(Exception):
    """Base of every error raised on purpose; the message names the value, the bound and the next command."""


class SettingsError(SagError, ValueError):
    """A setting or option is missing, misspelt or out of bounds."""


class PluginError(SagError):
    """A part that another installed package adds by an entry point cannot be used."""


class SourceError(SagError):
    """A source of documents cannot be read at all."""


class StoreError(SagError):
    """A file of the pipeline's own below SAG_HOME is damaged or missing; `sag repair` mends it."""


class ReleaseError(SagError):
    """The release on disk cannot be used."""


class SchemaMismatch(ReleaseError):  # noqa: N818  reads better where it is caught
    """A table's columns differ from the schema that names it."""

    def __init__(self, table: str, missing: set[str], extra: set[str]) -> None:
        """Say which columns are wrong, so that the message alone is enough to act on."""
        super().__init__(
            f"table {table!r}: missing columns {sorted(missing)}, unexpected {sorted(extra)}; "
            f"rebuild it with `dagster asset materialize --select {table}`"
        )
        self.table = table


class FilterError(SagError, ValueError):
    """A `where` or `sql` restriction was refused."""


class QueryError(SagError, ValueError):
    """A query is empty or asks for what the release does not hold."""


class RecordError(QueryError, TypeError):
    """A record or query does not have the form that is read."""


class ModelError(SagError):
    """A language or embedding model gave no usable answer."""


class ModelUnavailable(ModelError):  # noqa: N818  reads better where it is caught
    """The server cannot be reached; stop cleanly and resume later."""


class AnswerError(ModelError):
    """The answer does not have the shape that was asked for."""


class BudgetExceeded(ModelError):  # noqa: N818  reads better where it is caught
    """The budget of calls, tokens or money is used up."""
