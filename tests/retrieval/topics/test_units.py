"""What topics are made of: statements to quote, passages of talk, and of other documents their best statements."""

from dataclasses import replace

import numpy as np
import pytest
from sag_retrieval.statements.routine import as_quoted
from sag_retrieval.statements.talk import spoken_rows
from sag_retrieval.topics.topic_words import topic_words
from sag_retrieval.topics.units import topic_units, unit_vectors

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.clusters.options import ClusterOptions

TOPICS = ClusterOptions(method="topics", topics=4)
STATEMENTS = (
    "Oban Metals closed two furnaces of the foundry in {year}.",
    "Tarn Wool insured the looms of its mill for {year} pounds.",
    "Lorn Glass dredged {year} tonnes of sand from the estuary.",
)
TALK = (
    ("Ola: Who brings the violin and the cello?", "Ida Voss: The cello needs strings.", "Ola: Then violin only."),
    ("Ola: Are the tomatoes in the greenhouse ripe?", "Ida Voss: Only the beans are.", "Ola: The greenhouse is hot."),
    ("Ola: The dentist moved the appointment.", "Ida Voss: Did the dentist say why?", "Ola: No appointment today."),
)


def table(base, documents, keys):
    """Events of documents with one passage each; an event carries the keys whose value it says."""
    texts = [text for document in documents for text in document]
    owner = [number for number, document in enumerate(documents) for _ in document]
    count, names = len(documents), [value for _, value in keys]
    links = [(row, key) for row, text in enumerate(texts) for key, name in enumerate(names) if name in text]
    return replace(
        base,
        event_ids=[f"e{row:03}" for row in range(len(texts))],
        contents=texts,
        chunk=np.array(owner, np.int32),
        spans=np.full((len(texts), 2), -1, np.int32),
        dates=[None] * len(texts),
        chunks=replace(
            base.chunks,
            chunk_ids=[f"c{row}" for row in range(count)],
            texts=[" ".join(document) for document in documents],
            document=np.arange(count, dtype=np.int32),
            places=(),
        ),
        documents=replace(
            base.documents,
            document_ids=[f"d{row}" for row in range(count)],
            titles=[f"Paper {row}" for row in range(count)],
            languages=["en"] * count,
        ),
        keys=replace(base.keys, types=[kind for kind, _ in keys], values=names, is_text=None),
        links=replace(
            base.links,
            event=np.array([row for row, _ in links], np.int32),
            key=np.array([key for _, key in links], np.int32),
        ),
        vectors=np.eye(len(texts), dtype=np.float32),
    )


@pytest.fixture
def papers(towns):
    """Eight papers: a statement with a figure each on three matters, and much without one about a fourth."""
    idle = [
        f"Whoever meets the {word} of the gate greets it in a friendly way."
        for word in ("porter", "guard", "cat", "dog", "dean")
    ]
    documents = [[each.format(year=2001 + number) for each in STATEMENTS] + idle for number in range(8)]
    names = [("organisation", name) for name in ("Oban Metals", "Tarn Wool", "Lorn Glass")]
    return table(towns(months=1), documents, names)


@pytest.fixture
def chats(towns):
    """Twelve chats of three turns on three matters."""
    people = [("person", "Ola"), ("person", "Ida Voss")]
    return table(towns(months=1), [TALK[number % 3] for number in range(12)], people)


def test_statements_with_a_figure_make_topics_and_idle_sentences_do_not(papers):
    units = topic_units(papers, as_quoted(papers))

    assert units.count == 8 * 3
    assert not units.second.any()
    assert units.quotable.sum() == 8 * 3
    found = [each for each in build_communities(papers, TOPICS) if len(each.members) > 1]
    assert [{row % 8 for row in each.members.tolist()} for each in found] == [{0}, {1}, {2}]


def test_a_turn_of_talk_is_grouped_with_its_passage(chats):
    units = topic_units(chats, as_quoted(chats))

    assert spoken_rows(chats).tolist() == list(range(36))
    assert units.unit.tolist() == [row // 3 for row in range(36)]
    found = [each for each in build_communities(chats, TOPICS) if len(each.members) > 1]
    assert {frozenset(row // 3 % 3 for row in each.members.tolist()) for each in found} == {
        frozenset({0}),
        frozenset({1}),
        frozenset({2}),
    }
    assert sum(len(each.members) for each in found) == 36


def test_a_document_of_notes_has_its_best_sentences_apart_from_the_others(papers, towns):
    documents = [papers.contents[8 * n : 8 * n + 8] for n in range(8)]
    notes = [["The lungs were clear and the heart was regular.", "Lungs clear"] for _ in range(8)]
    names = [("organisation", name) for name in ("Oban Metals", "Tarn Wool", "Lorn Glass")]
    events = table(towns(months=1), [*documents, *notes], names)

    units = topic_units(events, as_quoted(events))

    assert units.second.sum() == 8
    assert units.unit[-2] >= 0
    assert units.unit[-1] == -1


def test_a_unit_has_a_vector_of_length_one_or_none(papers):
    vectors = unit_vectors(topic_words(papers), topic_units(papers, as_quoted(papers)))

    length = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    assert vectors.shape[0] == 24
    assert np.all(np.isclose(length, 1) | (length == 0))


def test_statements_in_two_languages_make_no_common_topic(papers):
    german = replace(papers, documents=replace(papers.documents, languages=["en", "de"] * 4))

    for each in build_communities(german, TOPICS):
        assert len({german.documents.languages[row] for row in german.document[each.members].tolist()}) == 1
