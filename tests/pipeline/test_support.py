"""What a text supports of a statement that words it otherwise, and what it does not."""

import pytest

from sag_pipeline.extract.support import SupportingText

ENGLISH = (
    "Ann Lee had fever, a cough and a rash. The ward was opened at 18:00 on 3 May 2024. The hospital bought a scanner and"
    " a second ambulance. The board agreed to the plan and informed the staff of the hospital."
)
CHINESE = (
    "晨星科技有限公司2020年的营业收入为5亿元，公司计划优化成本结构、加大研发投入，并继续开拓市场。"
    "病人的症状有发热、咳嗽和皮疹。董事会同意该计划，并通知了全体员工。"
)


@pytest.mark.parametrize(
    ("text", "statement", "language"),
    [
        (ENGLISH, "According to the plan, the board informed the staff of the hospital.", "en"),
        (ENGLISH, "Ann Lee had 3 signs: fever, a cough and a rash.", "en"),
        (ENGLISH, "The ward of the hospital opened at 18:00 on 3 May 2024.", "en"),
        (CHINESE, "晨星科技有限公司计划优化成本结构、加大研发投入，对前景充满信心，继续开拓市场。", "zh"),
        (CHINESE, "总体来看，公司计划优化成本结构、加大研发投入，并继续开拓市场。", "zh"),
        (CHINESE, "病人的症状有3项：发热、咳嗽和皮疹。", "zh"),
    ],
)
def test_ordinary_words_and_counts_of_what_is_listed_are_no_unknown_names_and_numbers(text, statement, language):
    assert SupportingText(text, language=language).fault(statement) == ""


@pytest.mark.parametrize(
    ("text", "statement", "language", "reason"),
    [
        (ENGLISH, "Zorbex told the board of the hospital that the staff agreed to the plan.", "en", "names"),
        (
            ENGLISH,
            "According to Zorbex, the board agreed to the plan and informed the staff of the hospital.",
            "en",
            "names",
        ),
        (ENGLISH, "Ann Lee had 4 signs: fever, a cough and a rash.", "en", "numbers"),
        (ENGLISH, "Ann Lee had 7 fevers. Signs: fever, a cough and a rash.", "en", "numbers"),
        (CHINESE, "真实制造有限公司计划优化成本结构、加大研发投入，并继续开拓市场。", "zh", "names"),
        (CHINESE, "信达百货计划优化成本结构、加大研发投入，并继续开拓市场。", "zh", "names"),
        (CHINESE, "欧阳若琳同意该计划，并通知了全体员工，继续开拓市场。", "zh", "names"),
        (CHINESE, "病人的症状有7项：发热、咳嗽和皮疹。", "zh", "numbers"),
    ],
)
def test_names_and_numbers_that_a_text_does_not_have_are_refused_as_before(text, statement, language, reason):
    assert SupportingText(text, language=language).fault(statement).startswith(f"{reason} that its text")


@pytest.mark.parametrize(
    ("passage", "elsewhere", "statement", "language"),
    [
        (
            "It was led by Ann Lee.",
            "Northam Instruments makes sensors.",
            "Northam Instruments was led by Ann Lee.",
            "en",
        ),
        (
            "由副局长梁仲和牵头，建立预警网络。",
            "发布单位：澜湾市水务局",
            "由澜湾市水务局副局长梁仲和牵头，建立预警网络。",
            "zh",
        ),
    ],
)
def test_names_may_stand_elsewhere_in_the_document_but_not_what_is_said(passage, elsewhere, statement, language):
    alone = SupportingText(passage, language=language)
    within = SupportingText(passage, language=language, document=f"{elsewhere}\n{passage}")

    assert alone.fault(statement)
    assert within.fault(statement) == ""
    assert SupportingText("It rained.", document=f"{elsewhere}\n{passage}").fault(statement)


def test_each_clause_is_compared_with_the_clauses_that_negate():
    text = SupportingText("The batch held 48 sensors; 36 of them failed, which is 75%.")

    assert text.fault("The batch had 48 sensors; 36 of them failed.") == ""
    assert "negates" in text.fault("The batch never held 48 sensors.")
