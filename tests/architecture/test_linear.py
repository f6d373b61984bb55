"""Every expression and every rule that reads a text takes time in proportion to it, whatever the text."""

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.places import Places, first_places
from sag_pipeline.extract.rules.keys import read_mentions
from sag_pipeline.sources.decoding import clean
from sag_retrieval.language.layout import LineKind, logical_lines
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import normal_form
from sag_retrieval.models.structured import _without_thoughts
from tests.support.attacks import (
    attacks_on,
    grown,
    lines_in_functions,
    patterns,
    quick_attacks,
    used,
    written_in_functions,
)
from tests.support.tried_rules import document, rules

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

OF_LANGUAGES = {"sag_retrieval.language.data", "sag_retrieval.language.spans"}
"""Modules that make the expressions of the data of languages, which are tried as well."""
BUILT_FROM_NAMES = {
    "sag_pipeline.extract.rules.named_values",
    "sag_retrieval.language.dates",
    "sag_retrieval.language.quantities",
    "sag_retrieval.models.embedder_names",
    "sag_retrieval.models.openai",
    "sag_retrieval.statements.header_classes",
}
"""Modules that make an expression in a function, of escaped names: months and units of a language, the names of a type or
of models, words of headers."""
EXPRESSIONS = {"largest": 1024, "quick": 0.0002}
RULES = {"largest": 1024, "quick": 0.002}
"""The longest text that is tried, and the seconds that it may take unseen: a square takes a multiple."""


@pytest.fixture(scope="module")
def found():
    return patterns()


def test_every_expression_stands_where_it_is_found():
    assert {each.partition(":")[0] for each in written_in_functions()} == BUILT_FROM_NAMES | OF_LANGUAGES
    assert lines_in_functions(ast.parse("def f(name):\n    return re.compile(name + '+')\n")) == [2]


def test_the_packages_expressions_are_found(found):
    names = {each.name for each in found}

    assert {"sag_retrieval.language.layout._RULE", "sag_retrieval.language.data.zh[person]"} <= names
    assert {"sag_retrieval.language.data.all[level_1_heading]", "sag_retrieval.language.data[asks]"} <= names


def test_a_slow_expression_would_be_found(found):
    import re

    slow = re.compile(r"<think>.*?</think>|\\s+$", re.DOTALL)

    assert any(grown(used(slow, "finditer"), attacks_on(slow, 24), **EXPRESSIONS) for _ in range(3))


def test_a_slow_rule_would_be_found():
    def square(text):
        marks = range(0, len(text), 2)
        return sum(1 for one in marks for two in marks if one < two)

    assert any(grown(square, quick_attacks()[:1], **RULES) for _ in range(3))


def still_grown(work, attacks, **bounds):
    """What grows in three measurements: one may be disturbed by whatever else the machine does."""
    tried = [(None, attack) for attack in attacks]
    for _ in range(3):
        tried = grown(work, [attack for _, attack in tried], **bounds)
    return tried[:1]


def test_no_expression_takes_the_square_of_a_text(found):
    slow = {
        f"{each.name} {use}": still_grown(
            used(each.pattern, use),
            [*quick_attacks()[place % 3 :: 3], *attacks_on(each.pattern, 24)],  # its own parts are the telling ones
            **EXPRESSIONS,
        )
        for place, each in enumerate(found)
        for use in each.uses
    }

    assert {name: tried for name, tried in slow.items() if tried} == {}


def test_no_rule_takes_the_square_of_a_text():
    slow = {
        name: still_grown(
            rule, quick_attacks()[place % 2 :: 2], **RULES
        )  # rules are parts of others, which try the rest
        for place, (name, rule) in enumerate(rules().items())
    }

    assert {name: tried for name, tried in slow.items() if tried} == {}


@pytest.mark.parametrize(
    "text",
    [
        "|-" * 20_000,
        "-" * 40_000 + "x",
        "e\u0301\u0327" + "\u0301\u0327" * 200_000,
        "<!--" * 300_000,
        "|" + "-" * 400_000 + "x|",
    ],
    ids=["a rule of a table", "a long rule", "combining marks", "opened comments", "a row"],
)
def test_known_attacks_are_read_at_once(text):
    start = time.process_time()

    clean(text)
    logical_lines(text)
    sentences(text)

    assert time.process_time() - start < 20  # the square took minutes


@given(st.text(alphabet="e\u0301\u0327a ", max_size=300))
def test_marks_are_composed_as_unicode_says_unless_they_are_very_many(text):
    import unicodedata

    runs = max(map(len, text.replace("e", " ").replace("a", " ").split(" ")))

    if runs <= 30:
        assert normal_form("NFC", text) == unicodedata.normalize("NFC", text)
    assert unicodedata.normalize("NFC", normal_form("NFC", text)) == unicodedata.normalize("NFC", text)


@given(st.lists(st.text(alphabet="ab 公", min_size=1, max_size=20), max_size=8), st.text(alphabet="ab 公", max_size=60))
def test_names_are_found_wherever_they_stand(names, text):
    expected = {(at, name) for name in names for at in range(len(text)) if text.startswith(name, at)}

    assert set(Places(names).within(text)) == expected
    assert first_places(names, text) == {name: text.find(name) for name in names if name in text}


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "\n", "<", "think>"]), max_size=12).map("".join))
def test_thoughts_are_left_out_as_an_expression_would(text):
    import re

    assert _without_thoughts(text) == re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)


def test_a_rule_of_a_table_stays_a_rule():
    kinds = [line.kind for line in logical_lines("| a | b |\n|---|:-:|\n| 1 | 2 |\n\n---\n\n|x|-|y|")]

    assert kinds == [LineKind.ROW, LineKind.RULE, LineKind.ROW, LineKind.RULE, LineKind.ROW]


def test_many_names_with_one_beginning_are_found_in_linear_time():
    text = " ".join(f"Ann Lee{n:x} met Ann Bo{n:x}." for n in range(2_000))

    mentions, _ = read_mentions(document(text).text)

    assert len(mentions) >= 2_000
