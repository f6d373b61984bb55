"""What restrictions leave to be found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import FilterError
from sag_retrieval.release.arrays import GraphParts
from sag_retrieval.release.mapped_arrays import group
from sag_retrieval.release.sandbox import NamedIds, restrict


def rows(flags):
    return np.flatnonzero(flags).tolist()


def left(allowed):
    return rows(allowed.chunks), rows(allowed.events), rows(allowed.keys)


def test_without_restriction_there_is_nothing_to_apply(sandbox):
    assert sandbox.allowed() is None
    assert sandbox.allowed(None, {}) is None
    assert sandbox.allowed(where={"title": None}) is None


def test_named_events_leave_their_chunks_and_their_keys(sandbox):
    assert left(sandbox.allowed("SELECT event_id FROM events WHERE event_id = 'e0'")) == ([0], [0], [0])


def test_a_bare_condition_is_a_restriction_on_events(sandbox):
    assert left(sandbox.allowed("content = 'Bob left'")) == ([1], [2], [2, 4])


def test_named_chunks_leave_all_their_events_and_keys(sandbox):
    allowed = sandbox.allowed("SELECT chunk_id FROM chunks WHERE chunk_id IN ('c1', 'c4')")

    assert left(allowed) == ([1, 4], [2], [2, 4, 7])


def test_a_document_without_events_can_be_found(sandbox):
    assert left(sandbox.allowed(where={"title": "No events"})) == ([4], [], [])


def test_sql_and_where_both_hold(sandbox):
    allowed = sandbox.allowed("SELECT document_id FROM documents WHERE language = 'en'", {"key.amount__gte": 1})

    assert left(allowed) == ([0, 1], [1, 2], [1, 2, 4])


def test_a_restriction_that_names_nothing_leaves_nothing(sandbox):
    assert left(sandbox.allowed("SELECT event_id FROM events WHERE FALSE")) == ([], [], [])


def test_the_same_restriction_is_kept_and_cannot_be_changed(sandbox):
    first = sandbox.allowed("language = 'zh'", {"metadata.user_id": "2"})

    assert sandbox.allowed("language = 'zh'", {"metadata.user_id": "2"}) is first
    with pytest.raises(ValueError, match="read-only"):
        first.chunks[0] = True


def test_one_and_true_are_different_conditions(sandbox):
    assert left(sandbox.allowed(where={"metadata.ok": True}))[0] == [0, 1]
    assert left(sandbox.allowed(where={"metadata.ok": 1}))[0] == []


def test_a_refused_restriction_says_so_each_time(sandbox):
    for _ in range(2):
        with pytest.raises(FilterError, match="only SELECT"):
            sandbox.allowed("DROP TABLE events")


@given(st.data())
def test_more_restrictions_never_leave_more(data):
    documents, keys = 3, 4
    chunk_document = np.array(data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=6)), dtype=np.int32)
    chunk = st.integers(0, len(chunk_document) - 1)
    event_chunk = np.array(data.draw(st.lists(chunk, min_size=1, max_size=8)), dtype=np.int32)
    event = st.integers(0, len(event_chunk) - 1)

    def lists(row, count):
        drawn = sorted(data.draw(st.sets(st.tuples(row, st.integers(0, keys - 1)), max_size=9)))
        owners, items = (np.array([pair[i] for pair in drawn], dtype=np.int32) for i in (0, 1))
        return group(owners, items, count)[0]

    event_keys, chunk_keys = lists(event, len(event_chunk)), lists(chunk, len(chunk_document))
    no_main, idf = np.full(len(chunk_document), -1, np.int32), np.ones(keys, np.float32)
    counts = np.ones(len(chunk_keys.items), np.int32)
    places = GraphParts(event_keys, chunk_keys, counts, event_chunk, chunk_document, no_main, idf, documents)
    kinds = {"events": event, "chunks": chunk, "documents": st.integers(0, documents - 1)}
    named = [
        NamedIds(table, np.array(data.draw(st.lists(kinds[table], max_size=4)), dtype=np.int64))
        for table in data.draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=3))
    ]

    few, all_but_last = restrict(places, named), restrict(places, named[:-1])

    assert not (few.events & ~all_but_last.events).any()
    assert not (few.chunks & ~all_but_last.chunks).any()
    assert few.chunks[places.event_chunk[few.events]].all()
    reversed_order = restrict(places, named[::-1])
    assert left(few) == left(reversed_order)
