"""A release as files for other programs: its triples as kg_output.json, its tables as a DuckDB database."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from sag_pipeline.extract.triples import end_key
from sag_pipeline.importers.knowledge_graph import export_graph
from sag_pipeline.publish.open_tables import write_copy
from sag_retrieval.api import Release
from sag_retrieval.core import durable
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.records import Triple
from sag_retrieval.language.words import without_controls

FILE = "kg_output.json"


def graph_of_release(release: Release) -> dict[str, Any]:
    """The knowledge graph of a release: entities by type and name, relations, triples, and the place of each document.

    Source:
        docs/algorithm.md §think-on-graph.11

    """
    rows = release.index.rows
    types = dict(zip(rows["keys"]["key_id"].to_pylist(), rows["keys"]["key_type"].to_pylist(), strict=True))
    triples = [Triple(**row) for row in rows["triples"].select(list(Triple.__dataclass_fields__)).to_pylist()]
    for triple in triples:
        for key_id, name in ((triple.head_key_id, triple.head), (triple.tail_key_id, triple.tail)):
            types.setdefault(key_id, end_key(name).key_type)
    return export_graph(triples, types)


def write_graph(release: Release, out: Path) -> dict[str, int]:
    """Write the graph of a release to a file, whole or not at all; returns its counts."""
    graph = graph_of_release(release)
    durable.make_folder(out.parent)
    durable.write_text(out, without_controls(json.dumps(graph, ensure_ascii=False, indent=1)) + "\n")
    counts: dict[str, int] = graph["statistics"] | {"documents": len(graph["doc_mapping"])}
    return counts


def write_tables(release: Release, out: Path) -> dict[str, int]:
    """Write every table of a release to a new DuckDB file, whole or not at all; goes with the next version.

    Raises:
        SourceError: If the file exists: a database that somebody works with is never replaced.

    """
    if out.exists():
        raise SourceError(f"{out} exists; remove it, or name another file with --out")
    durable.make_folder(out.parent)
    draft = out.with_name(f".{out.name}.{uuid4().hex}")
    try:
        write_copy(draft, {name: release.index.rows[name] for name in release.tables})
        durable.sync(draft)
        durable.rename(draft, out)
    finally:
        draft.unlink(missing_ok=True)
    return dict(release.tables)
