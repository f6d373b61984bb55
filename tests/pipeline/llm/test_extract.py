"""Extraction by a language model: what is asked, what becomes of answers, whose failure is whose."""

from dataclasses import replace
from pathlib import Path

import pytest

from sag_pipeline.extract.chunks import ChunkOptions, split_chunks
from sag_pipeline.extract.events import EventsOfPassage, ExtractedEvents, event_requests, events_from_reply, readable
from sag_pipeline.extract.model_keys import (
    ExtractedKeys,
    KeyOptions,
    KnownKey,
    KnownKeys,
    key_questions,
    keys_from_reply,
)
from sag_pipeline.extract.summaries import summary_request
from sag_pipeline.llm.cost_model import EstimateOptions, estimate
from sag_pipeline.llm.extract import events_work, prompt_versions, summaries_work, triples_work
from sag_pipeline.llm.key_waves import BatchSource, KeyWork, known_about
from sag_pipeline.table import StepInput
from sag_retrieval.core.errors import ModelUnavailable
from sag_retrieval.core.records import Document, Section, Summary
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.models.answer_cache import AnswerCache
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.openai import OpenAIChat, request_tokens
from sag_retrieval.models.rate_limits import ChatOptions
from sag_retrieval.prompts import load_prompt
from tests.support.chat_server import (
    Answer,
    ChatServer,
    broken,
    fenced,
    first_prompt_of,
    full_width,
    schema_of,
    truncated,
    wrong_shape,
)
from tests.support.scripted_answers import numbered_of, read_well

EN = Document("en", "s", "Apple", "Steve Jobs founded Apple in 1976. Steve Wozniak built the Apple I for him.", "en")
ZH = Document("zh", "s", "苹果公司", "乔布斯于1976年创立苹果公司。“苹果一号”由沃兹尼亚克制造。", "zh")


def chunks_of(document: Document, size: int = 800):
    whole = Section("s", document.document_id, 0, "", "", 0, len(document.text))
    return split_chunks(document, [whole], ChunkOptions(zh_size=size, en_size=size))


def inputs_of(*documents: Document, size: int = 800) -> list[StepInput]:
    return [StepInput(d.document_id, {"documents": [d], "chunks": chunks_of(d, size)}) for d in documents]


def with_rows(inputs: list[StepInput], table: str, made) -> list[StepInput]:
    return [replace(one, tables={**one.tables, table: m.records}) for one, m in zip(inputs, made, strict=True)]


@pytest.fixture
def server():
    with ChatServer(read_well) as running:
        yield running


@pytest.fixture
def chat(server: ChatServer) -> OpenAIChat:
    options = ChatOptions(concurrency=4, first_pause_seconds=0.01, tries=3)
    return OpenAIChat("m", base_url=server.base_url, api_key="none", options=options)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("step", ["summaries", "events", "keys", "triples"])
def test_the_fixed_part_of_a_question_is_at_most_600_tokens(step: str, language: str):
    document = Document("d", "s", "", "", language)
    prompt = load_prompt(step, language, "sag_pipeline.llm.prompts")
    request = {
        "summaries": summary_request(replace(document, text="a. b.")),
        "events": event_requests(document, chunks_of(EN), "")[0],
        "keys": key_questions(document, _events(EN))[0].request,
    }.get(step)

    fixed = request_tokens(request) if request else len(prompt.text) // 3

    assert fixed <= 600


def _events(document: Document):
    chunk = chunks_of(document)[0]
    sentences = [s for s in document.text.replace("。", ".").split(".") if s.strip()]
    return events_from_reply(document, chunk, ExtractedEvents(passages=[EventsOfPassage(passage=1, events=sentences)]))


def test_documents_of_both_languages_become_events_keys_and_triples(server: ChatServer, chat: OpenAIChat):
    inputs = inputs_of(EN, ZH)

    inputs = with_rows(inputs, "summaries", list(summaries_work(chat)(inputs)))
    inputs = with_rows(inputs, "events", list(events_work(chat)(inputs)))
    inputs = with_rows(inputs, "keys", list(KeyWork(chat=chat)(inputs)))
    triples = list(triples_work(chat)(inputs))

    english, chinese = inputs
    assert [e.content for e in english.tables["events"]] == [
        "Steve Jobs founded Apple in 1976.",
        "Steve Wozniak built the Apple I for him.",
    ]
    assert EN.text[english.tables["events"][1].start : english.tables["events"][1].end].startswith("Steve Wozniak")
    assert {k.key.value for k in chinese.tables["keys"]} >= {"苹果公司", "1976", "苹果一号"}
    assert [one.reason for one in triples] == ["", ""]
    assert triples[0].records[0].relation == "is_named_with"
    prompts = {first_prompt_of(call.request)[:6] for call in server.calls}
    assert any(prompt.startswith("请列出") for prompt in prompts)
    assert any(prompt.startswith("List") for prompt in prompts)


def test_one_question_a_chunk_for_events_and_one_for_the_keys_of_all_of_them(server: ChatServer, chat: OpenAIChat):
    long = replace(EN, text=" ".join(f"{EN.text} Part {n} of the story says more about Apple." for n in range(40)))
    inputs = inputs_of(long, size=700)
    chunks = len(inputs[0].tables["chunks"])

    inputs = with_rows(inputs, "events", list(events_work(chat)(inputs)))
    list(KeyWork(chat=chat)(inputs))

    asked = [schema_of(call.request) for call in server.calls]
    assert chunks > 3
    assert asked.count("ExtractedEvents") == asked.count("ExtractedKeys") == chunks


def test_on_demand_there_is_one_question_an_event():
    events = _events(EN)

    questions = key_questions(EN, events, options=KeyOptions(one_event_per_question=True))

    assert [question.events for question in questions] == [(event,) for event in events]


def test_given_events_are_taken_as_they_are_and_nothing_is_asked(server: ChatServer, chat: OpenAIChat):
    given = replace(
        EN, extraction='[{"content": "Jobs founded Apple.", "keys": [{"type": "person", "value": "Jobs"}]}]'
    )
    inputs = inputs_of(given)

    inputs = with_rows(inputs, "events", list(events_work(chat)(inputs)))
    inputs = with_rows(inputs, "keys", list(KeyWork(chat=chat)(inputs)))

    assert [event.content for event in inputs[0].tables["events"]] == ["Jobs founded Apple."]
    assert "Jobs" in {link.key.value for link in inputs[0].tables["keys"]}
    assert not server.calls


def test_a_failed_question_costs_its_own_document_a_part_and_says_why(server: ChatServer, chat: OpenAIChat):
    server.script = lambda r: broken() if "乔布斯" in first_prompt_of(r) else read_well(r)

    made = list(events_work(chat)(inputs_of(EN, ZH)))

    assert [len(one.records) for one in made] == [2, 0]
    assert made[0].reason == ""
    assert made[1].reason.startswith("events: 1 of 1 questions without an answer, the first: no answer after 3 tries")


def test_a_server_that_is_gone_stops_the_work_and_not_the_documents(chat: OpenAIChat, server: ChatServer):
    server.script = lambda _: Answer("no such key", status=401)

    with pytest.raises(ModelUnavailable):
        list(events_work(chat)(inputs_of(EN, ZH)))


def test_with_faulty_answers_every_chunk_is_read_or_has_its_reason(server: ChatServer):
    faults = [fenced, full_width, wrong_shape, lambda _: broken(), truncated]

    def script(request):
        answer, n = Answer(read_well(request)), request["_n"]
        return faults[n % 5](answer) if (n * 7) % 10 < 3 else answer

    server.script = script
    documents = [replace(EN, document_id=f"d{n}", text=f"{EN.text} Number {n}.") for n in range(120)]
    options = ChatOptions(concurrency=8, first_pause_seconds=0.001, tries=2)
    chat = OpenAIChat("m", base_url=server.base_url, api_key="none", options=options)

    made = list(events_work(chat)(inputs_of(*documents)))

    assert len(made) == len(documents)
    assert all(bool(one.records) != bool(one.reason) for one in made)
    assert chat.spent.input_tokens == sum(call.input_tokens for call in server.calls if call.status == 200)


def test_a_changed_document_asks_only_about_its_changed_chunks(server: ChatServer, chat: OpenAIChat, tmp_path: Path):
    paragraphs = [
        f"Chapter {n} tells of Steve Jobs and of Apple in year {1970 + n}. It is a long chapter indeed."
        for n in range(20)
    ]
    before = replace(EN, text="\n\n".join(paragraphs))
    after = replace(
        EN, text="\n\n".join([*paragraphs[:10], "Chapter 10 is new and speaks of Pixar alone.", *paragraphs[11:]])
    )
    with AnswerCache(tmp_path / "answers.sqlite") as cache:
        cached = CachedChat(chat, cache)
        for document in (before, before):
            inputs = with_rows(inputs_of(document, size=160), "summaries", [_made(Summary("en", "old"))])
            inputs = with_rows(inputs, "events", list(events_work(cached)(inputs)))
            list(KeyWork(chat=cached)(inputs))
        first = len(server.calls)
        inputs = with_rows(inputs_of(after, size=160), "summaries", [_made(Summary("en", "new"))])
        inputs = with_rows(inputs, "events", list(events_work(cached)(inputs)))
        list(KeyWork(chat=cached)(inputs))

    chunks = [chunk.text for chunk in chunks_of(before, size=160)]
    changed = [chunk for chunk in chunks_of(after, size=160) if chunk.text not in chunks]
    asked = [call.prompt for call in server.calls[first:] if schema_of(call.request) == "ExtractedEvents"]
    assert first == 3  # twenty passages share a question
    assert sum(len(numbered_of(prompt)) for prompt in asked) == len(changed) < len(chunks)
    shown = {text for prompt in asked for _, text in numbered_of(prompt)}
    assert {chunk.text for chunk in changed} == shown


def test_an_answer_that_leaves_a_passage_out_is_asked_for_again_alone(
    server: ChatServer, chat: OpenAIChat, tmp_path: Path
):
    def forgetful(request):
        answer = read_well(request)
        return {"passages": answer["passages"][:2]} if schema_of(request) == "ExtractedEvents" else answer

    server.script = forgetful
    documents = [replace(EN, document_id=f"d{n}", text=f"Ada met Bob in {1800 + n}.") for n in range(4)]
    with AnswerCache(tmp_path / "answers.sqlite") as cache:
        cached = CachedChat(chat, cache)
        made = list(events_work(cached)(inputs_of(*documents)))
        calls = cached.take_calls()

    assert [one.records[0].content for one in made] == [document.text for document in documents]
    assert len(server.calls) == 3
    assert len(calls) == 4
    assert sum(call.input_tokens for call in calls) == server.input_tokens
    assert {call.document_id for call in calls} == {"d0", "d1", "d2", "d3"}


def test_a_shared_question_that_fails_harms_nobody(server: ChatServer, chat: OpenAIChat, tmp_path: Path):
    server.script = lambda r: broken() if "Bob 2" in first_prompt_of(r) else read_well(r)
    documents = [replace(EN, document_id=f"d{n}", text=f"Ada met Bob {n}.") for n in range(4)]

    with AnswerCache(tmp_path / "answers.sqlite") as cache:
        made = list(events_work(CachedChat(chat, cache))(inputs_of(*documents)))

    assert [bool(one.records) for one in made] == [True, True, False, True]
    assert "no answer after 3 tries" in made[2].reason


def _made(*records):
    from sag_pipeline.step_runner import StepResult

    return StepResult(records)


def test_values_come_back_typed():
    answer = ExtractedKeys.model_validate(
        {
            "events": [
                {
                    "event": 1,
                    "keys": [
                        {"type": "日期", "value": "2019年3月5日"},
                        {"type": "money", "value": "1.2亿元"},
                        {"type": "percentage", "value": "3.5 %"},
                        {"type": "flag", "value": "is public = true"},
                        {"type": "flag", "value": "true"},
                        {"type": "date", "value": "last summer"},
                        {"type": "quantity", "value": 42},
                        {"type": "organisation", "value": "International Business Machines", "same_as": ["IBM"]},
                        {"type": "mood", "value": "calm"},
                        {"type": "person", "value": "  "},
                    ],
                },
                {"event": 99, "keys": [{"type": "person", "value": "Nobody"}]},
            ]
        }
    )

    links, refused = keys_from_reply(EN, _events(EN), answer)
    first = [link for link in links if link.event_id == _events(EN)[0].event_id]
    found = {(link.key.key_type, link.key.value, link.key.unit) for link in first}

    assert found == {
        ("title", "Apple", None),
        *(("date", value, None) for value in ("2019-03-05", "2019-03", "2019")),
        ("money", 120_000_000.0, "CNY"),
        ("percentage", 3.5, "%"),
        ("is_public", True, None),
        ("quantity", 42.0, None),
        ("organisation", "International Business Machines", None),
        ("organisation", "IBM", None),
    }
    full, alias = (link for link in first if link.key.key_type == "organisation")
    assert alias.same_as == full.key.key_id
    assert [link.key.value for link in links if link not in first] == ["Apple"]
    assert [reason.partition(";")[0] for reason in refused] == [
        "'true' of 'flag' does not say what is true",
        "'last summer' is no value of 'date', which takes a date such as 2024-03-05",
        f"type 'mood' is none of {', '.join(each.name for each in default_schema().types)}",
    ]


def test_chunks_without_letters_are_not_asked_about():
    chunk = chunks_of(EN)[0]

    assert readable([replace(chunk, text="* * *"), chunk]) == [chunk]


def test_empty_and_repeated_events_are_left_out_and_bullets_fall():
    found = events_from_reply(
        EN,
        chunks_of(EN)[0],
        ExtractedEvents(passages=[EventsOfPassage(passage=1, events=["", "- A b.", "1) a b", "C。", "  "])]),
    )

    assert [(event.event_index, event.content) for event in found] == [(0, "A b."), (1, "C。")]


def test_known_keys_come_from_near_keys_and_near_events_of_batches_before():
    source = BatchSource(HashingEmbedder())
    events = _events(EN)
    answer = ExtractedKeys.model_validate(
        {
            "events": [
                {"event": 1, "keys": [{"type": "person", "value": "Steve Jobs"}, {"type": "date", "value": "1976"}]}
            ]
        }
    )
    source.add(events, keys_from_reply(EN, events, answer).keys)

    asked = replace(events[0], event_id="e", content="Steve Jobs left Apple.")
    (known,) = known_about([asked], source.embedder.embed([asked.indexed_text]), [source])

    assert known.every() == (KnownKey("date", "1976"), KnownKey("person", "Steve Jobs"))  # the name stands in the event


def test_known_keys_are_shown_by_type_nearest_first_and_within_the_bounds():
    known = KnownKeys(
        direct=tuple(KnownKey("person", f"P{n}") for n in range(60)), from_events=(KnownKey("place", "Paris"),)
    )

    for bound, shown in (
        (KeyOptions(known_tokens=5), 'person: "P0" "P1"\n'),
        (KeyOptions(known_tokens=0), "Known keys by type:\n—"),
    ):
        (question,) = key_questions(EN, _events(EN)[:1], options=bound)
        prompt = replace(question, known=(known,)).request.prompt

        assert shown in prompt
        assert "Paris" not in prompt


def test_far_names_are_not_shown():
    source = BatchSource(HashingEmbedder())
    source.add(_events(ZH), [])

    events = _events(EN)
    vectors = source.embedder.embed([event.indexed_text for event in events])

    assert known_about(events, vectors, [source])[0] == KnownKeys()


def test_what_a_batch_sees_does_not_depend_on_concurrency(server: ChatServer):
    documents = [replace(EN, document_id=f"d{n}", text=f"{EN.text} Story {n} of Ada Lovelace.") for n in range(12)]
    seen = []
    for concurrency in (1, 7):
        options = ChatOptions(concurrency=concurrency)
        chat = OpenAIChat("m", base_url=server.base_url, api_key="none", options=options)
        inputs = inputs_of(*documents)
        inputs = with_rows(inputs, "events", list(events_work(chat)(inputs)))
        server.calls.clear()
        work = KeyWork(chat=chat)
        made = [one for start in range(0, 12, 4) for one in work(inputs[start : start + 4])]
        asked = {
            call.prompt for call in server.calls if "\nEvents:" in call.prompt
        }  # one for events may come again, late
        seen.append((made, sorted(asked)))

    assert seen[0] == seen[1]
    assert any("Ada Lovelace" in prompt.split("\nEvents:")[0] for prompt in seen[0][1])


def test_prompt_versions_change_with_the_step():
    assert len({prompt_versions(step) for step in ("summaries", "events", "keys", "triples")}) == 4


def test_an_estimate_counts_calls_exactly_and_nothing_that_is_kept(
    server: ChatServer, chat: OpenAIChat, tmp_path: Path
):
    documents = [EN, ZH, replace(EN, document_id="given", extraction="[]")]
    with AnswerCache(tmp_path / "answers.sqlite") as cache:
        cached = CachedChat(chat, cache)
        before = estimate(documents, cached.find, EstimateOptions())
        inputs = inputs_of(*documents)
        inputs = with_rows(inputs, "summaries", list(summaries_work(cached)(inputs)))
        inputs = with_rows(inputs, "events", list(events_work(cached)(inputs)))
        list(KeyWork(chat=cached)(inputs))
        after = estimate(documents, cached.find)

    first, second = ({step: usage.calls for step, usage in found.items()} for found in (before, after))
    assert first == {"summaries": 0, "events": 2, "keys": 2, "pairs": 0, "revisions": 0, "triples": 2}
    assert second == {"summaries": 0, "events": 0, "keys": 0, "pairs": 0, "revisions": 0, "triples": 2}
    assert after["keys"].cached_calls == 2
