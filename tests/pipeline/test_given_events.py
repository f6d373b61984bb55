import json

from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.chunks import ChunkOptions, split_chunks
from sag_pipeline.extract.events import given_events
from sag_retrieval.core.records import TITLE, Document, Section

TEXT = (
    "Shen Ruoxi founded Hailan in 2014. The firm builds turbines for the strait.\n\n"
    "顾明远在澜湾大学任教。他创建了海洋工程研究所，培养了三位学生。\n\n"
    "Storm Lycoris reached the city at night. Nobody died in the flood."
)


def extraction_of(events, text=TEXT):
    document = Document("d", "s", "Lanwan", text, "en", extraction=json.dumps(events))
    chunks = split_chunks(
        document, [Section("s1", "d", 0, "", "", 0, len(text))], ChunkOptions(en_size=80, whole_factor=0)
    )
    return chunks, given_events(document, chunks)


def test_an_event_goes_to_the_chunk_that_holds_it_word_for_word():
    chunks, found = extraction_of(
        [{"content": "Nobody died in the flood."}, {"content": "他创建了海洋工程研究所，培养了三位学生。"}]
    )

    placed = [(chunk, event) for chunk, own in zip(chunks, found, strict=True) for event in own.events]
    assert all(event.content in chunk.text for chunk, event in placed)
    assert all(TEXT[event.start : event.end] == event.content for _, event in placed)


def test_an_event_in_other_words_goes_to_the_chunk_that_shares_most_of_them():
    chunks, found = extraction_of(
        [{"content": "In 2014 the firm Hailan was founded."}, {"content": "海洋工程研究所由顾明远创建。"}]
    )

    texts = [chunk.text for chunk, own in zip(chunks, found, strict=True) for _ in own.events]
    assert "founded" in texts[0]
    assert "研究所" in texts[1]
    assert all(event.start is None for own in found for event in own.events)


def test_keys_take_the_kind_of_their_value_and_the_title_comes_first():
    keys = [
        {"type": "person", "value": "沈若溪"},
        {"type": "year", "value": 2014},
        {"type": "is_firm", "value": True},
        {"value": "  "},
    ]

    _, found = extraction_of([{"content": "Shen Ruoxi founded Hailan in 2014.", "keys": keys}])

    values = [link.key.value for own in found for link in own.keys]
    assert values == ["Lanwan", "沈若溪", 2014.0, True]
    assert next(link.key.key_type for own in found for link in own.keys) == TITLE


def test_other_names_of_a_supplied_key_are_keys_that_mean_it():
    keys = [
        {"type": "person", "value": "沈若溪", "same_as": ["Shen Ruoxi", 7, ""]},
        {"type": "person", "value": "Shen"},
    ]

    _, found = extraction_of([{"content": "Shen Ruoxi founded Hailan in 2014.", "keys": keys}])

    links = {link.key.value: link for own in found for link in own.keys}
    assert list(links) == ["Lanwan", "沈若溪", "Shen", "Shen Ruoxi"]
    assert [link.same_as for link in links.values()] == [None, None, None, links["沈若溪"].key.key_id]


def test_triples_that_are_not_three_texts_are_left_out():
    triples = [["Shen Ruoxi", "founded", "Hailan"], ["x", "y"], ["a", "", "b"], "no list"]

    _, found = extraction_of([{"content": "Shen Ruoxi founded Hailan in 2014.", "triples": triples}])

    assert [(t.head, t.tail) for own in found for t in own.triples] == [("Shen Ruoxi", "Hailan")]


@given(
    st.lists(
        st.sampled_from(
            ["Nobody died in the flood.", "顾明远在澜湾大学任教。", "Something else entirely.", "Nobody died."]
        ),
        max_size=8,
    )
)
def test_every_event_is_placed_once_with_its_own_id(contents):
    chunks, found = extraction_of([{"content": content} for content in contents])

    events = [event for own in found for event in own.events]
    assert len(found) == len(chunks)
    assert sorted(event.content for event in events) == sorted(contents)
    assert len({event.event_id for event in events}) == len(events)


def test_nothing_given_is_nothing_found():
    document = Document("d", "s", "t", TEXT, "en")
    chunks = split_chunks(document, [Section("s1", "d", 0, "", "", 0, len(TEXT))])

    assert [own.events for own in given_events(document, chunks)] == [()] * len(chunks)
    assert given_events(document, []) == []
