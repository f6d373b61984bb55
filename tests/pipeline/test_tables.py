import pytest

from sag_pipeline.extract.chunks import ChunkOptions, split_chunks
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_retrieval.core.records import TITLE, Document, Section

BUDGET = """| Firm 2024 | Unnamed: 1 | k EUR | Unnamed: 3 |
| --- | --- | --- | --- |
| NaN | NaN | Q1 | Q2 |
| Oslo | printer | 25 | 21.6 |
| Bergen | scale | NaN | 63.3 |
"""


def read(text, size=300, language="en"):
    document = Document("d", "s", "Table", text, language)
    chunks = split_chunks(
        document,
        [Section("s1", "d", 0, "", "", 0, len(text))],
        ChunkOptions(zh_size=size, en_size=size, whole_factor=0),
    )
    events = [event for found in offline_events(document, chunks) for event in found]
    keys = [link.key for link in offline_keys(document, events) if link.key.key_type != TITLE]
    return [event.content for event in events], keys


def test_a_row_states_its_values_with_the_names_of_their_columns():
    text = "| Site | Head | EUR |\n|---|---|---|\n| Oslo | Ann Lee | 351.67 |\n"

    assert read(text)[0] == ["Site: Oslo; Head: Ann Lee; EUR: 351.67"]


def test_a_header_of_two_rows_names_the_columns_below_a_merged_cell():
    assert read(BUDGET)[0] == [
        "Firm 2024: Oslo; printer; k EUR Q1: 25; k EUR Q2: 21.6",
        "Firm 2024: Bergen; scale; k EUR Q2: 63.3",
    ]


def test_an_empty_cell_is_no_value_and_no_key():
    contents, keys = read("| Site | EUR |\n|---|---|\n| Oslo | NaN |\n| N/A | - |\n| Bergen | 5 |\n")

    assert contents == ["Site: Oslo", "Site: Bergen; EUR: 5"]
    assert "nan" not in {str(key.value).lower() for key in keys}


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        ("EUR", "351.67", ("money", 351.67, "EUR")),
        ("k EUR", "25", ("money", 25_000, "EUR")),
        ("Length (km)", "12", ("quantity", 12, "km")),
    ],
)
def test_a_number_takes_currency_and_unit_of_its_column(column, cell, expected):
    _, keys = read(f"| Site | {column} |\n|---|---|\n| Oslo | {cell} |\n")

    assert expected in {(key.key_type, key.value, key.unit) for key in keys}


def test_a_number_without_a_unit_is_no_amount():
    _, keys = read("| Site | Count |\n|---|---|\n| Oslo | 12 |\n")

    assert {key.key_type for key in keys} <= {"place"}


def test_a_table_that_goes_on_in_the_next_chunk_keeps_its_columns():
    rows = "".join(f"| Site {n} of the firm | {n} |\n" for n in range(100, 160))

    contents, _ = read(f"| Name | EUR |\n|---|---|\n{rows}", size=200)

    assert contents[-1] == "Name: Site 159 of the firm; EUR: 159"
    assert len(contents) == 60
