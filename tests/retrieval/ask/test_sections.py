"""Questions for risks, decisions and open points: sections with such a heading are read in full, each line cited."""

from collections.abc import Iterator

import pytest

from sag_retrieval import Release
from tests.support.opened_release import opened_release

MINUTES = """# Council meeting, 3 March 2026

## Decisions

- The council decided to buy a second ferry.
- It was agreed to close the ticket office on Mondays.

## Main risks

- The pier may not last another winter.

## Open points

- Who paints the buoys is not settled.

## Lunch

- There was soup.
"""
MEMO = "# Memo\n\nThe harbour was busy.\n\nRisks:\n\n- The crane driver retires in May.\n\nWe met at noon and left at three.\n"
CHINESE = (
    "# 例会纪要\n\n# 决定\n\n会议同意停售旧船票。\n\n# 待定事项\n\n新码头的选址尚未确定。\n\n# 行动\n\n已通知各部门。\n"
)
TASKS = "Action,Owner,Status\nOrder paint,Ann Lee,done\nCount the ropes,Bo Marsh,open\n"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """Minutes in two languages, a memo with a label for a heading."""
    yield from opened_release(tmp_path_factory, {"minutes.md": MINUTES, "memo.md": MEMO, "纪要.md": CHINESE})


@pytest.mark.parametrize("mode", ["fast", "global"])
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which decisions did the council take?", ["a second ferry", "ticket office on Mondays"]),
        ("What are the main risks?", ["another winter", "crane driver"]),
        ("What are the open points?", ["Who paints the buoys", "新码头的选址尚未确定"]),
        ("还有哪些待定事项？", ["新码头的选址尚未确定", "Who paints the buoys"]),
        ("作出了哪些决定？", ["停售旧船票", "a second ferry", "ticket office on Mondays"]),
    ],
)
def test_sections_of_the_asked_class_answer_in_full_own_language_first(release, mode, question, said):
    answer = release.ask(question, mode=mode)

    places = [answer.text.find(each) for each in said]
    assert answer.is_found
    assert len(answer.citations) == len(said)
    assert places[0] > -1
    assert places == sorted(places)
    assert not any(other in answer.text for other in ("soup", "noon", "busy"))
    assert all(
        release.document(each.document_id).text[each.start : each.end] == each.quote for each in answer.citations
    )


def test_a_restriction_holds_for_sections(release):
    answer = release.ask("What are the main risks?", mode="global", where={"document_id": "memo.md"})

    assert {each.document_id for each in answer.citations} == {"memo.md"}


def test_without_such_a_section_actions_that_are_not_done_are_open(tmp_path_factory):
    for release in opened_release(tmp_path_factory, {"tasks.csv": TASKS, "memo.md": MEMO}):
        answer = release.ask("What are the open points?", mode="global")

        assert "Count the ropes" in answer.text
        assert "Order paint" not in answer.text
