"""`--pipeline FILE` answers and is measured from the command line as from Python."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from sag_retrieval import RecordError, open_release
from sag_retrieval.cli.main import main
from sag_retrieval.evaluation.questions import Question
from sag_retrieval.pipelines import evaluate_pipeline
from tests.support.bare_ingest import bare_ingest

FILES = {
    "heron.md": "# Heron\n\nLumen Optics built the Heron buoy in 2021. Mara Voss founded Lumen Optics in Ansel.\n",
    "quill.md": "# Quill\n\nQuill Instruments makes the sensors of the Heron buoy. Mara Voss left it in 2009.\n",
    "海鹭.md": "# 海鹭浮标\n\n海鹭浮标由光澜公司制造。2021年5月4日起，安塞海警使用这种浮标。\n",
}
QUESTIONS = [
    {"id": "1", "question": "Who built the Heron buoy?", "gold_documents": ["heron.md"], "answers": ["Lumen Optics"]},
    {"id": "2", "question": "海鹭浮标由谁制造？", "gold_documents": ["海鹭.md"], "answers": ["光澜公司"]},
    {"id": "3", "question": "Who founded Lumen Optics?", "gold_documents": ["heron.md"]},
]
PIPELINE = """stages:
  - retrieve: {method: bm25, top_k: 2}
  - retrieve: {method: sag, top_k: 3, found_keys: 2}
  - rerank
  - segments
  - refine: 200
  - generate
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "docs").mkdir()
    for name, text in FILES.items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        bare_ingest(["docs"])
    return folder


@pytest.fixture
def here(made, home, tmp_path) -> Path:
    shutil.copytree(made / "home", tmp_path / "home")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def answer(*arguments):
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "says"), [("Who built the Heron buoy?", "Lumen Optics"), ("海鹭浮标由谁制造？", "光澜公司")]
)
def test_asking_by_a_file_prints_the_answer_and_as_json_the_record(here, query, says):
    printed = call("ask", query, "--pipeline", "pipeline.yaml")
    record = answer("ask", query, "--pipeline", "pipeline.yaml")

    assert says in printed.stdout
    assert says in record["generated"]
    with open_release() as release:
        again = release.run("pipeline.yaml", query)
    times = {name for name in record if name.endswith("_time")} | {"sag_steps"}
    assert {n: v for n, v in json.loads(json.dumps(again)).items() if n not in times} == {
        n: v for n, v in record.items() if n not in times
    }


def test_segments_of_a_pipeline_are_spans_of_the_document(here):
    with open_release() as release:
        record = release.run("pipeline.yaml", "Who built the Heron buoy?")
        for item in record["reranking_results"]:
            place = item["metadata"]
            document = release.document(place["document_id"])
            assert item["text"] == document.text[place["start"] : place["end"]]
            assert document.spans[place["chunk_start"]][0] == place["start"]


def test_a_document_names_span_and_section_of_each_chunk(here):
    with open_release() as release:
        document = release.document("heron.md")
        chunks = [release.chunk(chunk) for chunk in document.chunk_ids]

    assert [document.text[start:end] for start, end in document.spans] == [chunk.text for chunk in chunks]
    assert len(document.sections) == len(document.spans)
    assert document.to_arrow()["spans"].to_pylist() == [[list(span) for span in document.spans]]


def test_measures_of_a_pipeline_are_printed_and_equal_those_of_python(here):
    told = answer("evaluate", "questions.jsonl", "--pipeline", "pipeline.yaml", "--k", "1")
    printed = call("evaluate", "questions.jsonl", "--pipeline", "pipeline.yaml", "--k", "1").stdout

    with open_release() as release:
        asked = [Question.model_validate(question) for question in QUESTIONS]
        found = evaluate_pipeline(lambda record: release.run("pipeline.yaml", record), asked, ks=[1])
    names = [name for name in found.names if "time" not in name and name not in ("total", "refining_plus_generation")]
    assert {"recall@1", "exact_match", "f1", "rouge_l", "retrieval_recall", "token_count", "doc_ratio"} <= {*names}
    assert {name: told[name] for name in names} == {name: found.score(name).mean for name in names}
    assert all(name in printed for name in names)
    assert told["counts"]["f1"] == 2
    assert told["counts"]["recall@1"] == told["questions"] == 3
    assert told["accuracy"] == 1.0
    assert found.to_arrow()["f1"].to_pylist()[2] is None


def test_a_measure_is_left_out_where_the_record_has_nothing_to_measure(here):
    (here / "pipeline.yaml").write_text("stages: [retrieve]", encoding="utf-8")

    told = answer("evaluate", "questions.jsonl", "--pipeline", "pipeline.yaml")

    assert "f1" not in told
    assert "compression_rate" not in told
    assert told["recall@2"] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask", "q", "--mode", "deep"], "write --mode into it, or leave it out"),
        (["ask", "q", "--where", "language=en", "--set", "top_k=2"], "write --set, --where into it"),
        (["evaluate", "questions.jsonl", "--against", "bm25"], "write --against into it"),
    ],
)
def test_options_beside_a_pipeline_are_refused(here, arguments, said):
    result = call(*arguments, "--pipeline", "pipeline.yaml")

    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("arguments", [["ask", "q"], ["evaluate", "questions.jsonl"]])
def test_a_bad_file_ends_in_one_line(here, arguments):
    (here / "pipeline.yaml").write_text("stages:\n- retrieve\n- rernk\n", encoding="utf-8")

    result = call(*arguments, "--pipeline", "pipeline.yaml")

    assert result.exit_code == 2
    assert result.stderr == (
        "Error: pipeline.yaml line 3: there is no stage 'rernk'; did you mean 'rerank'?; "
        "`sag settings --options pipeline` lists stages and options\n"
    )


def test_a_record_with_old_names_is_read_and_not_changed(here):
    (here / "pipeline.yaml").write_text("stages: [retrieve]", encoding="utf-8")
    old = {"query": "Who built the Heron buoy?", "golds": ["Lumen Optics"]}

    with open_release() as release:
        record = release.run("pipeline.yaml", old)
        with pytest.raises(RecordError, match="tuple form"):
            release.run("pipeline.yaml", ("q", []))

    assert record["references"] == ["Lumen Optics"]
    assert old == {"query": "Who built the Heron buoy?", "golds": ["Lumen Optics"]}
