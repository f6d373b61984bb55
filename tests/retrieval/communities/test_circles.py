"""Circles: who talks with whom again and again, and what they settle."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.communities.circles import circles
from sag_retrieval.communities.talk import told
from tests.support.said_events import named, said_events

LESSONS = (
    "Ruth Adler: The lesson is on Monday at 5 PM. Piet: I bring the flute to the lesson.",
    "Ruth Adler: How about a lesson on Friday at 4 PM? Piet: Sounds good, see you there!",
    "Piet: The rain does not stop. Ruth Adler: The lesson moved to Tuesday at 6 PM.",
    "Piet: I had a cold. Ruth Adler: That idea is a good idea, get well.",
)
OTHERS = (
    "Ruth Adler: The idea with the boat is nice. Tom Beck: We will paint the boat on Sunday at 2 PM.",
    "Tom Beck: The idea came late. Ruth Adler: We will be at the boat on Friday at 9 AM.",
    "Tom Beck: The boat is dry again, what an idea. Ruth Adler: We meet at the boat on Sunday at 3 PM.",
)
CHINESE = (
    "周敏：排练定在周五下午三点开始。吴涛：好的，排练见。",
    "吴涛：我们周六上午十点在排练厅排练吧？周敏：好的，没问题。",
    "周敏：提醒一下，排练改到周日晚上七点。吴涛：收到。",
)
PEOPLE = ("Ruth Adler", "Piet", "Tom Beck", "周敏", "吴涛")


def conversations(base, said):
    events = said_events(
        base,
        [(text, [named(who, "person") for who in PEOPLE if who in text]) for text in said],
        [f"2025-0{1 + row}-03" for row in range(len(said))],
    )
    count = len(said)
    chunks = replace(events.chunks, chunk_ids=events.event_ids, texts=said, document=np.arange(count, dtype=np.int32))
    documents = replace(
        events.documents, **{name: getattr(events.documents, name)[:count] for name in ("document_ids", "titles")}
    )
    return told(replace(events, chunks=chunks, documents=documents))


def test_two_who_talk_again_and_again_are_a_circle_with_what_they_settle(towns):
    found = circles(conversations(towns(months=9), [*LESSONS, *OTHERS]), 5)

    assert [(each.speakers, each.conversations, each.matters) for each in found] == [
        (("Piet", "Ruth Adler"), 4, (("lesson", 3),)),
        (("Ruth Adler", "Tom Beck"), 3, (("boat", 3),)),
    ]
    assert [(each.first, each.example) for each in found] == [(0, 2), (4, 6)]
    assert found[0].rows.tolist() == [0, 1, 2, 3]


def test_chinese_talk_has_circles_too(towns):
    found = circles(conversations(towns(languages=("zh",), months=9), CHINESE), 5)

    assert [(each.speakers, each.matters) for each in found] == [(("吴涛", "周敏"), (("排练", 3),))]


def test_talk_that_settles_little_is_known_by_the_nouns_of_each_circle(towns):
    walks = [
        f"Ruth Adler: I walked the dog to the lake yesterday. Piet: The dog loves the lake, {row}." for row in "abc"
    ]
    bakes = [
        f"Ruth Adler: I baked the bread for the fair yesterday. Tom Beck: The bread is gone, {row}." for row in "abc"
    ]

    found = circles(conversations(towns(months=9), [*walks, *bakes]), 5)

    assert [(each.speakers, each.example) for each in found] == [
        (("Piet", "Ruth Adler"), 2),
        (("Ruth Adler", "Tom Beck"), 5),
    ]
    assert found[0].matters == (("lake", 3),)
    assert ("bread", 3) in found[1].matters


@pytest.mark.parametrize("count", [0, 2])
def test_a_pile_that_is_no_talk_has_no_circles(towns, count):
    reports = [f"The harbour of month {row} handled 40 ships and 2 ferries." for row in range(5)]

    assert circles(conversations(towns(months=9), [*LESSONS[:count], *reports]), 5) == []
