"""Whatever plan a model writes, what is worked off is a graph without cycles, gaps or doubles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sag_retrieval.ask.question import split_question

from sag_retrieval.ask.plan import LONGEST_QUESTION, DraftPlan, Edge, NamedKey, Node, check_plan, fill, marks

QUESTION = "Who was the first president of the publisher of X?"


def _draft(*nodes, edges=()):
    return DraftPlan(
        nodes=[Node(id=node_id, question=question) for node_id, question in nodes],
        edges=[Edge(source=source, target=target) for source, target in edges],
    )


def _checked(draft, limit=8, known=()):
    return check_plan(draft, question=QUESTION, limit=limit, known=known)


def test_a_sound_plan_stays_as_it_is():
    plan = _checked(_draft(("q1", "Publisher of X?"), ("q2", "President of #q1?"), edges=[("q1", "q2")]))

    assert [(s.node_id, s.question, s.needs) for s in plan.steps] == [
        ("q1", "Publisher of X?", ()),
        ("q2", "President of #q1?", ("q1",)),
    ]
    assert plan.notes == ()


def test_steps_come_after_what_they_need_whatever_the_order_of_nodes():
    plan = _checked(_draft(("q2", "b?"), ("q3", "c?"), ("q1", "a?"), edges=[("q1", "q2"), ("q2", "q3")]))

    assert [s.node_id for s in plan.steps] == ["q1", "q2", "q3"]


def test_a_mark_in_a_question_is_an_edge_and_a_bare_number_means_its_id():
    plan = _checked(_draft(("q1", "Publisher of X?"), ("q2", "President of #1 in {q1}?")))

    assert plan.steps[1].needs == ("q1",)
    assert plan.steps[1].question == "President of #q1 in #q1?"


@pytest.mark.parametrize(
    ("edges", "needs", "note"),
    [
        ([("q1", "q2"), ("q2", "q1")], {"q1": (), "q2": ("q1",)}, "edge q2 → q1 left out: it closes a cycle"),
        ([("q1", "q1")], {"q1": (), "q2": ()}, "it points to itself"),
        ([("q9", "q1")], {"q1": (), "q2": ()}, "edge q9 → q1 left out: an end is unknown"),
        ([("q1", "q7")], {"q1": (), "q2": ()}, "an end is unknown"),
        ([("q1", "q2"), ("q1", "q2")], {"q1": (), "q2": ("q1",)}, ""),
    ],
)
def test_edges_that_cannot_be_are_left_out_and_said(edges, needs, note):
    plan = _checked(_draft(("q1", "a?"), ("q2", "b?"), edges=edges))

    assert {s.node_id: s.needs for s in plan.steps} == needs
    assert note in "; ".join(plan.notes)


def test_forty_nodes_become_the_first_that_can_be_worked_off():
    chain = [(f"q{n}", f"question {n}?") for n in range(40)]
    edges = [(f"q{n}", f"q{n + 1}") for n in range(39)]

    plan = _checked(_draft(*reversed(chain), edges=edges), limit=8)

    assert [s.node_id for s in plan.steps] == [f"q{n}" for n in range(8)]
    assert "40 nodes, over the limit of 8" in plan.notes[0]


@pytest.mark.parametrize("nodes", [[], [("q1", " ")], [("", ""), ("q2", "")]])
def test_no_usable_node_means_the_whole_question_as_one_step(nodes):
    plan = _checked(_draft(*nodes))

    assert [s.question for s in plan.steps] == [QUESTION]
    assert "no usable node" in plan.notes[-1]


def test_a_taken_id_gets_another_one_and_the_same_node_twice_is_one():
    plan = _checked(_draft(("q1", "a?"), ("q1", "b?"), ("q1", "a?"), ("", "c?")))

    assert sorted(s.question for s in plan.steps) == ["a?", "b?", "c?"]
    assert len({s.node_id for s in plan.steps}) == 3
    assert any("id q1 is taken" in note for note in plan.notes)


def test_a_further_plan_may_need_known_answers_and_does_not_take_their_ids():
    draft = _draft(("q2", "President of #q1?"), ("q3", "Born where, #q2?"), edges=[("q1", "q2")])

    plan = _checked(draft, known=["q1", "q2"])

    first, second = plan.steps
    assert first.node_id not in {"q1", "q2"}
    assert first.needs == ("q1",)
    assert second.needs == (first.node_id,)
    assert second.question == f"Born where, #{first.node_id}?"


def test_keys_may_be_plain_texts_and_marks_are_no_keys():
    draft = DraftPlan.model_validate(
        {"nodes": [{"id": 1, "question": "a?", "keys": ["X", {"type": "person", "value": "Y"}, "#q1", " "]}]}
    )

    (step,) = _checked(draft).steps

    assert step.keys == ("X", "Y")
    assert draft.nodes[0].keys[0] == NamedKey(value="X")


def test_a_model_cannot_send_more_into_a_search_than_its_bounds():
    keys = [{"type": "", "value": value} for value in ["k" * 500, *map(str, range(100))]]
    draft = DraftPlan.model_validate({"nodes": [{"id": "q1", "question": "x" * 50_000, "keys": keys}]})

    (step,) = _checked(draft).steps

    assert len(step.question) == LONGEST_QUESTION
    assert step.keys == tuple(map(str, range(12)))


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("President of #q1?", ["q1"]),
        ("#1 and #2, then #1", ["1", "2"]),
        ("由＃q1创建的 {q2}？", ["q1", "q2"]),
        ("C# is a language, #hash too", []),
    ],
)
def test_marks_are_ids_and_nothing_else(question, found):
    assert marks(question) == found


def test_filling_takes_values_as_they_are():
    assert fill("Was #q1 before #q2?", {"q1": "#q2 \\1", "q2": "B"}) == "Was #q2 \\1 before B?"
    assert fill("#q1成立于哪一年？", {"q1": "苹果公司"}) == "苹果公司成立于哪一年？"
    assert fill("#Q1?", {"q1": "x"}) == "x?"


IDS = st.sampled_from(["q1", "q2", "q3", "1", "#q2", "", "q9", "全部"])
TEXTS = st.sampled_from(["a?", "b of #q1?", "c of #q2 and #3?", "", "问 {q2}？"])


@given(
    st.lists(st.tuples(IDS, TEXTS), max_size=12),
    st.lists(st.tuples(IDS, IDS), max_size=12),
    st.integers(1, 6),
    st.sets(st.sampled_from(["q1", "q5"])),
)
def test_any_plan_becomes_one_that_can_be_worked_off(nodes, edges, limit, known):
    plan = _checked(_draft(*nodes, edges=edges), limit=limit, known=known)

    done = set(known)
    assert 1 <= len(plan.steps) <= limit
    for step in plan.steps:
        assert step.node_id not in done
        assert set(step.needs) <= done
        assert step.question
        done.add(step.node_id)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who wrote Emma?", ["Who wrote Emma?"]),
        ("Who wrote Emma and when was Emma published?", ["Who wrote Emma", "when was Emma published?"]),
        ("Which towers of Paris and Rome are old?", ["Which towers of Paris and Rome are old?"]),
        ("谁创建了苹果公司，苹果公司总部在哪里？", ["谁创建了苹果公司", "苹果公司总部在哪里？"]),
        ("1976年，谁创建了苹果公司？", ["1976年，谁创建了苹果公司？"]),
        ("谁创建了苹果公司，他毕业于哪里？", ["谁创建了苹果公司，他毕业于哪里？"]),
        ("Who wrote Emma and when did she die?", ["Who wrote Emma and when did she die?"]),
        ("Who wrote Emma? When did Jane Austen die?", ["Who wrote Emma?", "When did Jane Austen die?"]),
    ],
)
def test_without_a_model_a_question_divides_only_where_each_part_asks(question, parts):
    assert [step.question for step in split_question(question, 8).steps] == parts
