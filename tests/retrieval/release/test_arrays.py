from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.language.words import normal_name, tokens
from sag_retrieval.release.arrays import open_arrays, write_arrays
from sag_retrieval.release.mapped_arrays import CsrLists, group, map_array, ranges, save_array, take_rows
from sag_retrieval.release.text_index import (
    LENGTH_SHARE,
    SATURATION,
    Mentions,
    Postings,
    Vocabulary,
    count_terms,
    write_mentions,
)
from tests.support.graph_parts import graph_parts

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), unique=True)


def tables():
    """Two documents: one of two chunks, one of one; three keys, one of them a number."""
    return {
        "documents": pa.table(
            {
                "document_id": ["a", "b"],
                "title": ["Tea", "茶"],
                "text": ["green tea black", "绿茶"],
                "language": ["en", "zh"],
            }
        ),
        "chunks": pa.table(
            {
                "chunk_id": ["c1", "c2", "c3"],
                "document_id": ["a", "a", "b"],
                "text": ["green tea", "black", "绿茶"],
                "header": ["Tea", "Tea", ""],
                "main_key_id": ["k1", "k1", None],
            }
        ),
        "events": pa.table(
            {
                "event_id": ["e1", "e2", "e3"],
                "chunk_id": ["c1", "c1", "c3"],
                "start": [0, None, 0],
                "content": ["green tea", "a leaf", "绿茶"],
            }
        ),
        "triples": pa.table({name: pa.array([], pa.string()) for name in ("chunk_id", "head", "relation", "tail")}),
        "keys": pa.table({"key_id": ["k1", "k2", "k3"], "name": ["tea", "", "绿茶"], "idf": [0.4, 1.1, 1.1]}),
        "event_keys": pa.table({"event_id": ["e1", "e2", "e3", "e1"], "key_id": ["k1", "k1", "k3", "k2"]}),
        "chunk_keys": pa.table(
            {
                "chunk_id": ["c1", "c1", "c2", "c3"],
                "key_id": ["k1", "k2", "k1", "k3"],
                "count": pa.array([2, 1, 3, 1], pa.int32()),
            }
        ),
        "key_aliases": pa.table({"alias": ["Green Tea", "龙井"], "key_id": ["k3", "k3"]}),
    }


@pytest.fixture
def arrays(tmp_path):
    rows = tables()
    write_arrays(tmp_path, graph_parts(rows), rows)
    return open_arrays(tmp_path)


def test_links_can_be_followed_in_both_directions(arrays):
    assert [arrays.event_keys.row(event).tolist() for event in range(3)] == [[0, 1], [0], [2]]
    assert [arrays.key_events.row(key).tolist() for key in range(3)] == [[0, 1], [0], [2]]
    assert [arrays.chunk_keys.row(chunk).tolist() for chunk in range(3)] == [[0, 1], [0], [2]]
    assert [arrays.key_chunks.row(key).tolist() for key in range(3)] == [[0, 1], [0], [2]]
    assert arrays.key_chunk_count.tolist() == [2, 3, 1, 1]


def test_chunks_know_their_document_their_events_and_their_main_key(arrays):
    assert arrays.chunk_document.tolist() == [0, 0, 1]
    assert arrays.document_chunks.tolist() == [0, 2, 3]
    assert arrays.chunk_events.tolist() == [0, 2, 2, 3]
    assert arrays.chunk_main_key.tolist() == [0, 0, -1]
    assert arrays.is_main_key.tolist() == [True, False, False]


def test_frequencies_and_sizes_are_those_of_the_tables(arrays):
    sizes = (arrays.event_count, arrays.key_count, arrays.chunk_count, arrays.document_count)

    assert sizes == (3, 3, 3, 2)
    assert arrays.key_document_count.tolist() == [1, 1, 1]
    assert arrays.highest_idf == pytest.approx(1.1)


def test_full_text_covers_header_and_text_of_chunks_and_whole_documents(arrays):
    tea = arrays.terms.numbers("tea 绿茶")

    assert np.flatnonzero(arrays.chunk_text.scores(tea)).tolist() == [0, 1, 2]
    assert np.flatnonzero(arrays.document_text.scores(arrays.terms.numbers("black"))).tolist() == [0]
    assert arrays.terms.numbers("unknown words") == {}


def test_names_and_aliases_lead_to_their_keys(arrays):
    found = dict(arrays.mentions.find("Is green tea the same as 龙井绿茶?"))

    assert {name: rows.tolist() for name, rows in found.items()} == {"green tea": [2], "龙井": [2], "绿茶": [2]}


def test_a_link_to_a_row_that_is_not_there_is_refused():
    rows = tables() | {"event_keys": pa.table({"event_id": ["e9"], "key_id": ["k1"]})}

    with pytest.raises(ReleaseError, match="such as e9"):
        graph_parts(rows)


def test_a_release_without_any_row_is_written_and_opened(tmp_path):
    empty = {name: table.slice(0, 0) for name, table in tables().items()}

    write_arrays(tmp_path, graph_parts(empty), empty)
    opened = open_arrays(tmp_path)

    assert (opened.event_count, opened.key_count, opened.chunk_count, opened.document_count) == (0, 0, 0, 0)
    assert opened.mentions.find("tea") == []
    assert opened.chunk_text.scores({}).tolist() == []


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ReleaseError, match=r"gone\.npy is missing"):
        map_array(tmp_path / "gone")


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "bad.npy").write_bytes(b"not an array")

    with pytest.raises(ReleaseError, match=r"bad\.npy is damaged"):
        map_array(tmp_path / "bad")


def test_an_empty_array_survives_the_disk(tmp_path):
    save_array(tmp_path / "none", np.zeros(0, np.int32))

    assert map_array(tmp_path / "none").tolist() == []


@given(pairs)
def test_grouping_keeps_every_pair_once(listed):
    owners, items = (np.array([pair[side] for pair in listed], np.int64) for side in (0, 1))

    lists, order = group(owners, items, 6)

    back = [(owner, int(item)) for owner in range(6) for item in lists.row(owner)]
    assert back == sorted(listed)
    assert items[order].tolist() == lists.items.tolist()
    assert lists.sizes().sum() == len(listed)


@given(pairs, st.lists(st.integers(0, 5), max_size=8))
def test_places_of_some_lists_are_those_lists_behind_one_another(listed, rows):
    lists, _ = group(*(np.array([pair[side] for pair in listed], np.int64) for side in (0, 1)), 6)

    owner, place = lists.gather(np.array(rows, np.int64))

    assert lists.items[place].tolist() == [item for row in rows for item in lists.row(row).tolist()]
    assert owner.tolist() == [at for at, row in enumerate(rows) for _ in lists.row(row)]


def test_lists_and_ranges_of_nothing_are_empty():
    assert len(CsrLists(np.zeros(1, np.int64), np.zeros(0, np.int32))) == 0
    assert ranges(np.array([0, 0, 2]), 4).tolist() == [0, 2, 2, 3, 3]


def naive_bm25(texts, question):
    """The formula of docs/algorithm.md §search.2, text by text."""
    read = [tokens(text) for text in texts]
    mean = sum(map(len, read)) / len(read) or 1
    scores = []
    for own in read:
        total = 0.0
        for term in tokens(question):
            frequency = sum(1 for other in read if term in other)
            count = own.count(term)
            if count:
                idf = np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5))
                share = 1 - LENGTH_SHARE + LENGTH_SHARE * len(own) / mean
                total += idf * count * (SATURATION + 1) / (count + SATURATION * share)
        scores.append(total)
    return scores


some_texts = st.lists(
    st.lists(st.sampled_from(["tea", "cup", "sky", "绿茶", "红茶"]), max_size=6).map(" ".join), min_size=1, max_size=6
)


@given(some_texts, st.sampled_from(["tea", "tea cup tea", "绿茶", "sky 红茶"]))
def test_postings_score_as_the_formula_says(texts, question):
    vocabulary = Vocabulary()
    flat, sizes = vocabulary.read(texts)
    postings = count_terms(flat, np.repeat(np.arange(len(sizes)), sizes), len(sizes), len(vocabulary.numbers)).weighed()
    terms = {}
    for token in tokens(question):
        if token in vocabulary.numbers:
            terms[vocabulary.numbers[token]] = terms.get(vocabulary.numbers[token], 0) + 1

    assert postings.scores(terms) == pytest.approx(naive_bm25(texts, question), rel=1e-5)
    rows = np.arange(len(texts), dtype=np.int32)
    assert postings.matrix(terms, rows).sum(axis=0) == pytest.approx(postings.scores(terms), rel=1e-6)


@given(st.lists(st.text(st.sampled_from("aé ̈'’\u00a0\u00b4\u2003\n\t绿茶ﬁ"), max_size=12), max_size=4))
def test_terms_are_read_as_from_each_text_alone(texts):
    vocabulary = Vocabulary()

    flat, sizes = vocabulary.read(texts)

    terms = np.array(list(vocabulary.numbers), object)[flat]
    assert [list(own) for own in np.split(terms, np.cumsum(sizes)[:-1])][: len(texts)] == [tokens(t) for t in texts]


def test_postings_survive_the_disk(tmp_path):
    vocabulary = Vocabulary()
    flat, sizes = vocabulary.read(["tea", "", "tea cup"])
    postings = count_terms(flat, np.repeat(np.arange(len(sizes)), sizes), len(sizes), len(vocabulary.numbers)).weighed()
    postings.save(tmp_path / "chunks")

    opened = Postings.open(tmp_path / "chunks")

    assert opened.row_count == 3
    assert opened.scores({0: 1}).tolist() == postings.scores({0: 1}).tolist()


NAMES = [
    ("new york", 0),
    ("new york city", 1),
    ("york", 2),
    ("the", 3),
    ("张伟", 4),
    ("a", 5),
    ("messi", 6),
    ("mcdonalds", 7),
    ("2021年", 8),
    ("york", 9),
]


@pytest.fixture
def mentions(tmp_path):
    write_mentions(tmp_path, NAMES)
    return Mentions.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Who runs New York City?", ["new york city"]),
        ("Who runs New York?", ["new york"]),
        ("In NEW-YORK, and York", ["new york", "york"]),
        ("yorkshire", []),
        ("the a", []),
        ("Messi's club", ["messi"]),
        ("McDonald's owner", ["mcdonalds"]),
        ("张伟在2021年做了什么", ["张伟", "2021年"]),
        ("", []),
    ],
)
def test_the_longest_names_are_found_and_no_word_is_cut(mentions, text, found):
    assert [name for name, _ in mentions.find(text)] == found


def test_one_name_may_mean_several_keys(mentions):
    assert mentions.exact("York").tolist() == [2, 9]
    assert mentions.exact("nowhere").tolist() == []


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("New Yrok", "new york"),
        ("张讳", ""),
        ("ＭＣ Donald", "mcdonalds"),
        ("2022年", ""),
        ("nowhere", ""),
        ("", ""),
        ("12", ""),
    ],
)
def test_a_misspelt_name_leads_to_the_nearest_with_the_same_digits(mentions, name, near):
    assert mentions.near(name) == near


@given(st.text("张伟 newyork", max_size=20))
def test_every_mention_stands_in_the_text(tmp_path_factory, text):
    folder = tmp_path_factory.getbasetemp() / "mentioned"
    if not folder.exists():
        write_mentions(folder, NAMES)

    for name, _ in Mentions.open(folder).find(text):
        assert name in normal_name(text)


def test_lists_know_their_degrees_and_their_links():
    lists = CsrLists(np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32))

    assert lists.degrees.tolist() == [2, 1, 1]
    assert lists.links.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert CsrLists(np.zeros(1, np.int64), np.zeros(0, np.int32)).links.shape == (0, 0)


def much_text():
    """A table of 2.2 GB of text in batches that all lie at the same place in memory."""
    texts = pa.array([f"{number} " + "x" * 100_000 for number in range(200)])
    return pa.table({"text": pa.chunked_array([texts] * 110), "row": np.arange(22_000)})


def test_rows_are_taken_from_more_text_than_an_arrow_array_holds():
    table = much_text()
    with pytest.raises(pa.ArrowInvalid, match="offset overflow"):
        table.take([0])

    found = take_rows(table, [21_999, 3, 200, 3])

    assert found["row"].to_pylist() == [21_999, 3, 200, 3]
    assert [text.split()[0] for text in found["text"].to_pylist()] == ["199", "3", "0", "3"]


@given(st.lists(st.integers(0, 5), max_size=5), st.data())
def test_rows_are_taken_as_from_one_batch(sizes, data):
    whole = [f"row {number}" for number in range(sum(sizes))]
    ends = np.cumsum([0, *sizes])
    pieces = [pa.array(whole[a:b], pa.string()) for a, b in pairwise(ends.tolist())]
    rows = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=9)) if whole else []

    found = take_rows(pa.table({"text": pa.chunked_array(pieces, pa.string())}), rows)

    assert found["text"].to_pylist() == [whole[row] for row in rows]


def test_a_row_that_does_not_exist_is_refused():
    with pytest.raises(IndexError, match="rows 1 to 3 are not all among 3"):
        take_rows(pa.table({"text": ["a", "b", "c"]}), [1, 3])
