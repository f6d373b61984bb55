"""Segments: what a chunk is worth, which runs are chosen, and where they lie in the source."""

import random
import subprocess
import sys
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.search.segments import (
    PRESETS,
    Segment,
    SegmentOptions,
    best_segments,
    calibrated_relevance,
    chunk_values,
    extract_segments,
    scale_by_length,
    segment_documents,
    segment_options,
)


def slow_segments(values, ends, max_length, budget, minimum):
    """The definition, word by word: every run, every time."""
    chosen, waiting = [], list(range(len(values)))
    while waiting and budget > 0:
        query = waiting.pop(0)
        row = values[query]
        runs = [
            (-sum(row[start:end]), start, end)
            for start in range(len(row))
            for end in range(start + 1, min(start + min(max_length, budget), len(row)) + 1)
            if row[start] >= 0 <= row[end - 1]
            and not any(start < taken_end and taken < end for taken, taken_end, _ in chosen)
            and not any(start < place < end for place in ends)
        ]
        if not runs or -min(runs)[0] < minimum:
            continue
        _, start, end = min(runs)
        chosen.append((start, end, query))
        waiting.append(query)
        budget -= end - start
    return chosen


@pytest.mark.slow
def test_a_thousand_random_choices_are_those_of_brute_force():
    draw = random.Random(20240828)

    for _ in range(1_000):
        ends = list(accumulate(draw.randint(0, 12) for _ in range(draw.randint(1, 4))))
        steps = draw.choice([[-2, -1, 0, 1, 2], [0], [-3, 1, 2], list(range(-40, 60))])  # few steps: many ties
        values = [[draw.choice(steps) / 8 for _ in range(ends[-1])] for _ in range(draw.randint(1, 3))]
        limits = draw.randint(1, 9), draw.randint(0, 30), draw.choice([0.0, 0.125, 0.5, 1.0, -1.0])

        runs = best_segments(values, ends, *limits)

        assert [(run.start, run.end, run.query) for run in runs] == slow_segments(values, ends, *limits)


@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(0, 20),
    st.randoms(use_true_random=False),
)
def test_runs_stay_in_documents_and_budget_and_never_overlap(sizes, queries, longest, budget, draw):
    ends = list(accumulate(sizes))
    values = [[draw.uniform(-1, 1) for _ in range(ends[-1])] for _ in range(queries)]

    runs = best_segments(values, ends, longest, budget, 0.0)

    taken = [chunk for run in runs for chunk in range(run.start, run.end)]
    assert len(taken) == len(set(taken)) <= budget
    assert all(0 < run.end - run.start <= longest for run in runs)
    assert not any(run.start < end < run.end for run in runs for end in ends)
    assert [run.score for run in runs] == pytest.approx([sum(values[r.query][r.start : r.end]) for r in runs])


@given(st.lists(st.floats(-1e9, 1e9) | st.floats(-1e-9, 1e-9), min_size=1, max_size=20))
def test_values_of_any_size_are_summed_without_overflow(values):
    runs = best_segments([values], [len(values)], 5, 10, 0.0)

    assert all(run.score >= 0 for run in runs)
    assert bool(runs) == any(value >= 0 for value in values)


def test_what_lies_between_relevant_chunks_comes_with_them():
    hits = [("d", 1, 0.9), ("d", 3, 0.85), ("d", 4, 0.8)]
    spans = {"d": [(100 * n, 100 * n + 100) for n in range(8)]}

    segments = extract_segments([hits], spans, SegmentOptions(relevance="raw"))

    assert [(s.chunk_start, s.chunk_end, s.start, s.end) for s in segments] == [(1, 5, 100, 500)]


def test_a_chunk_that_is_no_hit_costs_the_whole_penalty():
    values = chunk_values([0, 1000], [1.0, 0.0], SegmentOptions(irrelevant_chunk_penalty=0.2))

    assert values.tolist() == pytest.approx([0.8, -0.2])


def test_floor_scaling_keeps_short_chunks_and_linear_shrinks_them():
    assert scale_by_length([0.5, 0.5], [350, 1400]).tolist() == [0.5, 1.0]
    assert scale_by_length([0.5, 0.5], [350, 1400], "linear").tolist() == [0.25, 1.0]


def test_linear_scaling_takes_the_true_length_of_every_chunk():
    spans = {"d": [(0, 700), (700, 2100), (2100, 2800)]}
    hits = [[("d", 0, 1.0), ("d", 2, 1.0)]]
    options = SegmentOptions(relevance="raw", minimum_value=0.0, decay_rate=1000.0)

    floor = extract_segments(hits, spans, options)
    linear = extract_segments(hits, spans, replace(options, length_scaling="linear"))

    assert floor[0].score - linear[0].score == pytest.approx(0.18)  # the long gap costs twice under `linear`


def test_documents_are_those_of_the_first_hits_in_order_of_appearance():
    first = [("b", 0, 3.0), ("a", 0, 2.0), ("c", 0, 1.0)]
    second = [("d", 0, 3.0), ("a", 0, 1.0)]

    documents = segment_documents([first, second], SegmentOptions(top_k_for_document_selection=2))

    assert documents == ["b", "a", "d"]


def test_queries_choose_in_turn():
    spans = {"d": [(n, n + 1) for n in range(9)]}
    first = [("d", 0, 1.0), ("d", 8, 0.99)]
    second = [("d", 4, 1.0)]

    segments = extract_segments([first, second], spans, SegmentOptions(relevance="raw"))

    assert [s.chunk_start for s in segments] == [0, 4, 8]


def test_every_further_query_extends_the_budget():
    spans = {"d": [(n, n + 1) for n in range(40)]}
    queries = [[("d", 10 * q + n, 1.0) for n in range(10)] for q in range(4)]
    options = SegmentOptions(relevance="raw", overall_max_length=10, overall_max_length_extension=5, max_length=40)

    lengths = [
        sum(s.chunk_end - s.chunk_start for s in extract_segments(queries[: n + 1], spans, options)) for n in range(4)
    ]

    assert lengths == [10, 15, 20, 25]


@pytest.mark.parametrize("results", [[], [[]], [[], []]])
def test_without_hits_there_are_no_segments(results):
    assert extract_segments(results, {}) == []


def test_the_best_hit_is_returned_when_nothing_is_worth_enough():
    spans = {"d": [(0, 5), (5, 9)]}
    hits = [[("d", 1, 0.1), ("d", 0, 0.05)]]

    one = extract_segments(hits, spans, SegmentOptions(relevance="raw"))
    both = extract_segments(hits, spans, SegmentOptions(relevance="raw", fallback_top_k=2))
    none = extract_segments(hits, spans, SegmentOptions(relevance="raw", fallback_top_k=0))

    assert one == [Segment("d", 1, 2, 5, 9, pytest.approx(0.1 - 0.18))]
    assert [s.chunk_start for s in both] == [1, 0]
    assert none == []


def test_of_a_chunk_named_twice_the_better_rank_counts():
    spans = {"d": [(0, 5)]}

    once = extract_segments([[("d", 0, 0.9)]], spans, SegmentOptions(relevance="raw"))
    twice = extract_segments([[("d", 0, 0.9), ("d", 0, 0.1)]], spans, SegmentOptions(relevance="raw"))

    assert once == twice


def test_the_text_of_a_segment_is_the_exact_source():
    text = "第一段。\n\n  Second one.\n第三段。"
    spans = {"d": [(0, 4), (8, 19), (20, 24)]}
    hits = [[("d", 0, 1.0), ("d", 1, 0.99), ("d", 2, 0.98)]]

    (segment,) = extract_segments(hits, spans, SegmentOptions(relevance="raw"))

    assert text[segment.start : segment.end] == text


@pytest.mark.parametrize("scale", [1e-6, 1.0, 5_000.0])
@pytest.mark.parametrize("count", [1, 2, 10, 200])
def test_calibrated_relevance_does_not_depend_on_the_scale_and_finds_something(scale, count):
    scores = scale * np.linspace(1.0, 0.2, count)

    relevance = calibrated_relevance(scores)

    assert relevance[0] == 1.0
    assert ((relevance >= 0) & (relevance <= 1)).all()
    assert (np.diff(relevance) <= 0).all()
    assert relevance == pytest.approx(calibrated_relevance(scores / scale))


def test_calibrated_relevance_of_hits_like_the_hundredth_is_nothing():
    scores = np.concatenate([[1.0, 0.8], np.full(198, 0.3)])

    relevance = calibrated_relevance(scores)

    assert relevance[:2].tolist() == pytest.approx([1.0, 5 / 7])
    assert not relevance[2:].any()


@pytest.mark.parametrize("preset", list(PRESETS))
def test_no_preset_returns_nothing_or_everything(preset):
    spans = {f"d{d}": [(400 * n, 400 * n + 400) for n in range(100)] for d in range(10)}
    draw = random.Random(7)
    places = draw.sample([(document, chunk) for document in spans for chunk in range(100)], 200)
    hits = [(*place, 3.0 * 0.98**rank) for rank, place in enumerate(places)]

    segments = extract_segments([hits], spans, preset)

    assert 0 < sum(s.chunk_end - s.chunk_start for s in segments) <= PRESETS[preset].overall_max_length


def test_missing_options_are_those_of_balanced():
    assert segment_options({"max_length": 3}) == SegmentOptions(max_length=3)
    assert segment_options({}) == segment_options() == PRESETS["balanced"]


@pytest.mark.parametrize(
    "given_options",
    [
        "comprehensive",
        {"max_lenght": 3},
        {"max_length": 0},
        {"max_length": 2.5},
        {"max_length": "three"},
        {"decay_rate": 0},
        {"irrelevant_chunk_penalty": -0.1},
        {"minimum_value": float("nan")},
        {"overall_max_length": True},
    ],
)
def test_a_wrong_option_is_refused_with_the_presets_named(given_options):
    with pytest.raises(ValueError, match="balanced, precision, find_all"):
        extract_segments([[("d", 0, 1.0)]], {"d": [(0, 1)]}, given_options)


@pytest.mark.parametrize("given_options", [{"relevance": "cosine"}, {"length_scaling": "log"}])
def test_a_wrong_choice_is_refused_with_the_choices_named(given_options):
    with pytest.raises(ValueError, match="must be one of"):
        SegmentOptions(**given_options)


def test_a_hit_that_its_document_does_not_have_is_refused():
    with pytest.raises(ValueError, match="no chunk 3 of 1"):
        extract_segments([[("d", 3, 1.0)]], {"d": [(0, 1)]})
    with pytest.raises(ValueError, match="chunks of documents"):
        extract_segments([[("d", 0, 1.0)]], {})


@pytest.mark.parametrize("values", [[[0.1]], [[0.1, float("inf")]]])
def test_values_that_do_not_fit_are_refused(values):
    with pytest.raises(ValueError, match="values"):
        best_segments(values, [2], 3, 3, 0.0)


def test_the_answer_is_the_same_for_every_hash_seed():
    script = (
        "from sag_retrieval.search.segments import extract_segments\n"
        "hits = [[(f'd{n % 7}', n % 5, 1 / (n + 1)) for n in range(30)] for _ in range(2)]\n"
        "print(extract_segments(hits, {f'd{n}': [(i, i + 1) for i in range(5)] for n in range(7)}))\n"
    )

    answers = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert len(answers) == 1


def test_twenty_thousand_chunks_are_searched():
    count = 20_000
    spans = {"d": [(400 * n, 400 * n + 400) for n in range(count)]}
    draw = random.Random(3)
    hits = [("d", place, 1 - rank / 250) for rank, place in enumerate(draw.sample(range(count), 200))]

    segments = extract_segments([hits], spans, SegmentOptions(relevance="raw", max_length=40, overall_max_length=200))

    assert segments
    assert sum(s.chunk_end - s.chunk_start for s in segments) <= 200


def test_a_segment_with_half_of_a_section_takes_in_the_rest():
    spans = {"d": [(n, n + 1) for n in range(9)]}
    sections = {"d": ["a", "a", "b", "b", "b", "b", "c", "c", "c"]}
    hits = [("d", 3, 1.0), ("d", 4, 1.0)]

    plain = extract_segments([hits], spans, SegmentOptions(relevance="raw"))
    whole = extract_segments([hits], spans, SegmentOptions(relevance="raw"), sections)

    assert [(s.chunk_start, s.chunk_end) for s in plain] == [(3, 5)]
    assert [(s.chunk_start, s.chunk_end, s.start, s.end) for s in whole] == [(2, 6, 2, 6)]
    assert whole[0].score == plain[0].score


@pytest.mark.parametrize("limit", [{"max_length": 3}, {"overall_max_length": 3}])
def test_a_segment_grows_over_a_section_only_within_its_limits(limit):
    spans = {"d": [(n, n + 1) for n in range(4)]}
    hits = [("d", 1, 1.0), ("d", 2, 1.0)]

    (segment,) = extract_segments([hits], spans, SegmentOptions(relevance="raw", **limit), {"d": ["b"] * 4})

    assert segment.chunk_end - segment.chunk_start <= 3


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    st.lists(st.integers(0, 20), min_size=1, max_size=8, unique=True),
    st.integers(1, 8),
    st.integers(1, 12),
)
def test_grown_segments_never_overlap_nor_shrink_nor_pass_the_budget(sizes, places, longest, budget):
    labels = [number for number, size in enumerate(sizes) for _ in range(size)]
    spans = {"d": [(n, n + 1) for n in range(len(labels))]}
    hits = [("d", place, 1.0) for place in places if place < len(labels)]
    options = SegmentOptions(relevance="raw", max_length=longest, overall_max_length=budget)

    plain = extract_segments([hits], spans, options)
    whole = extract_segments([hits], spans, options, {"d": labels})

    taken = [chunk for s in whole for chunk in range(s.chunk_start, s.chunk_end)]
    assert len(taken) == len(set(taken)) <= budget
    assert all(w.chunk_start <= p.chunk_start < p.chunk_end <= w.chunk_end for p, w in zip(plain, whole, strict=True))
    assert all(s.chunk_end - s.chunk_start <= longest for s in whole)


def test_options_can_be_fitted_to_a_budget_of_characters():
    options = PRESETS["balanced"].within(2_000, 290.0)

    assert (options.max_length, options.overall_max_length) == (3, 7)
    assert PRESETS["balanced"].within(100, 290.0).overall_max_length == 1
    assert PRESETS["balanced"].within(10**6, 290.0) == PRESETS["balanced"]
