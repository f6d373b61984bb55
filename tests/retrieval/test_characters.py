"""What of a text is kept, and what of it reaches a terminal."""

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from rich.markup import escape
from rich.table import Table

from sag_pipeline.sources.decoding import clean
from sag_retrieval.cli.printing import Terminal
from sag_retrieval.language.words import (
    ascii_where_hidden,
    json_without_controls,
    printable,
    without_breaks,
    without_controls,
)
from sag_retrieval.models.structured import read_answer

HOSTILE = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
COLOUR = re.compile(r"\x1b\[[\d;]*m")
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Facts(BaseModel):
    facts: list[str]


def test_documents_keep_what_their_language_needs():
    persian, hebrew, family = "می\u200cخواهم", "שלום\u200f!", "👩\u200d👧"

    for text in (persian, hebrew, family):
        assert clean(text) == text == without_controls(text)
    assert clean("".join(f"a{c}" for c in HOSTILE)).translate({ord(c): None for c in "a\n\t"}) == ""


@given(st.text(alphabet=st.sampled_from(HOSTILE + '\\"u00{}abf雨')))
def test_an_escape_in_json_is_as_good_as_the_character_itself(text):
    for written in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        read = json.loads(json_without_controls(written))

        assert not OBEYED.search(read.replace("\r", ""))
        assert read.translate({ord(c): None for c in "\n\r\t"}) == without_controls(text).translate(
            {ord(c): None for c in "\n\r\t"}
        )


def test_a_reply_of_a_model_loses_them_however_it_writes_them():
    for reply in ('{"facts": ["a\\u001b]0;x\\u202eb"]}', '```json\n{"facts": ["a\x1b]0;x\u202eb",]}\n```'):
        assert read_answer(reply, Facts)[0].facts == ["a]0;xb"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])) | st.text(alphabet=HOSTILE))
def test_json_on_a_terminal_has_the_same_value_and_no_such_character(text):
    printed = ascii_where_hidden(json.dumps({"a": text}, ensure_ascii=False))

    assert json.loads(printed) == {"a": text}
    assert not OBEYED.search(printed)


@given(st.text())
def test_a_name_on_one_line_has_one_line(text):
    assert len(without_breaks(text).splitlines()) <= 1
    assert not OBEYED.search(printable(text))


@pytest.mark.parametrize("width", [20, 80])
def test_a_console_emits_colours_alone(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = Terminal()
    console.file = out = io.StringIO()
    text = f"{HOSTILE}\x1b]0;title\x07\x1b[2J:warning: [link=http://127.0.0.1/x]here[/link]"
    table = Table(escape(text), title=escape(text))
    table.add_row(text, escape(text))

    console.print(escape(text), style="bold")
    console.print(text)
    console.print(table)
    console.rule(text)

    printed = out.getvalue()
    assert COLOUR.search(printed)
    assert not OBEYED.search(COLOUR.sub("", printed))
    assert "⚠" not in printed
