"""A pipeline's file is checked whole before anything runs, and a fault is named with its line."""

from dataclasses import fields
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import QueryError, SettingsError
from sag_retrieval.core.options import describe_options
from sag_retrieval.pipelines import (
    FINDS,
    MAIN_OPTION,
    MEASURES,
    STAGES,
    PipelineStages,
    Resources,
    bind_pipeline,
    load_pipeline,
)
from sag_retrieval.rag import MethodRetriever, SegmentReranker
from sag_retrieval.search.segments import PRESETS
from tests.support.overlap_search import OverlapSearch

CHUNKS = [
    ("a.md", "Tower", "The tower stands in Paris. It was finished in 1889."),
    ("苹果.md", "苹果公司", "苹果公司由乔布斯在1976年创建。公司总部在加州。"),
]


def read(folder, text):
    (folder / "pipeline.yaml").write_text(text, encoding="utf-8")
    return load_pipeline(folder / "pipeline.yaml")


def fault(folder, text) -> str:
    with pytest.raises(SettingsError) as error:
        read(folder, text)
    return str(error.value).removeprefix(str(folder / "pipeline.yaml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stages:\n- retreive\n", " line 2: there is no stage 'retreive'; did you mean 'retrieve'?"),
        (
            "stages:\n- retrieve\n- rerank-model\n",
            " line 3: there is no stage 'rerank-model'; did you mean 'rerank_model'",
        ),
        (
            "stages:\n- retrieve: {topk: 3}\n",
            " line 2: pipeline has no option 'retrieve.topk', the nearest is 'retrieve.top_k'",
        ),
        ("stages:\n- retrieve:\n    top_k: 0\n", " line 2: retrieve.top_k=0 must be a whole number, 1 to 1000"),
        ("stages:\n- retrieve: {top_k: many}\n", " line 2: retrieve.top_k='many' must be a whole number"),
        ("stages:\n- retrieve: hybird\n", " line 2: method 'hybird' is none of"),
        (
            "stages:\n- retrieve: {options: {hps: 2}}\n",
            " line 2: method 'sag' has no option 'hps', the nearest is 'hops'",
        ),
        ("stages:\n- ask: {options: {round: 2}}\n", " line 2: ask has no option 'round', the nearest is 'rounds'"),
        (
            "stages:\n- retrieve\n- segments: precise\n",
            " line 3: segments.options='precise' must be one of balanced, precision",
        ),
        ("stages:\n- retrieve\n- evaluate: [recal]\n", " line 3: measures: 'recal' is none of"),
        (
            "stages:\n- retrieve\n- prompt: {language: fr}\n",
            " line 3: prompt.language='fr' must be one of auto, zh, en",
        ),
        ("stages:\n- retrieve: {searcher: x}\n", " line 2: pipeline has no option 'retrieve.searcher'"),
        ("stages:\n- generate\n", " line 2: `generate` has no documents to read; begin with `- retrieve` or `- ask`"),
        ("stages: []\n", " line 1: a pipeline is `stages:` with a list of 1 to 100 stages"),
        ("stages: retrieve\n", " line 1: a pipeline is `stages:` with a list"),
        ("", " line 1: a pipeline is `stages:` with a list"),
        ("- retrieve\n", " line 1: a pipeline is `stages:` with a list"),
        ("stages: [retrieve]\nstage: [prompt]\n", " line 2: 'stage' is unknown here; a pipeline has `stages` alone"),
        ("stages: [retrieve]\nstages: [prompt]\n", " line 2: 'stages' is given twice"),
        ("stages:\n- retrieve: {top_k: 1, top_k: 2}\n", " line 2: 'top_k' is given twice"),
        (
            "stages:\n- {retrieve: 1, prompt: 2}\n",
            " line 2: a stage is a name, such as `- prompt`, or one name with options",
        ),
        ("stages:\n- [retrieve]\n", " line 2: a stage is a name"),
        ("stages:\n- {[a]: 1}\n", " line 2: a name must be text"),
        ("stages:\n- retrieve: {\n", " line 3: not YAML: "),
        ("stages:\n- retrieve: &a {top_k: 1}\n- ask: *a\n", " line 3: not YAML: aliases (*name) cannot be used here"),
        ("stages:\n- retrieve: !!python/object/apply:os.system [x]\n", " line 2: "),
        ("stages:\n- retrieve: {where: {a: !!python/name:os.system ''}}\n", " line 2: "),
        ("stages:\n- retrieve: {top_k: !!int x}\n", " line 2: 'x' cannot be read"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, text, said):
    assert fault(tmp_path, text).startswith(said)


def test_a_file_that_is_missing_too_long_or_no_text_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load_pipeline(tmp_path / "none.yaml")
    assert "is longer than 100,000 bytes" in fault(tmp_path, "stages: [retrieve]\n" + "#" * 100_000)
    assert "line 1: nested more than 20 levels deep" in fault(tmp_path, "stages: " + "[" * 30_000 + "]" * 30_000)
    (tmp_path / "pipeline.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_pipeline(tmp_path / "pipeline.yaml")


@given(text=st.text(st.sampled_from("stages: -retriv[]{}&*!#|>'\"\n\t,?%@`\x00é中"), max_size=60))
def test_any_text_is_a_pipeline_or_a_sentence(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8")

    try:
        said = load_pipeline(path).entries
    except SettingsError as error:
        said = str(error)

    assert said


def test_every_stage_can_be_named_and_takes_a_single_value_for_its_main_option(tmp_path):
    assert tuple(MAIN_OPTION) == STAGES
    for name in STAGES:
        assert hasattr(getattr(PipelineStages.bound(), name), MAIN_OPTION[name])
        first = "" if name in FINDS else "- retrieve\n"
        assert read(tmp_path, f"stages:\n{first}- {name}\n").entries[-1].name == name


def test_every_option_of_every_stage_is_listed_with_its_meaning_and_accepts_its_default(tmp_path):
    rows = describe_options(PipelineStages.bound())
    listed = {row["name"] for row in rows}

    assert {name.partition(".")[0] for name in listed} == {each.name for each in fields(PipelineStages)}
    assert [row["name"] for row in rows if not row["meaning"]] == []
    assert not {name for name in listed if name.endswith((".clock", ".searcher", ".chat", ".source", ".promptor"))}


def test_options_of_a_file_reach_the_stages(tmp_path):
    text = (
        "stages:\n- retrieve: {method: bm25, top_k: 7, keys: [a, 苹果], where: {date__gte: 2020-01-01, language: zh}}\n"
        "- segments: {options: precision, max_length: 4}\n"
    )

    retrieve, segments = bind_pipeline(read(tmp_path, text), Resources()).stages

    assert isinstance(retrieve, MethodRetriever)
    assert (retrieve.method, retrieve.top_k, retrieve.keys) == ("bm25", 7, ("a", "苹果"))
    assert retrieve.where == {"date__gte": "2020-01-01", "language": "zh"}
    assert isinstance(segments, SegmentReranker)
    assert segments.options.max_length == 4
    assert segments.options.minimum_value == PRESETS["precision"].minimum_value


def test_measures_are_those_that_the_file_names(tmp_path):
    assert read(tmp_path, "stages: [retrieve, {evaluate: [f1, recall]}]").measures == ("f1", "recall")
    assert read(tmp_path, "stages: [retrieve]").measures == MEASURES


def test_a_pipeline_without_a_release_says_how_to_run_it(tmp_path):
    with pytest.raises(QueryError, match=r"run it with `release.run"):
        bind_pipeline(read(tmp_path, "stages: [retrieve]"), Resources()).run({"query": "q"})


@pytest.mark.parametrize(
    ("query", "says"), [("When was the tower finished?", "1889"), ("谁创建了苹果公司？", "乔布斯")]
)
def test_a_bound_pipeline_answers_and_keeps_every_stage(tmp_path, query, says):
    text = "stages: [retrieve: {top_k: 1}, retrieve: {top_k: 2}, rerank, rerank_model, segments, refine, generate]"
    places = {document: body for document, _, body in CHUNKS}
    resources = Resources(
        searcher=lambda method, **_: OverlapSearch(CHUNKS),
        document=lambda name: SimpleNamespace(text=places[name], spans=[(0, len(places[name]))], sections=()),
    )

    record = bind_pipeline(read(tmp_path, text), resources).run({"query": query})

    assert says in record["generated"]
    assert record["refining_docs"][0] in record["prompt"]
    assert [step["stage"] for step in record["sag_steps"]] == [
        *["retrieval"] * 2,
        *["reranking"] * 3,
        "refining",
        "generation",
    ]
