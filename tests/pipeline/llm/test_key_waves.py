"""Waves: a first ingest sees itself, the prompts depend on the documents alone, and a stopped run pays nothing twice."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from sag_pipeline.extract.model_keys import KnownKey
from sag_pipeline.llm.extract import events_work
from sag_pipeline.llm.key_waves import BatchSource, KeyWork, known_about, waves
from sag_pipeline.llm.known_names import NameSearch, is_written
from sag_retrieval.core.errors import ModelUnavailable, SagError
from sag_retrieval.core.records import Document
from sag_retrieval.models.answer_cache import AnswerCache
from sag_retrieval.models.cached_chat import BatchLimits, CachedChat
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.rate_limits import ChatOptions
from tests.pipeline.llm.test_extract import inputs_of, with_rows
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import Answer, ChatServer, first_prompt_of, schema_of
from tests.support.scripted_answers import known_names, read_well

REPORT = Document(
    "long",
    "s",
    "Report",
    " ".join(
        f"Lumen Optics sold the Heron {n} to Port Ansai in {1900 + n}. It was repaired by Mara Voss." for n in range(40)
    ),
    "en",
)
BERICHT = Document(
    "zh", "s", "年报", "".join(f"光澜公司第{n}次向安塞海警交付海鹭浮标。安塞海警检查了浮标。" for n in range(60)), "zh"
)


@pytest.fixture
def server():
    with ChatServer(read_well) as found:
        yield found


def chat_of(server: ChatServer, concurrency: int = 4) -> OpenAIChat:
    options = ChatOptions(concurrency=concurrency, first_pause_seconds=0.001, tries=2)
    return OpenAIChat("m", base_url=server.base_url, api_key="none", options=options)


def key_prompts(server: ChatServer) -> list[str]:
    return [first_prompt_of(call.request) for call in server.calls if schema_of(call.request) == "ExtractedKeys"]


def work_of(chat: OpenAIChat | CachedChat) -> KeyWork:
    return KeyWork(chat=chat, concurrency=4)


@pytest.mark.parametrize("document", [REPORT, BERICHT], ids=["en", "zh"])
def test_the_first_document_is_shown_the_keys_of_its_own_earlier_parts(server: ChatServer, document: Document):
    chat = chat_of(server)
    inputs = inputs_of(document, size=200)
    inputs = with_rows(inputs, "events", list(events_work(chat)(inputs)))

    list(work_of(chat)(inputs))

    prompts = key_prompts(server)
    shown = [bool(known_names(prompt)) for prompt in prompts]
    assert len(prompts) > 5
    assert sum(shown) >= len(shown) - 4  # those of the first wave know nothing
    assert not shown[0]


def test_waves_grow_with_what_is_known_and_stay_within_bounds():
    for known, expected in ((0, [250, 250, 500, 1_000, 1_000, 600]), (800, [800, 1_000, 1_000, 800])):
        assert [part.stop - part.start for part in waves([1] * 3_600, known, 250)] == expected
    assert next(waves([2] * 50, 0, 3)) == slice(0, 2)


@pytest.mark.slow
def test_prompts_do_not_depend_on_which_answer_comes_first(server: ChatServer):
    documents = [replace(REPORT, document_id=f"d{n}", text=f"{REPORT.text[n * 90 :]}") for n in range(4)]
    seen = []
    for delays in ((0.0, 0.0, 0.0), (0.02, 0.0, 0.01)):
        server.script = lambda request, delays=delays: Answer(read_well(request), delay=delays[request["_n"] % 3])
        chat = chat_of(server)
        inputs = inputs_of(*documents, size=200)
        inputs = with_rows(inputs, "events", list(events_work(chat)(inputs)))
        server.calls.clear()
        made = list(work_of(chat)(inputs))
        seen.append((made, sorted(key_prompts(server))))

    assert seen[0] == seen[1]


@pytest.mark.slow
def test_a_run_that_is_stopped_in_a_wave_goes_on_with_the_same_prompts_and_pays_nothing_twice(
    server: ChatServer, tmp_path: Path
):
    inputs = inputs_of(REPORT, BERICHT, size=200)
    inputs = with_rows(inputs, "events", list(events_work(chat_of(server))(inputs)))
    server.calls.clear()
    with AnswerCache(tmp_path / "whole.sqlite") as cache:
        whole = list(work_of(CachedChat(chat_of(server), cache, limits=BatchLimits(parts=2)))(inputs))
    expected = sorted(key_prompts(server))
    server.calls.clear()
    count, lock = [0], threading.Lock()

    def failing(request):
        with lock:
            count[0] += 1
        return Answer("no such key", status=401) if count[0] == len(expected) // 2 else read_well(request)

    server.script = failing
    with AnswerCache(tmp_path / "stopped.sqlite") as cache:
        with pytest.raises(ModelUnavailable):
            list(work_of(CachedChat(chat_of(server), cache, limits=BatchLimits(parts=2)))(inputs))
        server.script = read_well
        again = list(work_of(CachedChat(chat_of(server), cache, limits=BatchLimits(parts=2)))(inputs))

    answered = [first_prompt_of(call.request) for call in server.calls if call.status == 200]
    assert sorted(answered) == expected
    assert again == whole


@pytest.mark.slow
def test_an_ingest_that_is_stopped_is_continued_with_the_prompts_of_one_that_is_not(
    home: Path, source, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ChatServer
):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
    source({f"{n}.md": f"# Part {n}\n\n{REPORT.text[n * 300 : n * 300 + 1500]}\n" for n in range(6)})
    options = {"concurrency": 1, "batch.parts": 2, "triples_by_model": False}
    whole = bare_ingest(["inbox"], options)
    expected = sorted(key_prompts(server))
    server.calls.clear()
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "other"))

    def failing(request):
        is_last = len(key_prompts(server)) >= len(expected) // 2
        return Answer("gone", status=401) if is_last and schema_of(request) == "ExtractedKeys" else read_well(request)

    server.script = failing
    with pytest.raises(SagError, match="keys"):
        bare_ingest(["inbox"], options)
    server.script = read_well
    continued = bare_ingest(["inbox"], options)

    answered = [
        first_prompt_of(c.request) for c in server.calls if schema_of(c.request) == "ExtractedKeys" and c.status == 200
    ]
    assert sorted(answered) == expected
    assert continued["release"] == whole["release"]


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ("National Hockey League", "The NHL played on."),
        ("NHL", "The National Hockey League played on."),
        ("Frederick S. Ellis", "F. S. Ellis printed it."),
        ("Air Tanzania", "Air Tanzania Company Limited flies."),
        ("绿源环保有限公司", "绿源环保去年盈利。"),
        ("绿源环保", "绿源环保有限公司去年盈利。"),
        ("Krüger GmbH", "Kruger delivered."),
    ],
)
def test_a_known_name_is_found_by_another_spelling(known: str, text: str):
    index = NameSearch()
    index.add([KnownKey("organisation", known), *(KnownKey("topic", f"matter {n}") for n in range(100))])

    assert [key.value for _, key in index.find(text, 3)] == [known]


def test_names_of_common_words_alone_are_not_found():
    index = NameSearch()
    index.add(KnownKey("organisation", f"University of Town{n}") for n in range(100))

    assert index.find("A university of the north opened.", 5) == []
    assert [key.value for _, key in index.find("The University of Town7 opened.", 5)] == ["University of Town7"]


def test_a_name_inside_a_longer_one_is_not_written_there():
    assert is_written("Heron", "The Heron sank.")
    assert not is_written("Heron", "The Heron Bay sank.")
    assert not is_written("Heron", "Herons sank.")


def test_known_keys_do_not_depend_on_the_order_in_which_they_came(server: ChatServer):
    inputs = inputs_of(REPORT, BERICHT, size=200)
    inputs = with_rows(inputs, "events", list(events_work(chat_of(server))(inputs)))
    made = list(KeyWork(chat=chat_of(server))(inputs))
    found = []
    for order in (1, -1):
        source = BatchSource(HashingEmbedder())
        for one, result in list(zip(inputs, made, strict=True))[::order]:
            events = one.tables["events"]
            source.add(events, [key for key in result.records if key.event_id[:1] == "e"])
        events = inputs[0].tables["events"]
        vectors = source.embedder.embed([event.indexed_text for event in events])
        found.append(json.dumps([repr(one) for one in known_about(events, vectors, [source])]))

    assert found[0] == found[1]


def test_the_title_is_shown_where_an_event_spells_it_otherwise(server: ChatServer):
    document = Document("b", "s", "Bob Saget (actor)", "Robert Lane Saget was an actor. He died in Orlando.", "en")
    chat = chat_of(server)
    inputs = inputs_of(document)
    inputs = with_rows(inputs, "events", list(events_work(chat)(inputs)))

    list(work_of(chat)(inputs))

    assert [known_names(prompt) for prompt in key_prompts(server)] == [["Bob Saget"]]


def test_initials_of_parts_of_names_are_no_names():
    index = NameSearch()
    index.add([KnownKey("organisation", "National Hockey League")])

    assert index.find("The Health Law holds.", 3) == []
