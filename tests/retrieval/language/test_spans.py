import pytest

from sag_retrieval.language.spans import first_day, last_day, revising, span_of


@pytest.mark.parametrize(
    ("text", "language", "said", "expected"),
    [
        ("From 1 September 2025 the gate is shut.", "en", "", ("2025-09-01", "")),
        ("The rule applies from 1 September 2025 until 31 May 2026.", "en", "", ("2025-09-01", "2026-05-31")),
        ("The gate is shut from 1 September.", "en", "2025-06-02", ("2025-09-01", "")),
        ("The gate is shut until further notice.", "en", "2025-06-02", ("2025-06-02", "")),
        ("Send it by 15 October 2025.", "en", "", ("", "2025-10-15")),
        ("The pass is valid until March 2026.", "en", "", ("", "2026-03-31")),
        ("自2025年9月1日起大门关闭。", "zh", "", ("2025-09-01", "")),
        ("自2025年9月1日至2026年5月31日施行。", "zh", "", ("2025-09-01", "2026-05-31")),
        ("大门自9月1日起关闭。", "zh", "2025-06-02", ("2025-09-01", "")),
        ("大门关闭，恢复时间另行通知。", "zh", "2025-06-02", ("2025-06-02", "")),
        ("请于2025年10月15日前提交。", "zh", "", ("", "2025-10-15")),
        ("有效期至2026年3月。", "zh", "", ("", "2026-03-31")),
    ],
)
def test_a_statement_says_from_and_to_when_it_holds(text, language, said, expected):
    assert span_of(text, language, said) == expected


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The gate was painted on 3 May 2025.", "en"),
        ("The handover moved from 3 May 2025 to 9 May 2025.", "en"),
        ("大门于2025年5月3日刷漆。", "zh"),
        ("It is from Kiel and stays there.", "en"),
    ],
)
def test_a_date_without_such_words_is_no_span(text, language):
    assert span_of(text, language).holds_from == ""


def test_months_and_years_are_whole():
    assert [(first_day(each), last_day(each)) for each in ("2024", "2024-02", "2024-02-03")] == [
        ("2024-01-01", "2024-12-31"),
        ("2024-02-01", "2024-02-29"),
        ("2024-02-03", "2024-02-03"),
    ]


@pytest.mark.parametrize("name", ["corrects", "changes", "hedged", "draft", "asks_past", "denies"])
def test_both_languages_have_words_for_it(name):
    both = {
        "corrects": ("That was wrong.", "原文有误。"),
        "changes": ("It has been postponed.", "现改为周五。"),
        "hedged": ("Rumour has it.", "据传如此。"),
        "draft": ("Draft", "草稿"),
        "asks_past": ("What was it originally?", "原定是哪天？"),
        "denies": ("It is not so.", "并不如此。"),
    }[name]
    assert all(revising(name).search(text) for text in both)
