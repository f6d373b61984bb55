from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sag_retrieval.release.layers import LayerText, join_text, overlay
from sag_retrieval.release.text_index import (
    Texts,
    open_text,
    write_mentions,
    write_text,
)

TEXTS = {
    "en": "The ship passes the locks. Rain.",
    "de": "Die Schiffe passieren die Schleusen des Hafens.",
    "es": "Los pescadores publicaron sus novelas.",
    "fr": "Les fromageries vendent leurs fromages.",
    "ru": "Рыбаки выступают против шлюзов и гаваней.",
}


def written(folder, languages, *, is_weighed=True):
    texts = [TEXTS[language] for language in languages]
    documents = np.arange(len(texts), dtype=np.int32)
    named = Texts([""] * len(texts), texts, documents, [f"No. {row}" for row in documents], languages)
    write_text(folder, named, is_weighed=is_weighed)


def found(terms, postings, query):
    return np.flatnonzero(postings.scores(terms.numbers(query))).tolist()


@pytest.mark.parametrize(
    ("language", "query"),
    [
        ("en", "locked ships"),
        ("de", "Schleuse"),
        ("de", "der Hafen"),
        ("es", "publicar"),
        ("es", "novela"),
        ("fr", "fromagerie"),
        ("ru", "шлюз"),
    ],
)
def test_a_document_is_found_by_other_forms_of_its_words_in_its_own_language(tmp_path, language, query):
    languages = list(TEXTS)
    written(tmp_path, languages)
    terms, chunks, _ = open_text(tmp_path)
    assert found(terms, chunks, query) == [languages.index(language)]


def test_a_query_is_read_in_the_languages_that_the_documents_have(tmp_path):
    written(tmp_path / "all", list(TEXTS))
    written(tmp_path / "english", ["en", "ru"])
    assert open_text(tmp_path / "all")[0].stemmers == ["english", "german", "spanish", "french"]
    assert open_text(tmp_path / "english")[0].stemmers == ["english"]


def test_a_language_adds_nothing_to_the_length_of_a_chunk_nor_to_texts_of_other_languages(tmp_path):
    written(tmp_path / "all", list(TEXTS))
    written(tmp_path / "english", ["en"])
    (_, chunks, documents), (_, english, _) = open_text(tmp_path / "all"), open_text(tmp_path / "english")
    marks, numbers = 3, len(TEXTS)  # of titles: No. 1
    assert documents.counts.sum() == chunks.counts.sum() + marks + numbers
    first = chunks.rows_of.items == 0
    assert chunks.counts[first].sum() == english.counts.sum()


def test_layers_of_several_languages_are_asked_in_each(tmp_path):
    layers = []
    for name, languages in (("first", ["en", "de"]), ("second", ["es"])):
        write_mentions(tmp_path / name / "names", [("name", 0)])
        written(tmp_path / name / "text", languages, is_weighed=False)
        layers.append(LayerText.open(tmp_path / name))
    rows = overlay([pa.chunked_array([["a", "b"]]), pa.chunked_array([["c"]])])
    terms, chunks, _ = join_text(layers, rows, rows)
    assert terms.stemmers == ["english", "german", "spanish"]
    assert found(terms, chunks, "novela") == [2]
    assert found(terms, chunks, "Schleuse") == [1]


@pytest.mark.parametrize(
    ("query", "documents"),
    [("Schleusenbauwerk", [1]), ("Schiffsreise", [1]), ("Tierheim", []), ("lockable", []), ("Regen", [])],
)
def test_a_compound_that_no_text_has_finds_its_longest_known_part(tmp_path, query, documents):
    written(tmp_path, list(TEXTS))
    terms, chunks, _ = open_text(tmp_path)
    assert found(terms, chunks, query) == documents


def test_a_part_of_a_compound_counts_less_than_the_word_and_english_has_no_compounds(tmp_path):
    written(tmp_path / "all", ["en", "de"])
    written(tmp_path / "english", ["en"])
    terms, english = open_text(tmp_path / "all")[0], open_text(tmp_path / "english")[0]
    assert list(terms.numbers("Schleusenbauwerk").values()) == [0.5]
    assert list(terms.numbers("Schleuse").values()) == [1]
    assert english.numbers("shipsanchor") == {}


def test_a_chunk_is_found_by_what_its_events_say_in_other_words(tmp_path):
    documents = np.arange(2, dtype=np.int32)
    texts = Texts(["", ""], ["She said yes.", "Rain again."], documents, ["a", "b"], ["en", "en"])

    write_text(tmp_path, replace(texts, said=["Clara said that Clara accepted."], said_chunk=documents[:1]))
    terms, chunks, whole = open_text(tmp_path)

    assert found(terms, chunks, "Clara") == [0]
    assert [chunks.counts[chunks.rows_of.starts[number]] for number in terms.numbers("Clara said")] == [1, 1]
    assert found(terms, whole, "Clara") == []
