"""Borders of chunks that the text around them decides: what an edit moves, and what it leaves."""

import random
from dataclasses import replace

import pytest

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.sections import untitled
from sag_retrieval.core.records import Document
from sag_retrieval.language.sentences import sentence_spans

NOUNS = {
    "en": "harbour ferry clerk winter letter river garden lamp".split(),
    "zh": "港口 渡轮 职员 冬天 书信 河流 花园 灯".split(),
}
FORMS = {"en": "The {} near the {} has seen {} days of {}. ", "zh": "那座{}旁边的{}已经有{}天没有{}了。"}


def story(language: str, count: int = 300) -> Document:
    draw = random.Random(1)
    nouns = NOUNS[language]
    text = "".join(
        FORMS[language].format(draw.choice(nouns), draw.choice(nouns), n, draw.choice(nouns)) for n in range(count)
    )
    return Document("d", "s", "", text.strip(), language)


def chunk_texts(document: Document) -> list[str]:
    return [chunk.text for chunk in split_chunks(document, untitled(document))]


def changes(document: Document, edits: int = 60) -> list[int]:
    """How many new chunks each edit makes: a sentence inserted, deleted or replaced."""
    draw, old = random.Random(2), set(chunk_texts(document))
    found = []
    for n in range(edits):
        start, end = draw.choice(sentence_spans(document.text))
        put = ["", FORMS[document.language].format("x", "y", 10_000 + n, "z")][n % 2]
        text = document.text[:start] + put + document.text[end if n % 3 else start :]
        found.append(len(set(chunk_texts(replace(document, text=text))) - old))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_edit_changes_its_chunk_and_at_most_two_others(language):
    found = changes(story(language))

    assert sum(count <= 3 for count in found) >= 57


@pytest.mark.parametrize("language", ["en", "zh"])
def test_chunks_have_about_the_size(language):
    document, size = story(language), 300 if language == "zh" else 400
    texts = chunk_texts(document)

    assert "".join("".join(texts).split()) == "".join(document.text.split())
    assert 0.7 <= len(document.text) / len(texts) / size <= 1.25
    assert max(map(len, texts)) <= 1.6 * size


def test_a_heading_stays_with_what_follows_it():
    parts = [f"## Part {n}\n\n{story('en', 9).text[:250]}." for n in range(20)]
    document = Document("d", "s", "", "\n\n".join(parts), "en")

    for text in chunk_texts(document):
        assert not text.splitlines()[-1].startswith("#")
