"""The knowledge graph of a release as files for other programs: one function a form, from the graph to a place."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.language.words import without_controls

Graph = Mapping[str, Any]
_SEPARATOR: Final = ";"
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
        {name: _clean(each[name]) for name in ("id", "name", "type")} | {"aliases": _SEPARATOR.join(each["aliases"])}
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
