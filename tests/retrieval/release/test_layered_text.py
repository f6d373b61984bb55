"""The dictionaries of several layers are read as that of one."""

import marisa_trie
import numpy as np
import pytest

from sag_retrieval.release.layers import JoinedWords
from sag_retrieval.release.text_index import Words

FIRST, MORE = ["buoy", "heron", "heron buoy", "海", "海鹭"], ["heron buoys", "he", "海鹭号", "pier"]
GONE = {"heron", "海", "heron buoys"}
ASKED = [*FIRST, *MORE, "", "her", "鹭", "heron buoys of Port Ansel", "海鹭号的船"]


@pytest.fixture
def whole():
    return marisa_trie.Trie([word for word in (*FIRST, *MORE) if word not in GONE])


@pytest.fixture
def joined():
    first = marisa_trie.Trie(FIRST)
    numbers = {word: len(FIRST) + number for number, word in enumerate(MORE)}
    is_used = np.ones(len(FIRST) + len(MORE), np.bool_)
    is_used[[first[word] if word in first else numbers[word] for word in GONE]] = False
    return JoinedWords(first, numbers, is_used)


def test_joined_words_are_those_of_one_dictionary(whole, joined):
    known = [word for word in ASKED if word in whole]
    assert [word for word in ASKED if word in joined] == known
    assert [joined.get(word) is None for word in ASKED] == [whole.get(word) is None for word in ASKED]
    assert len(joined) == len(whole) == len(known)
    assert sorted(joined[word] for word in known) == sorted(whole[word] for word in known) == [*range(len(known))]
    assert [joined.get(word) for word in known] == [joined[word] for word in known]
    with pytest.raises(KeyError):
        joined["heron"]


@pytest.mark.parametrize("text", ASKED)
def test_joined_names_are_looked_up_by_their_start_as_those_of_one_dictionary(whole, joined, text):
    assert joined.prefixes(text) == whole.prefixes(text)
    assert sorted(joined.iterkeys(text)) == sorted(whole.iterkeys(text))


def test_a_dictionary_has_everything_that_its_readers_use(whole, joined):
    """What mypy checks of joined ones, at run time, as the package of the others has no types."""
    assert isinstance(whole, Words)
    assert isinstance(joined, Words)
