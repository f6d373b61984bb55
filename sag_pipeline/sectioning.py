"""Sections by rules or by a language model, and chunks under their headers: work for the assets."""

from collections.abc import Iterator, Sequence

from sag_pipeline.options import IngestOptions
from sag_pipeline.rules.sections import offline_sections
from sag_pipeline.runner import StepInput, StepResult, Work, per_document
from sag_pipeline.steps.chunks import split_chunks
from sag_pipeline.steps.headers import chunk_header, offline_section_summaries, section_summary_requests, with_summaries
from sag_pipeline.steps.sections import section_requests, sections_from_replies
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import Chunk, Document, Section, Summary
from sag_retrieval.models.protocols import ChatModel


def sections_by_rules(options: IngestOptions) -> Work:
    """Sections by headings, blank lines and change of words."""

    def divide(inputs: StepInput) -> list[Section]:
        document: Document = inputs.one("documents")
        found = offline_sections(document, options.section)
        return offline_section_summaries(document, found) if options.header.section_summary else found

    return per_document(divide)


def sections_by_model(chat: ChatModel, options: IngestOptions) -> Work:
    """Sections as a model sees them; where it fails, the rest of the document's windows still count."""

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        documents: list[Document] = [inputs.one("documents") for inputs in batch]
        asked = [section_requests(document, options.section) for document in documents]
        replies = iter(chat.ask_all([request for requests in asked for request in requests]))
        for document, requests in zip(documents, asked, strict=True):
            got = [next(replies) for _ in requests]
            found = sections_from_replies(document, got, options.section)
            faults = [reply for reply in got if isinstance(reply, ModelError)]
            if options.header.section_summary:
                summaries = list(chat.ask_all(section_summary_requests(document, found)))
                found = with_summaries(found, summaries)
                faults += [reply for reply in summaries if isinstance(reply, ModelError)]
            yield StepResult(
                tuple(found), f"{len(faults)} questions unanswered, the first: {faults[0]}" if faults else ""
            )

    return work


def chunks_under_headers(options: IngestOptions) -> Work:
    """Chunks of each section, each with the header of its section."""

    def split(inputs: StepInput) -> list[Chunk]:
        summaries: Sequence[Summary] = inputs.tables["summaries"]
        summary = summaries[0].summary if summaries else ""
        return chunks_of(inputs.one("documents"), inputs.tables["sections"], summary, options)

    return per_document(split)


def chunks_of(document: Document, sections: Sequence[Section], summary: str, options: IngestOptions) -> list[Chunk]:
    """The chunks of a document under the headers of their sections."""

    def header_of(section: Section) -> str:
        return chunk_header(document.title, summary, section.title, section.summary, document.language, options.header)

    return split_chunks(document, sections, options.chunk, header_of=header_of)
