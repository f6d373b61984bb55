"""Options are built, checked and described from their dataclasses alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.cli.commands import register  # noqa: F401  adds the options of `ingest`
from sag_retrieval.cli.choices import default_options, method_options, option_names
from sag_retrieval.cli.main import main  # noqa: F401  joins the commands
from sag_retrieval.core.errors import QueryError, SettingsError
from sag_retrieval.core.options import (
    Bounds,
    Inline,
    Internal,
    Presets,
    as_text,
    build_options,
    check_options,
    describe_options,
    options_of,
    parse_settings,
)

ALL = {name: default_options(name) for name in option_names() if default_options(name) is not None}
EACH = [(name, option) for name, usual in ALL.items() for option in options_of(usual)]
WRONG = ["foo", "-1", "nan", "inf", "9" * 400, "1e400", "[1", "{", "maybe", "1.5", "\ud800"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """A group."""

    width: Annotated[int, Bounds(1, 9)] = 3
    """How wide."""
    names: tuple[str, ...] = ("a",)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    """Options with groups."""

    share: Annotated[float, Bounds(0, 1, below=True)] | None = 0.5
    is_on: bool = True
    kind: Literal["one", "two"] = "one"
    either: float | Mapping[str, float] = 1.0
    inner: Inner = field(default_factory=Inner)
    flat: Annotated[Inner, Inline()] = field(default_factory=Inner)
    named: Annotated[Inner, Presets({"thin": Inner(), "wide": Inner(width=9)})] = field(default_factory=Inner)
    told: Annotated[str, Internal()] = ""

    def __post_init__(self) -> None:
        check_options(self, QueryError)


@pytest.mark.parametrize(
    ("given_values", "expected"),
    [
        (None, Outer()),
        ({}, Outer()),
        (Outer(kind="two"), Outer(kind="two")),
        ({"kind": "two", "is_on": "off"}, Outer(kind="two", is_on=False)),
        ({"share": "none"}, Outer(share=None)),
        ({"share": "0.25"}, Outer(share=0.25)),
        ({"share": 0}, Outer(share=0.0)),
        ({"either": '{"zh": 0.5}'}, Outer(either={"zh": 0.5})),
        ({"either": "2"}, Outer(either=2.0)),
        ({"inner.width": "4"}, Outer(inner=Inner(width=4))),
        ({"inner": {"width": 4, "names": ["x", "y"]}}, Outer(inner=Inner(width=4, names=("x", "y")))),
        ({"inner.names": "x, y"}, Outer(inner=Inner(names=("x", "y")))),
        ({"inner.names": '["x,y"]'}, Outer(inner=Inner(names=("x,y",)))),
        ({"inner.names": ""}, Outer(inner=Inner(names=()))),
        ({"inner": Inner(width=5)}, Outer(inner=Inner(width=5))),
        ({"width": 7}, Outer(flat=Inner(width=7))),
        ({"named": "wide"}, Outer(named=Inner(width=9))),
        ({"named": "wide", "named.names": "b"}, Outer(named=Inner(width=9, names=("b",)))),
    ],
)
def test_options_are_an_instance_or_names_and_values(given_values, expected):
    assert build_options(Outer, given_values, what="outer") == expected


def test_what_is_not_given_is_as_in_the_base():
    base = Outer(kind="two", inner=Inner(width=8))

    assert build_options(Outer, {"inner.names": "b"}, what="outer", base=base) == replace(
        base, inner=Inner(width=8, names=("b",))
    )


@pytest.mark.parametrize(
    ("given_values", "said"),
    [
        ({"knd": 1}, "outer has no option 'knd', the nearest is 'kind'; `sag settings --options outer` lists them"),
        ({"inner.widht": 1}, "the nearest is 'inner.width'"),
        ({"inner": 3}, "'inner' of outer is a group of options; give one of inner.width, inner.names"),
        ({"told": "x"}, "has no option 'told'"),
        ({"zzzz": 1}, "has no option 'zzzz'; `sag settings"),
        ({"kind": "three"}, "kind='three' must be one of one, two"),
        ({"is_on": "perhaps"}, "must be true or false"),
        ({"is_on": 1}, "must be true or false"),
        ({"share": "1"}, "share='1' must be a number, at least 0, less than 1 or none"),
        ({"share": float("nan")}, "must be a number"),
        ({"inner.width": "2.5"}, "must be a whole number, 1 to 9"),
        ({"inner.width": True}, "must be a whole number"),
        ({"inner.width": 10**400}, "must be a whole number"),
        ({"named": "broad"}, "must be one of thin, wide"),
        ({"inner.names": [1]}, "must be a list"),
        ([], "must be names and values or Outer"),
    ],
)
def test_a_wrong_name_or_value_is_refused_with_the_nearest_or_the_bound(given_values, said):
    with pytest.raises(SettingsError) as raised:
        build_options(Outer, given_values, what="outer")

    assert said in str(raised.value)


def test_a_class_refuses_values_with_the_error_it_names():
    with pytest.raises(QueryError, match="kind='three' must be one of one, two"):
        Outer(kind="three")  # type: ignore[arg-type]


@pytest.mark.parametrize("pairs", [["a"], ["=1"], [""], ["a=1", "a=2"]])
def test_set_takes_a_name_and_a_value_once(pairs):
    with pytest.raises(SettingsError, match="--set"):
        parse_settings(pairs, "outer")


def test_a_value_may_hold_any_character():
    assert parse_settings(["a= b=c "], "outer") == {"a": "b=c"}


def test_every_option_says_what_it_means_and_is_read_from_the_text_that_shows_it():
    for name, option in EACH:
        usual = ALL[name]
        assert len(option.meaning) >= 10, (name, option)
        shown = {option.name: as_text(option.default)}
        assert build_options(type(usual), shown, what=name, base=usual) == usual, (name, option)


def test_every_option_takes_a_value_or_says_in_one_line_why_not():
    for (name, option), value in product(EACH, WRONG):
        said = _refusal(type(ALL[name]), {option.name: value}, name, ALL[name])
        assert said == "" or option.name.rpartition(".")[2] in said, (name, option, value)
        assert "\n" not in said, (name, option, value)


def _refusal(cls: type, values: Mapping[str, Any], name: str, base: Any) -> str:
    """Why values are refused; empty if they are not."""
    try:
        build_options(cls, values, what=name, base=base)
    except (SettingsError, QueryError) as error:
        return str(error)
    return ""


def test_a_description_has_a_row_for_every_option():
    for usual in ALL.values():
        names = [row["name"] for row in describe_options(usual)]
        assert len(set(names)) == len(names) == len(options_of(usual))
        assert all(row["values"] for row in describe_options(usual))


def test_a_method_without_options_takes_none():
    assert method_options("bm25", {}) is None
    with pytest.raises(SettingsError, match="'bm25' has no options"):
        method_options("bm25", {"hops": "2"})


def test_a_method_starts_from_options_of_its_own():
    chosen: Any = method_options("sag-literal", {"hops": "4"})

    assert chosen.hops == 4
    assert chosen == replace(ALL["sag-literal"], hops=4)


@given(st.dictionaries(st.text(max_size=30), st.none() | st.text(max_size=30) | st.floats() | st.lists(st.integers())))
def test_any_mapping_gives_options_or_a_settings_error(values):
    said = _refusal(Outer, values, "outer", Outer())

    assert said == "" or len(said) > 10
