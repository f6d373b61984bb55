"""The project stays within the bounds of its size."""

import pytest

from scripts.size import BOUNDS, code_lines, rows


@pytest.mark.slow
def test_no_row_is_over_its_bound():
    over = {name: (value, BOUNDS[name]) for name, value in rows().items() if value > BOUNDS[name]}

    assert over == {}, "delete something, or say in a decision record why the bound rises"


def test_code_is_counted_without_docstrings_imports_comments_and_blank_lines():
    source = (
        '"""A module."""\n\nimport os\n\n# why\ndef f(\n    a,\n):\n    """Do."""\n    return (\n        a\n    )\n'
    )

    assert code_lines(source) == 6
