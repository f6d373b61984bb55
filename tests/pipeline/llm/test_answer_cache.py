"""Paid answers: kept before use, asked once, alive after kill -9."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from hashlib import blake2b
from pathlib import Path

import pytest
from pydantic import BaseModel

from sag_pipeline.extract.events import ExtractedEvents
from sag_pipeline.extract.headers import SectionSummary
from sag_pipeline.extract.model_keys import ExtractedKeys
from sag_pipeline.extract.sections import SectionMarks
from sag_pipeline.extract.summaries import DocumentTitle, ExtractedSummary
from sag_pipeline.extract.triples import ExtractedTriples
from sag_retrieval.core.errors import AnswerError, ModelError, SourceError
from sag_retrieval.models.answer_cache import AnswerCache, Answered, CacheError, call_id
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.protocols import Prices, Reply, Request
from sag_retrieval.models.rate_limits import ChatOptions
from sag_retrieval.models.recording import UNANSWERED, RecordingChat, ReplayChat
from tests.support.chat_server import Answer, ChatServer, broken, prompt_of, rate_limited, wrong_shape


class Facts(BaseModel):
    facts: list[str]


def ask(prompt: str, **more: str) -> Request[Facts]:
    return Request(prompt, Facts, "events", **more)


def echo(request):
    return {"facts": [prompt_of(request)]}


def chat_of(server: ChatServer, **options) -> OpenAIChat:
    options = {"first_pause_seconds": 0.01, "tries": 2, "concurrency": 8} | options
    return OpenAIChat("m", base_url=server.base_url, api_key="none", options=ChatOptions(**options))


@pytest.fixture
def cache(tmp_path: Path):
    with AnswerCache(tmp_path / "answers.sqlite") as opened:
        yield opened


def answered(number: int) -> Answered:
    return Answered(f"id{number}", f'{{"facts": ["{number}"]}}', "d", "events", "m", 10, 5, 0.1, 1, 0.5, 9)


@pytest.mark.slow
def test_an_answer_is_paid_once_and_then_costs_nothing(cache: AnswerCache):
    with ChatServer(echo) as server:
        chat = CachedChat(chat_of(server, prices=Prices(1, 1)), cache)
        first = chat.ask(ask("一", document_id="d1"))
        second = chat.ask(ask("一", document_id="d2"))

    assert first.value == second.value
    assert (second.usage.calls, second.usage.cached_calls) == (0, 1)
    assert len(server.calls) == 1
    one, other = chat.take_calls()
    assert (one.document_id, one.is_cached, other.document_id, other.is_cached) == ("d1", False, "d2", True)
    assert one.cost == pytest.approx((one.input_tokens + one.output_tokens) / 1e6)
    assert other.cost == 0
    assert chat.take_calls() == []


def test_requests_that_are_alike_and_under_way_are_asked_once(cache: AnswerCache):
    with ChatServer(echo, delay=0.05) as server:
        chat = CachedChat(chat_of(server), cache)
        replies = list(chat.ask_all(ask(str(n % 3)) for n in range(30)))

    assert [reply.value.facts for reply in replies if isinstance(reply, Reply)] == [[str(n % 3)] for n in range(30)]
    assert len(server.calls) == 3
    assert sum(not call.is_cached for call in chat.take_calls()) == 3


def test_what_only_helps_does_not_make_another_request():
    one = ask("text and help", identity="text")
    other = ask("text and other help", identity="text")

    assert call_id("m", one) == call_id("m", other)
    assert len({call_id("m", one), call_id("m2", one), call_id("m", ask("text"))}) == 3


def test_an_answer_that_came_is_kept_even_if_an_earlier_one_is_still_waited_for(cache: AnswerCache):
    def script(request):
        is_early = prompt_of(request) == "0" and len(list(cache)) < 5
        return rate_limited(0.01) if is_early else echo(request)

    with ChatServer(script) as server:
        replies = list(CachedChat(chat_of(server, tries=1_000), cache).ask_all(ask(str(n)) for n in range(6)))

    assert [reply.value.facts for reply in replies if isinstance(reply, Reply)] == [[str(n)] for n in range(6)]


def test_failed_requests_stand_in_their_place_and_are_not_kept(cache: AnswerCache):
    with ChatServer(lambda r: broken() if prompt_of(r) == "1" else echo(r)) as server:
        replies = list(CachedChat(chat_of(server), cache).ask_all(ask(str(n)) for n in range(3)))

    assert [isinstance(reply, ModelError) for reply in replies] == [False, True, False]
    assert len(list(cache)) == 2


def test_an_unusable_answer_is_in_the_ledger_with_its_cost(cache: AnswerCache):
    with ChatServer(lambda _: wrong_shape(Answer({"facts": []}))) as server:
        chat = CachedChat(chat_of(server), cache)
        list(chat.ask_all([ask("a")]))

    (call,) = chat.take_calls()
    assert call.input_tokens == server.input_tokens > 0


@pytest.mark.slow
def test_many_processes_may_write_one_file(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from sag_retrieval.models.answer_cache import *\n"
        "with AnswerCache(Path(sys.argv[1])) as cache:\n"
        "  for n in range(int(sys.argv[2]), 60, 3):\n"
        "    cache.keep(Answered(f'id{n}', '{}', 'd', 's', 'm', 1, 1, 0.0))\n"
    )
    path = tmp_path / "answers.sqlite"

    running = [subprocess.Popen([sys.executable, "-c", code, str(path), str(first)]) for first in range(3)]

    assert [process.wait(300) for process in running] == [0, 0, 0]
    with AnswerCache(path) as cache:
        assert len(list(cache)) == 60


def test_threads_that_keep_at_the_same_time_all_find_their_answer(cache: AnswerCache):
    threads = [threading.Thread(target=cache.keep, args=(answered(n),)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [cache.find(f"id{n}") for n in range(40)] == [answered(n) for n in range(40)]


def test_the_first_answer_to_a_call_stays(cache: AnswerCache):
    cache.keep(answered(1))
    cache.keep(Answered("id1", "{}", "other", "s", "m", 0, 0, 0.0))

    assert cache.find("id1") == answered(1)


def test_spending_is_summed_by_step_and_model(cache: AnswerCache):
    for number in range(3):
        cache.keep(answered(number))

    (spent,) = cache.spent()
    assert (spent.step, spent.answers, spent.input_tokens, spent.cost) == ("events", 3, 30, 1.5)


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path):
    path = tmp_path / "answers.sqlite"
    path.write_text("this is not a database, and it is long enough to be looked at " * 20)

    with pytest.raises(CacheError, match="sag repair"):
        AnswerCache(path)


_CHILD = """
import sys
from pathlib import Path
from pydantic import BaseModel
from sag_retrieval.models.answer_cache import AnswerCache
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.rate_limits import ChatOptions
from sag_retrieval.models.recording import UNANSWERED, RecordingChat, ReplayChat
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.protocols import Request

class Facts(BaseModel):
    facts: list[str]

with AnswerCache(Path(sys.argv[2])) as cache:
    inner = OpenAIChat("m", base_url=sys.argv[1], api_key="none", options=ChatOptions(concurrency=6))
    chat = CachedChat(inner, cache)
    for reply in chat.ask_all(Request(str(n), Facts, "events") for n in range(120)):
        print(reply.value.facts[0], flush=True)
"""


@pytest.mark.slow
def test_after_kill_9_no_finished_call_is_paid_twice(tmp_path: Path):
    path = tmp_path / "answers.sqlite"
    with ChatServer(echo, delay=0.02) as server:
        command = [sys.executable, "-c", _CHILD, server.base_url, str(path)]
        for lines in (1, 50):
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                for _ in range(lines):
                    child.stdout.readline()
                os.kill(child.pid, signal.SIGKILL)
        used = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    with AnswerCache(path) as cache:
        kept = {one.answer for one in cache}
    finished = [call.prompt for call in server.finished]
    assert used == [str(n) for n in range(120)]
    assert len(kept) == 120
    assert len(finished) - len(set(finished)) <= 2 * 6  # only what was on the wire when a process died


def test_a_replay_gives_the_recorded_answers_and_equal_runs_equal_bytes(tmp_path: Path):
    requests = [ask(f"第{n}") for n in range(9)]
    with ChatServer(echo) as server:
        for name in ("one", "other"):
            with RecordingChat(chat_of(server), tmp_path / name) as recorder:
                recorded = list(recorder.ask_all(reversed(requests) if name == "other" else requests))

    replayed = list(ReplayChat(str(tmp_path / "one")).ask_all(reversed(requests)))

    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert [r.value for r in replayed] == [r.value for r in recorded if isinstance(r, Reply)]


def test_a_replay_writes_down_what_was_not_recorded(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SAG_HOME", str(tmp_path))
    with ChatServer(echo) as server, RecordingChat(chat_of(server), tmp_path / "run.jsonl") as recorder:
        recorder.ask(ask("a"))

    with pytest.raises(AnswerError, match="record the run again"):
        ReplayChat(str(tmp_path / "run.jsonl")).ask(ask("b"))
    (file,) = (tmp_path / UNANSWERED).iterdir()
    assert file.read_text().split("\n---\n")[1] == "b"


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path):
    (tmp_path / "run.jsonl").write_text("[]\n")

    with pytest.raises(SourceError, match="not a recording"):
        ReplayChat(str(tmp_path / "run.jsonl"))


def test_the_database_is_as_safe_as_sqlite_can_make_it(cache: AnswerCache, tmp_path: Path):
    with sqlite3.connect(tmp_path / "answers.sqlite") as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    connection.close()
    assert cache._connection.execute("pragma synchronous").fetchone() == (2,)


SCHEMAS = {
    DocumentTitle: "a5c8c8ce018b058f",
    ExtractedEvents: "260c82e17e115ee6",
    ExtractedKeys: "05d227d5ae3bd387",
    ExtractedSummary: "c846e2006fafceaa",
    ExtractedTriples: "d5c28df3cf8ad77f",
    SectionMarks: "29d50969fa0b6fef",
    SectionSummary: "4a69462092fc13cb",
}


@pytest.mark.parametrize("answer", SCHEMAS, ids=lambda answer: answer.__name__)
def test_answers_stored_by_earlier_versions_are_still_found(answer: type[BaseModel]):
    """The JSON schema, with its docstrings, is a part of `call_id`: a change of words would ask everything again."""
    schema = json.dumps(answer.model_json_schema())

    assert blake2b(schema.encode(), digest_size=8).hexdigest() == SCHEMAS[answer]
