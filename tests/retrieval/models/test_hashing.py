import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import ModelError
from sag_retrieval.models.hashing import BUCKETS, HashingEmbedder, HashingFit, fit

TEXTS = ["green tea grows in Zhejiang", "black tea", "绿茶产自浙江", "红茶", ""]
texts = st.lists(st.text("abcde 绿茶红水", max_size=12), min_size=1, max_size=6)


def cosine(embedder, one, other):
    left, right = embedder.embed([one, other]).toarray()
    return float(left @ right)


@given(texts)
def test_rows_have_length_one_or_are_empty(given_texts):
    lengths = np.sqrt((HashingEmbedder().embed(given_texts).toarray() ** 2).sum(axis=1))

    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


@pytest.mark.slow
@given(texts)
def test_a_text_has_the_same_vector_alone_and_among_others(given_texts):
    embedder = HashingEmbedder(fit(given_texts))

    together = embedder.embed(given_texts).toarray()
    alone = np.concatenate([embedder.embed([text]).toarray() for text in given_texts])

    assert together == pytest.approx(alone, abs=1e-6)


def test_texts_that_share_words_are_alike_and_others_are_not():
    embedder = HashingEmbedder(fit(TEXTS))

    assert cosine(embedder, "green tea", "green tea of Zhejiang") > 0.5
    assert abs(cosine(embedder, "green tea", "blue sky")) < 0.2
    assert cosine(embedder, "绿茶", "绿茶产自浙江") > 0.3
    assert abs(cosine(embedder, "绿茶", "北京大学")) < 0.2


def test_spelling_near_to_another_is_alike_through_character_n_grams():
    assert cosine(HashingEmbedder(), "Tschaikowsky", "Tchaikovsky") > 0.2


def test_rare_words_weigh_more_than_common_ones():
    embedder = HashingEmbedder(fit(["tea green", "tea black", "tea white", "tea oolong"]))

    assert cosine(embedder, "tea green", "green") > cosine(embedder, "tea green", "tea")


@pytest.mark.parametrize("empty", [[], [""], ["...", "the of"]])
def test_nothing_to_embed_gives_rows_of_zeros(empty):
    rows = HashingEmbedder().embed(empty)

    assert rows.shape == (len(empty), 2048)
    assert rows.nnz == 0
    assert rows.dtype == np.float32


def test_a_saved_fit_is_mapped_back_with_the_same_fingerprint_and_vectors(tmp_path):
    fitted = fit(TEXTS)
    fitted.save(tmp_path / "embedder")

    loaded = HashingFit.load(tmp_path / "embedder")

    assert loaded.text_count == 5
    assert isinstance(loaded.document_frequency, np.memmap)
    assert HashingEmbedder(loaded).fingerprint == HashingEmbedder(fitted).fingerprint
    assert (HashingEmbedder(loaded).embed(TEXTS) != HashingEmbedder(fitted).embed(TEXTS)).nnz == 0


def test_the_fingerprint_changes_with_corpus_and_dimension():
    fitted = fit(TEXTS)

    prints = {
        HashingEmbedder().fingerprint,
        HashingEmbedder(fitted).fingerprint,
        HashingEmbedder(fit(TEXTS[:2])).fingerprint,
        HashingEmbedder(fitted, 512).fingerprint,
    }

    assert len(prints) == 4


def test_a_missing_or_foreign_fit_is_refused(tmp_path):
    with pytest.raises(ModelError, match="no hashing fit"):
        HashingFit.load(tmp_path)
    np.save(tmp_path / "hashing.npy", np.zeros(3, np.uint32))
    with pytest.raises(ModelError, match="not"):
        HashingFit.load(tmp_path)


def test_fitting_counts_texts_once_per_feature():
    once, twice = fit(["tea"]), fit(["tea tea", "tea"])

    assert once.document_frequency.shape == (BUCKETS,)
    assert once.document_frequency.max() == 1
    assert twice.document_frequency.max() == 2
    assert twice.text_count == 2


def test_many_texts_come_in_blocks_and_equal_one_call():
    embedder = HashingEmbedder(dimension=64)
    many = [f"text number {number % 7}" for number in range(5000)]

    blocks = list(embedder.embed_blocks(many))

    assert [block.shape[0] for block in blocks] == [4096, 904]
    assert (embedder.embed(many)[4096:] != blocks[1]).nnz == 0
