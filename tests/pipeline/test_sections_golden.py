"""Recorded cases of the two methods that sections come from."""

from sag_pipeline.extract.sections import (
    LineRun,
    Window,
    is_splintered,
    join_windows,
    line_text,
    lines_of,
    runs_from_ranges,
    runs_from_starts,
    windows_of,
)
from tests.support.golden import enough, recorded


def without_placeholders(title: str) -> str:
    """Made-up titles of the recorded method are no titles here."""
    parts = title.split(" / ")
    return " / ".join(p for p in parts if p not in {"Consolidated Section", "Document"} and p[:7] != "Window ")


def test_long_lines_are_cut_as_recorded():
    for case in recorded("sectioning_head")["split_long_line"]:
        limit, line = case["max_line_length"], case["line"]
        if not line or any(len(part) > limit for part in case["parts"]):
            continue  # an empty line is no line alone; words longer than the limit stay whole there

        parts = [line_text(line, part) for part in lines_of(line, limit)]

        assert parts == case["parts"]


def test_texts_have_the_recorded_lines():
    for case in recorded("sectioning_head")["str_to_lines"]:
        text = case["document"]

        lines = [line_text(text, line) for line in lines_of(text)]

        assert lines == (case["lines"] if text else [])


def test_windows_are_as_recorded():
    for case in recorded("sectioning_head")["windows"]:
        windows = windows_of(case["line_lengths"], case["max_characters_per_window"])

        assert [list(window) for window in windows] == case["windows"]


def test_replies_with_starts_are_repaired_as_recorded():
    for case in recorded("sectioning_head")["window_repair"]:
        window = Window(*case["window"])
        if any(start > window.last for _, start in case["fixed"]):
            continue  # starts pushed out of the window there

        runs = runs_from_starts(case["sections"], window)

        assert [[r.title, r.first] for r in runs] == [[without_placeholders(t), s] for t, s in case["fixed"]]


def test_replies_with_ranges_are_repaired_as_recorded():
    for case in recorded("sectioning_partition_2024_08")["cases"]:
        window = Window(*case["range"])

        runs = runs_from_ranges(case["sections"], window)

        assert [n for r in runs for n in range(r.first, r.last + 1)] == list(range(window[0], window[1] + 1))
        if case["valid"]:
            assert [[r.first, r.last] for r in runs] == [place for _, *place in case["partition"]]
            assert all(title in {"", r.title} for (title, *_), r in zip(case["partition"], runs, strict=True))


def test_whole_documents_are_divided_as_recorded():
    checked = 0
    for case in recorded("sectioning_head")["end_to_end"]:
        lines, replies = case["lines"], case["llm_replies_by_window_start"]
        windows = windows_of([len(line) for line in lines], case["max_characters_per_window"])
        if len(windows) > 1:
            continue  # sections on both sides of a border are always one there
        found = []
        for window in windows:
            reply = replies[str(window.first)] or []
            size = len("\n".join(f"[{n}] {lines[n]}" for n in range(window.first, window.last + 1)))
            is_one = is_splintered(len(reply), size, case["min_avg_chars_per_section"])
            found.append([LineRun("", *window)] if is_one else runs_from_starts(reply, window))

        joined = join_windows(found, [False] * len(found))

        assert [list(run) for run in joined] == [
            [without_placeholders(title), first, last] for title, first, last in case["sections"]
        ]
        checked += 1
    assert enough(checked, 20)
