"""Titles of documents written by a language model, for headers: a file's own title often says nothing."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from sag_pipeline.extract.summaries import prompt_language
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import Document, Summary
from sag_retrieval.models.protocols import AnswerShape, Reply, Request
from sag_retrieval.prompts import as_lines, load_prompt

READ = 6_000
"""Characters of a document that a model reads: the start says what it is."""
_LONGEST = 200
_QUOTES = "\"'“”‘’《》「」# "


class DocumentTitle(AnswerShape):
    """The model's title for one document."""

    title: str = Field(description="the title alone, in the language of the document")


def title_request(document: Document, *, language: str = "auto") -> Request[DocumentTitle] | None:
    """The request for a document's title; None for a document without text."""
    start = document.text[:READ].strip()
    if not start:
        return None
    prompt = load_prompt("titles", prompt_language(document, language), "sag_pipeline.llm.prompts")
    text = prompt.fill(document=as_lines([{"file_title": document.title, "start": start}]))
    return Request(text, DocumentTitle, "titles", prompt.system, document.document_id)


def with_title(summary: Summary, replies: Sequence[Reply[DocumentTitle] | ModelError]) -> Summary:
    """The summary with the title in the reply; as it is without a reply, or if the model failed."""
    titles = [title_from_reply(reply.value) for reply in replies if isinstance(reply, Reply)]
    return replace(summary, made_title=titles[0]) if titles else summary


def title_from_reply(answer: DocumentTitle) -> str | None:
    """The title on one line, without quotes around it; None if nothing is left."""
    return " ".join(answer.title.split()).strip(_QUOTES)[:_LONGEST].strip() or None
