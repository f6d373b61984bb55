"""The map of a report: areas in proportion, labels that fit, in both shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.sections.map import WORDING, draw
from sag_retrieval.reports.sections.picture import Tile, fits, text_width, treemap, wrapped
from sag_retrieval.reports.wording import Messages


def community(number, size, title="Net profit and shareholder equity"):
    return RankedCommunity(
        number=number,
        community_id=f"g{number}",
        title=title,
        summary=(),
        members=np.arange(size, dtype=np.int32),
        theme=0,
        document_count=1,
        period="",
        new_count=0,
        status="",
        is_full=True,
        typical=(),
        main_keys=("Evergreen Consumer Goods", "Elevate Retail", "ERP"),
    )


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=60))
def test_tiles_fill_the_whole_in_proportion_and_do_not_overlap(sizes):
    sizes = sorted(sizes, reverse=True)

    tiles = treemap(sizes, Tile(0.0, 0.0, 864.0, 480.0))

    share = 864 * 480 / sum(sizes)
    assert [tile.width * tile.height for tile in tiles] == pytest.approx([size * share for size in sizes], rel=1e-6)
    for place, one in enumerate(tiles):
        assert one.x >= -1e-6
        assert one.x + one.width <= 864 + 1e-6
        assert one.y >= -1e-6
        assert one.y + one.height <= 480 + 1e-6
        for other in tiles[:place]:
            across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert across < 1e-6 or down < 1e-6


SHAPES = [(824.0, (300.0, 480.0)), (358.0, (430.0, 650.0))]
MESSAGES = Messages("en", WORDING)


@pytest.mark.parametrize("count", [2, 10, 60, 200])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("title", ["Net profit and shareholder equity", "信息披露与内部控制"])
def test_every_title_stands_whole_inside_its_area(count, shape, title):
    shown = [community(number, 4 * (count - number) + 3, title) for number in range(1, count + 1)]

    picture = draw(shown, {}, *shape, MESSAGES)

    assert min(count, 6) <= len(picture.areas) <= count
    assert [area.community.number for area in picture.areas] == list(range(1, len(picture.areas) + 1))
    for area in picture.areas:
        lines = (*area.label, *area.below)
        assert "".join(area.label).replace(" ", "") == f"{area.community.number}{title}".replace(" ", "")
        assert not any("…" in line for line in lines)
        assert fits(lines, area.tile.width)
        assert 17.5 * len(lines) <= area.tile.height


def test_a_map_is_as_low_as_its_titles_allow():
    shown = [community(number, 10) for number in range(1, 9)]

    heights = [draw(shown[:count], {}, 824.0, (80.0, 200.0, 600.0), MESSAGES).height for count in (2, 8)]

    assert heights == [80.0, 200.0]


def test_themes_too_small_for_their_titles_leave_the_map_to_the_larger_ones():
    picture = draw([community(1, 4_000), community(2, 3_000), community(3, 4)], {}, *SHAPES[0], MESSAGES)

    assert [area.community.number for area in picture.areas] == [1, 2]
    assert picture.areas[0].below == ("4,000 events", "Evergreen Consumer Goods", "Elevate Retail", "ERP")


def test_a_map_names_the_themes_that_are_tied():
    shown = [community(number, 10) for number in (1, 2, 3)]

    picture = draw(shown, {1: [(3, 2.0), (7, 1.0)], 3: [(1, 2.0)]}, *SHAPES[0], MESSAGES)

    assert [area.tied for area in picture.areas] == [(3,), (), (1,)]


def test_lines_have_about_one_length_and_words_stay_whole():
    assert wrapped("Net profit and equity", text_width("Net profit and")) == ["Net profit", "and equity"]
    assert wrapped("信息披露与内部控制", text_width("信息披露与内部控")) == ["信息披露与", "内部控制"]
    assert wrapped("控制Shareholder制度。", text_width("Shareholder")) == ["控制", "Shareholder", "制度。"]
    assert wrapped("Shareholder", 5.0) == ["Shareholder"]
