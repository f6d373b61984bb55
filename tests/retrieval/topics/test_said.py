"""Which keys of events are names, and how a reader of a language calls them."""

from dataclasses import replace

import pytest
from sag_retrieval.topics.said import SaidNames


def is_name(towns, value, kind, texts):
    """Whether the one key of events that say these texts in turn is a name."""
    events = towns(months=4)
    count = len(events.keys.values)
    contents = [texts[row % len(texts)] for row in range(len(events))]
    keys = replace(events.keys, types=[kind] * count, values=[value] * count)
    return 0 in SaidNames(replace(events, contents=contents, keys=keys))


@pytest.mark.parametrize(
    ("value", "kind", "text", "expected"),
    [
        (
            "Roof Inspection Records",
            "organisation",
            "Roof Inspection Records: Slates on the north side were loose.",
            False,
        ),
        ("Fire Safety", "entity", "Wiring and Fire Safety: Extinguishers hang in each hall of the building.", False),
        ("Ada Byrne", "person", "Ada Byrne: The slates on the north side were loose.", True),
        ("Ada Byrne", "person", "[3 May 2024, 9:15 AM] Ada Byrne: The slates were loose.", True),
        ("北墙检查记录", "organisation", "北墙检查记录：北侧瓦片松动，需要更换。", False),
        ("Roofers Guild", "organisation", "The Roofers Guild inspected the slates in March.", True),
        ("Board of Governors", "organisation", "The guild changed its Board of Governors in March.", False),
        ("VAT", "entity", "The guild pays 900 crowns a year before VAT.", False),
        ("CEO", "entity", "公司在三月任命了新的CEO和两名董事。", False),
        ("slate", "topic", "The north side of the roof has new slate since March.", False),
        ("slate roofing", "topic", "The guild teaches slate roofing to its apprentices.", True),
        ("瓦片", "topic", "北侧的瓦片在三月更换完毕。", False),
    ],
)
def test_a_label_a_common_noun_or_a_plain_word_is_no_name(towns, value, kind, text, expected):
    assert is_name(towns, value, kind, [text]) == expected


def test_an_organisation_that_somebody_owns_once_stays_a_name(towns):
    said = "The Roofers Guild inspected the slates in March."

    assert is_name(towns, "Roofers Guild", "organisation", [*[said] * 9, "The town thanks its Roofers Guild for that."])


def test_a_key_with_names_in_both_scripts_is_called_as_the_reader_does(towns):
    keys = towns(months=1).keys
    keys = replace(
        keys,
        types=["person", "person", "place"],
        values=["Wei Ran", "秦舒", "Oban"],
        other_names=["魏然", "Qin Shu", ""],
        is_text=None,
    )

    assert keys.in_script_of("zh").values == ["魏然", "秦舒", "Oban"]
    assert keys.in_script_of("en").values == ["Wei Ran", "Qin Shu", "Oban"]


def test_a_text_says_a_key_under_either_name(towns):
    keys = replace(towns(months=1).keys, values=["秦舒", "Oban"], other_names=["Qin Shu", ""])

    assert keys.place_in("A letter of Qin Shu", 0) == 12
    assert keys.place_in("秦舒（Qin Shu）", 0) == 0
    assert keys.place_in("秦舒（Qin Shu）", 1) == -1


def test_an_organisation_that_also_heads_rows_is_a_name(towns):
    row, said = "Roofers Guild; May 2023: 4,117; 3,950", "The Roofers Guild inspected the slates in March."

    assert is_name(towns, "Roofers Guild", "organisation", [row, row, row, said])
    assert not is_name(towns, "Roofers Guild", "organisation", [*[row] * 7, said])
