"""Prompts exist in both languages, want the same values in both, and refuse to be half filled."""

import json
from dataclasses import replace
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.prompts import LANGUAGES, Prompt, load_prompt, numbered, prompt_names, shown_numbers

PROMPT = Prompt("greet", "en", "", "Hello $name, that is $$5.", "0")


def test_a_value_is_filled_in_and_never_read_again_as_a_place():
    filled = PROMPT.fill(name="$name ${other}")

    assert filled == "Hello $name ${other}, that is $5."


@pytest.mark.parametrize("values", [{}, {"name": "Ada", "age": 3}, {"nmae": "Ada"}])
def test_a_missing_or_foreign_value_is_refused_with_the_places_named(values):
    with pytest.raises(SettingsError, match=r"greet\.en has places \['name'\]"):
        PROMPT.fill(**values)


def test_a_prompt_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(SettingsError, match="no prompt 'nothing' in 'zh'"):
        load_prompt("nothing", "zh")


@pytest.mark.parametrize("name", list(prompt_names()))
def test_every_prompt_asks_for_the_same_values_in_both_languages(name):
    english, chinese = (load_prompt(name, language) for language in LANGUAGES)

    assert english.places == chinese.places
    assert bool(english.system) == bool(chinese.system)
    assert english.version != chinese.version


@pytest.mark.parametrize(("language", "code"), [("zh", "zh"), ("zh-TW", "zh"), ("en", "en"), ("fr", "en")])
def test_any_chinese_reads_the_chinese_prompt_and_the_rest_the_english(language, code):
    name = prompt_names()[0]

    assert load_prompt(name, language).language == code


def test_the_version_follows_the_file(tmp_path, monkeypatch):
    package = tmp_path / "some_prompts"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.en.md").write_text("Say $x", encoding="utf-8")
    (package / "b.en.md").write_text("Be brief.\n---\nSay $x!", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    first, second = (load_prompt(name, "en", "some_prompts") for name in ("a", "b"))

    assert (first.system, second.system) == ("", "Be brief.")
    assert first.version != second.version
    assert replace(first, name="b", version=second.version) != second


def test_a_stray_dollar_is_found_when_the_prompt_is_loaded(tmp_path, monkeypatch):
    package = tmp_path / "stray_prompts"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.en.md").write_text("It costs $ 5", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(SettingsError, match="stray"):
        load_prompt("a", "en", "stray_prompts")


def test_the_package_holds_nothing_but_prompts_in_known_languages():
    files = {f.name for f in resources.files("sag_retrieval.prompts").iterdir() if f.name.endswith(".md")}

    assert files == {f"{name}.{language}.md" for name in prompt_names() for language in LANGUAGES}


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_passages_are_one_line_of_json_each_whatever_they_hold(texts):
    shown = numbered(texts, texts)

    lines = shown.splitlines()
    assert [json.loads(line)["text"] for line in lines] == texts


def test_numbers_count_only_if_they_were_shown():
    assert shown_numbers([3, 1, 0, -2, 3, 9], 3) == [3, 1]
