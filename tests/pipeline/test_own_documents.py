"""The documents that the demo reads hang together."""

import json
from pathlib import Path

import pytest

from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.records import Document

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def documents():
    found = [
        parse_document(raw) if isinstance(raw, RawDocument) else raw for raw in list_source(str(DATA / "documents"))
    ]
    assert all(isinstance(document, Document) for document in found)
    return {document.document_id: document for document in found}


def test_there_are_about_twenty_half_of_them_chinese(documents):
    chinese = sum(document.language == "zh" for document in documents.values())

    assert 16 <= len(documents) <= 24
    assert 0.4 <= chinese / len(documents) <= 0.6


def test_every_question_needs_two_documents_that_are_there(documents):
    questions = [json.loads(line) for line in (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()]

    assert len({question["id"] for question in questions}) == len(questions) >= 8
    for question in questions:
        assert set(question) == {"id", "question", "answers", "gold_documents"}
        assert len(question["gold_documents"]) == 2
        assert set(question["gold_documents"]) <= set(documents)
