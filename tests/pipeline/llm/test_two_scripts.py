"""A model that says which name of the other script a name is: one thing is one key on first ingest."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sag_pipeline.extract.model_keys import ExtractedKeys, KnownKey, KnownKeys, key_questions
from sag_pipeline.extract.support import SupportingText
from sag_pipeline.llm.checked import Refusals, supported_keys
from sag_pipeline.runs.status import status_of
from sag_retrieval import open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.records import Document, Event
from sag_retrieval.core.settings import load_settings
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer, Request, first_prompt_of, schema_of
from tests.support.scripted_answers import known_names, numbered_events, numbered_pairs, read_well

PAIRS = {
    "Verdant Current": "绿源能源",
    "Harbour Lantern": "港灯物流",
    "Northern Saddle": "北鞍机械",
    "Quiet Harvest": "静禾农业",
    "Silver Orchard": "银果食品",
    "Distant Bell": "远钟传媒",
    "Copper Valley": "铜谷矿业",
    "Morning Sail": "晨帆造船",
    "White Plateau": "白塬乳业",
    "Long Furrow": "长垄种业",
    "Blue Kiln": "青窑陶瓷",
    "Stone Bridge": "石桥建设",
    "Falling Water": "落水电力",
    "Red Lacquer": "朱漆家具",
}
OTHER = PAIRS | {chinese: english for english, chinese in PAIRS.items()}
CODES = [f"KX{n}41 TR{n}52 MQ{n}63 PL{n}74 GV{n}85 ZD{n}96" for n in range(10, 10 + len(PAIRS))]
"""What both texts about one thing have in common."""


def names_in(text: str) -> list[str]:
    return [name for name in OTHER if name in text]


def knows_both_scripts(request: Request, key_type: str = "organisation") -> dict[str, Any]:
    """Names what an event names; a known name of the other script is the value, the event's own is `same_as`."""
    prompt = first_prompt_of(request)
    if schema_of(request) == "SamePairs":
        return {"same": [number for number, one, _, other, _ in numbered_pairs(prompt) if OTHER.get(one) == other]}
    if schema_of(request) != "ExtractedKeys":
        return read_well(request)
    known = known_names(prompt)
    answered = []
    for number, text in numbered_events(prompt):
        keys = [
            {"type": key_type, "value": OTHER[name], "same_as": [name]}
            if OTHER[name] in known
            else {"type": "organisation", "value": name, "same_as": []}
            for name in names_in(text)
        ]
        answered.append({"event": number, "keys": keys})
    return {"events": answered}


def ingested(home: Path, source, monkeypatch: pytest.MonkeyPatch, script=knows_both_scripts) -> dict[str, set[str]]:
    """The names of each key after one ingest; the Chinese texts come after more English events than a first wave has."""
    with ChatServer(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        files = {
            f"a{n:02}.md": f"{name} sells {code}.\n" for n, (name, code) in enumerate(zip(PAIRS, CODES, strict=True))
        }
        files |= {f"b{n}.md": f"A dull note number {n} says nothing.\n" for n in range(4)}
        files |= {f"z{n:02}.md": f"{PAIRS[name]}出售 {CODES[n]}。\n" for n, name in enumerate(PAIRS)}
        source(files)
        bare_ingest(["inbox"])
    with open_release(home) as opened:
        rows = opened.sql(
            "SELECT k.key_id, k.value_string AS name FROM keys k WHERE key_type = 'organisation' "
            "UNION SELECT key_id, alias FROM key_aliases"
        ).rows
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["key_id"], set()).add(row["name"])
    return found


def splits_and_wrong(found: dict[str, set[str]]) -> tuple[list[str], list[set[str]]]:
    """Names whose translation is another key, and keys that stand for two things."""
    together = [names & OTHER.keys() for names in found.values()]
    splits = [name for name in PAIRS if not any({name, PAIRS[name]} <= names for names in together)]
    return splits, [names for names in together if len({*names, *(OTHER[name] for name in names)}) > 2]


def test_a_first_ingest_of_two_scripts_has_one_key_for_one_thing(home: Path, source, monkeypatch: pytest.MonkeyPatch):
    splits, wrong = splits_and_wrong(ingested(home, source, monkeypatch))

    print(f"names split on first ingest: {len(splits)} of {len(PAIRS)}; wrong merges: {len(wrong)}")
    assert len(splits) <= 0.05 * len(PAIRS), splits
    assert not wrong
    assert status_of(load_settings())["known_names_not_taken"] == 0


def another_type(request: Request) -> dict[str, Any]:
    return knows_both_scripts(request, key_type="person")


@pytest.mark.slow
def test_a_known_name_of_another_type_is_not_taken_and_counted(home: Path, source, monkeypatch: pytest.MonkeyPatch):
    _, wrong = splits_and_wrong(ingested(home, source, monkeypatch, another_type))

    assert not wrong
    assert status_of(load_settings())["known_names_not_taken"] > 0
    shown = CliRunner().invoke(main, ["status"], catch_exceptions=False).output
    assert "known names of a model were not taken" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("known", "key_type", "same_as", "taken"),
    [
        ("Verdant Current", "organisation", "绿源能源", "Verdant Current"),
        ("Verdant Current", "person", "绿源能源", "绿源能源"),
        ("Verdant Current", "organisation", "Harbour Lantern", "Harbour Lantern"),  # letters say that they differ
        ("港灯物流", "organisation", "绿源能源", "绿源能源"),
    ],
)
def test_a_known_name_is_taken_for_one_of_the_other_script_that_the_event_has(
    known: str, key_type: str, same_as: str, taken: str
):
    document = Document("d", "s", "Note", f"{same_as} 2019.", "en")
    event = Event("e", "d", "c", 0, document.text, "")
    (question,) = key_questions(document, [event])
    question = replace(question, known=(KnownKeys(direct=(KnownKey("organisation", known),)),))
    key = {"type": key_type, "value": known, "same_as": [same_as]}
    answer = ExtractedKeys.model_validate({"events": [{"event": 1, "keys": [key]}]})
    refused = Refusals()

    checked = supported_keys(question, answer, {"e": SupportingText(document.text)}, refused)

    assert [one.value for one in checked.events[0].keys] == [taken]
    assert refused.untaken == (taken != known)


def test_dates_take_no_place_of_known_names_in_a_prompt():
    known = KnownKeys(direct=(*(KnownKey("date", f"20{n}") for n in range(10, 60)), KnownKey("person", "Ann Lee")))

    event = Event("e", "d", "c", 0, "It was opened.", "")
    (question,) = key_questions(Document("d", "s", "Note", event.content, "en"), [event])

    prompt = replace(question, known=(known,)).request.prompt

    assert 'person: "Ann Lee"\n' in prompt
    assert "date: " not in prompt
