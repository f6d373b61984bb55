"""The map of a report: areas in proportion, labels that fit, in both shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.sections.map import draw
from sag_retrieval.reports.sections.picture import Tile, shortened, text_width, treemap, wrapped


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


@pytest.mark.parametrize("count", [2, 10, 60, 200])
@pytest.mark.parametrize("shape", [(864.0, 480.0), (358.0, 640.0)])
@pytest.mark.parametrize("title", ["Net profit and shareholder equity", "信息披露与内部控制"])
def test_every_label_lies_inside_its_area(count, shape, title):
    shown = [community(number, 4 * (count - number) + 3, title) for number in range(1, count + 1)]

    picture = draw(shown, {}, *shape)

    assert len(picture.areas) == count
    for area in picture.areas:
        lines = (*area.label, *area.keys)
        assert all(text_width(line) <= area.tile.width for line in lines)
        assert 17.5 * len(lines) <= area.tile.height


def test_a_map_names_the_themes_that_are_tied():
    shown = [community(number, 10) for number in (1, 2, 3)]

    picture = draw(shown, {1: [(3, 2.0), (7, 1.0)], 3: [(1, 2.0)]}, 864.0, 480.0)

    assert [area.tied for area in picture.areas] == [(3,), (), (1,)]


def test_words_stay_whole_where_they_fit():
    assert wrapped("Net profit and equity", text_width("profit and")) == ["Net profit", "and equity"]
    assert wrapped("信息披露与内部控制", text_width("信息披露")) == ["信息披露", "与内部控", "制"]
    assert shortened("Shareholder", text_width("Share…")) == "Share…"
