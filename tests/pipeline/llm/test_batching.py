"""Requests that share a call."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.models.cached_chat import BatchLimits, batch_parts, split_shares
from sag_retrieval.models.protocols import Request, Usage


class Facts(BaseModel):
    facts: list[str]


@dataclass(frozen=True)
class Piece:
    kind: str
    size: int
    source: str = "s"
    weight: float = 0.0

    def merge(self, parts):
        raise NotImplementedError

    def split(self, parts, answer):
        raise NotImplementedError


PARTS = st.none() | st.builds(
    Piece,
    st.sampled_from(["events zh", "events en"]),
    st.integers(0, 50),
    st.sampled_from(["contracts", "inbox"]),
    st.sampled_from([0.0, 0.25, 1.0]),
)


@given(st.lists(st.tuples(PARTS, st.booleans()), max_size=30), st.integers(1, 5), st.integers(1, 90))
def test_groups_keep_places_and_bounds_and_never_mix_kinds_or_sources(asked, parts: int, tokens: int):
    requests = [Request(str(n), Facts, "events", part=part) for n, (part, _) in enumerate(asked)]
    kept = {str(n) for n, (_, is_kept) in enumerate(asked) if is_kept}

    groups = list(batch_parts(requests, lambda r: r.prompt in kept, BatchLimits(parts=parts, tokens=tokens)))

    assert sorted((one for group in groups for one in group), key=lambda one: one[0]) == list(enumerate(requests))
    for group in ([request for _, request in group] for group in groups if len(group) > 1):
        assert len(group) <= parts
        assert len({(request.part.kind, request.part.source) for request in group if request.part}) == 1
        assert sum(request.part.weight for request in group if request.part) <= 1
        assert sum(request.part.size for request in group if request.part) <= tokens
        assert not any(request.prompt in kept for request in group)


def test_documents_of_different_sources_share_a_call_only_by_option():
    asked = [Request(str(n), Facts, "events", part=Piece("events en", 1, source=f"s{n % 2}")) for n in range(6)]

    apart = list(batch_parts(asked, lambda _: False, BatchLimits()))
    together = list(batch_parts(asked, lambda _: False, BatchLimits(mixed_sources=True)))

    assert [[place for place, _ in group] for group in apart] == [[0, 2, 4], [1, 3, 5]]
    assert [[place for place, _ in group] for group in together] == [[0, 1, 2, 3, 4, 5]]


def test_a_part_that_does_not_fit_leaves_its_group_open_for_shorter_ones():
    weights = [0.6, 0.55, 0.4, 0.45, 1.0]
    asked = [Request("", Facts, "keys", part=Piece("keys en", 1, weight=weight)) for weight in weights]

    groups = list(batch_parts(asked, lambda _: False, BatchLimits()))

    assert [[place for place, _ in group] for group in groups] == [[0, 2], [1, 3], [4]]


def test_twenty_twentieths_fill_a_call():
    asked = [Request("", Facts, "keys", part=Piece("keys en", 1, weight=1 / 20)) for _ in range(40)]

    groups = batch_parts(asked, lambda _: False, BatchLimits(parts=40))

    assert [len(group) for group in groups] == [20, 20]


def test_kinds_that_alternate_share_their_own_calls_and_none_waits_for_ever():
    asked = (Request("", Facts, "events", part=Piece("events zh" if n % 2 else "events en", 1)) for n in range(1_000))

    groups = batch_parts(asked, lambda _: False, BatchLimits(parts=100))

    assert [len(group) for group in groups] == [100] * 10
    lone = [Request("", Facts, "events", part=Piece(kind, 1)) for kind in ["a", *"b" * 900]]
    assert (
        next(
            place
            for place, group in enumerate(batch_parts(lone, lambda _: False, BatchLimits(parts=9)))
            if group[0][0] == 0
        )
        < 30
    )


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.lists(st.integers(0, 500), min_size=1, max_size=9))
def test_shares_of_a_usage_sum_to_it(sent: int, received: int, weights: list[int]):
    usage = Usage(2, 0, sent, received, 1.0)

    total = sum(split_shares(usage, weights), Usage())

    assert (total.calls, total.input_tokens, total.output_tokens) == (2, sent, received)


@pytest.mark.parametrize("wrong", [{"parts": 0}, {"tokens": 0}])
def test_bounds_that_let_nothing_through_are_refused(wrong: dict[str, int]):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        BatchLimits(**wrong)
