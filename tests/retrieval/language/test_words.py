import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.language.words import fold, is_cjk, language_of, normal_name, tokens, words


@pytest.mark.parametrize(
    ("plain", "accented"),
    [("Aschenbrodel", "Aschenbrödel"), ("Tekeze River", "Tekezé River"), ("Lodz", "Łódź"), ("Soren", "Søren")],
)
def test_names_typed_without_accents_are_the_same_names(plain, accented):
    assert normal_name(plain) == normal_name(accented)
    assert tokens(plain) == tokens(accented)


@given(st.text(alphabet="ae\u0301o\u0308中文가が", max_size=20))
def test_only_latin_letters_lose_their_marks(text):
    folded = fold(text)

    assert [c for c in folded if c in "中文가が"] == [c for c in text if c in "中文가が"]
    assert not re.search("[a-z][\u0300-\u036f]", folded)


@given(st.text())
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_a_normal_name_is_its_own_normal_name(name):
    assert normal_name(normal_name(name)) == normal_name(name)


@given(st.text(alphabet="abcXYZ 中文公司-./'", min_size=1))
def test_width_and_case_do_not_change_a_normal_name(name):
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c != "'" else c for c in name)

    assert normal_name(wide) == normal_name(name) == normal_name(name.upper())


@given(st.text(alphabet="北京大学东港银行 "))
def test_spaces_beside_chinese_are_no_part_of_a_name(name):
    assert " " not in normal_name(name)


@given(st.text())
def test_tokens_have_no_white_space_and_are_not_empty(text):
    assert all(token and not any(map(str.isspace, token)) for token in tokens(text))


@given(st.text(alphabet="东港银行海澜潮汐", min_size=2))
def test_chinese_gives_characters_and_pairs(text):
    assert len(tokens(text)) == 2 * len(text) - 1
    assert words(text) == list(text)


def test_languages_are_told_by_their_letters():
    assert language_of("海澜潮汐能源 Ltd 成立于2014年") == "zh"
    assert language_of("The firm 海澜 was founded in the city of Lanwan in 2014") == "en"
    assert language_of("123 !") == "en"


@given(st.characters())
def test_a_chinese_character_is_chinese(character):
    assert is_cjk(character) is False or unicodedata.category(character) in ("Lo", "Lm", "Po", "Sk", "Pd", "Mn", "Cn")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("서울은 서울", ["서울", "울은", "서울"]),
        ("क्या हुआ", ["क्य", "हु"]),
        ("الكتابُ كتاب", ["كتاب", "كتاب"]),
        ("เมืองหลวง", ["เมื", "มือ", "ือง", "องห", "งหล", "หลว", "ลวง"]),
        ("Заводы завод", ["завод", "завод"]),
    ],
)
def test_terms_of_other_scripts_are_whole(text, expected):
    assert tokens(text) == expected


def test_names_keep_their_vowel_signs():
    assert normal_name("नई दिल्ली") == "नई दिल्ली"
    assert normal_name("เชียงใหม่") == "เชียงใหม่"
