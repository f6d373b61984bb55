"""Knowledge graphs as documents, from `kg_output.json` and GraphRAG's Parquet; a release's own graph as files."""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import digits
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from sag_pipeline.extract.triples import ENTITY, end_key, is_entity, relation_name
from sag_pipeline.importers.records import (
    UNTYPED,
    GivenDocument,
    GivenEvent,
    SourceRow,
    first_of,
    listed,
    read_rows,
    statement,
)
from sag_pipeline.publish.open_tables import write_copy
from sag_retrieval.api import Release
from sag_retrieval.core import durable
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.records import Triple, make_id
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import fold, without_controls

UNKNOWN: Final = "Unknown"
"""Type of a head or tail without a type."""

_NEEDED: Final = ("head", "relation", "tail")
_ID: Final = ("doc_id", "document_id", "id")


def outermost_json(text: str) -> dict[str, Any]:
    """The object between the first `{` and the last `}` of a text."""
    start, end = text.find("{"), text.rfind("}")
    if not 0 <= start < end:
        raise SourceError(f"no JSON object in {text[:60]!r}")
    try:
        found: dict[str, Any] = json.loads(text[start : end + 1])
    except (ValueError, RecursionError) as error:
        raise SourceError(f"broken JSON object in {text[:60]!r}: {str(error).partition(';')[0]}") from error
    return found


def _objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; of what another program wrote, anything else is left out."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def merge_graphs(graphs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the graphs of single documents into one.

    Entities are the heads and tails of the triples, one per type and folded name; other spellings are its aliases. Ids
    depend on type and name only, so they stay the same when documents are added. Graphs without `doc_id` and triples
    without head or tail are left out. `clean_graph` removes other errors of a model.

    Source: docs/algorithm.md §think-on-graph.11.
    """
    merged = _Merged()
    for graph in graphs:
        if graph.get("doc_id") is not None:
            merged.add(graph)
    return merged.as_dict()


def clean_graph(graph: Mapping[str, Any], document: object) -> dict[str, Any]:
    """Clean a model's graph of one document for merging.

    Ends get the names and types of their entities (`named_triples`). Left out: triples without head, relation or tail,
    or with a bare amount as head or tail, and entities that are bare amounts. Relations become lower snake case. Every
    triple gets `document` as its document.

    Source: docs/algorithm.md §think-on-graph.2.
    """
    triples = [
        {**triple, "relation": relation_name(str(triple["relation"])), "doc_id": document}
        for triple in named_triples(graph)
        if all(_text(triple.get(part)) for part in _NEEDED)
        and all(is_entity(str(triple[end])) for end in ("head", "tail"))
    ]
    entities = [e for e in _objects(graph.get("entities")) if is_entity(str(e.get("name") or ""))]
    return {**graph, "doc_id": document, "entities": entities, "triples": triples}


def named_triples(graph: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The triples of a graph; each end has the name and the type of its entity, where `entities` has one.

    An end is found by `head_id` or `tail_id`, else by its text as a name or alias, else by its text as an id. Text that
    is a name stays as it is written, and so does an id without an entity: `unnamed` counts these ends of a triple.

    Examples:
        >>> graph = {"entities": [{"id": "e1", "name": "Ada", "type": "Person"}]}
        >>> graph["triples"] = [{"head": "e1", "relation": "met", "tail": "e2"}]
        >>> named_triples(graph)[0]["head"], named_triples(graph)[0]["head_type"], named_triples(graph)[0]["unnamed"]
        ('Ada', 'Person', 1)
    """
    entities = [entity for entity in _objects(graph.get("entities")) if _text(entity.get("name"))]
    by_id = {_text(entity["id"]): entity for entity in entities if _text(entity.get("id"))}
    by_name = {fold(name): each for each in reversed(entities) for name in _texts(each.get("aliases"))}
    by_name |= {fold(_text(entity["name"])): entity for entity in reversed(entities)}
    of_ids = {entity_id.rstrip(digits) for entity_id in by_id} - {""}
    found = []
    for triple in _objects(graph.get("triples")):
        made = dict(triple) | {"unnamed": 0}
        for end in ("head", "tail"):
            text, given = _text(triple.get(end)), _text(triple.get(f"{end}_id"))
            entity = by_id.get(given) if given else by_name.get(fold(text), by_id.get(text))
            is_id = not text or (text in by_id and fold(text) not in by_name)
            made[end] = _text(entity["name"]) if entity and is_id else text or given
            if entity and entity.get("type"):
                made[f"{end}_type"] = triple.get(f"{end}_type") or entity["type"]
            made["unnamed"] += not entity and (not text or text.rstrip(digits) in of_ids)
        found.append(made)
    return found


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


@dataclass(slots=True)
class _Merged:
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    aliases: dict[str, dict[str, None]] = field(default_factory=dict)
    relations: dict[str, dict[str, Any]] = field(default_factory=dict)
    triples: list[dict[str, Any]] = field(default_factory=list)
    mapping: dict[str, dict[str, int]] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)

    def add(self, graph: Mapping[str, Any]) -> None:
        document = str(graph["doc_id"])
        self.domains[document] = graph.get("domain") or ""
        first = len(self.triples)
        properties = {
            _identity(entity.get("type"), str(entity.get("name") or "")): _object(entity.get("properties"))
            for entity in _objects(graph.get("entities"))
        }
        for triple in _objects(graph.get("triples")):
            if all(_text(triple.get(end)) for end in ("head", "tail")):
                self._add_triple(triple, triple.get("doc_id", graph["doc_id"]), properties)
        if len(self.triples) > first:
            self.mapping[document] = {"start_triple_index": first, "end_triple_index": len(self.triples) - 1}

    def _add_triple(self, triple: Mapping[str, Any], document: object, properties: Mapping[str, Any]) -> None:
        ends = {end: self._entity(triple, end, properties) for end in ("head", "tail")}
        types = {end: ends[end]["type"] for end in ends}
        if triple.get("relation"):
            self._count(triple["relation"], types)
        self.triples.append(
            {
                "head": triple["head"],
                "head_id": ends["head"]["id"],
                "head_type": types["head"],
                "relation": triple.get("relation") or "",
                "tail": triple["tail"],
                "tail_id": ends["tail"]["id"],
                "tail_type": types["tail"],
                "doc_id": document,
                "properties": _object(triple.get("properties")),
            }
        )

    def _count(self, relation: str, types: Mapping[str, str]) -> None:
        examples = {f"example_{end}_type": types[end] for end in ("head", "tail")}
        self.relations.setdefault(relation, {"type": relation, "count": 0, **examples})["count"] += 1

    def _entity(self, triple: Mapping[str, Any], end: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        name, key_type = str(triple[end]), triple.get(f"{end}_type") or UNKNOWN
        identity = _identity(key_type, name)
        entity = self.entities.setdefault(identity, {"id": identity, "name": name, "type": key_type, "properties": {}})
        entity["properties"] = {**properties.get(identity, {}), **entity["properties"]}
        if name != entity["name"]:
            self.aliases.setdefault(identity, {})[name] = None
        return entity

    def as_dict(self) -> dict[str, Any]:
        return {
            "entities": [e | {"aliases": list(self.aliases.get(e["id"], ()))} for e in self.entities.values()],
            "relations": list(self.relations.values()),
            "triples": self.triples,
            "doc_mapping": self.mapping,
            "doc_domains": self.domains,
            "statistics": {
                "total_entities": len(self.entities),
                "total_triples": len(self.triples),
                "total_relation_types": len(self.relations),
            },
        }


def export_graph(triples: Sequence[Triple], key_types: Mapping[str, str]) -> dict[str, Any]:
    """`kg_output.json` of a release's triples; the types of entities are those of their keys."""
    by_document: dict[str, list[dict[str, Any]]] = {}
    for triple in triples:
        by_document.setdefault(triple.document_id, []).append(
            {
                "head": triple.head,
                "head_type": key_types.get(triple.head_key_id, ENTITY),
                "relation": triple.relation,
                "tail": triple.tail,
                "tail_type": key_types.get(triple.tail_key_id, ENTITY),
                "properties": json.loads(triple.properties),
            }
        )
    return merge_graphs({"doc_id": document, "triples": found} for document, found in by_document.items())


def events_of_graph(graph: Mapping[str, Any]) -> dict[str, list[GivenEvent]]:
    """Supplied events by document id from a `kg_output.json`, one per triple: sentence, typed keys and the triple.

    Ends have the names and types of their entities (`named_triples`), and their aliases are other names of the keys.

    Raises:
        SourceError: If the graph has no list of triples, or none of them says its document.
    """
    if not isinstance(graph.get("triples"), list):
        raise SourceError("no list `triples`; a kg_output.json has entities, relations and triples")
    aliases = {_text(each.get("name")): tuple(_texts(each.get("aliases"))) for each in _objects(graph.get("entities"))}
    triples = named_triples(graph)
    events: dict[str, dict[str, GivenEvent]] = {}
    for triple in triples:
        head, relation, tail = (_text(triple.get(part)) for part in _NEEDED)
        if triple.get("doc_id") is not None and head and relation and tail:
            types = [stored_type(str(triple.get(f"{end}_type") or ENTITY)) for end in ("head", "tail")]
            event = GivenEvent(
                statement((head, relation_name(relation), tail)),
                tuple(zip(types, (head, tail), strict=True)),
                ((head, relation, tail),),
                _object(triple.get("properties")),
                {name: aliases[name] for name in (head, tail) if name in aliases},
                triple["unnamed"],
            )
            events.setdefault(str(triple["doc_id"]), {}).setdefault(repr(event), event)
    if triples and not events:
        raise SourceError(f"none of {len(triples):,} triples has head, relation, tail and `doc_id`, its document")
    return {document: list(found.values()) for document, found in events.items()}


def stored_type(written: str) -> str:
    """A type of another system as the default schema calls it, else in lower case."""
    named = default_schema().every.named(written)
    return named.name if named else written.lower()


def _identity(key_type: object, name: str) -> str:
    return make_id("n", key_type or UNKNOWN, fold(name))


def kg_documents(source: Path, texts: Mapping[str, SourceRow] | None = None) -> Iterator[GivenDocument]:
    """The documents of a merged graph, or of the graphs of single documents, one per line of a `.jsonl` file.

    The text of a document is that of its row in `texts`, else its statements.

    Raises:
        SourceError: If the file holds no graph.
    """
    try:
        found = events_of_graph(read_graph(source))
    except SourceError as error:
        raise SourceError(str(error) if str(source) in str(error) else f"{source}: {error}") from error
    for document, events in found.items():
        row = (texts or {}).get(document, {})
        text = str(first_of(row, ("text", "passage", "content")) or "\n".join(event.content for event in events))
        left_out = {"name of an id without an entity": sum(event.unnamed for event in events)}
        yield GivenDocument(document, str(row.get("title") or document), text, tuple(events), left_out=left_out)


def read_graph(source: Path) -> SourceRow:
    """A merged graph: the file itself, or the graphs of its lines, cleaned and merged."""
    if source.suffix != ".jsonl":
        try:
            return outermost_json(source.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SourceError(f"{source} cannot be read: {error}") from error
    return merge_graphs(_cleaned(source))


def _cleaned(source: Path) -> Iterator[SourceRow]:
    for number, row in enumerate(read_rows(source), start=1):
        document = first_of(row, _ID)
        if document is None:
            raise SourceError(f"{source}, row {number}: no `doc_id`; every line is the graph of one document")
        yield clean_graph(row, document)


FILE = "kg_output.json"


def graph_of_release(release: Release) -> dict[str, Any]:
    """The knowledge graph of a release: entities by type and name, relations, triples, and the place of each document.

    Source: docs/algorithm.md §think-on-graph.11.
    """
    rows = release.index.rows
    types = dict(zip(rows["keys"]["key_id"].to_pylist(), rows["keys"]["key_type"].to_pylist(), strict=True))
    triples = [Triple(**row) for row in rows["triples"].select(list(Triple.__dataclass_fields__)).to_pylist()]
    for triple in triples:
        for key_id, name in ((triple.head_key_id, triple.head), (triple.tail_key_id, triple.tail)):
            types.setdefault(key_id, end_key(name).key_type)
    return export_graph(triples, types)


def write_graph(release: Release, out: Path, form: str = "kg") -> dict[str, int]:
    """Write the graph of a release to a file or folder, whole or not at all; returns its counts."""
    graph = graph_of_release(release)
    with _draft_of(out) as draft:
        WRITERS[form](graph, draft)
    counts: dict[str, int] = graph["statistics"] | {"documents": len(graph["doc_mapping"])}
    return counts


def write_tables(release: Release, out: Path) -> dict[str, int]:
    """Write every table of a release to a new DuckDB file, whole or not at all; goes with the next version."""
    if out.exists():
        raise SourceError(f"{out} exists; remove it, or name another file with --out")
    with _draft_of(out) as draft:
        write_copy(draft, {name: release.index.rows[name] for name in release.tables})
    return dict(release.tables)


@contextmanager
def _draft_of(out: Path) -> Iterator[Path]:
    """A place to write to, which becomes `out` if all goes well, and is removed if not."""
    durable.make_folder(out.parent)
    draft = out.with_name(f".{out.name}.{uuid4().hex}")
    try:
        yield draft
        if draft.is_dir() and out.exists():
            raise SourceError(f"{out} exists; remove it, or name another folder with --out")
        durable.sync_all([*sorted(draft.rglob("*"), reverse=True), draft])
        durable.rename(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        draft.unlink(missing_ok=True)


_NAMED = {"documents": ["id"], "text_units": ["id"], "entities": ["title"], "relationships": ["source", "target"]}
"""The tables of GraphRAG, and the columns of each that name what it is about."""
_GEO = "GEO"
_LONGEST_EVENT = 300


def graphrag_documents(folder: Path) -> Iterator[GivenDocument]:
    """The documents of a GraphRAG output folder, with every description as events.

    A description belongs to the documents of its text units; a long one is divided into its sentences. Keys
    are the entity described, or both ends of the relationship; a relationship is also a triple
    `related_to`. Names are capitals there and take the spelling of the description where it has them.

    Raises:
        SourceError: If a table is missing, or a row lacks its id or name.
    """
    return _described_documents({name: _checked(name, read_rows(_file(folder, name))) for name in _NAMED})


def _described_documents(
    tables: Mapping[str, Sequence[SourceRow]], own: str = "graphrag_id"
) -> Iterator[GivenDocument]:
    """The documents of GraphRAG's tables; `own` is the field of the metadata with a document's id there."""
    units = {
        row["id"]: _texts(row["document_ids"] if row.get("document_ids") is not None else [row.get("document_id")])
        for row in tables["text_units"]
    }
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
        yield GivenDocument(title, title, text, tuple(events[row["id"]].values()), {own: row["id"]})


_LIGHTRAG: Final = {"documents": "kv_store_full_docs.json", "text_units": "kv_store_text_chunks.json"}
_GRAPH: Final = "graph_chunk_entity_relation.graphml"
_SEPARATOR: Final = "<SEP>"
"""Between the descriptions, and the ids of chunks, that LightRAG joins."""
_NO_FILE: Final = frozenset({"", "unknown_source"})


def lightrag_documents(folder: Path) -> Iterator[GivenDocument]:
    """The documents of a LightRAG working folder with its default stores, as those of GraphRAG."""
    import igraph  # noqa: PLC0415  slow to load

    try:
        stores = {table: json.loads((folder / file).read_text("utf-8")) for table, file in _LIGHTRAG.items()}
        graph = igraph.Graph.Read_GraphML(str(folder / _GRAPH))
    except (OSError, ValueError, igraph.InternalError) as error:
        raise SourceError(f"{folder} is no working folder of LightRAG: {error}") from error
    paths = [str(row.get("file_path") or "") for row in stores["documents"].values()]
    names = [_text(name).strip('"') for name in graph.vs["id"]] if len(graph.vs) else []
    tables = {
        "documents": [
            {
                "id": each,
                "title": path if path not in _NO_FILE and paths.count(path) == 1 else each,
                "text": row["content"],
            }
            for (each, row), path in zip(stores["documents"].items(), paths, strict=True)
        ],
        "text_units": [{"id": each, "document_id": row["full_doc_id"]} for each, row in stores["text_units"].items()],
        "entities": [
            {"title": names[each.index], "type": _text(each.attributes().get("entity_type")).strip('"')} | _joined(each)
            for each in graph.vs
        ],
        "relationships": [
            {"source": names[each.source], "target": names[each.target]} | _joined(each) for each in graph.es
        ],
    }
    return _described_documents(tables, "lightrag_id")


def _joined(part: Any) -> dict[str, Any]:  # noqa: ANN401  igraph has no types
    """Description and chunks of a vertex or an edge."""
    found = part.attributes()
    said, units = (_text(found.get(name)).split(_SEPARATOR) for name in ("description", "source_id"))
    return {"description": "\n".join(said), "text_unit_ids": units}


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
    """A name in the spelling of the text, or unchanged if the text does not contain it."""
    place = text.casefold().find(name.casefold())
    found = text[place : place + len(name)]
    return found if place >= 0 and fold(found) == fold(name) else name


Graph = Mapping[str, Any]
_LIST_SEPARATOR: Final = ";"
"""Between the values of a list, as `neo4j-admin database import` reads it."""


def write_kg(graph: Graph, out: Path) -> None:
    """One JSON file, which `sag import kg` reads."""
    out.write_text(without_controls(json.dumps(graph, ensure_ascii=False, indent=1)) + "\n", encoding="utf-8")


def write_json_lines(graph: Graph, out: Path) -> None:
    """The graph of one document a line, with its entities; `sag import kg` reads it, too."""
    entities, by_document = {each["id"]: each for each in graph["entities"]}, dict[str, list[Mapping[str, Any]]]()
    for triple in graph["triples"]:
        by_document.setdefault(str(triple["doc_id"]), []).append(triple)
    with out.open("w", encoding="utf-8") as lines:
        for document, triples in by_document.items():
            named = dict.fromkeys(triple[f"{end}_id"] for triple in triples for end in ("head", "tail"))
            row = {"doc_id": document, "entities": [entities[each] for each in named], "triples": triples}
            lines.write(without_controls(json.dumps(row, ensure_ascii=False)) + "\n")


def write_graphml(graph: Graph, out: Path) -> None:
    """Entities and triples for networkx, igraph, Gephi."""
    import igraph  # noqa: PLC0415  slow to load

    row = {each["id"]: place for place, each in enumerate(graph["entities"])}
    triples = graph["triples"]
    found = igraph.Graph(len(row), [(row[each["head_id"]], row[each["tail_id"]]) for each in triples], directed=True)
    nodes = _nodes(graph)
    for name in ("id", "name", "type", "aliases"):
        found.vs[name] = [node[name] for node in nodes]
    for name in ("relation", "doc_id"):
        found.es[name] = [_clean(each[name]) for each in triples]
    found.es["properties"] = [_clean(json.dumps(each["properties"], ensure_ascii=False)) for each in triples]
    found.write_graphml(str(out))


def write_neo4j(graph: Graph, out: Path) -> None:
    """`nodes.csv` and `relationships.csv` as `neo4j-admin database import full` reads them."""
    out.mkdir()
    nodes = [(each["id"], each["name"], each["type"], each["aliases"]) for each in _nodes(graph)]
    edges = [
        (each["head_id"], each["tail_id"], each["relation"], each["doc_id"], json.dumps(each["properties"]))
        for each in graph["triples"]
    ]
    _csv(out / "nodes.csv", (":ID", "name", ":LABEL", "aliases:string[]"), nodes)
    _csv(out / "relationships.csv", (":START_ID", ":END_ID", ":TYPE", "document", "properties"), edges)


def _csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        written = csv.writer(file)
        written.writerow(names)
        written.writerows([_clean(each) for each in row] for row in rows)


def write_parquet(graph: Graph, out: Path) -> None:
    """`entities.parquet` and `triples.parquet`."""
    out.mkdir()
    triples = [{**each, "properties": json.dumps(each["properties"], ensure_ascii=False)} for each in graph["triples"]]
    entities = [{name: each[name] for name in ("id", "name", "type", "aliases")} for each in graph["entities"]]
    for name, rows in (("entities", entities), ("triples", triples)):
        pq.write_table(pa.Table.from_pylist(rows), out / f"{name}.parquet")


def _nodes(graph: Graph) -> list[dict[str, str]]:
    """Entities, with their other names as one text."""
    return [
        {name: _clean(each[name]) for name in ("id", "name", "type")}
        | {"aliases": _LIST_SEPARATOR.join(each["aliases"])}
        for each in graph["entities"]
    ]


def _clean(value: object) -> str:
    return without_controls(str(value))


WRITERS: Final[dict[str, Callable[[Graph, Path], None]]] = {
    "kg": write_kg,
    "jsonl": write_json_lines,
    "graphml": write_graphml,
    "neo4j": write_neo4j,
    "parquet": write_parquet,
}
