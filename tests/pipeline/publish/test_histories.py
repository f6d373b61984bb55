"""A release in layers is the one that is written whole, after any history."""

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_retrieval.release.csr import CsrLists
from sag_retrieval.release.reader import verify_release
from sag_retrieval.release.schema import TABLES
from tests.pipeline.publish.histories import NAMES, VALUES, Home, Made

METHODS = ("sag", "sag-literal", "sag-events", "bm25", "dense", "hybrid", "bridge", "think-on-graph", "tiers")
QUESTIONS = ("What did Lumen Optics sell at Port Ansel?", "光澜公司 制造 海鹭", "heron buoy salt", "Report b/c.md")

numbers = st.integers(0, len(VALUES) + 3)
editions = st.builds(
    Made,
    st.lists(st.lists(st.lists(numbers, max_size=4).map(tuple), max_size=3).map(tuple), max_size=3).map(tuple),
    st.integers(0, 10_000),
)
changes = st.dictionaries(st.sampled_from(NAMES), st.none() | editions | editions | editions, min_size=1, max_size=4)
histories = st.lists(changes, min_size=2, max_size=6)


def same_arrays(one, other):
    for place in fields(one):
        mine, theirs = getattr(one, place.name), getattr(other, place.name)
        if isinstance(mine, CsrLists):
            assert np.array_equal(mine.starts, theirs.starts), place.name
            assert np.array_equal(mine.items, theirs.items), place.name
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype, place.name
            assert np.array_equal(mine, theirs), place.name
        elif isinstance(mine, int | float):
            assert mine == theirs, place.name


def same_words(one, other):
    """Every word of a release that is written whole has the same postings; there are no others."""
    trie = other.terms.trie
    for kind in ("chunk_text", "document_text"):
        mine, theirs = getattr(one, kind), getattr(other, kind)
        assert np.count_nonzero(mine.rows_of.sizes()) == np.count_nonzero(theirs.rows_of.sizes())
        for word, number in trie.items():
            own = one.terms.trie.get(word)
            places = [slice(*each.rows_of.starts[n : n + 2]) for each, n in ((mine, own), (theirs, number))]
            for name in ("weights", "counts"):
                assert np.array_equal(getattr(mine, name)[places[0]], getattr(theirs, name)[places[1]]), word
            assert np.array_equal(mine.rows_of.row(own), theirs.rows_of.row(number)), word
            assert mine.idf[own] == theirs.idf[number], word
    for name in [*other.mentions.trie.keys(), "nobody of that name"]:
        assert one.mentions.exact(name).tolist() == other.mentions.exact(name).tolist(), name


def answers(release):
    for method in METHODS:
        for question in QUESTIONS:
            for where in (None, {"title__startswith": "Report"}):
                found = release.search(question, method=method, where=where).hits
                yield method, question, [(h.chunk_id, h.score, [e.event_id for e in h.events], h.keys) for h in found]


def same_releases(mine, theirs, *, is_searched):
    assert (mine.release_id, mine.tables) == (theirs.release_id, theirs.tables)
    assert mine.manifest.counts == theirs.manifest.counts
    for name in TABLES:
        one, other = (each.index.rows[name] for each in (mine, theirs))
        assert pa.table(one).equals(pa.table(other)), name
        if name != "calls":
            asked = f"SELECT count(*) AS n FROM {name}"
            assert mine.sql(asked).to_pandas()["n"].tolist() == [other.num_rows]
    same_arrays(mine.index.arrays, theirs.index.arrays)
    same_words(mine.index.arrays, theirs.index.arrays)
    for name, vectors in theirs.index.arrays.vectors.items():
        rows = np.arange(vectors.row_count, dtype=np.int32)
        taken = [each.take(rows) for each in (mine.index.arrays.vectors[name], vectors)]
        dense = [each.toarray() if hasattr(each, "toarray") else each for each in taken]
        assert np.array_equal(*dense), name
    if is_searched:  # what is searched is the same by then
        assert [*answers(mine)] == [*answers(theirs)]


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("is_dense", [True, False])
@settings(max_examples=6)
@given(history=histories)
def test_a_release_in_layers_is_the_one_that_is_written_whole(tmp_path_factory, is_dense, history):
    home = Home(tmp_path_factory.mktemp("home"), is_dense)
    home.put({"first.md": Made((((0, 4, 10), (7, 9)), ((1,),)), 1), "last.md": Made((((3, 5),),), 2)})
    home.publish()
    for step, change in enumerate(history):
        home.put({name: made for name, made in change.items() if made is not None})
        home.remove([name for name, made in change.items() if made is None and name in home.kept])
        done = home.publish()
        assert not done.faults
        whole = tmp_path_factory.mktemp("whole") / f"r{step}"
        assert home.whole(whole).release_id == done.manifest.release_id
        with home.opened() as mine, home.opened(whole) as theirs:
            same_releases(mine, theirs, is_searched=step == len(history) - 1)
            assert verify_release(mine.path) == []
