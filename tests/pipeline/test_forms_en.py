"""English forms are those of lemminflect, although only entries of words that occur are read."""

import pytest
from lemminflect import getAllLemmas, getInflection
from lemminflect.core.Inflections import Inflections
from lemminflect.core.Lemmatizer import Lemmatizer

from sag_pipeline.extract.rules import forms_en


@pytest.mark.slow
def test_every_entry_is_that_of_the_whole_dictionary():
    for own, other in (
        (forms_en._lemma_entries(), Lemmatizer()._getLemmaDict()),
        (forms_en._form_entries(), Inflections()._getInflDict()),
    ):
        assert [word for word in other if own.get(word) != other[word]] == []
        assert set(own) == set(other)
        assert len(own) == len(other) > 30_000


def test_a_word_has_the_forms_that_lemminflect_gives_it():
    known = sorted({word.lower() for word in [*Lemmatizer()._getLemmaDict(), *Lemmatizer()._getOverridesDict()]})
    for word in [*known[::29], "can", "be", "leaves", "", "é", "\ud800", "zzzqq", "it's"]:
        assert forms_en.all_lemmas(word) == getAllLemmas(word), word
        for tag in ("VBD", "VBN", "NNS", "JJR"):
            assert forms_en.inflected(word, tag) == getInflection(word, tag, inflect_oov=False), (word, tag)
