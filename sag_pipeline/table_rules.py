"""The rule of each table: from what its step reads of a document to the records it makes of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.document_dates import with_context_dates
from sag_pipeline.extract.events import given_events
from sag_pipeline.extract.headers import offline_section_summaries
from sag_pipeline.extract.keys import main_keys
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.recogniser import RULES
from sag_pipeline.extract.rules.relations import derive_triples
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.extract.summaries import summarise
from sag_pipeline.table import StepInput
from sag_retrieval.core.records import Chunk, Event, EventKey, Section, Summary, Triple

if TYPE_CHECKING:
    from sag_pipeline.options import IngestOptions


def summaries(inputs: StepInput, options: "IngestOptions") -> Sequence[Summary]:
    """The most representative sentences of a document."""
    return [summarise(inputs.one("documents"), options.summary)]


def sections(inputs: StepInput, options: "IngestOptions") -> Sequence[Section]:
    """Sections by headings; with a summary each where the header shows one."""
    found = offline_sections(inputs.one("documents"), options.section)
    return offline_section_summaries(inputs.one("documents"), found) if options.header.section_summary else found


def chunks(inputs: StepInput, options: "IngestOptions") -> Sequence[Chunk]:
    """Whole sentences of one section, with the header that is embedded before them."""
    summary = next(iter(inputs.tables["summaries"]), Summary(inputs.document_id, ""))
    return split_chunks(inputs.one("documents"), inputs.tables["sections"], options.chunk, summary, options.header)


def events(inputs: StepInput, _: "IngestOptions") -> Sequence[Event]:
    """Events that were supplied with a document, else its sentences that state something."""
    document, chunks = inputs.one("documents"), inputs.tables["chunks"]
    if document.extraction is not None:
        found = [event for one in given_events(document, chunks) for event in one.events]
    else:
        found = [event for events in offline_events(document, chunks) for event in events]
    return with_context_dates(document, found)


def keys(inputs: StepInput, options: "IngestOptions") -> Sequence[EventKey]:
    """Keys that were supplied with a document, else names, dates and numbers; and the main key of each chunk."""
    document, chunks = inputs.one("documents"), inputs.tables["chunks"]
    if document.extraction is not None:
        found = [key for extraction in given_events(document, chunks) for key in extraction.keys]
    else:
        types = options.key_schema.of_source(document.source)
        found = offline_keys(document, inputs.tables["events"], types, options.recogniser or RULES)
    return [*found, *main_keys(document, chunks)]


def triples(inputs: StepInput, _: "IngestOptions") -> Sequence[Triple]:
    """Triples that were supplied with a document, else those derived from the keys of its events."""
    document, chunks = inputs.one("documents"), inputs.tables["chunks"]
    if document.extraction is not None:
        given = [triple for found in given_events(document, chunks) for triple in found.triples]
        if given:
            return given
    return derive_triples(document.document_id, inputs.tables["events"], inputs.tables["keys"], document.language)
