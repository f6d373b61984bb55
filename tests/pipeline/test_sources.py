import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.sources.documents import document_version, parse_document, set_off_headings
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.errors import SettingsError, SourceError
from sag_retrieval.core.records import Document, Quarantined
from sag_retrieval.language.places import place_name, places_within

SHARED = Path(__file__).parents[2].parent / "shared"


def listed(source, options=None):
    return list(list_source(str(source), options))


def parsed(source):
    return [parse_document(found) if isinstance(found, RawDocument) else found for found in list_source(str(source))]


def reasons(found):
    return {(q.path, q.line): q.reason for q in found if isinstance(q, Quarantined)}


def test_files_come_by_path_and_hidden_ones_not_at_all(tmp_path):
    for path in ("b.md", "a/二.txt", "a/1.txt", ".hidden.md", ".git/config.txt", "z.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("text", encoding="utf-8")

    assert [found.document_id for found in listed(tmp_path)] == ["a/1.txt", "a/二.txt", "b.md", "z.md"]


def test_one_file_is_a_source_of_its_own(tmp_path):
    (tmp_path / "one.md").write_text("# One\n\ntext", encoding="utf-8")

    (document,) = parsed(tmp_path / "one.md")

    assert (document.document_id, document.title) == ("one.md", "One")


def test_lines_are_documents_and_broken_ones_are_put_aside_with_their_line(tmp_path):
    lines = [
        '{"id": "q1", "title": "First", "text": "Some text.", "metadata": {"b": 1, "a": 2}}',
        "",
        '{"id": "q2", "text": "broken',
        '{"text": "no id"}',
        '["not an object"]',
        '{"id": "q1", "text": "twice"}',
        '{"id": "q3", "text": 5}',
        '{"id": "q4", "text": "   "}',
        '{"id": "q5"}',
        '{"id": true, "text": "wrong id"}',
        '{"id": "q6", "text": "x", "metadata": []}',
        '{"id": "q7", "text": "x", "events": [{"keys": []}]}',
        '{"id": 8, "text": "a number is an id too"}',
    ]
    (tmp_path / "d.jsonl").write_text("\n".join(lines), encoding="utf-8")

    found = parsed(tmp_path)

    documents = [document for document in found if isinstance(document, Document)]
    assert [document.document_id for document in documents] == ["q1", "d.jsonl#4", "8"]
    assert documents[0].metadata == '{"a": 2, "b": 1}'
    aside = reasons(found)
    assert {line for _, line in aside} == {3, 5, 6, 7, 8, 9, 10, 11, 12}
    assert "not JSON" in aside["d.jsonl", 3]
    assert "already used by d.jsonl:1" in aside["d.jsonl", 6]
    assert "'text' must be str, got int" in aside["d.jsonl", 7]


def test_every_kind_of_bad_file_is_put_aside_and_the_rest_is_read(tmp_path):
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 not really")
    (tmp_path / "broken.docx").write_bytes(b"PK no zip")
    (tmp_path / "empty.md").write_bytes(b"")
    (tmp_path / "blank.txt").write_text(" \n\t\n", encoding="utf-8")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "good.md").write_text("good", encoding="utf-8")
    (tmp_path / "empty.jsonl").write_text("\n\n", encoding="utf-8")

    found = parsed(tmp_path)

    assert [d.document_id for d in found if isinstance(d, Document)] == ["good.md"]
    assert {path for path, _ in reasons(found)} == {
        "broken.pdf", "broken.docx", "empty.md", "blank.txt", "binary.txt", "*.png", "empty.jsonl",
    }  # fmt: skip


def test_a_file_over_the_bound_and_a_long_line_are_put_aside(tmp_path):
    (tmp_path / "a.txt").write_text("x" * 200, encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "' + "y" * 300 + '"}\n{"text": "short"}\n', encoding="utf-8")

    found = listed(tmp_path, SourceOptions(max_bytes=100))

    assert [f.document_id for f in found if isinstance(f, RawDocument)] == ["b.jsonl#2"]
    assert all("over the limit of 100" in reason for reason in reasons(found).values())


def test_a_file_that_disappears_or_changes_while_being_read_is_put_aside(tmp_path):
    (tmp_path / "gone.md").write_text("text", encoding="utf-8")
    (tmp_path / "lines.jsonl").write_text('{"text": "one"}\n', encoding="utf-8")
    gone, line = listed(tmp_path)
    (tmp_path / "gone.md").unlink()
    (tmp_path / "lines.jsonl").write_text('{"text": "two"}\n', encoding="utf-8")

    assert "disappeared" in parse_document(gone).reason
    assert "changed while it was being read" in parse_document(line).reason


def test_a_source_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(SourceError, match="nowhere"):
        listed(tmp_path / "nowhere")


def test_an_empty_folder_holds_nothing(tmp_path):
    assert listed(tmp_path) == []


def test_a_bound_that_nothing_meets_is_refused():
    with pytest.raises(SettingsError, match="max_bytes"):
        SourceOptions(max_bytes=0)


def test_json_is_a_document_a_list_of_them_or_records(tmp_path):
    (tmp_path / "a.json").write_text('{"id": "ignored", "title": "A", "text": "one"}', encoding="utf-8")
    (tmp_path / "b.json").write_text('[{"text": "two"}, {"id": "own", "text": "three"}]', encoding="utf-8")
    (tmp_path / "c.json").write_text('{"rows": [1, 2]}', encoding="utf-8")

    found = parsed(tmp_path)

    assert [(d.document_id, d.text) for d in found] == [
        ("a.json", "one"), ("b.json#1", "two"), ("own", "three"), ("c.json", "rows: 1; 2"),
    ]  # fmt: skip


def test_one_line_of_five_megabytes_is_a_document(tmp_path):
    (tmp_path / "long.txt").write_text("word " * 1_000_000, encoding="utf-8")

    (document,) = parsed(tmp_path)

    assert len(document.text) == 5_000_000


def test_the_title_is_the_given_one_else_the_first_heading_else_the_name(tmp_path):
    (tmp_path / "heading.md").write_text("intro line.\n\n## 第一节 **标题** ##\n\ntext", encoding="utf-8")
    (tmp_path / "alone.txt").write_text("A Quiet Harbour\n\nIt was night.", encoding="utf-8")
    (tmp_path / "name.txt").write_text("It was night, and it rained.", encoding="utf-8")
    (tmp_path / "page.html").write_text("<title>Page</title><h1>Other</h1><p>x</p>", encoding="utf-8")

    titles = {document.document_id: document.title for document in parsed(tmp_path)}

    assert titles == {
        "heading.md": "第一节 标题", "alone.txt": "A Quiet Harbour", "name.txt": "name", "page.html": "Page",
    }  # fmt: skip


def test_the_version_follows_content_and_not_spelling(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "one", "title": "T"}\n', encoding="utf-8")
    (raw,) = listed(tmp_path)
    first = parse_document(raw)
    (tmp_path / "a.jsonl").write_text('{"title":"T",  "id":"x","text":"one"}\n', encoding="utf-8")
    (spelt,) = listed(tmp_path)
    second = parse_document(spelt)
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "two", "title": "T"}\n', encoding="utf-8")
    (changed,) = listed(tmp_path)

    assert raw.version != spelt.version
    assert first.version == second.version == document_version(first)
    assert parse_document(changed).version != first.version


@given(
    st.dictionaries(
        st.sampled_from(["id", "text", "title", "metadata", "events", "x"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=5)
        | st.lists(st.integers(), max_size=2)
        | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    )
)
def test_any_object_is_a_document_or_put_aside(tmp_path_factory, fields):
    folder = tmp_path_factory.mktemp("any")
    (folder / "a.jsonl").write_text(json.dumps(fields) + "\n", encoding="utf-8")

    (found,) = parsed(folder)

    assert isinstance(found, Document | Quarantined)
    if isinstance(found, Document):
        found.text.encode("utf-8")
        assert found.text.strip()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the evaluation data is not beside the project")
def test_long_texts_are_read_with_their_language(tmp_path):
    for path in sorted((SHARED / "data/longdocs").glob("*.gz")):
        (tmp_path / path.stem).write_bytes(gzip.decompress(path.read_bytes()))

    languages = {document.document_id.split("_")[0]: document.language for document in parsed(tmp_path)}

    assert languages == {"a": "en", "alibaba": "zh", "les": "fr", "nike": "en", "operation": "en"}


def test_passages_of_a_plain_text_stand_under_its_headings(tmp_path):
    books = ("The First Book: Called Genesis", "约伯记", "THE REVELATION")
    text = "\n\n\n\n".join(f"{book}\n\n1:1 The heron stood in river {book[:2]}.\n" for book in books)
    (tmp_path / "bible.txt").write_text(text, encoding="utf-8")
    (tmp_path / "letter.txt").write_text("Dear Mara\n\n\n\nOne\n\nThe heron of 1990 is sold.\n", encoding="utf-8")

    bible, letter = parsed(tmp_path)

    for book in books:
        start = bible.text.index(f"river {book[:2]}")
        assert place_name(places_within(bible.metadata, start, start + 5), start, start + 5) == f"{book} 1:1"
    assert letter.metadata == "{}"


def test_one_heading_early_in_a_long_text_names_no_passages_behind_it(tmp_path):
    text = "The Book\n\nBy Mara\n\n\nPart One\n\nIts First\n\n\nChapter\n\n" + "The heron stood in the river.\n\n" * 40

    assert set_off_headings(text) == []
