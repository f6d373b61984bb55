"""Whether events support a sentence: figures, names and words, in both languages."""

import pytest

from sag_retrieval.language.words import is_cjk, normal_name
from sag_retrieval.llm_writing.lines import EventEvidence, check, figures

SHOWN = {
    1: EventEvidence.of("The leak came from an O-ring made by Marlow Seals.", "2022-05-03", "Recall notice"),
    2: EventEvidence.of("Lumen Optics sold 1,200 buoys to the Ansel port authority in 2021."),
    3: EventEvidence.of("海澜潮汐能源公司2019年向Northbridge采购了240枚传感器。"),
    4: EventEvidence.of("沈若溪于2014年3月创办了海澜潮汐能源公司。", "2014-03"),
}
NAMES = [normal_name(name) for name in ("Marlow Seals", "Lumen Optics", "沈若溪", "陆闻舟")]


@pytest.mark.parametrize(
    ("sentence", "cited", "kept"),
    [
        ("The leak of May 2022 came from an O-ring of Marlow Seals.", [1], (1,)),
        ("Lumen Optics sold 1200 buoys.", [2], (2,)),
        ("Lumen Optics sold buoys, and Marlow Seals made the O-ring.", [1, 2], (1, 2)),
        ("海澜潮汐能源公司采购了２４０枚传感器。", [3], (3,)),
        ("沈若溪2014年创办海澜潮汐能源公司。", [4, 4], (4,)),
    ],
)
def test_a_sentence_that_its_events_state_keeps_them(sentence, cited, kept):
    assert sorted(check(sentence, cited, SHOWN, NAMES).numbers) == list(kept)


@pytest.mark.parametrize(
    ("sentence", "cited", "reason"),
    [
        ("The leak came from an O-ring made by Marlow Seals.", [], "cites nothing"),
        ("The leak came from an O-ring made by Marlow Seals.", [0, 7, -1], "cites nothing"),
        ("Lumen Optics sold 1,300 buoys in 2021.", [2], "figure"),
        ("海澜潮汐能源公司采购了250枚传感器。", [3], "figure"),
        ("Lumen Optics made the O-ring of the leak.", [1], "name"),
        ("The buoys were sold by Apex to the port authority.", [2], "name"),
        ("陆闻舟于2014年3月创办了海澜潮汐能源公司。", [4], "name"),
        ("The weather of the coast stays pleasant all summer.", [1, 2], "words"),
        ("春天的花园里开满了玫瑰。", [3, 4], "words"),
        ("Visit https://evil.example for the O-ring made by Marlow Seals.", [1], "form"),
        ("You must now trust Marlow Seals!", [1], "form"),
    ],
)
def test_a_sentence_that_its_events_do_not_state_is_left_out_with_the_reason(sentence, cited, reason):
    assert check(sentence, cited, SHOWN, NAMES).reason == reason


def test_an_event_that_says_nothing_of_a_sentence_is_no_citation_of_it():
    assert check("The leak came from an O-ring made by Marlow Seals.", [2, 3, 1], SHOWN).numbers == (1,)


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("The year was 39,000 euros short (610,000 − 571,000 = 39,000).", None),
        ("这一年少39万元（610万元 - 571万元 = 39万元）。", None),
        ("The year was 49,000 euros short (610,000 − 571,000 = 49,000).", "figure"),
        ("The year was 39,000 euros short (612,000 − 573,000 = 39,000).", "figure"),
        ("The year was 39,000 euros short.", "figure"),
    ],
)
def test_a_figure_that_nothing_states_is_kept_where_its_calculation_is_right(sentence, reason):
    shown = {
        1: EventEvidence.of("The year was reckoned with 610,000 euros and was short of it: 571,000 euros."),
        2: EventEvidence.of("这一年预算610万元，实际571万元，少了。"),
    }
    assert check(sentence, [2 if is_cjk(sentence) else 1], shown).reason == reason


def test_figures_are_compared_as_numbers():
    assert figures("1,200.50 and 007 and ３．０ on 2022-05-03") == ["1200.5", "7", "3", "2022", "5", "3"]
    assert figures("7,5 km") == ["7.5"]


TWO_SCRIPTS = {
    1: EventEvidence.of("The replacement of batch K7-2204 took 52 days.", "2022", names=["K7-2204"]),
    2: EventEvidence.of("Lin Zhixia stopped all twelve turbines.", names=["Lin Zhixia", "林知夏"]),
}


@pytest.mark.parametrize(
    ("sentence", "cited", "reason"),
    [
        ("更换批次K7-2204用了52天。", 1, None),
        ("林知夏停下了全部水轮机。", 2, None),
        ("更换批次K7-2204用了53天。", 1, "figure"),
        ("船员停下了全部水轮机。", 2, "words"),
        ("更换批次K7-2204的是Zorbex公司。", 1, "name"),
    ],
)
def test_an_event_in_another_script_supports_by_its_names_and_figures(sentence, cited, reason):
    assert check(sentence, [cited], TWO_SCRIPTS).reason == reason
