"""The page, slide or sheet of a span of a document."""

import json

import pytest

from sag_retrieval.language.places import place_name, places_within


@pytest.mark.parametrize(
    ("places", "span", "expected"),
    [
        ([[0, "p. 1"], [90, "p. 2"], [200, "p. 4"]], (0, 90), "p. 1"),
        ([[0, "p. 1"], [90, "p. 2"], [200, "p. 4"]], (89, 91), "pp. 1–2"),
        ([[0, "p. 1"], [90, "p. 2"], [200, "p. 4"]], (10, 900), "pp. 1–4"),
        ([[0, "sheet A"], [90, "sheet 乙"]], (80, 95), "sheet A – sheet 乙"),
        ([[0, ""], [90, "§ Two"]], (0, 50), ""),
        ([[0, ""], [90, "§ Two"]], (0, 99), "§ Two"),
        ([], (0, 9), ""),
        ("Kiel, Tianhu", (0, 9), ""),
        ([["Kiel", "Tianhu"]], (0, 9), ""),
        ([[9, "p. 1"], [0, "p. 2"]], (0, 9), ""),
    ],
)
def test_a_span_has_the_places_that_it_touches_and_other_metadata_of_that_name_names_none(places, span, expected):
    touched = places_within(json.dumps({"places": places}), *span)

    assert place_name(touched, *span) == expected
