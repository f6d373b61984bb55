"""Recorded cases of the method that segments come from."""

from dataclasses import replace
from itertools import accumulate, pairwise

import pytest

from sag_retrieval.search.segments import (
    PRESETS,
    SegmentOptions,
    best_segments,
    chunk_values,
    extract_segments,
    scale_by_length,
)
from tests.support.golden import recorded


def cases(name: str) -> list[dict]:
    return recorded(name)["cases"]


def spans_of(lengths: list[int]) -> list[tuple[int, int]]:
    return list(pairwise([0, *accumulate(lengths)]))


def test_chunk_values_are_as_recorded():
    for case in cases("rse_chunk_value"):
        info = case["chunk_info"]
        options = SegmentOptions(
            irrelevant_chunk_penalty=case["irrelevant_chunk_penalty"], decay_rate=case["decay_rate"]
        )

        value = chunk_values([info.get("rank", 1000)], [info.get("absolute_relevance_value", 0.0)], options)

        assert value[0] == pytest.approx(case["value"], abs=1e-6)


@pytest.mark.parametrize(("how", "recorded"), [("floor", "adjusted_floor_at_reference"), ("linear", "adjusted_linear")])
def test_both_readings_of_length_scaling_are_as_recorded(how, recorded):
    for case in cases("rse_length_adjust"):
        scaled = scale_by_length(case["relevance_values"], case["chunk_lengths"], how, case["reference_length"])

        assert scaled == pytest.approx(case[recorded], abs=1e-6)


def test_best_segments_are_as_recorded():
    for case in cases("rse_segments"):
        runs = best_segments(
            case["all_relevance_values"],
            case["document_splits"],
            case["max_length"],
            case["overall_max_length"],
            case["minimum_value"],
        )

        assert [[run.start, run.end] for run in runs] == case["segments"], case["id"]
        assert [run.score for run in runs] == pytest.approx(case["scores"], abs=1e-6)


def test_segments_of_ranked_results_are_as_recorded():
    for case in cases("rse_query"):
        options = replace(
            PRESETS[case["preset"]],
            chunk_length_adjustment=case["chunk_length_adjustment"],
            relevance="raw",
            fallback_top_k=0,
        )
        spans = {document: spans_of(lengths) for document, lengths in case["doc_chunk_lengths"].items()}

        segments = extract_segments([[tuple(hit) for hit in hits] for hits in case["ranked_results"]], spans, options)

        found = [(s.document_id, s.chunk_start, s.chunk_end) for s in segments]
        assert found == [(s["doc_id"], s["chunk_start"], s["chunk_end"]) for s in case["segments"]], case["id"]
        assert [s.score for s in segments] == pytest.approx([s["score"] for s in case["segments"]], abs=1e-6)


def test_presets_are_as_recorded():
    for name, options in recorded("rse_query")["presets"].items():
        assert {key: getattr(PRESETS[name], key) for key in options} == options
