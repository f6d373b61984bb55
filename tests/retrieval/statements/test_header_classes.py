"""Classes of header cells, in several languages, and the cells of a row that an event states."""

import pytest

from sag_retrieval.statements.header_classes import header_class, row_cells


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("Risk", "risk"),
        ("Risk owner", "owner"),
        ("Amount (EUR)", "amount"),
        ("Owner of the risk", "owner"),
        ("Next steps", "action"),
        ("风险责任人", "owner"),
        ("决议事项", "decision"),
        ("Verantwortlich", "owner"),
        ("Échéance", "deadline"),
        ("Supplier", None),
        ("Taskforce", None),
    ],
)
def test_a_header_is_of_the_class_of_its_last_word_that_has_one(column: str, expected: str | None) -> None:
    assert header_class(column) == expected


def test_cells_end_where_the_next_begins_and_prose_has_none() -> None:
    cells = row_cells("ID: R-3; Risk: pump fails; parts are late; Due date: 2025-05-01")
    assert [cell.column for cell in cells] == ["ID", "Risk", "Due date"]
    assert cells[1].value == "pump fails; parts are late"
    assert row_cells("The board met at 10:30 and agreed.") == ()
    assert row_cells("决定：购买两台水泵")[0].value == "购买两台水泵"
    assert row_cells("各罐情况如下： 罐号: A1; 品种: 赤霞珠")[0] == ("罐号", "A1", None)
