"""What a report shows as topics: sections of one long document, or groups by keys of few events."""

from dataclasses import replace

import numpy as np

from sag_retrieval.clusters.events import EventLinks
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.topics.naming import name_communities
from sag_retrieval.topics.topics import build_topics


def titled(events):
    """The topics of events with their titles."""
    return name_communities(events, build_topics(events, ClusterOptions(method="topics"))).communities


def one_document(events, titles):
    """The events as one document, its chunks under these section titles."""
    count = len(events.chunks.chunk_ids)
    sections = [titles[place * len(titles) // count] for place in range(count)]
    chunks = replace(events.chunks, document=np.zeros(count, np.int32), sections=sections)
    documents = replace(events.documents, document_ids=["d"], titles=["A book"], languages=["en"])
    return replace(events, chunks=chunks, documents=documents)


def test_one_long_document_is_grouped_by_its_parts_in_the_order_of_the_text(towns):
    events = one_document(towns(months=9), ["STAVE ONE", "STAVE TWO", "The Year After"])

    found = titled(events)

    assert found.is_ordered
    assert [each.title for each in found][:3] == ["STAVE ONE", "STAVE TWO", "The Year After"]
    assert sum(len(each.members) for each in found) == len(events)
    assert [int(each.members.min()) for each in found][:3] == sorted(int(each.members.min()) for each in found)[:3]


def test_a_section_without_words_belongs_to_the_part_before_it(towns):
    events = one_document(towns(months=9), ["Home", "[Picture", "", "Sea", "***", "Sky"])

    assert [each.title for each in titled(events)][:3] == ["Home", "Sea", "Sky"]


def test_a_document_with_hundreds_of_sections_is_not_cut_into_parts(towns):
    events = one_document(towns(months=60), [f"Item {number} of the list" for number in range(60)])

    assert not titled(events).is_ordered


def without_common_words(events):
    """The same events, each with words of its own."""
    told = [f"Ab{row:c} told Xe{row:c} of Yo{row:c}." for row in range(97, 97 + len(events))]
    return replace(events, contents=told)


def with_years(events):
    """The same events, each with the year of its month as a key, one for each month."""
    keys, years = events.keys, [f"20{20 + number}" for number in range(len(events.documents.titles))]
    event = np.concatenate([events.links.event, np.arange(len(events), dtype=np.int32)])
    key = np.concatenate([events.links.key, len(keys.values) + events.document]).astype(np.int32)
    return replace(
        events,
        keys=replace(keys, types=[*keys.types, *["date"] * len(years)], values=[*keys.values, *years]),
        links=EventLinks(event=event[np.argsort(event, kind="stable")], key=key[np.argsort(event, kind="stable")]),
    )


def test_few_events_are_grouped_by_whom_they_name_not_by_when(towns):
    events = with_years(without_common_words(towns(months=3)))
    events = replace(events, vectors=np.eye(len(events), dtype=np.float32))
    subject = [event_id.rsplit("-", 2)[1] for event_id in events.event_ids]

    found = titled(events)

    named = [{subject[row] for row in each.members.tolist()} for each in found]
    assert sorted(map(sorted, named)) == [["City Library"], ["Harbour Bridge"], ["River Flood"]]


def test_few_events_without_common_words_are_grouped_by_their_keys(towns):
    events = without_common_words(towns(months=3))

    found = titled(events)

    assert sum(len(each.members) for each in found.at(0)) == len(events)
    assert found.levels == 1
    assert any("Harbour Bridge" in each.title for each in found)
