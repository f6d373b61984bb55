"""The chat client against a server that delays, refuses, breaks and babbles."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from sag_retrieval.core.errors import AnswerError, BudgetExceeded, ModelError, ModelUnavailable
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.protocols import Prices, Reply, Request
from sag_retrieval.models.rate_limits import ChatOptions
from tests.support.chat_server import (
    Answer,
    ChatServer,
    SlowServer,
    broken,
    cut,
    fenced,
    full_width,
    late,
    looping,
    mode_of,
    over_long,
    prompt_of,
    rate_limited,
    silent,
    truncated,
    with_trailing_commas,
    wrong_shape,
)
from tests.support.deployed import free_port


class Facts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    facts: list[str]


FACTS = ["Ada wrote notes.", "她说：“好，{真的}”。", "a, b"]
GOOD = Answer({"facts": FACTS})
QUICK = {"first_pause_seconds": 0.01, "longest_pause_seconds": 0.02}


def chat_of(server: ChatServer, **options: Any) -> OpenAIChat:
    return OpenAIChat("m", base_url=server.base_url, api_key="none", options=ChatOptions(**(QUICK | options)))


def ask(prompt: str = "What?", **more: Any) -> Request[Facts]:
    return Request(prompt, Facts, "events", **more)


@pytest.mark.parametrize(
    "fault",
    [fenced, with_trailing_commas, full_width, over_long, lambda answer: late(answer, 0.05)],
    ids=["fenced", "trailing commas", "full-width punctuation", "over-long", "late"],
)
@pytest.mark.parametrize(
    "refuses", [set(), {"json_schema"}, {"json_schema", "json_object"}], ids=["all", "no schema", "text alone"]
)
def test_an_answer_is_read_in_every_mode_whatever_its_form(fault: Callable[[Answer], Answer], refuses: set[str]):
    with ChatServer(lambda _: fault(GOOD), refuses=refuses) as server:
        reply = chat_of(server).ask(ask())

    assert reply.value.facts == FACTS
    assert reply.usage.calls == 1


def test_a_mode_or_parameter_that_was_refused_is_not_tried_again():
    with ChatServer(lambda _: GOOD, refuses={"json_schema", "temperature"}) as server:
        chat = chat_of(server)
        chat.ask(ask())
        first = len(server.calls)
        chat.ask(ask())

    assert len(server.calls) == first + 1
    assert mode_of(server.calls[-1].request) == "json_object"
    assert "temperature" not in server.calls[-1].request


def test_a_server_that_refuses_a_reasoning_effort_is_asked_without_it_once():
    with ChatServer(lambda _: GOOD, refuses={"reasoning_effort"}) as server:
        chat = chat_of(server, reasoning_effort="low")
        replies = [chat.ask(ask(f"What {n}?")) for n in range(3)]

    assert [call.request.get("reasoning_effort") for call in server.calls] == ["low", None, None, None]
    assert all(reply.value.facts == FACTS for reply in replies)
    assert mode_of(server.calls[-1].request) == "json_schema"


def test_effort_and_structured_output_are_sent_as_chosen():
    with ChatServer(lambda _: GOOD) as server:
        chat_of(server, reasoning_effort="minimal", structured="json_object").ask(ask())
        chat_of(server).ask(ask())

    chosen, usual = (call.request for call in server.calls)
    assert (chosen["reasoning_effort"], mode_of(chosen)) == ("minimal", "json_object")
    assert ("reasoning_effort" in usual, mode_of(usual)) == (False, "json_schema")


def test_without_a_schema_mode_the_prompt_carries_the_schema():
    with ChatServer(lambda _: GOOD, refuses={"json_schema", "json_object"}) as server:
        chat_of(server).ask(ask())

    assert '"facts"' in server.calls[-1].request["messages"][0]["content"]


@pytest.mark.parametrize("fault", [wrong_shape, truncated, lambda _: Answer("I cannot."), lambda _: Answer("")])
def test_a_wrong_answer_is_asked_for_once_more_with_its_fault_named(fault: Callable[[Answer], Answer]):
    with ChatServer(lambda request: fault(GOOD) if request["_n"] == 0 else GOOD) as server:
        reply = chat_of(server).ask(ask("上面写了什么？"))

    assert reply.value.facts == FACTS
    assert reply.usage.calls == 2
    assert "请按要求的格式" in server.calls[-1].prompt


def test_two_wrong_answers_are_an_error_that_knows_what_it_cost():
    with (
        ChatServer(lambda _: wrong_shape(GOOD)) as server,
        pytest.raises(AnswerError, match="facts") as caught,
    ):
        chat_of(server).ask(ask())

    assert caught.value.usage.calls == 2
    assert caught.value.usage.input_tokens == server.input_tokens


def test_an_answer_cut_twice_keeps_its_whole_items():
    answer = Answer('{"facts": ["one", "two", "thr', finish_reason="length")
    with ChatServer(lambda _: answer) as server:
        reply = chat_of(server).ask(ask(max_tokens=50))

    assert reply.value.facts == ["one", "two"]
    assert server.calls[-1].request["max_tokens"] == 100


@pytest.mark.parametrize(
    "fault",
    [broken(), rate_limited(0.01), rate_limited(None), cut(GOOD)],
    ids=["broken", "busy, says when", "busy", "cut"],
)
def test_a_passing_fault_costs_a_try_and_nothing_else(fault: Answer):
    with ChatServer(lambda request: fault if request["_n"] < 2 else GOOD) as server:
        reply = chat_of(server).ask(ask())

    assert reply.value.facts == FACTS
    assert reply.usage.calls == 1
    assert len(server.calls) == 3


def test_retry_after_holds_every_call_back():
    with ChatServer(lambda request: rate_limited(0.3) if request["_n"] == 0 else GOOD) as server:
        chat = chat_of(server, concurrency=4)
        answered = list(chat.ask_all([ask(str(n)) for n in range(8)]))

    refused = min(call.ended for call in server.calls if call.status == 429)
    early = [call for call in server.calls if refused < call.started < refused + 0.25]
    assert all(isinstance(reply, Reply) for reply in answered)
    assert len(server.calls) == 9
    assert len(early) <= 3, "only the three that were sent before the refusal came back"


def test_a_request_too_long_for_the_model_fails_at_once_and_alone():
    long = Answer("maximum context length is 8192 tokens", status=400)
    with ChatServer(lambda request: long if prompt_of(request) == "1" else GOOD) as server:
        answered = list(chat_of(server).ask_all([ask(str(n)) for n in range(3)]))

    assert [isinstance(reply, ModelError) for reply in answered] == [False, True, False]
    assert len(server.calls) == 3


@pytest.mark.slow
@pytest.mark.parametrize("fault", [late(GOOD, 5), silent(GOOD), silent(Answer("x" * 900))])
def test_a_second_silence_costs_the_answer_and_not_the_server(fault: Answer):
    with ChatServer(lambda request: GOOD if prompt_of(request) == "Next?" else fault) as server:
        chat = chat_of(server, timeout_seconds=1)
        with pytest.raises(AnswerError, match="said nothing for 1 s, twice"):
            chat.ask(ask())
        reply = chat.ask(ask("Next?"))
        wait_until(lambda: [call.prompt for call in server.calls].count("What?") == 2)  # noted when it is given up

    assert reply.value.facts == FACTS


def test_a_server_that_answers_nobody_is_lost_even_if_it_takes_every_request():
    with ChatServer(lambda _: silent()) as server:
        chat = chat_of(server, timeout_seconds=0.05, failures_until_down=5, patience_seconds=0)
        with pytest.raises(ModelUnavailable, match="tries failed in a row"):
            list(chat.ask_all(ask(str(n)) for n in range(8)))


@pytest.mark.slow
@pytest.mark.parametrize("ignored", [set(), {"stream"}], ids=["streams", "answers as a whole"])
def test_a_slow_answer_may_take_longer_than_a_silence_may(ignored: set[str]):
    facts = [f"Hive {n} has bees." for n in range(20)]
    with SlowServer(lambda _: {"facts": facts}, tokens_per_second=100, ignores=ignored) as server:
        chat = chat_of(server, timeout_seconds=5 if ignored else 0.5)
        reply = chat.ask(ask("Name all the bees. " * 20))

    took = server.calls[0].ended - server.calls[0].started
    assert reply.value.facts == facts
    assert took > 1
    assert len(server.finished) == len(server.calls) == 1
    assert reply.usage.input_tokens == server.input_tokens
    assert reply.usage.output_tokens == server.output_tokens


@pytest.mark.slow
def test_requests_wait_in_the_queue_of_a_server_that_answers_others_and_fewer_are_sent():
    facts = {"facts": [f"Hive {n} has bees." for n in range(5)]}
    with SlowServer(lambda _: facts, tokens_per_second=100) as server:
        chat = chat_of(server, timeout_seconds=0.6)
        answered = list(chat.ask_all(ask(str(n)) for n in range(40)))

    last = [call.started for call in server.calls[-10:]]
    at_a_time = [sum(each.started <= at < each.ended for each in server.calls) for at in last]
    assert all(isinstance(reply, Reply) for reply in answered)
    assert len(server.calls) == 40, "none was sent twice"
    assert server.peak == 16
    assert max(at_a_time) <= 10, "the server notes the end of a call a little after the client does"


@pytest.mark.parametrize("refused", ["stream", "stream_options"])
def test_a_server_that_refuses_to_stream_is_asked_without_it_once(refused: str):
    with ChatServer(lambda _: GOOD, refuses={refused}) as server:
        chat = chat_of(server)
        replies = [chat.ask(ask(f"What {n}?")) for n in range(3)]

    assert [call.status for call in server.calls] == [400, 200, 200, 200]
    assert all(reply.value.facts == FACTS for reply in replies)
    assert all(refused not in call.request for call in server.calls[1:])
    assert mode_of(server.calls[-1].request) == "json_schema"


def test_an_answer_that_repeats_itself_is_stopped_and_named():
    with SlowServer(lambda _: looping(GOOD), tokens_per_second=2_000) as server:
        with pytest.raises(AnswerError, match=r"repeats .* without end") as caught:
            chat_of(server).ask(ask("Which facts are there? " * 200))
        wait_until(lambda: server.calls)

    assert len(server.calls) == 1
    assert not server.finished
    assert 300 < caught.value.usage.output_tokens < 1_000


def test_the_greatest_length_of_an_answer_follows_its_request():
    cut_off = Answer('{"facts": ["one", "tw', finish_reason="length")
    with ChatServer(lambda request: cut_off if request["_n"] == 1 else GOOD) as server:
        chat = chat_of(server)
        for prompt in ("What?", "Why?", "bees " * 1_000, "bees " * 10_000):
            chat.ask(ask(prompt))

    limits = [call.request["max_tokens"] for call in server.calls]
    assert limits == [1_024 + 4 * 2, 1_024 + 4 * 2, 8_192, 1_024 + 4 * 1_350, 8_192]


def test_a_model_that_thinks_gets_room_for_its_thoughts():
    with ChatServer(lambda _: Answer('<think>Bees…</think>{"facts": []}')) as server:
        chat = chat_of(server)
        chat.ask(ask())
        chat.ask(ask())

    assert [call.request["max_tokens"] for call in server.calls] == [1_032, 8_192]


def test_line_separators_within_an_answer_are_no_ends_of_its_events():
    facts = ["one\u2028two", "three\u2029four"]
    with ChatServer(lambda _: {"facts": facts}) as server:
        assert chat_of(server).ask(ask()).value.facts == facts


def wait_until(is_so: Callable[[], Any]) -> None:
    for _ in range(500):
        if is_so():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen within 5 s")


def test_answers_come_in_the_order_of_the_requests_however_long_each_takes():
    def script(request: dict[str, Any]) -> Answer:
        number = request["_n"]
        return Answer({"facts": [prompt_of(request)]}, delay=0.001 * (-number % 7), together=1 if number else 2)

    with ChatServer(script) as server:
        answered = list(chat_of(server, concurrency=8).ask_all(ask(str(n)) for n in range(60)))

    assert [reply.value.facts for reply in answered if isinstance(reply, Reply)] == [[str(n)] for n in range(60)]
    assert 1 < server.peak <= 8


def test_requests_are_taken_only_a_window_ahead():
    taken = 0

    def requests():
        nonlocal taken
        for n in range(1_000):
            taken += 1
            yield ask(str(n))

    with ChatServer(lambda _: GOOD) as server:
        answers = chat_of(server, concurrency=1).ask_all(requests())
        next(answers)
        answers.close()

    assert taken <= 32


def test_a_server_that_is_gone_stops_the_run_after_what_was_answered():
    with ChatServer(lambda _: GOOD) as server:
        chat = chat_of(server, concurrency=1, tries=3, failures_until_down=3, patience_seconds=0)
        first = chat.ask(ask())

    with pytest.raises(ModelUnavailable, match="run the same command again"):
        list(chat.ask_all([ask("a"), ask("b"), ask("c")]))

    assert first.value.facts == FACTS


def test_a_server_that_comes_back_is_used_again():
    port = free_port()
    with ChatServer(lambda _: GOOD, port=port) as server:
        chat = chat_of(server, tries=1, failures_until_down=1, patience_seconds=0, down_seconds=0.05)
    with pytest.raises(ModelError):
        chat.ask(ask())

    with ChatServer(lambda _: GOOD, port=port):
        threading.Event().wait(0.1)
        reply = chat.ask(ask())

    assert reply.value.facts == FACTS


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_stops_the_run_and_says_what_to_check(status: int):
    with (
        ChatServer(lambda _: Answer("no", status=status)) as server,
        pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"),
    ):
        chat_of(server).ask(ask())

    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "bound",
    [{"max_calls": 5}, {"max_tokens": 3_000}, {"max_cost": 0.003, "prices": Prices(1, 1)}],
    ids=["calls", "tokens", "money"],
)
def test_a_budget_stops_the_run_after_what_was_answered_and_is_never_passed(bound: dict[str, Any]):
    with ChatServer(lambda _: GOOD) as server:
        chat = chat_of(server, concurrency=3, **bound)
        answered = []
        with pytest.raises(BudgetExceeded, match="raise it"):
            answered.extend(chat.ask_all(ask(str(n)) for n in range(500)))

    assert 0 < len(server.calls) < 100
    assert chat.spent.calls == len(server.calls) <= bound.get("max_calls", 500)
    assert chat.spent.input_tokens + chat.spent.output_tokens <= 3_000


def test_usage_is_estimated_where_the_server_reports_none():
    with ChatServer(lambda _: Answer(GOOD.content, has_usage=False)) as server:
        reply = chat_of(server).ask(ask("four words of English " * 20))

    assert reply.usage.input_tokens == pytest.approx(119, rel=0.1)
    assert reply.usage.output_tokens > 5


def test_many_threads_may_share_one_client():
    found: list[list[str]] = []
    with ChatServer(lambda request: {"facts": [prompt_of(request)]}) as server:
        chat = chat_of(server)
        threads = [
            threading.Thread(target=lambda n=n: found.append(chat.ask(ask(str(n))).value.facts)) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(found) == [[str(n)] for n in range(8)]


def test_without_a_key_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(ModelError, match="OPENAI_API_KEY=none"):
        OpenAIChat("m", base_url="http://127.0.0.1:9/v1").ask(ask())


def test_the_fingerprint_names_what_changes_answers():
    one, other = (OpenAIChat("m", options=ChatOptions(temperature=t)) for t in (0.0, 0.5))

    assert one.model_id == other.model_id == "openai:m"
    assert one.fingerprint != other.fingerprint
