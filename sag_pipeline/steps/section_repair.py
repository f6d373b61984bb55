"""From what a model says about sections to a partition of lines, whatever it says."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from sag_pipeline.steps.section_windows import Window
from sag_retrieval.text.words import fold

Merging = Literal["always", "same_title", "never"]


class LineRun(NamedTuple):
    """Lines `first` to `last`, both included, under a title; an empty title is none."""

    title: str
    first: int
    last: int


def runs_from_starts(starts: Sequence[tuple[str, int]], window: Window) -> list[LineRun]:
    """A partition of the window from titles with first lines.

    Of equal starts the first stays; starts behind the window are dropped; the first run begins with the
    window; one that would begin at or before the run ahead of it begins one line later. Nothing left: one
    untitled run.

    Source:
        docs/algorithm.md §sections.3

    """
    kept = {start: title for title, start in reversed(starts) if start <= window.last}
    if not kept:
        return [LineRun("", *window)]
    places: list[tuple[str, int]] = []
    for start in sorted(kept):
        place = max(start, places[-1][1] + 1) if places else window.first
        if place <= window.last:
            places.append((kept[start], place))
    ends = [start - 1 for _, start in places[1:]] + [window.last]
    return [LineRun(title, start, end) for (title, start), end in zip(places, ends, strict=True)]


def runs_from_ranges(ranges: Sequence[tuple[str, int, int]], window: Window) -> list[LineRun]:
    """A partition of the window from titles with first and last lines.

    Ranges are clipped to the window; reversed and outside ones are dropped, then those inside another. A run
    ends before the next begins, and lines that none holds become untitled runs.

    Source:
        docs/algorithm.md §sections.4

    """
    clipped = [LineRun(title, max(first, window.first), min(last, window.last)) for title, first, last in ranges]
    ordered = sorted((run for run in clipped if run.first <= run.last), key=lambda run: (run.first, -run.last))
    outer: list[LineRun] = []
    for run in ordered:
        if not outer or run.last > outer[-1].last:
            outer.append(run)
    runs: list[LineRun] = []
    following = [run.first for run in outer[1:]] + [window.last + 1]
    place = window.first
    for run, limit in zip(outer, following, strict=False):
        if run.first > place:
            runs.append(LineRun("", place, run.first - 1))
        runs.append(run._replace(last=min(run.last, limit - 1)))
        place = runs[-1].last + 1
    if place <= window.last:
        runs.append(LineRun("", place, window.last))
    return runs


def is_splintered(section_count: int, character_count: int, least_average: float) -> bool:
    """Whether a reply names several sections that hold fewer than `least_average` characters on average.

    Characters are counted as the model reads them, line numbers included.

    Source:
        docs/algorithm.md §sections.5

    """
    return section_count > 1 and character_count / section_count < least_average


def join_windows(
    windows: Sequence[Sequence[LineRun]], merging: Merging = "same_title", continued: Sequence[bool] = ()
) -> list[LineRun]:
    """The runs of all windows; at a border the last and the first run become one if they belong together.

    Args:
        windows: Runs of each window, none empty.
        merging: `always`: wherever the window ahead has more than one run, titles joined by ` / `;
            `same_title`: where both have the same title or the model said that the first run goes on;
            `never`: nowhere.
        continued: For every window, whether its first run goes on from the window ahead; none if left out.

    Source:
        docs/algorithm.md §sections.6

    """
    goes_on = [*continued, *[False] * (len(windows) - len(continued))]
    joined = list(windows[0]) if windows else []
    for number, (ahead, runs) in enumerate(pairwise(windows), start=1):
        rest = list(runs)
        if _belong_together(joined[-1], rest[0], len(ahead), merging, said=goes_on[number]):
            joined[-1] = LineRun(_joined_title(joined[-1], rest[0], merging), joined[-1].first, rest[0].last)
            rest = rest[1:]
        joined.extend(rest)
    return joined


def _belong_together(last: LineRun, first: LineRun, runs_ahead: int, merging: Merging, *, said: bool) -> bool:
    if merging == "always":
        return runs_ahead > 1
    return merging == "same_title" and (said or fold(last.title) == fold(first.title) != "")


def _joined_title(last: LineRun, first: LineRun, merging: Merging) -> str:
    if merging != "always" or fold(last.title) == fold(first.title):
        return last.title or first.title
    return " / ".join(title for title in (last.title, first.title) if title)
