"""What a model names is joined with what rules find surely; both languages."""

import pytest

from sag_pipeline.extract.model_keys import ExtractedKey, ExtractedKeys, KeysOfEvent
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.llm.key_waves import joined_keys
from sag_retrieval.core.records import Document, Event

TEXTS = {
    "en": "Steve Jobs founded Apple Inc. in Cupertino on 1 April 1976 with 1,300 dollars.",
    "zh": "乔布斯于1976年4月1日在库比蒂诺创立苹果公司，投入1300美元。",
}
PLACE = {"en": "Cupertino", "zh": "库比蒂诺"}


def asked(language: str) -> tuple[Document, list[Event]]:
    text = TEXTS[language]
    return Document("d", "s", "", text, language), [Event("e", "d", "c", 0, text, "", 0, len(text))]


def joined(language: str, *keys: ExtractedKey) -> dict[str, set[str]]:
    document, events = asked(language)
    answer = ExtractedKeys(events=[KeysOfEvent(event=1, keys=list(keys))])
    found = dict[str, set[str]]()
    for link in joined_keys(document, events, answer).keys:
        found.setdefault(link.key.key_type, set()).add(str(link.key.value))
    return found


@pytest.mark.parametrize("language", TEXTS)
def test_what_rules_type_in_an_event_stands_beside_the_models_keys(language: str):
    document, events = asked(language)
    ruled = {link.key.key_id for link in offline_keys(document, events) if link.key.key_type != "entity"}
    said = ExtractedKeys(events=[KeysOfEvent(event=1, keys=[])])
    links = joined_keys(document, events, said).keys
    assert ruled
    assert ruled <= {link.key.key_id for link in links}
    assert len(links) == len({(link.event_id, link.key.key_id) for link in links})


@pytest.mark.parametrize("language", TEXTS)
def test_a_missing_type_is_filled_by_the_rules_and_dates(language: str):
    date = {"en": "1 April 1976", "zh": "1976年4月1日"}[language]
    found = joined(language, ExtractedKey(type="", value=date), ExtractedKey(type="unknown", value=PLACE[language]))
    assert "1976-04-01" in found["date"]
    assert PLACE[language] in set[str]().union(*found.values())


@pytest.mark.parametrize(("language", "word", "name"), [("en", "founded", "Apple Inc"), ("zh", "创立", "苹果公司")])
def test_an_ordinary_word_without_a_type_is_no_key_and_a_name_is_one(language: str, word: str, name: str):
    found = joined(language, ExtractedKey(type="entity", value=word), ExtractedKey(type="none", value=name))
    every = set[str]().union(*found.values())
    assert word not in every
    assert name in every


@pytest.mark.parametrize("number", [0, 2, -1])
def test_keys_of_an_event_that_was_not_asked_about_are_dropped(number: int):
    document, events = asked("en")
    key = ExtractedKey(type="person", value="Steve Jobs")
    answer = ExtractedKeys(events=[KeysOfEvent(event=number, keys=[key])])
    assert {link.event_id for link in joined_keys(document, events, answer).keys} <= {"e"}
