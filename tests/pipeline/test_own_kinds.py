"""Kinds of text that name their places by lines and numbers, and files that other programs read."""

import json

from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import list_source
from sag_retrieval.core.records import Document
from sag_retrieval.language.places import place_name, places_within


def read(tmp_path, name: str, text: str) -> Document:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (document,) = map(parse_document, list_source(str(tmp_path / name)))
    assert isinstance(document, Document), document
    return document


def place_of(document: Document, words: str) -> str:
    start = document.text.index(words)
    places = places_within(document.metadata, start, start + len(words))
    return place_name(places, start, start + len(words))


def test_the_places_of_code_and_settings_are_lines(tmp_path):
    code = read(tmp_path, "pump.py", '# Pumps\n\n\ndef pressure() -> int:\n\t"""In bar."""\n\treturn 5\n')
    settings = read(tmp_path, "site.yaml", "pump:\n  hall: 7\n  压力: 5\n")
    long = read(tmp_path, "long.sql", "SELECT 1;\n" * 5_000)

    assert code.title == "pump.py"
    assert place_of(code, "return 5") == "line 6"
    assert place_of(settings, "hall: 7\n  压力: 5") == "lines 2–3"
    assert len(json.loads(long.metadata)["places"]) <= 1_000
