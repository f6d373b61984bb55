"""Decisions on names: read with a clear fault, used at the next ingest, kept through every further one, and undone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sag_pipeline import decide_name, undo_decision
from sag_pipeline.extract.entity_resolution import align_keys
from sag_pipeline.extract.name_decisions import NameDecisions, read_decisions
from sag_retrieval import open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import FilterError, SagError, SourceError
from tests.pipeline.test_entity_resolution import keys_of
from tests.support.bare_ingest import bare_ingest, kept_ingest
from tests.support.chat_server import ChatServer, Request, first_prompt_of, schema_of
from tests.support.scripted_answers import numbered_pairs, read_well

FILES = {
    "heron.md": "Lumen Optics built the Heron buoy. Mara Voss founded Lumen Optics.\n",
    "osprey.md": "Lumen Optics Verwaltung sold the Osprey buoy. Kestrel Marine bought Lumen Optics Verwaltung.\n",
    "海鹭.md": "海鹭浮标由光澜光学有限公司制造。澜光研究所使用这种浮标。\n",
}


def decisions(tmp_path: Path, text: str) -> NameDecisions:
    path = tmp_path / "aliases.csv"
    path.write_text(text, encoding="utf-8")
    return read_decisions(path)


def keys_in(home: Path) -> dict[str, int]:
    with open_release(home) as opened:
        rows = opened.sql("SELECT value_string, event_count FROM keys WHERE value_string IS NOT NULL").rows
        return {row["value_string"]: row["event_count"] for row in rows}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("merge,NHL\n", "line 1 has 2 columns; write decision,name,other, such as"),
        ("decision,name,other\n\nmerge,NHL,\n", "line 3 has an empty name"),
        ("unite,NHL,National Hockey League\n", "line 1: decision 'unite' is none of merge, apart, rename, retype"),
        ('merge,"NHL,National\n', "line 1: unexpected end of data"),
        ("merge,A b,C d\napart,C d,A b\n", "line 2 says apart and line 1 merge of the same names"),
        ("apart,Heron,HERON\n", "both names are read as 'heron'"),
        ("retype,NHL,organisation\nretype,nhl,work\n", "line 2 says retype and line 1 retype of the same names"),
        ("合并,甲公司,乙公司\n", "decision '合并' is none of"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, text: str, said: str):
    with pytest.raises(SourceError, match=r"aliases\.csv") as caught:
        decisions(tmp_path, text)

    assert said in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    path = tmp_path / "aliases.csv"
    path.write_bytes(b"merge,\xff\xfe,b")

    with pytest.raises(SourceError, match="save it as CSV in UTF-8"):
        read_decisions(path)
    assert read_decisions(tmp_path / "none.csv") == NameDecisions()


def test_head_comments_empty_lines_order_marks_and_case_are_read_over(tmp_path: Path):
    found = decisions(tmp_path, "\ufeffDecision,Name,Other\n\n# seen in May\nMerge , NHL, National Hockey League\n")

    assert [(one.line, one.verb, one.name, one.other) for one in found.lines] == [
        (4, "merge", "NHL", "National Hockey League")
    ]
    assert found.digest == decisions(tmp_path, "merge,nhl,national hockey league\n").digest


def test_people_join_and_keep_apart_whatever_rules_and_models_say(tmp_path: Path):
    keys = keys_of(
        ("organisation", "302.AI", 5), ("topic", "302ai", 2), ("person", "Ann Lee", 3), ("topic", "A. L.", 1)
    )

    assert align_keys(keys).canonical == {"k1": "k0"}
    apart = decisions(tmp_path, "apart,302ai,302.AI\n")
    assert align_keys(keys, decisions=apart, said=[("k1", "k0")], answered=[("k0", "k1")]).canonical == {}
    merged = decisions(tmp_path, "merge,A. L.,Ann Lee\nmerge,Ann Lee,302.AI\n")
    assert align_keys(keys, decisions=merged).canonical == {"k1": "k0", "k2": "k0", "k3": "k0"}
    renamed = decisions(tmp_path, "rename,Ann Lee,A. L.\n")
    assert align_keys(keys, decisions=renamed).canonical == {"k1": "k0", "k2": "k3"}


def test_what_is_kept_apart_is_not_joined_by_a_third_name(tmp_path: Path):
    keys = keys_of(("topic", "a one", 5), ("topic", "b two", 4), ("topic", "c three", 3))
    found = decisions(tmp_path, "apart,a one,c three\n")

    canonical = align_keys(keys, decisions=found, answered=[("k0", "k1"), ("k1", "k2")]).canonical

    assert canonical == {"k1": "k0"}


@pytest.mark.slow
def test_decisions_hold_through_ingests_show_in_the_status_and_are_undone_without_a_trace(
    home: Path, source, monkeypatch: pytest.MonkeyPatch
):
    inbox = Path(source(FILES))
    first = kept_ingest(["inbox"])
    before = keys_in(home)
    assert {"Lumen Optics", "Lumen Optics Verwaltung"} <= before.keys()
    path = home / "aliases.csv"
    path.write_text("rename,Lumen Optics,Lumen Optics Verwaltung\nmerge,Nobody,No one\n", encoding="utf-8")

    merged = bare_ingest(["inbox"])
    after = keys_in(home)

    assert merged["is_new"]
    assert "Lumen Optics" not in after
    assert after["Lumen Optics Verwaltung"] == before["Lumen Optics"] + before["Lumen Optics Verwaltung"]
    with open_release(home) as opened:
        rows = opened.sql("SELECT alias, reason FROM key_aliases WHERE reason = 'decided'").rows
    assert rows == [{"alias": "Lumen Optics", "reason": "decided"}]
    shown = CliRunner().invoke(main, ["status"]).output
    assert "decisions on names: 1 merge, 1 rename" in shown
    assert "line 2: merge Nobody / No one" in " ".join(shown.split())
    told = json.loads(CliRunner().invoke(main, ["status", "--json"]).output)["names"]
    assert told["decisions"] == {"merge": 1, "rename": 1}

    (inbox / "more.md").write_text("# More\n\nLumen Optics repaired a Heron buoy.\n", encoding="utf-8")
    bare_ingest(["inbox"])
    assert keys_in(home)["Lumen Optics Verwaltung"] > after["Lumen Optics Verwaltung"]
    (inbox / "more.md").unlink()
    assert bare_ingest(["inbox"])["release"] == merged["release"]
    path.unlink()
    assert bare_ingest(["inbox"])["release"] == first["release"]


@pytest.mark.slow
def test_a_name_in_either_language_finds_the_same_wherever_it_is_given(home: Path, source):
    chinese = "光澜光学有限公司（以下简称“光澜光学”）制造了海鹭浮标。\n"
    others = {f"{n}.md": f"Port Ansai number {n} opened. Kestrel Marine sold number {n}.\n" for n in range(4)}
    source(others | {"heron.md": "Lumen Optics GmbH built the Heron buoy. Mara Voss left.\n", "海鹭.md": chinese})
    home.mkdir()
    (home / "aliases.csv").write_text("merge,Lumen Optics GmbH,光澜光学有限公司\n", encoding="utf-8")
    bare_ingest(["inbox"])

    with open_release(home) as opened:
        every = {"heron.md", "海鹭.md"}
        for name in ("Lumen Optics GmbH", "光澜光学有限公司", "光澜光学", "LUMEN  optics gmbh"):
            ways = [
                {"where": {"key.organisation": name}},
                {"where": {"key.organisation__in": [name, "Nobody At All"]}},
                {"sql": f"has_key('{name}')"},
                {"sql": f"SELECT document_id FROM event_keys JOIN events USING (event_id) WHERE has_key('{name}')"},
            ]
            for way in ways:
                found = opened.search("buoy 浮标", **way)
                assert {hit.document_id for hit in found} == every, way
            assert {hit.document_id for hit in opened.search(name, keys=[name])} >= every
            assert {hit.document_id for hit in opened.search(f"{name}?", top_k=2)} == every
            assert not every & {hit.document_id for hit in opened.search("buoy", where={"key.organisation__ne": name})}
        assert not opened.search("buoy", where={"key.organisation": "Nobody At All"})
        for misspelt, meant in (("Lumen Optcs GmbH", "Lumen Optics GmbH"), ("光蓝光学有限公司", "光澜光学有限公司")):
            for way in ({"where": {"key.organisation": misspelt}}, {"sql": f"has_key('{misspelt}')"}):
                with pytest.raises(FilterError, match=f"called '{misspelt}'; did you mean '{meant}'"):
                    opened.search("buoy", **way)
        note = "no key is called 'Lumen Optik GmbH'; did you mean 'Lumen Optics GmbH'? Its words are searched"
        unknown = "no key is called 'Nobody At All'; `sag keys list` shows them. Its words are searched"
        assert opened.search("buoy", ["Lumen Optik GmbH", "Nobody At All"]).notes == (note, unknown)
        assert opened.ask("Who made the buoy?", keys=["Lumen Optik GmbH"]).notes[0] == note
    for command in ("search", "ask"):
        told = CliRunner().invoke(main, [command, "Who made the buoy?", "--key", "Lumen Optik GmbH", "--key", "Zzyzx"])
        assert told.exit_code == 0
        assert "did you mean 'Lumen Optics GmbH'?" in told.output
        assert "no key is called 'Zzyzx'" in told.output


@pytest.mark.slow
def test_keys_are_listed_and_decided_by_hand_until_it_is_undone(home: Path, source):
    inbox = Path(source(FILES))
    before = bare_ingest(["inbox"])

    def keys(*words: str) -> Any:
        outcome = CliRunner().invoke(main, ["keys", *words, "--json"])
        assert outcome.exit_code == 0, outcome.output
        return json.loads(outcome.output)

    def shown(text: str) -> list[tuple[str, str, list[str]]]:
        return [(row["value"], row["type"], row["aliases"]) for row in keys("list", text)["keys"]]

    assert shown("mara") == [("Mara Voss", "person", [])]
    assert keys("list", "--type", "人物")["keys"] == keys("list", "mara")["keys"]
    keys("merge", "Lumen Optics", "Lumen Optics Verwaltung")
    keys("retype", "lumen optics", "公司")
    keys("rename", "Mara Voss", "Mara Voss-Lindt")
    assert decide_name("apart", "Kestrel Marine", "Mara Voss").line == len(keys("list")["decisions"]) + 1
    bare_ingest(["inbox"])
    (inbox / "more.md").write_text("# More\n\nLumen Optics repaired a buoy. Mara Voss left.\n", encoding="utf-8")
    bare_ingest(["inbox"])

    ((name, kind, others),) = shown("Optics")
    assert {name, *others} == {"Lumen Optics", "Lumen Optics Verwaltung"}
    assert kind == "organisation"
    assert shown("Mara Voss-Lindt") == shown("mara voss") == [("Mara Voss-Lindt", "person", ["Mara Voss"])]
    with open_release(home) as opened:
        found = opened.search("left", where={"key.person": "Mara Voss"})
        assert {hit.document_id for hit in found} == {"heron.md", "more.md"}
        row = opened.index.arrays.mentions.exact("mara voss-lindt")
        assert np.abs(opened.index.arrays.vectors["keys"].take(row)).sum() > 0
    assert "Mara" not in CliRunner().invoke(main, ["status"]).output  # every decision is of use
    (inbox / "more.md").unlink()
    for line in (5, 2):
        assert keys("undo", str(line))["line"] == line
    keys("undo")
    assert undo_decision().verb == "retype"
    assert bare_ingest(["inbox"])["release"] == before["release"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["merge", "Mara Vos", "Kestrel Marine"], "no key is called 'Mara Vos'; did you mean 'Mara Voss'?"),
        (["retype", "Mara Voss", "persn"], "type 'persn' is none of person, organisation"),
        (["retype", "Mara Voss", "money"], "type 'money' is none of person, organisation"),
        (["retype", "osprey", "product"], "is the title of a document alone"),
        (["rename", "Mara Voss", " "], "has an empty name"),
        (["split", "Mara Voss", "MARA VOSS"], "both names are read as 'mara voss'"),
        (["undo"], "it has no decision"),
        (["list", "--type", "persn"], "did you mean 'person'?"),
    ],
)
def test_a_wrong_decision_is_refused_and_leaves_no_file(home: Path, source, words: list[str], said: str):
    source(FILES)
    kept_ingest(["inbox"])

    outcome = CliRunner().invoke(main, ["keys", *words])

    assert outcome.exit_code in {1, 2}
    assert said in outcome.stderr
    assert not (home / "aliases.csv").exists()


@pytest.mark.slow
def test_a_removed_document_takes_with_it_what_rested_on_it_alone(home: Path, source):
    inbox = Path(source(FILES))
    whole = kept_ingest(["inbox"])
    (inbox / "said.md").write_text(
        "# Note\n\nLumen Optics Verwaltung (Lumen Optics) sold the Osprey buoy (LOV). "
        "澜光研究所（以下简称“澜光所”）使用浮标。\n",
        encoding="utf-8",
    )
    assert bare_ingest(["inbox"])["release"] != whole["release"]
    (inbox / "said.md").unlink()

    assert bare_ingest(["inbox"])["release"] == whole["release"]


@pytest.mark.slow
def test_a_bad_line_stops_an_ingest_with_its_number_and_leaves_the_release(home: Path, source):
    source(FILES)
    first = kept_ingest(["inbox"])
    (home / "aliases.csv").write_text("merge,Heron\n", encoding="utf-8")

    with pytest.raises(SagError, match="line 1 has 2 columns"):
        bare_ingest(["inbox"])

    with open_release(home) as opened:
        assert opened.manifest.release_id == first["release"]
    assert "line 1 has 2 columns" in " ".join(CliRunner().invoke(main, ["status"]).output.split())


@pytest.mark.slow
def test_the_file_may_lie_beside_the_project(home: Path, source, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    source(FILES)
    monkeypatch.setenv("SAG_ALIASES", str(tmp_path / "ours.csv"))
    (tmp_path / "ours.csv").write_text("merge,Lumen Optics,Lumen Optics Verwaltung\n", encoding="utf-8")

    bare_ingest(["inbox"])

    assert len({"Lumen Optics", "Lumen Optics Verwaltung"} & keys_in(home).keys()) == 1


@pytest.mark.slow
def test_close_names_are_listed_until_somebody_decides(home: Path, source):
    source(FILES)
    kept_ingest(["inbox"])

    def listed() -> list[set[str]]:
        result = CliRunner().invoke(main, ["keys", "close", "--json"])
        assert result.exit_code == 0, result.output
        return [{row["name"]["name"], row["other"]["name"]} for row in json.loads(result.output)["pairs"]]

    assert {"Lumen Optics", "Lumen Optics Verwaltung"} in listed()
    told = CliRunner().invoke(main, ["aliases"])
    assert "Lumen Optics Verwaltung" in told.stdout
    assert "`sag aliases` is now `sag keys close`" in told.stderr
    (home / "aliases.csv").write_text("apart,Lumen Optics,Lumen Optics Verwaltung\n", encoding="utf-8")
    assert {"Lumen Optics", "Lumen Optics Verwaltung"} not in listed()


def test_without_an_ingest_there_is_nothing_to_list_and_the_command_says_so(home: Path):
    result = CliRunner().invoke(main, ["keys", "close"])

    assert result.exit_code == 1
    assert "sag ingest" in result.output


def joins_longer_names(request: Request) -> dict[str, Any]:
    """Reads well, and takes names for one thing of which one is all words of the other."""
    if schema_of(request) != "SamePairs":
        return read_well(request)
    pairs = numbered_pairs(first_prompt_of(request))
    return {"same": [number for number, one, _, other, _ in pairs if {*one.split()} < {*other.split()}]}


@pytest.mark.slow
def test_a_model_is_asked_about_close_names_once_and_its_answer_is_undone_with_the_document(
    home: Path, source, monkeypatch: pytest.MonkeyPatch
):
    with ChatServer(joins_longer_names) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        more = {f"{n}.md": f"Port Ansai number {n} opened.\n" for n in range(4)}
        inbox = Path(source({"heron.md": FILES["heron.md"], **more}))
        options = {"align.pairs_per_event": 1.0}
        alone = bare_ingest(["inbox"], options)
        (inbox / "osprey.md").write_text(FILES["osprey.md"], encoding="utf-8")
        bare_ingest(["inbox"], options)
        asked = [first_prompt_of(call.request) for call in server.calls if schema_of(call.request) == "SamePairs"]
        pairs = [{one, other} for prompt in asked for _, one, _, other, _ in numbered_pairs(prompt)]

        assert {"Lumen Optics", "Lumen Optics Verwaltung"} in pairs
        assert len({"Lumen Optics", "Lumen Optics Verwaltung"} & keys_in(home).keys()) == 1
        before = len(server.calls)
        assert not bare_ingest(["inbox"], options)["is_new"]
        (inbox / "osprey.md").unlink()
        assert bare_ingest(["inbox"], options)["release"] == alone["release"]
        (inbox / "osprey.md").write_text(FILES["osprey.md"], encoding="utf-8")
        bare_ingest(["inbox"], options)
        assert len(server.calls) == before

        assert bare_ingest(["inbox"], {"align.by_model": False})["is_new"]
        assert {"Lumen Optics", "Lumen Optics Verwaltung"} <= keys_in(home).keys()


def test_a_file_of_decisions_is_read_up_to_a_bound(tmp_path):
    path = tmp_path / "aliases.csv"
    with path.open("wb") as file:
        file.truncate(10_000_001)

    with pytest.raises(SourceError, match="more than 10,000,000 bytes"):
        read_decisions(path)
