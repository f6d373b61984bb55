"""How the amounts of alike statements are spread, and how they are written in both languages."""

import numpy as np
import pytest

from sag_retrieval.reports.facts import Amount
from sag_retrieval.reports.spreads import spread_of, told_amount, told_range
from tests.support.said_events import amount, named, said_events


def paid(*sums, unit="EUR"):
    """A statement for each sum."""
    return [
        (f"Mill {row} pays {each} a month.", [named(f"Mill {row}"), amount(each, unit)])
        for row, each in enumerate(sums)
    ]


def spread(base, said):
    return spread_of(said_events(base, said), np.arange(len(said), dtype=np.int32))


def test_the_spread_is_of_the_unit_that_most_documents_have(towns):
    found = spread(towns(months=8), [*paid(900, 4_000, 1_200, 2_500), ("It sold 7 bales.", [amount(7, "bale")])])

    assert (found.least.number, found.most.number, found.middle.number, found.documents) == (900, 4_000, 1_200, 4)
    assert found.most.row == 1


def test_two_amounts_of_a_unit_in_a_statement_and_amounts_for_each_piece_do_not_compare(towns):
    two = ("The rent rose from 5 to 9,000.", [amount(5, "EUR"), amount(9_000, "EUR")])
    each = ("The mill pays 2 per share.", [amount(2, "EUR")])

    found = spread(towns(months=8), [*paid(900, 4_000, 1_200), two, each])

    assert (found.least.number, found.most.number) == (900, 4_000)


def test_few_amounts_are_no_spread(towns):
    assert spread(towns(months=8), paid(900, 4_000)) is None
    assert spread(towns(months=8), [*paid(1, 2, 3), *[(f"Yard {row} is shut.", []) for row in range(4)]]) is None


@pytest.mark.parametrize(
    ("numbers", "unit", "english", "chinese"),
    [
        ((2e6, 3e8), "USD", ("2", "300 million USD"), ("200 万", "3 亿美元")),
        ((9, 204), "unit", ("9", "204 units"), ("9", "204 件")),
        ((1_000, 1.2e6), "t", ("1,000 t", "1.2 million t"), ("1,000 吨", "120 万吨")),
        ((8, 23.5), "%", ("8%", "23.5%"), ("8%", "23.5%")),
        ((1, 28), "week", ("1", "28 weeks"), ("1", "28 周")),
    ],
)
def test_a_range_is_written_without_what_repeats(numbers, unit, english, chinese):
    least, most = (Amount("", "", number, unit, 0) for number in numbers)

    assert told_range(least, most, "en") == english
    assert told_range(least, most, "zh") == chinese
    assert told_amount(most, "en") == english[1]
