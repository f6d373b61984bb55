"""GraphRAG's Parquet output as documents: descriptions of entities and relationships become events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sag_pipeline.importers.knowledge_graph import stored_type
from sag_pipeline.importers.records import UNTYPED, GivenDocument, GivenEvent, SourceRow, listed, read_rows
from sag_retrieval.core.errors import SourceError
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import fold

TABLES = ("documents", "text_units", "entities", "relationships")
_GEO = "GEO"
_DATED = ("create_final_", "")
_LONGEST_EVENT = 300


def graphrag_documents(folder: Path) -> Iterator[GivenDocument]:
    """The documents of a GraphRAG output folder, with every description as events.

    A description belongs to the documents of its text units; a long one is divided into its sentences. Keys
    are the entity described, or both ends of the relationship; a relationship is also a triple
    `related_to`. Names are capitals there and take the spelling of the description where it has them.

    Raises:
        SourceError: If a table is missing, or a row lacks its id or name.

    """
    tables = {name: _checked(name, read_rows(_file(folder, name))) for name in TABLES}
    units = {row["id"]: _documents_of(row) for row in tables["text_units"]}
    types = {
        row["title"]: stored_type("location" if written == _GEO else written)
        for row in tables["entities"]
        if (written := str(row.get("type") or UNTYPED))
    }
    events: dict[str, dict[str, GivenEvent]] = {row["id"]: {} for row in tables["documents"]}
    for row in tables["entities"]:
        _add(events, units, row, _described(row, [row["title"]], types))
    for row in tables["relationships"]:
        _add(events, units, row, _described(row, [row["source"], row["target"]], types))
    for row in tables["documents"]:
        title = str(row.get("title") or row["id"])
        text = str(row.get("text") or row.get("raw_content") or "").lstrip("\ufeff")
        yield GivenDocument(title, title, text, tuple(events[row["id"]].values()), {"graphrag_id": row["id"]})


_NAMED = {
    "documents": ("id",),
    "text_units": ("id",),
    "entities": ("title",),
    "relationships": ("source", "target"),
}


def _checked(table: str, rows: Iterable[SourceRow]) -> list[SourceRow]:
    """The rows of a table, if each has its id or name as text."""
    kept = list(rows)
    for number, row in enumerate(kept, start=1):
        for name in _NAMED[table]:
            if not isinstance(row.get(name), str):
                got = type(row.get(name)).__name__
                raise SourceError(f"GraphRAG's table {table!r}, row {number}: {name!r} must be text, got {got}")
    return kept


def _file(folder: Path, table: str) -> Path:
    """`entities.parquet`, `create_final_entities.parquet`, or the only file with that ending."""
    found = sorted(folder.glob(f"*{table}.parquet"))
    exact = [path for path in found if path.stem.removeprefix("create_final_") == table]
    chosen = exact or found
    if len(chosen) != 1:
        raise SourceError(f"{folder} holds {len(chosen)} files for GraphRAG's table {table!r}, expected one")
    return chosen[0]


def _documents_of(unit: SourceRow) -> list[str]:
    found = unit.get("document_ids")
    return _texts(found if found is not None else [unit.get("document_id")])


def _texts(value: object) -> list[str]:
    return [item for item in listed(value) if isinstance(item, str)]


def _add(
    events: Mapping[str, dict[str, GivenEvent]],
    units: Mapping[str, Sequence[str]],
    row: SourceRow,
    made: Sequence[GivenEvent],
) -> None:
    """Add events to the documents of a row's text units, each statement once."""
    owners = dict.fromkeys(owner for unit in _texts(row.get("text_unit_ids")) for owner in units.get(unit, ()))
    for owner in owners:
        for event in made:
            if owner in events:
                events[owner].setdefault(event.content, event)


def _described(row: SourceRow, names: Sequence[str], types: Mapping[str, str]) -> list[GivenEvent]:
    text = " ".join(str(row.get("description") or "").split())
    if not text:
        return []
    keys = tuple((types.get(name, UNTYPED), spelling_in(name, text)) for name in dict.fromkeys(names))
    triple = ((keys[0][1], "related_to", keys[1][1]),) if len(keys) > 1 else ()
    parts = [text] if len(text) <= _LONGEST_EVENT else [" ".join(part.split()) for part in sentences(text)]
    return [GivenEvent(part, keys, triple if place == 0 else ()) for place, part in enumerate(parts)]


def spelling_in(name: str, text: str) -> str:
    """A name in the spelling of the text, or unchanged if the text does not contain it.

    Examples:
        >>> spelling_in("BOB CRATCHIT", "The clerk, Bob Cratchit, shivers."), spelling_in("FRED", "A nephew.")
        ('Bob Cratchit', 'FRED')

    """
    place = text.casefold().find(name.casefold())
    found = text[place : place + len(name)]
    return found if place >= 0 and fold(found) == fold(name) else name
