import pytest

from sag_retrieval.search.registry import METHODS


@pytest.mark.parametrize("entry", METHODS.own.values(), ids=lambda entry: entry.name)
def test_every_method_of_our_own_says_in_a_line_when_not_to_use_it(entry):
    assert entry.weak
    assert "\n" not in entry.weak
