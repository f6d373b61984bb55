"""Options and restrictions by name on the command line: what is given reaches the work, what is wrong ends in a line."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sag_pipeline.defs.config import given_options, run_config
from sag_pipeline.defs.resources import PipelineResource
from sag_pipeline.extract.rules.recogniser import RECOGNISERS
from sag_pipeline.options import RunOptions
from sag_retrieval import open_release
from sag_retrieval.cli.choices import default_options, option_names
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.options import build_options, describe_options, options_of
from sag_retrieval.core.plugins import NamedFunction
from sag_retrieval.search.registry import METHODS
from tests.support.bare_ingest import bare_ingest

FILES = {
    "heron.md": "# Heron\n\nLumen Optics built the Heron buoy in 2021. Mara Voss founded Lumen Optics in Ansel.\n",
    "quill.md": "# Quill\n\nQuill Instruments makes the sensors of the Heron buoy. Mara Voss left it in 2009.\n",
    "海鹭.md": "# 海鹭浮标\n\n海鹭浮标由光澜公司制造。2021年5月4日起，安塞海警使用这种浮标。\n",
}
COMMANDS = {
    "search": (["search", "Heron"], ""),
    "ask": (["ask", "Heron"], ""),
    "report": (["report"], ""),
    "ingest": (["ingest", "docs"], ""),
}
NOT_OF_SEARCH = ("ask", "report", "cluster", "pipeline", "chat", "ingest")
"""Operations whose options `sag search` does not take; those of pipelines stand in a file."""
WRONG = ["[1", "-1", "foo", "nan"]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "docs").mkdir()
    for name, text in FILES.items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    questions = [
        {"id": "1", "question": "Who built the Heron buoy?", "gold_documents": ["heron.md"]},
        {"id": "2", "question": "海鹭浮标由谁制造？", "gold_documents": ["海鹭.md"]},
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        bare_ingest(["docs"])
    return folder


@pytest.fixture
def here(made, home, tmp_path) -> Path:
    for name in ("home", "docs"):
        shutil.copytree(made / name, tmp_path / name)
    shutil.copy(made / "questions.jsonl", tmp_path)
    moved = CliRunner().invoke(main, ["sources", "move", str(made / "docs"), "docs"])
    assert moved.exit_code == 0, moved.output
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def answer(*arguments: str) -> Any:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments: str) -> str:
    """The one line in which a call ended."""
    result = call(*arguments)
    assert result.exit_code in (1, 2), (arguments, result.output)
    assert "Traceback" not in result.output
    assert "fault of sag itself" not in result.output
    (line,) = result.stderr.splitlines()
    return line


def first_refused(what: str, name: str) -> str | None:
    """A value that an option does not take."""
    usual = default_options(what)
    for value in WRONG:
        try:
            build_options(type(usual), {name: value}, what=what, base=usual)
        except SagError:
            return value
    return None


def wrong_pairs() -> list[tuple[str, list[str]]]:
    """For every option of every command that takes `--set`: its valid call with a value that is refused."""
    sources = {
        "search": [(name, "") for name in option_names() if name not in NOT_OF_SEARCH],
        "ask": [("ask", ""), ("sag", "search."), ("hybrid", "search.")],
        "report": [("report", "")],
        "ingest": [("ingest", "")],
    }
    found = []
    for command, classes in sources.items():
        for what, start in classes:
            usual = default_options(what)
            for option in options_of(usual) if usual is not None else ():
                value = first_refused(what, option.name)
                prefix = "segments." if what == "segments" else start
                method = ["--method", what if what != "segments" else "sag"] if command == "search" else []
                method = ["--method", what] if start else method
                if value is not None:
                    found.append((what, [*COMMANDS[command][0], *method, "--set", f"{prefix}{option.name}={value}"]))
    return found


@pytest.mark.slow
def test_every_option_of_every_command_refuses_a_wrong_value_in_one_line(here):
    pairs = wrong_pairs()

    assert len(pairs) > 150
    for what, arguments in pairs:
        line = refused(*arguments)
        assert "must be" in line, (arguments, line)
        assert f"--options {what}" in line


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("command", ["search", "ask", "evaluate"])
def test_an_unknown_option_of_a_method_names_the_method_and_lists_its_options(here, command, method):
    argument = "questions.jsonl" if command == "evaluate" else "Heron"
    name = "search.bogus" if command == "ask" else "bogus"

    line = refused(command, argument, "--method", method, "--set", f"{name}=1")

    assert f"method '{method}' has no option" in line
    assert f"`sag settings --options {method}` lists" in line
    assert call("settings", "--options", method).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "Heron", "--set", "hps=2"], "the nearest is 'hops'"),
        (["search", "Heron", "--set", "hops"], "is not NAME=VALUE"),
        (["search", "Heron", "--set", "hops=1", "--set", "hops=2"], "given twice"),
        (["search", "Heron", "--method", "dense", "--set", "hops=2"], "method 'dense' has no options, got hops"),
        (["search", "Heron", "--segments", "foo"], "unknown preset of segments"),
        (["search", "Heron", "--set", "segments.maxlength=2"], "the nearest is 'max_length'"),
        (["search", "Heron", "--where", "language"], "is not FIELD=VALUE"),
        (["search", "Heron", "--where", "lnguage=en"], "lnguage"),
        (["search", "Heron", "--where", "language=en", "--where", "language=zh"], "given twice"),
        (["ask", "Heron", "--set", "search.hops=9"], "1 to 4"),
        (["ask", "Heron", "--set", "hops=2"], "ask has no option"),
        (["report", "--set", "cluster.alfa=0.5"], "the nearest is 'cluster.alpha'"),
        (["report", "--set", "cluster.method=key-type"], "one key type"),
        (["evaluate", "questions.jsonl", "--set", "hops=0"], "1 to 4"),
        (["evaluate", "questions.jsonl", "--answers", "fast", "--set", "search.hops=0"], "1 to 4"),
        (["evaluate", "questions.jsonl", "--where", "x"], "is not FIELD=VALUE"),
        (["ingest", "docs", "--estimate", "--set", "bogus=1"], "ingest has no option 'bogus'"),
        (["ingest", "docs", "--set", "section.max_section=10"], "min_section"),
        (["settings", "--options", "hybird"], "the nearest is 'hybrid'"),
    ],
)
def test_a_wrong_name_or_restriction_is_told_in_one_line(here, arguments, said):
    assert said in refused(*arguments)


@pytest.mark.parametrize("name", option_names())
def test_settings_list_the_options_of_every_method_and_operation(home, name):
    usual = default_options(name)

    assert answer("settings", "--options", name) == ([] if usual is None else describe_options(usual))
    assert name in call("settings").stdout.replace("\n", " ")


def test_the_options_of_a_search_reach_it(here):
    usual = answer("search", "Heron")
    fewer = answer("search", "Heron", "--set", "key_count=1", "--set", "final_count=1")

    assert len(fewer["keys"]) < len(usual["keys"])


def test_the_options_of_segments_reach_a_search(here):
    joined = answer("search", "Heron", "--segments", "find_all", "--set", "segments.overall_max_length=1")

    assert len(joined["segments"]) == 1
    assert "segments" in answer("search", "Heron", "--set", "segments.max_length=1")


@pytest.mark.slow
@pytest.mark.parametrize(
    "restriction", [["--where", "language=zh"], ["--sql", "SELECT document_id FROM documents WHERE language = 'zh'"]]
)
def test_a_restriction_holds_for_search_ask_report_and_evaluate(here, restriction):
    found = answer("search", "Heron 海鹭", *restriction)
    told = answer("ask", "海鹭浮标由谁制造？", *restriction)
    page = answer("report", *restriction)
    scored = answer("evaluate", "questions.jsonl", *restriction)
    answered = answer("evaluate", "questions.jsonl", "--answers", "fast", *restriction)

    assert {hit["document_id"] for hit in found["hits"]} == {"海鹭.md"}
    assert {each["document_id"] for each in told["citations"]} <= {"海鹭.md"}
    assert 0 < page["counts"]["events"] < answer("report")["counts"]["events"]
    for each in (*scored["per_question"], *answered["per_question"]):
        assert set(each["documents"]) <= {"海鹭.md"}


def test_values_of_where_are_json_unless_the_field_holds_text(here):
    later = answer("search", "Heron", "--where", "date__gte=2021")
    some = answer("search", "Heron", "--where", 'document_id__in=["quill.md"]')
    long = answer("search", "Heron", "--where", "char_count__gte=100000")

    assert "heron.md" in {hit["document_id"] for hit in later["hits"]}
    assert {hit["document_id"] for hit in some["hits"]} == {"quill.md"}
    assert not long["hits"]


def test_the_options_of_an_asking_and_of_its_searches_reach_it(here):
    few = answer("ask", "Who built the Heron buoy?", "--set", "sentences=1", "--set", "search.hops=2")
    more = answer("ask", "Who built the Heron buoy?", "--method", "bm25", "--set", "top_k=5")

    assert len(few["citations"]) <= 1
    assert more["answer"] or more["text"]


def test_answers_are_scored_with_the_method_and_options_of_the_call(here):
    one = answer("evaluate", "questions.jsonl", "--answers", "fast", "--method", "bm25", "--set", "top_k=1")
    all_of_them = answer("evaluate", "questions.jsonl", "--answers", "fast")

    few, all_found = (max(len(each["documents"]) for each in found["per_question"]) for found in (one, all_of_them))
    assert few < all_found
    assert "method 'bm25' has no options" in refused(
        "evaluate", "questions.jsonl", "--answers", "fast", "--method", "bm25", "--set", "search.hops=2"
    )


def test_a_method_is_measured_against_itself_with_other_options(here):
    found = answer("evaluate", "questions.jsonl", "--set", "hops=3", "--against", "sag", "--explain")

    assert found["method"] == found["against"]["method"] == "sag"


def test_the_options_of_a_report_reach_it(here):
    by_person = answer("report", "--set", "cluster.method=key-type", "--set", "cluster.key_types=person")
    without = answer("report", "--set", "cluster.without_key_types=title,person,date,organisation", "--title", "T")

    assert by_person["counts"] != without["counts"] or by_person["page"] != without["page"]
    assert Path(without["page"]).read_text(encoding="utf-8").count("<title>T") == 1


@pytest.mark.slow
def test_the_options_of_an_ingest_reach_its_tables(here, home):
    before = open_release().table("keys").set_index("key_id")["idf"]
    given = ["idf_smoothing=add-one", "header=full", "zh_size=40"]

    answer("ingest", "docs", *(part for pair in given for part in ("--set", pair)))
    after = open_release()
    headers = set(after.table("chunks")["header"])

    assert (after.table("keys").set_index("key_id")["idf"].reindex(before.index) <= before).all()
    assert any("Lumen Optics" in header for header in headers)
    assert any(header.startswith("Document context") for header in headers)
    assert answer("ingest", "docs")["release"] == open_release().release_id


@pytest.mark.slow
def test_an_ingest_with_unchanged_options_makes_nothing_anew(here):
    again = answer("ingest", "docs", "--set", "en_size=400", "--set", "header=titles")

    assert not again["is_new"]
    assert all(step.get("new", 0) == step.get("changed", 0) == 0 for step in again["steps"].values())


@pytest.mark.parametrize("option", options_of(RunOptions), ids=lambda option: option.name)
def test_the_dagster_resource_has_every_option_of_an_ingest(option, monkeypatch):
    monkeypatch.setitem(RECOGNISERS.own, "5", NamedFunction("5", lambda text, language: []))
    usual = build_options(RunOptions, None, what="ingest")
    changed = _changed(option)
    config = run_config(changed)
    resource = PipelineResource(**config)

    assert resource.run_options() == changed != usual
    of_groups = {group for option in options_of(RunOptions) for group in option.path[:-1]} | {"header_parts"}
    assert set(given_options(PipelineResource(), config)) >= set(config) - of_groups


def _changed(option: Any) -> RunOptions:
    """The options with another value of this one."""
    for value in (
        "5",
        "600000000",
        "0.5",
        "0.25",
        "true",
        "false",
        "full",
        "never",
        "add-one",
        "1/2",
        "keys",
        "all",
        "louvain",
        "lexrank",
        "low",
        "text",
        "7",
    ):
        try:
            found = build_options(RunOptions, {option.name: value}, what="ingest")
        except SagError:
            continue
        if found != RunOptions():
            return found
    raise AssertionError(option.name)
