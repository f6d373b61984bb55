"""The parts that a prompt is taken apart into add up to what a server counts of it."""

import pytest

from benchmarks.prompt_parts import parts_of, table_of
from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.sections import untitled
from sag_pipeline.llm.extract import events_work
from sag_pipeline.llm.key_waves import KeyWork
from sag_pipeline.llm.known_keys import BatchSource
from sag_pipeline.table import StepInput
from sag_retrieval.core.records import Document
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.openai import OpenAIChat
from tests.support.chat_server import ChatServer, count_tokens
from tests.support.scripted_answers import read_well

TEXTS = {
    "en": 'Steve Jobs founded Apple in 1976. "It works," said Steve Wozniak of the Apple I.\nApple sold it in Cupertino.',
    "zh": "史蒂夫·乔布斯于1976年创立苹果公司。“能用了”，沃兹说。苹果公司在库比蒂诺出售它。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_parts_add_up_and_texts_are_those_of_the_document(language: str):
    text = TEXTS[language]
    document = Document("d", "s", "Apple", text, language)
    inputs = [StepInput("d", {"documents": [document], "chunks": split_chunks(document, untitled(document))})]

    with ChatServer(read_well) as server:
        chat = OpenAIChat("m", base_url=server.base_url, api_key="none")
        events = next(one.records for one in events_work(chat)(inputs))
        inputs = [StepInput("d", {**inputs[0].tables, "events": events})]
        list(KeyWork(chat=chat, before=BatchSource(HashingEmbedder()))(inputs))
        calls = list(server.calls)

    parts = [parts_of(call.request) for call in calls]
    assert len(calls) == 2
    for call, found in zip(calls, parts, strict=True):
        assert sum(found.values()) == pytest.approx(call.input_tokens, abs=8)
        assert min(found["instruction"], found["example"], found["schema"], found["system"]) > 10
    assert parts[0]["texts"] == pytest.approx(count_tokens(text), abs=2)
    assert [row["step"] for row in table_of(calls, 100)] == ["events", "keys"]
