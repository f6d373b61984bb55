"""Take documents out of a home and back, by the filters of search."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
import pyarrow as pa

from sag_retrieval.api import Release, open_release
from sag_retrieval.core.errors import FilterError, QueryError, shown
from sag_retrieval.core.settings import load_settings
from sag_retrieval.release.sandbox import SqlSandbox
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.taken_out import DocumentDecision, DocumentVerb, read_taken_out, write_taken_out


def decide_documents(
    verb: DocumentVerb | Literal["enable"],
    *,
    where: Mapping[str, Any] | None = None,
    sql: str | None = None,
    home: Path | str | None = None,
    is_dry: bool = False,
) -> list[DocumentDecision]:
    """Disable, delete or enable documents: readers of the running release follow at once, every ingest from then on.

    Examples:
        >>> from sag_retrieval import decide_documents
        >>> found = decide_documents("disable", where={"language": "zh"}, is_dry=True)
        >>> len(found), found[0].document_id
        (13, '502AI创立故事.md')

    Args:
        verb: `disable`: nothing of a document is found, and the next ingest publishes without it; its rows stay in the
            store. `delete`: the same, and the next ingest removes its rows; it stays away though its source has it.
            `enable` takes either back.
        where: Conditions as of a search; a document is meant as soon as one of its statements is. Of `enable` they are
            about documents alone: document_id, source, title, language, metadata.
        sql: A SELECT of ids, or a condition; of `enable`, a SELECT of document_id.
        home: Folder of releases; None: SAG_HOME.
        is_dry: Only say which documents would be meant; nothing is changed.

    Returns:
        The documents that the decision changes, by id; with the former verb where they are enabled.

    Raises:
        QueryError: If the verb is none of these, or neither where nor sql is given.
        FilterError: If either is refused.
        ReleaseError: If there is no release, or the file of decisions is damaged.
    """
    verbs = (*get_args(DocumentVerb), "enable")
    if verb not in verbs:
        raise QueryError(f"decision {shown(verb)} is none of {', '.join(verbs)}")
    if not where and sql is None:
        raise QueryError(f"no document is named; {_ANY}")
    folder = Path(load_settings(home=home).home)
    before = read_taken_out(folder)
    chosen = _away(before.values(), where, sql, is_strict=verb == "enable") if verb != "disable" else []
    if verb != "enable":
        with open_release(home) as release:
            chosen = [replace(one, verb=verb) for one in chosen if one.verb != verb] + _here(release, verb, where, sql)
    chosen.sort(key=lambda one: one.document_id)
    if chosen and not is_dry:
        kept = before | {one.document_id: one for one in chosen}
        if verb == "enable":
            kept = {name: one for name, one in before.items() if one not in chosen}
        write_taken_out(folder, sorted(kept.values(), key=lambda one: one.document_id))
    return chosen


def documents_away(home: Path | str | None = None) -> list[DocumentDecision]:
    """The documents that are disabled or deleted, by id.

    Examples:
        >>> from sag_retrieval import documents_away
        >>> documents_away()
        []

    Raises:
        ReleaseError: If the file of decisions is damaged.
    """
    found = read_taken_out(Path(load_settings(home=home).home))
    return [found[name] for name in sorted(found)]


def _here(
    release: Release, verb: DocumentVerb, where: Mapping[str, Any] | None, sql: str | None
) -> list[DocumentDecision]:
    """The documents of a release that a restriction names, as lines of the file."""
    allowed = release.restricted(where=where, sql=sql).allowed
    if allowed is None:  # conditions of which each is None
        raise QueryError(f"no document is named; {_ANY}")
    rows = np.unique(release.index.arrays.chunk_document[allowed.chunks])
    found = release.index.rows["documents"].select(_KEPT).take(pa.array(rows)).to_pylist()
    return [DocumentDecision(verb, **row) for row in found]


def _away(
    before: Iterable[DocumentDecision], where: Mapping[str, Any] | None, sql: str | None, *, is_strict: bool
) -> list[DocumentDecision]:
    """The documents of the file that a restriction names; not strict: none where it asks what is not known of them."""
    lines = list(before)
    empty = dict.fromkeys(TABLES["documents"].names, "") | {"char_count": 0}
    rows = pa.Table.from_pylist([empty | asdict(one) for one in lines], TABLES["documents"])
    box = SqlSandbox({"documents": rows.append_column("row", pa.array(range(len(lines)), pa.int32()))})
    found = set(range(len(lines)))
    try:
        for named in box.named(sql, where):
            found &= set(named.rows.tolist())
    except FilterError as error:
        if is_strict:
            raise FilterError(f"{error}; documents that are away are known by {', '.join(_KEPT)} alone") from error
        return []
    finally:
        box.close()
    return [lines[row] for row in sorted(found)]


_KEPT: Final = tuple(field.name for field in fields(DocumentDecision)[1:])
_ANY: Final = "name some by where, such as document_id=…, or by sql; `SELECT document_id FROM documents` names all"
