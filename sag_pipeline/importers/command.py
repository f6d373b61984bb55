"""`sag import` and `sag export`: extractions of other systems as documents, and a release as files for them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sag_retrieval.cli.choices import of_release
from sag_retrieval.cli.printing import as_json, complain, print_json, say
from sag_retrieval.core.errors import SettingsError, SourceError

if TYPE_CHECKING:
    from sag_pipeline.importers.records import GivenDocument

FORMATS = ("graphrag", "lightrag", "hipporag", "openie", "events", "kg")
EXPORTS = ("kg", "jsonl", "graphml", "neo4j", "parquet", "duckdb")


def given_documents(form: str, source: Path, documents: Path | None = None) -> "Iterator[GivenDocument]":
    """The documents of an extraction by another system.

    Args:
        form: One of `FORMATS`.
        source: A folder (graphrag, lightrag, hipporag), else a Parquet, JSONL, JSON or CSV file.
        documents: For openie and kg: the file with `doc_id`, `title`, `text`, if the records lack them.
    """
    from sag_pipeline.importers.knowledge_graph import graphrag_documents, kg_documents, lightrag_documents  # noqa: PLC0415
    from sag_pipeline.importers.records import (  # noqa: PLC0415
        event_documents,
        first_of,
        openie_documents,
        openie_file,
        read_rows,
    )

    if not (source.is_file() or source.is_dir()):  # a pipe or a device may have no end
        raise SourceError(f"{source} is no regular file; save it as one")
    if form == "graphrag":
        return graphrag_documents(source)
    if form == "lightrag":
        return lightrag_documents(source)
    rows = read_rows(documents) if documents else ()
    texts = {str(first_of(row, ("doc_id", "document_id", "id"))): row for row in rows}
    if form == "kg":
        return kg_documents(source, texts)
    if form in {"openie", "hipporag"}:
        return openie_documents(read_rows(openie_file(source) if form == "hipporag" else source), texts)
    if form == "events":
        return event_documents(read_rows(source))
    raise SourceError(f"{form!r} is none of {', '.join(FORMATS)}")


def import_file(form: str, source: Path, out: Path, documents: Path | None = None) -> Counter[str]:
    """Write the documents to `out`, one per line, and count what was written and left out.

    The file is written whole or not at all.
    """
    if not out.name:
        raise SettingsError(f"--out {str(out)!r} names no file; give a .jsonl file to write")
    counts: Counter[str] = Counter(documents=0, events=0, keys=0, triples=0)
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.draft")
    try:
        with draft.open("w", encoding="utf-8") as lines:
            for document in given_documents(form, source, documents):
                lines.write(document.line() + "\n")
                counts["documents"] += 1
                counts["events"] += len(document.events)
                counts["keys"] += sum(len(event.keys) for event in document.events)
                counts["triples"] += sum(len(event.triples) for event in document.events)
                counts.update({f"left out: {why}": count for why, count in document.left_out.items() if count})
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
    return counts


@click.command("import")
@click.argument("form", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="the JSONL file to write")
@click.option(
    "--documents",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="for openie and kg: the file with doc_id, title and text, if the records lack them",
)
@as_json
def import_command(*, form: str, source: Path, out: Path, documents: Path | None, is_json: bool) -> None:
    """Turn the extraction of another system into documents with supplied events.

    FORMAT is graphrag (SOURCE: the folder of its Parquet output), lightrag (its working folder), hipporag (its folder
    of outputs, or the openie_results_….json there), openie (SOURCE: records with entities and triples of each
    passage), events (SOURCE: records with statements and their entities) or kg (SOURCE: a kg_output.json, or the
    graphs of single documents as lines of a .jsonl file). No model is called for such
    documents: run `sag ingest` on the file that this writes.
    """
    counts = import_file(form, source, out, documents)
    if is_json:
        print_json({"out": str(out)} | dict(counts))
    else:
        say(f"{out}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))


@click.command("export")
@click.argument("form", metavar="FORMAT", type=click.Choice(EXPORTS))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="the file or folder to write")
@of_release
@as_json
def export_command(*, form: str, out: Path, release_id: str | None, is_json: bool) -> None:
    """Write the knowledge graph of a release to a file for other programs; its tables need none (docs/python.md).

    \b
    FORMAT is one of
      kg       entities by type and name, relations, triples with their documents, as JSON that `sag import kg` reads
      jsonl    the same, the graph of one document a line
      graphml  entities and triples for networkx, igraph, Gephi
      neo4j    a folder with nodes.csv and relationships.csv for `neo4j-admin database import full`
      parquet  a folder with entities.parquet and triples.parquet
      duckdb   a copy of every table; goes with the next version, as each release has release.duckdb

    As in `sag export kg --out kg_output.json`.
    """
    if not out.name:
        raise SettingsError(f"--out {str(out)!r} names no file; give a file to write")
    if form == "duckdb":
        complain("`sag export duckdb` goes: each release has release.duckdb (`sag status` tells where)", kind="Warning")
    from sag_pipeline.importers.knowledge_graph import write_graph, write_tables  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval import open_release  # noqa: PLC0415

    with open_release(release=release_id) as release:
        counts = write_tables(release, out) if form == "duckdb" else write_graph(release, out, form)
    if is_json:
        print_json({"out": str(out)} | counts)
    else:
        say(f"{out}: " + ", ".join(f"{count:,} {name.removeprefix('total_')}" for name, count in counts.items()))
