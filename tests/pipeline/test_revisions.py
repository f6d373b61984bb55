from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.claims import LOOKED_FOR, Claim, silences, unsure_from
from sag_pipeline.extract.compared import STATEMENTS, changed
from sag_pipeline.extract.revisions import find_revisions, statement_rows
from sag_retrieval.language.spans import revising
from sag_retrieval.language.words import is_cjk


def said(content: str, day: str = "", title: str = "Notes", names: Sequence[str] = (), **more) -> Claim:
    place = f"{title} {day} {content}"
    language = "zh" if is_cjk(content) else "en"
    known = {name: name for name in names}
    return Claim(f"e{place}", f"{place}.md", f"c{place}", content, title, day, language, known, **more)


def found(*statements: Claim) -> list[tuple[str, str, str]]:
    return [(one.kind, one.earlier_value, one.later_value) for one in find_revisions(statements)]


MAY, JUNE, JULY = "2025-05-20", "2025-06-03", "2025-07-01"
ORIN, KIEL = ("Orin Pumps",), ("Kiel",)


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        (
            said("The market share of Orin Pumps is 31 %.", MAY, names=ORIN),
            said("The market share of Orin Pumps is 27 %.", JUNE, "Final report", ORIN),
            ("updates", "31 %", "27 %"),
        ),
        (
            said("The market share of Orin Pumps is 31 %.", MAY, names=ORIN),
            said("The market share of Orin Pumps is 27 %, not 31 %.", JUNE, "Mail", ORIN),
            ("corrects", "31 %", "27 %"),
        ),
        (
            said("The market share of Orin Pumps is 31 %.", MAY, "Report v1", ORIN),
            said("The market share of Orin Pumps is 27 %.", JUNE, "Report v2", ORIN),
            ("replaces", "31 %", "27 %"),
        ),
        (
            said("奥林泵业的市场份额为31%。", MAY),
            said("更正：奥林泵业的市场份额为27%，而非31%。", JUNE, "邮件"),
            ("corrects", "31%", "27%"),
        ),
        (
            said("新厂房的启用日期为2025年8月12日。", MAY),
            said("新厂房的启用日期由2025年8月12日调整为2025年9月19日。", JUNE, "邮件"),
            ("updates", "2025年8月12日", "2025年9月19日"),
        ),
        (
            said("The new hall in Kiel opens on 12 August 2025.", MAY, names=KIEL),
            said("The new hall in Kiel opens on 19 September 2025.", JUNE, "Mail", KIEL),
            ("updates", "12 August 2025", "19 September 2025"),
        ),
        (
            said("Entry to the bath of Norden costs 6 euros.", names=("Norden",)),
            said("Entry to the bath of Norden costs 7 euros.", title="Leaflet", names=("Norden",)),
            ("contradicts", "7 euros", "6 euros"),
        ),
        (
            said(
                "The manager of the Kiel plant is Anna Berg.", MAY, names=("Kiel", "Anna Berg"), persons={"Anna Berg"}
            ),
            said("The manager of the Kiel plant is Tom Lee.", JUNE, "List", ("Kiel", "Tom Lee"), persons={"Tom Lee"}),
            ("updates", "Anna Berg", "Tom Lee"),
        ),
        (
            said("石桥厂的经理是张伟。", MAY),
            said("石桥厂的经理由张伟换为李娜。", JUNE, "邮件"),
            ("updates", "张伟", "李娜"),
        ),
        (
            said("The valves for Kiel are kept in the north yard.", MAY, names=KIEL),
            said("The valves for Kiel have moved from the north yard to the quay store.", JUNE, "Mail", KIEL),
            ("updates", "the north yard", "the quay store"),
        ),
    ],
)
def test_a_later_statement_revises_an_earlier_one_in_whatever_order_they_are_read(earlier, later, expected):
    kind, *values = expected
    for statements in ((earlier, later), (later, earlier)):
        ((found_kind, *found_values),) = found(*statements)
        assert found_kind == kind
        assert found_values == values or kind == "contradicts"


@pytest.mark.parametrize(
    "later",
    [
        said("I heard that the market share of Orin Pumps is 27 %.", JUNE, "Mail", ORIN),
        said("The market share of Orin Pumps is 27 %.", JUNE, "Draft report", ORIN),
        said("The market share of Orin Pumps is 27 %.", JUNE, "Mail", ORIN, is_unsure=True),
        said("> The market share of Orin Pumps is 27 %.", JUNE, "Mail", ORIN),
    ],
)
def test_rumours_drafts_and_quotations_revise_nothing(later):
    firm = said("The market share of Orin Pumps is 31 %.", MAY, names=ORIN)

    (one,) = find_revisions([firm, later])

    assert (one.kind, one.evidence, one.later_event_id) == ("contradicts", "unconfirmed", firm.event_id)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Line 3 makes 40 units a day.", "Line 4 makes 45 units a day."),
        ("Sales of valves were 31 tonnes last month.", "Sales of valves were 29 tonnes last month."),
        ("The board met on 3 March 2025 in the hall.", "The board met on 7 April 2025 in the hall."),
        (
            "The wall insulation at Kiel is 150 millimetres thick.",
            "The roof insulation at Kiel is 190 millimetres thick.",
        ),
        ("本月阀门销量为31吨。", "本月阀门销量为29吨。"),
        ("第3条生产线每天生产40件。", "第4条生产线每天生产45件。"),
        ("In 2023 revenue was 3 million euros.", "In 2024 revenue was 4 million euros."),
    ],
)
def test_what_differs_in_more_than_a_value_is_no_revision(one, other):
    assert found(said(one, MAY), said(other, JUNE, "Report")) == []


def test_a_message_is_compared_sentence_by_sentence():
    first = said("Orin Pumps has a share of 31 %.", MAY, names=ORIN)
    mail = (
        "The canteen is closed. Please lock the windows at night. Orin Pumps has a share of 27 %. The keys are with us."
    )

    (one,) = find_revisions([first, said(mail, JUNE, "Mail", ORIN)])

    assert (one.earlier_value, one.later_value, one.later_event_id) == ("31 %", "27 %", f"eMail {JUNE} {mail}")


REPORT, BAOGAO = "In all we brought in 312 tonnes of grapes.", "全年共采收葡萄312吨。"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (REPORT, "The weighbridge was off: it is 298 t, not 312 t as the report says."),
        (REPORT, "The harvest was not 312 but 298 tonnes."),
        (REPORT, "It should read 298 tonnes instead of 312 tonnes."),
        (REPORT, "The 312 tonnes of the report are wrong; it is 298 tonnes."),
        (REPORT, "We had 312 tonnes at first. That was wrongly put as 312 tonnes; the correct weight is 298 tonnes."),
        (BAOGAO, "采收量是298吨，不是312吨，多出的14吨是重复登记。"),
        (BAOGAO, "不是312吨，而是298吨。"),
        (BAOGAO, "采收量应为298吨（原报312吨）。"),
        (BAOGAO, "报告中的312吨更正为298吨。"),
    ],
)
def test_a_sentence_that_names_the_wrong_value_corrects_whatever_states_it(earlier, later):
    title = "更正：采收量" if is_cjk(later) else "Correction of the harvest"
    old, new = said(earlier, MAY, "采收报告" if is_cjk(later) else "Harvest report"), said(later, JUNE, title)

    ((kind, before, after),) = found(new, old)

    assert (kind, before.strip(" 吨tones"), after.strip(" 吨tones")) == ("corrects", "312", "298")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The press weighs 312 kilograms.", "The harvest was 298 tonnes, not 312 tonnes."),
        ("Rain fell for 312 hours.", "The harvest was 298 tonnes, not 312 tonnes."),
        (REPORT, "It might be 298 tonnes, not 312 tonnes of grapes."),
        (REPORT, "The harvest was 298 tonnes, not 311 tonnes."),
        ("The tank holds 30 litres of must.", "The vat takes 40 litres of oil, not 30 litres."),
    ],
)
def test_another_value_or_a_thing_of_another_kind_is_not_corrected(earlier, later):
    assert [one for one in found(said(earlier, MAY), said(later, JUNE, "Mail")) if one[0] == "corrects"] == []


def of_persons(text: str, day: str, names: Sequence[str]) -> Claim:
    own = [name for name in names if name in text]
    return said(text, day, "Estate", own, persons=frozenset(own))


DALY, SOUSA, HAN, MENG = "Colm Daly", "Ana Sousa", "韩立峰", "孟雨桐"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Colm Daly has been head winemaker since 2013.", "Ana Sousa will become head winemaker on 1 March 2026."),
        ("The head winemaker, Colm Daly, likes rain.", "Ana Sousa succeeds Colm Daly as head winemaker."),
        ("Head winemaker Colm Daly opened the tour.", "The board has appointed Ana Sousa head winemaker."),
        ("质量经理韩立峰汇报了化验结果。", "经研究决定，自2026年2月16日起，由孟雨桐担任质量经理。"),
        ("韩立峰是石岭酒庄的质量经理。", "任命孟雨桐为质量经理。"),
        ("原质量经理韩立峰调任销售部。", "质量经理一职由孟雨桐接任。"),
    ],
)
def test_who_takes_an_office_follows_who_holds_it(earlier, later):
    names = (HAN, MENG) if is_cjk(later) else (DALY, SOUSA)
    old, new = (of_persons(text, day, names) for text, day in ((earlier, ""), (later, JUNE)))

    assert found(new, old) == [("updates", *names)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Colm Daly is project manager.", "Ana Sousa becomes manager of the shop."),
        ("Colm Daly has been head of sales since 2013.", "Ana Sousa became head of finance."),
        ("Colm Daly has been head winemaker since 2013.", "Ana Sousa may become head winemaker."),
        ("Colm Daly is head nurse of the Heart Station.", "Ana Sousa takes over as head nurse of the Harbour Ward."),
        ("财务经理韩立峰汇报了结果。", "由孟雨桐担任经理。"),
        ("财务经理韩立峰汇报了结果。", "由孟雨桐担任质量经理。"),
    ],
)
def test_another_office_or_a_rumour_is_no_succession(earlier, later):
    names = (HAN, MENG) if is_cjk(later) else (DALY, SOUSA)
    old, new = (of_persons(text, day, names) for text, day in ((earlier, MAY), (later, JUNE)))

    assert [one for one in found(new, old) if one[0] == "updates"] == []


def test_houses_with_other_names_have_their_own_offices():
    old = said("Colm Daly is head winemaker of Ridge.", MAY, "Ridge", [DALY, "Ridge"], persons=frozenset([DALY]))
    new = said(
        "Ana Sousa became head winemaker of Quinta.", JUNE, "Quinta", [SOUSA, "Quinta"], persons=frozenset([SOUSA])
    )

    assert found(old, new) == []


def test_different_names_are_different_subjects():
    one = said("The plant in Kiel emits 31 tonnes.", MAY, names=KIEL)
    other = said("The plant in Bremen emits 27 tonnes.", JUNE, "Report", ("Bremen",))

    assert found(one, other) == []


def test_what_says_again_what_was_corrected_is_a_contradiction():
    first = said("The market share of Orin Pumps is 31 %.", MAY, names=ORIN)
    corrected = said("The market share of Orin Pumps is 27 %, not 31 %.", JUNE, "Mail", ORIN)
    again = said("The market share of Orin Pumps is 31 %.", JULY, "Summary", ORIN)

    kinds = {(one.earlier_said, one.later_said): one.kind for one in find_revisions([first, corrected, again])}

    assert kinds == {(MAY, JUNE): "corrects", (JUNE, JULY): "contradicts"}


_DAYS = st.sampled_from(["", "2025", "2025-05", MAY, JUNE, JULY])
_STATEMENTS = st.builds(
    lambda value, day, number: said(f"The market share of Orin Pumps is {value} %.", day, f"Paper {number}", ORIN),
    st.integers(1, 4),
    _DAYS,
    st.integers(1, 3),
)


@given(st.lists(_STATEMENTS, max_size=8, unique_by=lambda one: one.event_id), st.randoms())
def test_only_dates_decide_and_never_the_order_of_reading(statements, random):
    shuffled = random.sample(statements, len(statements))

    rows = find_revisions(statements)

    assert find_revisions(shuffled) == rows
    assert all(one.earlier_said < one.later_said for one in rows if one.kind == "updates")
    assert all(one.earlier_value != one.later_value for one in rows)


@given(st.lists(st.lists(_STATEMENTS, max_size=6, unique_by=lambda one: one.event_id), max_size=5), st.integers(2, 4))
def test_what_changes_touch_gives_after_any_history_what_all_statements_give(states, largest):
    nothing, pairs = STATEMENTS.empty_table(), set()
    known, rows = {}, nothing
    for state in states:
        now = {one.event_id: one for one in state}
        stays = pa.array([event in now for event in rows["event_id"].to_pylist()], pa.bool_())
        fresh = [one for event, one in now.items() if event not in known]
        change = changed(rows.filter(stays), statement_rows(fresh), rows.filter(pc.invert(stays)), largest)
        known, rows = now, change.statements
        together, apart = (_ids(rows, each) for each in (change.together, change.apart))
        assert apart <= pairs
        assert not together & pairs
        pairs = {pair for pair in pairs - apart | together if pair <= known.keys()}

        whole = changed(nothing, statement_rows(state), nothing, largest)
        assert pairs == _ids(whole.statements, whole.together)


def _ids(rows, pairs):
    ids = rows["event_id"].to_pylist()
    return {frozenset((ids[one], ids[other])) for one, other in pairs.tolist()}


def test_what_a_message_repeats_and_a_draft_are_unsure_from_their_first_character():
    reply = "Thanks.\n\nOn March 2, 2025, Ann wrote:\nThe share is 31 %."

    assert unsure_from(reply) == reply.index("On March")
    assert unsure_from("This is a draft for discussion.\n\nThe share is 31 %.") == 0
    assert unsure_from("好的。\n\n王伟于2025年3月2日写道：\n份额为31%。") == len("好的。\n\n")
    assert unsure_from("The share is 31 %.") == len("The share is 31 %.")


@given(st.sampled_from(LOOKED_FOR).flatmap(lambda name: st.tuples(st.just(name), st.from_regex(revising(name)))))
def test_what_is_told_for_all_statements_at_once_leaves_out_none_that_says_it(said):
    name, text = said

    assert name not in silences([text])[0]
