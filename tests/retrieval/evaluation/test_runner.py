"""A run over questions gives the measures of the contract, and says clearly what is wrong with a file."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import QueryError, SourceError
from sag_retrieval.evaluation.metrics import evidence_coverage, has_all_at, recall_at
from sag_retrieval.evaluation.questions import Question, read_questions
from sag_retrieval.evaluation.runner import bootstrap, compare, evaluate, paired_difference
from tests.support.overlap_search import FoundList, OverlapSearch

CHUNKS = [
    ("paris.md", "Paris", "The Eiffel Tower stands in Paris."),
    ("london.md", "London", "Big Ben stands in London."),
    ("苹果.md", "苹果公司", "乔布斯在1976年创建苹果公司。"),
]
QUESTIONS = [
    Question(id="1", question="Where is the Eiffel Tower?", gold_documents=("paris.md",)),
    Question(id="2", question="Big Ben or Eiffel?", gold_documents=("paris.md", "london.md")),
    Question(
        id="3",
        question="谁创建了苹果公司？",
        gold_documents=("苹果.md",),
        evidence=("乔布斯在1976年创建苹果公司",),
    ),
    Question(id="4", question="What is not there?"),
]


def _ticking():
    ticks = itertools.count()
    return lambda: next(ticks) * 0.5


def test_the_json_is_that_of_the_contract():
    evaluation = evaluate(OverlapSearch(CHUNKS), QUESTIONS, ks=(1, 2), method="overlap", clock=_ticking())

    told = json.loads(json.dumps(evaluation.to_dict()))

    assert told["method"] == "overlap"
    assert (told["questions"], told["questions_with_gold"]) == (4, 3)
    assert told["recall"] == {"1": pytest.approx(2.5 / 3), "2": 1.0}
    assert told["all_gold"] == {"1": pytest.approx(2 / 3), "2": 1.0}
    assert told["seconds_per_query"] == {"p50": 0.5, "p95": 0.5}
    assert told["evidence"] == 1.0
    assert [line["id"] for line in told["per_question"]] == ["1", "2", "3", "4"]
    assert told["per_question"][3]["recall"] == {}
    low, high = told["intervals"]["recall"]["1"]
    assert low <= told["recall"]["1"] <= high


def test_many_chunks_of_one_document_do_not_hide_the_others():
    crowd = [("long.md", "Tower", f"tower tower number {n}") for n in range(300)]
    search = OverlapSearch([*crowd, ("gold.md", "", "a tower beside other words")])

    evaluation = evaluate(search, [Question(id="1", question="tower number", gold_documents=("gold.md",))], ks=(2,))

    assert evaluation.recall(2).mean == 1


def test_recall_by_passage_counts_the_evidence_that_the_first_passages_hold():
    crowd = [("a.md", "Tower", f"tower tower number {n}") for n in range(3)]
    chunks = [*crowd, ("a.md", "", "the tower has a number: 7"), ("b.md", "", "no tower here")]
    evidence = ({"document": "a.md", "text": "number: 7"}, {"document": "b.md", "text": "no tower"})
    question = Question(id="1", question="tower number", gold_documents=("a.md",), evidence=evidence)

    evaluation = evaluate(OverlapSearch(chunks), [question, QUESTIONS[3]], ks=(1, 4, 5))

    assert evaluation.recall(1).mean == 1
    assert [evaluation.recall(k, "passage").mean for k in (1, 4, 5)] == [0, 0.5, 1]
    assert evaluation.to_dict()["passage_recall"] == {"1": 0, "4": 0.5, "5": 1}
    assert "passage_recall" not in evaluation.to_dict()["per_question"][1]


def test_a_place_is_held_by_every_passage_that_shares_a_character_with_it():
    search = OverlapSearch([("a.md", "", "tower one"), ("a.md", "", "tower two"), ("b.md", "", "tower three")])
    evidence = ({"document": "a.md", "start": 108, "end": 120},)  # the second chunk stands at 100 to 109

    found = evaluate(search, [Question(question="tower two", evidence=evidence)], ks=(1, 2))

    assert found.recall(1, "passage").mean == 1
    assert compare(found, found, "passage")[2].mean == 0


def test_stages_that_count_gold_documents_are_measured():
    def explained(question):
        stages = [{"stage": "keys", "chunks": 9, "gold_documents": 1}, {"stage": "hits", "chunks": 1}]
        return FoundList(question.question, (), trace={"stages": stages})

    evaluation = evaluate(OverlapSearch(CHUNKS), QUESTIONS[:2], ks=(2,), explained=explained)

    assert evaluation.stages() == {"keys": 0.75}
    assert evaluation.to_dict()["per_question"][1]["stages"] == {"keys": 0.5}


def test_two_methods_are_compared_question_by_question():
    good = evaluate(OverlapSearch(CHUNKS), QUESTIONS, ks=(1, 2))
    poor = evaluate(OverlapSearch(CHUNKS[1:]), QUESTIONS, ks=(1, 2))

    difference = compare(good, poor)

    assert difference[2].mean == pytest.approx(1.5 / 3)
    assert difference[2].low <= difference[2].mean <= difference[2].high
    with pytest.raises(QueryError, match="one side only"):
        compare(good, evaluate(OverlapSearch(CHUNKS), QUESTIONS[:1]))


@pytest.mark.parametrize(("questions", "ks"), [([], (2,)), (QUESTIONS, ()), (QUESTIONS, (0, 2))])
def test_nothing_to_evaluate_is_refused(questions, ks):
    with pytest.raises(QueryError):
        evaluate(OverlapSearch(CHUNKS), questions, ks=ks)


def test_questions_are_read_with_their_optional_fields(tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text(
        '\ufeff{"question": "谁？", "answers": ["乔布斯"], "gold_documents": ["苹果.md"]}\n\n'
        '{"id": 7, "question": "Who\u2028 else?", "note": 1}\n',
        encoding="utf-8",
    )

    first, second = read_questions(file)

    assert (first.id, first.answers, first.gold_documents) == ("1", ("乔布斯",), ("苹果.md",))
    assert (second.id, second.question, second.answers) == ("7", "Who\u2028 else?", ())


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (['{"question": "a"'], "line 1: not JSON"),
        (['{"question": "a"}', "[1]"], "line 2: expected a JSON object, got list"),
        (['{"id": "x"}'], "line 1: question: Field required"),
        (['{"question": " "}'], "line 1: question: the question is blank"),
        (['{"question": "a", "answers": "b"}'], "line 1: answers: "),
        (
            ['{"id": "x", "question": "a"}', '{"id": "x", "question": "b"}'],
            "line 2: id 'x' is that of line 1",
        ),
        ([""], "holds no question"),
        (["{"] * 12, "and 2 more"),
    ],
)
def test_every_faulty_line_is_named(tmp_path, lines, fault):
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")

    with pytest.raises(SourceError) as refused:
        read_questions(file)

    assert fault in str(refused.value)


def test_a_missing_file_of_questions_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"nowhere\.jsonl"):
        read_questions(tmp_path / "nowhere.jsonl")


def test_recall_counts_each_document_once():
    ranked = ["a", "a", "b", "c"]

    assert recall_at(ranked, ["b", "z"], 2) == 0.5
    assert has_all_at(ranked, ["a", "b"], 2) == 1
    with pytest.raises(ValueError, match="gold"):
        recall_at(ranked, [], 2)


@given(st.lists(st.sampled_from("abcdef"), max_size=9), st.sets(st.sampled_from("abcdef"), min_size=1))
def test_recall_never_falls_with_k_and_all_gold_is_full_recall(ranked, gold):
    shares = [recall_at(ranked, gold, k) for k in range(1, 8)]

    assert shares == sorted(shares)
    assert [has_all_at(ranked, gold, k) for k in range(1, 8)] == [float(s == 1) for s in shares]


def test_evidence_counts_only_when_all_of_it_was_returned():
    texts = ["Jobs founded Apple, in 1976.", "苹果 公司很大。"]

    assert evidence_coverage(texts, ["jobs founded Apple in 1976"], 3000) == 1
    assert evidence_coverage(texts, ["苹果公司很大", "founded Apple in 1977"], 3000) == 0.5
    assert evidence_coverage(texts, ["Jobs founded Apple in 1976"], 10) == 0
    assert evidence_coverage(texts, ["。", ""], 3000) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_an_interval_is_the_same_twice_and_stays_within_the_values(values):
    first, second = bootstrap(values), bootstrap(values)

    assert first == second
    assert min(values) - 1e-9 <= first.low <= first.high <= max(values) + 1e-9


def test_a_difference_of_a_method_with_itself_is_nothing():
    same = {"1": 0.3, "2": 0.9}

    assert paired_difference(same, same) == bootstrap([0.0, 0.0])
    assert (found := paired_difference(same, same)).low <= 0 <= found.high
    assert bootstrap([]).mean == 0


def test_a_table_row_counts_when_every_cell_is_returned():
    texts = ["| Acme | pump | 93 |"]

    assert evidence_coverage(texts, [("Acme", "93")], 100) == 1
    assert evidence_coverage(texts, [("Acme", "94")], 100) == 0
