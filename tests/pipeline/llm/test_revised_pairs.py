"""A model's word on revisions: it changes kinds and how sure they are, never which of two statements came first."""

import json
from collections.abc import Iterator

import pytest

from sag_pipeline.extract.claims import Claim
from sag_pipeline.extract.revisions import find_revisions
from sag_pipeline.llm.revised_pairs import _judged
from sag_retrieval import open_release
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer, Request, first_prompt_of, schema_of
from tests.support.scripted_answers import data_of, read_well

FILES = {
    "slide.md": "# Slides\n\nSales · 20 May 2025\n\nThe market share of Orin Pumps is 31 %.\n",
    "final.md": "# Final report\n\n3 June 2025\n\nThe market share of Orin Pumps is 27 %.\n",
}


def script(request: Request) -> dict:
    """Takes the market shares for those of two firms."""
    if schema_of(request) != "RevisionVerdicts":
        return read_well(request)
    return {"verdicts": [{"pair": n, "verdict": "apart"} for n, *_ in data_of(first_prompt_of(request))]}


@pytest.fixture
def server(monkeypatch) -> Iterator[ChatServer]:
    with ChatServer(script) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        yield found


def kinds(home) -> dict[str, tuple[str, str]]:
    with open_release(home) as release:
        return {
            row["later_value"][-1]: (row["kind"], row["evidence"])
            for row in release.table("revisions").to_dict("records")
        }


def asked(server: ChatServer) -> int:
    return sum(schema_of(call.request) == "RevisionVerdicts" for call in server.calls)


@pytest.mark.slow
def test_a_model_is_asked_once_and_its_word_is_in_the_table(home, source, server):
    firsts, lasts = "abcdefghijkl", ("adel", "orim", "unas", "epol", "ivra")
    meadows = [f"The {one}{other} meadow is green." for one in firsts for other in lasts]
    folder = source(FILES | {"meadows.md": "# Meadows\n\n" + "\n\n".join(meadows) + "\n"})
    bare_ingest([folder], {"revisions_by_model": False})
    assert kinds(home)["%"][0] == "updates"
    assert not asked(server)

    for _ in range(2):
        bare_ingest([folder])
    assert asked(server) == 1
    assert "%" not in kinds(home)


@pytest.mark.parametrize(
    ("days", "verdict", "kind", "is_surer"),
    [
        (("2025-05-20", "2025-06-03"), "updates", "updates", True),
        (("2025-05-20", "2025-06-03"), "corrects", "corrects", None),
        (("2025-05-20", "2025-06-03"), "contradicts", "contradicts", None),
        (("", ""), "updates", "contradicts", None),
        (("", ""), "contradicts", "contradicts", True),
    ],
)
def test_a_verdict_changes_the_kind_and_how_sure_it_is_but_orders_nothing(days, verdict, kind, is_surer):
    claims = [
        Claim(
            f"e{n}",
            f"d{n}.md",
            f"c{n}",
            f"The market share of Orin Pumps is {n} %{more}.",
            name,
            day,
            names={"o": "Orin Pumps"},
        )
        for n, name, day, more in zip((27, 31), ("Slides", "Mail"), days, ("", " by count"), strict=True)
    ]
    (one,) = find_revisions(claims)

    judged = _judged(one, verdict)

    assert judged
    assert judged.kind == kind
    assert _judged(one, "apart") is None
    assert (judged.earlier_event_id, judged.later_event_id) == (one.earlier_event_id, one.later_event_id)
    assert judged.confidence == one.confidence if is_surer is None else (judged.confidence > one.confidence) is is_surer
    assert json.dumps(judged.evidence) in ('"model"', json.dumps(one.evidence))
