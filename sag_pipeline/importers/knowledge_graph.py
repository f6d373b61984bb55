"""Knowledge graphs in the form of kg_output.json as documents: every triple becomes an event with two typed keys."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sag_pipeline.extract.kg_output import clean_graph, events_of_graph, merge_graphs, outermost_json
from sag_pipeline.importers.records import GivenDocument, GivenEvent, SourceRow, first_of, read_rows
from sag_retrieval.core.errors import SourceError

_ID = ("doc_id", "document_id", "id")


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
        given = tuple(
            GivenEvent(
                event["content"],
                tuple((key["type"], key["value"]) for key in event["keys"]),
                tuple(tuple(triple) for triple in event["triples"]),
                event["properties"],
            )
            for event in events
        )
        text = str(first_of(row, ("text", "passage", "content")) or "\n".join(event.content for event in given))
        left_out = {"name of an id without an entity": sum(event["unnamed"] for event in events)}
        yield GivenDocument(document, str(row.get("title") or document), text, given, left_out=left_out)


def read_graph(source: Path) -> SourceRow:
    """A merged graph: the file itself, or the graphs of its lines, cleaned and merged.

    Raises:
        SourceError: If the file cannot be read, or a line has no `doc_id`.

    """
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
