"""A release in layers is the one that is written whole, after any history."""

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_retrieval.ask.question import release_weights
from sag_retrieval.release.mapped_arrays import CsrLists
from sag_retrieval.release.reader import verify_release
from sag_retrieval.release.schema import TABLES
from tests.pipeline.publish.histories import NAMES, VALUES, Home, Made
from tests.pipeline.publish.verbs import QUESTIONS, every_verb
from tests.support.sql_tables import open_tables, plain_rows, rows_of_views

FIRST = {"first.md": Made((((0, 4, 10), (7, 9)), ((1,),)), 1), "last.md": Made((((3, 5),),), 2)}

BOTH = {"b.md": Made((((12, 6),),), 7), "n.md": Made((((0, 2),),), 9)}

numbers = st.integers(0, len(VALUES) + 3)
editions = st.builds(
    Made,
    st.lists(st.lists(st.lists(numbers, max_size=4).map(tuple), max_size=3).map(tuple), max_size=3).map(tuple),
    st.integers(0, 10_000),
)
changes = st.dictionaries(st.sampled_from(NAMES), st.none() | editions | editions | editions, min_size=1, max_size=4)
histories = st.lists(changes, min_size=2, max_size=4)


def same_arrays(one, other):
    for place in fields(one):
        mine, theirs = getattr(one, place.name), getattr(other, place.name)
        if isinstance(mine, CsrLists):
            assert np.array_equal(mine.starts, theirs.starts), place.name
            assert np.array_equal(mine.items, theirs.items), place.name
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype, place.name
            assert not mine.flags.writeable, place.name
            assert np.array_equal(mine, theirs), place.name
        elif isinstance(mine, int | float):
            assert mine == theirs, place.name


def same_words(one, other):
    """Every word of a release that is written whole has the same postings; there are no others."""
    trie = other.terms.trie
    assert len(one.terms.trie) == len(trie)
    assert len(one.mentions.trie) == len(other.mentions.trie)
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


def same_verbs(mine, theirs, folder, questions):
    """Everything that a release can be asked, one after another."""
    found = (every_verb(each, folder / name, questions) for name, each in (("one", mine), ("other", theirs)))
    for (label, own), (_, other) in zip(*found, strict=True):
        assert own == other, label


def same_releases(mine, theirs):
    assert (mine.release_id, mine.tables) == (theirs.release_id, theirs.tables)
    assert mine.manifest.counts == theirs.manifest.counts
    for name in TABLES:
        one, other = (each.index.rows[name] for each in (mine, theirs))
        assert pa.table(one).equals(pa.table(other)), name
        if name != "calls":
            asked = f"SELECT count(*) AS n FROM {name}"
            assert mine.sql(asked).to_pandas()["n"].tolist() == [other.num_rows]
    with open_tables(mine.path) as tables:
        assert rows_of_views(tables) == plain_rows(theirs.index.rows)
    same_arrays(mine.index.arrays, theirs.index.arrays)
    same_words(mine.index.arrays, theirs.index.arrays)
    weighed = [release_weights(each.index)(["lumen", "海鹭", "neverseen"]) for each in (mine, theirs)]
    assert weighed[0] == weighed[1]
    for name, vectors in theirs.index.arrays.vectors.items():
        rows = np.arange(vectors.row_count, dtype=np.int32)
        taken = [each.take(rows) for each in (mine.index.arrays.vectors[name], vectors)]
        dense = [each.toarray() if hasattr(each, "toarray") else each for each in taken]
        assert np.array_equal(*dense), name


def compare_after(home, folder, change, questions=()):
    """Change a home and publish; compare its release with one of the same content that is written whole.

    Returns:
        How many layers it has.
    """
    home.put({name: made for name, made in change.items() if made is not None})
    home.remove([name for name, made in change.items() if made is None and name in home.kept])
    done = home.publish()
    assert not done.faults
    assert home.whole(folder / "whole").release_id == done.manifest.release_id
    with home.opened() as mine, home.opened(folder / "whole") as theirs:
        same_releases(mine, theirs)
        if questions:
            same_verbs(mine, theirs, folder, questions)
        assert verify_release(mine.path) == []
    return len(done.manifest.layer_counts)


def long(seed):
    """A document with more events than a theme needs."""
    named = [((n + seed) % 12, 5 * n % 12, 7 * n % 11, 13 + n % 4) for n in range(16)]
    return Made(tuple(tuple(named[n : n + 4]) for n in range(0, 16, 4)), seed)


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("is_dense", "history", "layers"),
    [
        (True, ({"海.md": long(3)}, {"b.md": long(5), "first.md": Made((((4, 2),),), 4)}), 3),
        (False, ({"海.md": long(3)}, {"last.md": None}, BOTH, {"b.md": Made((((0, 5),),), 8)}), 4),
    ],
    ids=["added", "removed and replaced"],
)
def test_every_verb_gives_on_layers_what_it_gives_on_a_release_that_is_written_whole(
    tmp_path, is_dense, history, layers
):
    home = Home(tmp_path / "home", is_dense)
    home.put(FIRST)
    home.publish()
    for step, change in enumerate(history, 1):
        asked = QUESTIONS[:2] if is_dense else QUESTIONS[2:]
        found = compare_after(home, tmp_path / f"{step}", change, asked if step == len(history) else ())
    assert found == layers


@pytest.mark.slow
@pytest.mark.no_cover
@settings(max_examples=max(2, settings().max_examples // 50))  # 2; `--hypothesis-profile sag-many` tries 40
@given(is_dense=st.booleans(), history=histories)
def test_a_release_in_layers_is_the_one_that_is_written_whole(tmp_path_factory, is_dense, history):
    home = Home(tmp_path_factory.mktemp("home"), is_dense)
    home.put(FIRST)
    home.publish()
    for change in history:
        compare_after(home, tmp_path_factory.mktemp("step"), change)
