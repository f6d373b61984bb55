"""JSON is read once, item by item, and what cannot be read is put aside with one clear reason."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.sources import decoding
from sag_pipeline.sources.decoding import decode_exactly, parse_json, split_list
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.records import Document, Quarantined

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030")


def parsed(folder: Path) -> list[Document | Quarantined]:
    return [parse_document(found) if isinstance(found, RawDocument) else found for found in list_source(str(folder))]


def told(found: list[Document | Quarantined]) -> dict[int | None, str]:
    return {one.line: one.reason for one in found if isinstance(one, Quarantined)}


@pytest.mark.slow
@given(st.lists(values), st.sampled_from([None, 1]))
def test_a_list_is_taken_apart_into_its_items(items, indent):
    text = json.dumps(items, ensure_ascii=False, indent=indent)

    assert [parse_json(text[start:end]) for start, end in split_list(text)] == items


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), st.sampled_from(ENCODINGS))
def test_the_bytes_of_each_item_are_known_in_every_encoding(texts, encoding):
    payload = json.dumps([{"text": f"海 {text}"} for text in texts], ensure_ascii=False).encode(encoding)

    found = decode_exactly(payload)

    for text, (offset, length) in zip(texts, found.places(split_list(found.text)), strict=True):
        assert json.loads(payload[offset : offset + length].decode(found.encoding)) == {"text": f"海 {text}"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_lists_are_documents_in_every_encoding(tmp_path, encoding):
    items = [{"id": "一", "text": "海鹭浮标由光澜公司在安塞港制造。"}, {"text": "Quill makes sensors."}]
    (tmp_path / "a.json").write_bytes(json.dumps(items, ensure_ascii=False).encode(encoding))

    found = parsed(tmp_path)

    assert [(d.document_id, d.text) for d in found] == [("一", items[0]["text"]), ("a.json#2", items[1]["text"])]


def test_reading_a_list_parses_each_character_a_bounded_number_of_times(tmp_path, monkeypatch):
    """The characters handed to the parser grow with the list, not with its square."""
    parsed_characters = {}
    parse = decoding.parse_json
    for count in (500, 1000):
        folder = tmp_path / str(count)
        folder.mkdir()
        items = [{"id": f"d{n}", "text": f"Pier {n} has crates."} for n in range(count)]
        (folder / "list.json").write_text(json.dumps(items), encoding="utf-8")
        lengths = []

        def counted(text, lengths=lengths):
            lengths.append(len(text))
            return parse(text)

        for module in ("listing", "documents"):
            monkeypatch.setattr(f"sag_pipeline.sources.{module}.parse_json", counted)
        assert len(parsed(folder)) == count
        parsed_characters[count] = sum(lengths)

    assert parsed_characters[1000] < 2.2 * parsed_characters[500]


def test_items_that_cannot_be_read_are_put_aside_each_with_its_reason(tmp_path):
    items = [
        '{"id": "a", "text": "one"}',
        "5",
        '["text"]',
        '{"id": "b", "text": "x", "metadata": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"id": "c", "text": "x", "metadata": {"n": ' + "9" * 5000 + "}}",
        '{"id": "\\ud800", "text": "half a character for an id"}',
        '{"id": "d", "text": tru}',
        '{"id": "e"}',
        '{"id": "f", "text": "half \\ud83d a character"}',
        '{"id": "g", "text": "last"}',
    ]
    (tmp_path / "list.json").write_text("[" + ",\n".join(items) + "]", encoding="utf-8")
    (tmp_path / "lines.jsonl").write_text("\n".join(items).replace('"id": "', '"id": "l-'), encoding="utf-8")

    found = parsed(tmp_path)

    for path, before in (("list.json", ""), ("lines.jsonl", "l-")):
        own = [one for one in found if (one.path if isinstance(one, Quarantined) else "") in ("", path)]
        reasons = told([one for one in own if isinstance(one, Quarantined)])
        ids = [one.document_id for one in found if isinstance(one, Document)]
        assert [i for i in ids if i.startswith("l-") == bool(before)] == [before + name for name in "afg"]
        assert list(reasons) == [2, 3, 4, 5, 6, 7, 8]
        assert "of type int, not an object with `text`" in reasons[2]
        assert "of type list, not an object with `text`" in reasons[3]
        assert "nested too deeply" in reasons[4]
        assert "a number of 5,000 digits; at most 4,300 are read" in reasons[5]
        assert "lone surrogate" in reasons[6]
        assert "not JSON" in reasons[7]
        assert "'text' is missing" in reasons[8]
        assert all("\n" not in reason and "sys." not in reason for reason in reasons.values())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"text": "one"}, {"text": "tw', "not JSON"),
        ('[{"text": "one"} {"text": "two"}]', "ends early after item 1"),
        ('[{"text": "one"}]\n[{"text": "two"}]', "goes on after the end"),
        ('{"text": "one"}\n{"text": "two"}', "not JSON"),
        ('{"text": "x", "metadata": ' + "[" * 9000 + "]" * 9000 + "}", "nested too deeply"),
        ('{"text": "x", "n": ' + "9" * 5000 + "}", "5,000 digits"),
        ("[" * 100_000, "not JSON"),
    ],
    ids=["cut off", "no comma", "two lists", "two objects", "deep", "long number", "brackets alone"],
)
def test_a_file_that_is_no_json_is_put_aside_whole(tmp_path, text, reason):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")

    (found,) = parsed(tmp_path)

    assert isinstance(found, Quarantined)
    assert found.line is None
    assert reason in found.reason


@pytest.mark.parametrize("text", ["[]", "[1, 2]", "[{}, {}]", '{"rows": null}', '"text"'])
def test_other_json_is_plain_text(tmp_path, text):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")

    (found,) = parsed(tmp_path)

    assert isinstance(found, Document)
    assert found.text == text


def test_an_item_that_changed_after_it_was_listed_is_put_aside(tmp_path):
    (tmp_path / "a.json").write_text('[{"text": "one"}]', encoding="utf-8")
    (raw,) = list_source(str(tmp_path))
    (tmp_path / "a.json").write_text('[{"text": "two"}]', encoding="utf-8")

    assert "changed while it was being read" in parse_document(raw).reason
