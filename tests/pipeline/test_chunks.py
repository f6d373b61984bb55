import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.chunks import ChunkOptions, split_chunks
from sag_pipeline.extract.headers import HeaderOptions
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.records import Document, Section, Summary

SENTENCES = st.sampled_from(
    [
        "潮水每天来两次。",
        "水轮机在海峡里转动，发出低低的声音。",
        "The tide turns.",
        "# 标题",
        "## Part",
        "- item one",
        "| a | b |",
        "",
        "短行",
        "x" * 130,
    ]
)
TEXTS = st.lists(SENTENCES, max_size=40).map("\n".join)
SMALL = ChunkOptions(zh_size=60, en_size=60, whole_factor=0)


def document_of(text, language="zh"):
    return Document("d", "s", "标题", text, language)


def whole(text):
    return [Section("s1", "d", 0, "", "", 0, len(text))]


@given(TEXTS)
def test_chunks_are_exact_ordered_and_cover_the_text(text):
    chunks = split_chunks(document_of(text), whole(text), SMALL)

    assert all(chunk.text == text[chunk.start : chunk.end] == chunk.text.strip() for chunk in chunks)
    assert all(a.end <= b.start for a, b in itertools.pairwise(chunks))
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))


@given(TEXTS, st.integers(0, 400))
def test_no_chunk_crosses_the_border_of_a_section(text, cut):
    cut = min(cut, len(text))
    sections = [Section("a", "d", 0, "", "", 0, cut), Section("b", "d", 1, "", "", cut, len(text))]

    chunks = split_chunks(document_of(text), sections, SMALL)

    assert all(chunk.end <= cut if chunk.section_id == "a" else chunk.start >= cut for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


@given(TEXTS)
def test_ids_are_unique_and_the_same_twice(text):
    first, second = (split_chunks(document_of(text), whole(text), SMALL) for _ in range(2))

    assert first == second
    assert len({chunk.chunk_id for chunk in first}) == len(first)


@given(TEXTS)
def test_no_chunk_is_longer_than_its_bounds(text):
    sizes = SMALL.sizes("zh", len(text))

    chunks = split_chunks(document_of(text), whole(text), SMALL)

    assert all(len(chunk.text) <= sizes.block + 2 * sizes.passage + sizes.tail for chunk in chunks)


@pytest.mark.parametrize(
    ("language", "sentence", "size"),
    [("zh", "潮水每天都要来两次，从不迟到。", 300), ("en", "The tide comes in twice a day. ", 400)],
)
def test_whole_sentences_fill_chunks_to_the_size_of_the_language(language, sentence, size):
    text = sentence * 400

    chunks = split_chunks(document_of(text, language), whole(text))

    assert all(size * 0.8 <= len(chunk.text) <= size * 1.26 for chunk in chunks[:-1])
    assert all(chunk.text.endswith(sentence.strip()[-1]) for chunk in chunks)


def test_a_short_document_stays_whole():
    text = "The tide comes in twice a day. " * 30

    assert len(split_chunks(document_of(text, "en"), whole(text))) == 1


def test_a_heading_goes_with_what_follows_and_names_it():
    text = "前言。" * 20 + "\n\n# 第一部分\n\n## 背景\n\n" + "正文句子。" * 30

    chunks = split_chunks(document_of(text), whole(text), SMALL)

    opening = next(chunk for chunk in chunks if "第一部分" in chunk.text)
    assert opening.text.startswith("# 第一部分")
    assert "正文" in opening.text
    assert opening.heading == "背景"
    assert {chunk.heading for chunk in chunks if chunk.start > opening.start} == {"背景"}
    assert chunks[0].heading == ""


def test_a_table_stays_whole_up_to_its_bound_and_is_cut_between_rows_beyond():
    rows = [f"| row {n} | value {n} |" for n in range(7)]
    small, large = "\n".join(rows), "\n".join(rows * 6)

    kept = split_chunks(document_of(small, "en"), whole(small), SMALL)
    cut = split_chunks(document_of(large, "en"), whole(large), SMALL)

    assert [chunk.text for chunk in kept] == [small]
    assert len(cut) > 1
    assert all(line in rows for chunk in cut for line in chunk.text.split("\n"))


def test_fenced_code_stays_whole():
    code = "```python\nfor x in y:\n\n    print(x)\n# not a heading\n```"
    text = "Before it. " * 8 + "\n" + code + "\nAfter it."

    chunks = split_chunks(document_of(text, "en"), whole(text), SMALL)

    assert any(code in chunk.text for chunk in chunks)


def test_one_line_of_five_megabytes_is_cut():
    text = "a" * 5_000_000

    chunks = split_chunks(document_of(text, "en"), whole(text))

    assert max(len(chunk.text) for chunk in chunks) <= 800
    assert sum(len(chunk.text) for chunk in chunks) == len(text)


def test_the_header_is_the_title_or_what_the_options_say():
    text = "一句话。"

    plain = split_chunks(document_of(text), whole(text))
    named = split_chunks(document_of(text), whole(text), summary=Summary("d", "", "头"), header=HeaderOptions())

    assert [chunk.header for chunk in plain + named] == ["标题", "头"]


def test_text_without_words_gives_no_chunk():
    assert split_chunks(document_of(" \n\t"), whole(" \n\t")) == []


@pytest.mark.parametrize(
    "options", [{"zh_size": 5}, {"en_size": 0}, {"block_factor": 0.5}, {"tail_factor": 1}, {"heading_factor": -1}]
)
def test_sizes_that_fit_nothing_are_refused(options):
    with pytest.raises(SettingsError, match=next(iter(options))):
        ChunkOptions(**options)
