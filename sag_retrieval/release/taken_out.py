"""Documents that people took out, in `documents.csv` of the home: every reader looks there, every ingest follows it."""

import csv
import io
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final, Literal, get_args

from sag_retrieval.core import durable
from sag_retrieval.core.errors import ReleaseError, shown
from sag_retrieval.core.public import public

FILE: Final = "documents.csv"
_LARGEST: Final = 100_000_000
"""Bytes of the file: some 500,000 documents."""
DocumentVerb = Literal["disable", "delete"]


@public
@dataclass(frozen=True, slots=True)
class DocumentDecision:
    """A line of the file: what was decided of a document, and what is known of it while it is away."""

    verb: DocumentVerb
    """`disable`: it stays in the store; `delete`: the next ingest removes it from there too."""
    document_id: str
    source: str = ""
    title: str = ""
    language: str = ""
    metadata: str = "{}"
    """As JSON."""


def read_taken_out(home: Path) -> dict[str, DocumentDecision]:
    """What is decided of documents, by id; of several lines about one the last. Nothing where there is no file."""
    path = home / FILE
    try:
        if path.stat().st_size > _LARGEST:
            raise ReleaseError(f"{path} has more than {_LARGEST:,} bytes, which is the bound; `sag documents enable`")
        rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), strict=True)
        found = [_decision(path, rows.line_num, row) for row in rows if row and row[0] != "decision"]
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReleaseError(f"{path} cannot be read: {error}; write {_HEAD} as CSV in UTF-8") from error
    return {one.document_id: one for one in found}


def _decision(path: Path, line: int, row: list[str]) -> DocumentDecision:
    verb = next((one for one in get_args(DocumentVerb) if one == row[0].strip().lower()), None)
    if verb is None or not 2 <= len(row) <= len(_COLUMNS) or not row[1]:  # noqa: PLR2004  a decision and its document
        raise ReleaseError(
            f"{path}, line {line}: {shown(','.join(row))} is no decision; write {_HEAD}, such as disable,notes/old.md"
        )
    return DocumentDecision(verb, *row[1:])


def write_taken_out(home: Path, decided: Iterable[DocumentDecision]) -> None:
    """Replace the file at once: a reader sees all of it or what was before."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(_COLUMNS)
    lines.writerows(astuple(one) for one in decided)
    durable.write_text(home / FILE, written.getvalue())


_COLUMNS: Final = ("decision", *(field.name for field in fields(DocumentDecision)[1:]))
_HEAD: Final = ",".join(_COLUMNS)


class TakenOut:
    """The ids of the documents that are away, read again whenever the file has changed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._state = ""
        self._ids = frozenset[str]()

    def __call__(self) -> frozenset[str]:
        """The ids, the same object as long as the file is the same.

        Raises:
            ReleaseError: If the file is wrong: what it hides is not shown meanwhile.
        """
        state = ""
        with suppress(OSError):
            state = durable.state_of((self._home / FILE).stat())
        if state != self._state:
            self._ids, self._state = frozenset(read_taken_out(self._home)), state
        return self._ids
