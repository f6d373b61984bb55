"""Conditions by field name: what they match, and that nothing in them becomes SQL."""

import datetime as dt
import json
import math
from contextlib import suppress

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import FilterError
from sag_retrieval.release.where import COLUMNS, OPERATORS, compile_where
from tests.support.golden import recorded
from tests.support.sql_tables import ids_of

EVENTS = ("e0", "e1", "e2", "e3", "e4")
DOCUMENTS = ("d0", "d1", "d2", "d3")

MATCHES = [
    ({}, DOCUMENTS),
    ({"title": "Apple"}, "d0"),
    ({"doc_id": "d1"}, "d1"),
    ({"title__ne": "Apple"}, "d1 d2 d3"),
    ({"title__in": ["Apple", "苹果公司"]}, "d0 d1"),
    ({"title__in": "Apple"}, "d0"),
    ({"title__in": []}, ""),
    ({"title__nin": []}, DOCUMENTS),
    ({"title__nin": ["Apple", "No events"]}, "d1 d2"),
    ({"title__contains": "ear's"}, "d2"),
    ({"title__startswith": "苹"}, "d1"),
    ({"title": None}, DOCUMENTS),
    ({"char_count__gte": 15}, "d0 d2 d3"),
    ({"char_count__lt": 15, "language": "zh"}, "d1"),
    ({"char_count__in": (15, 12.0)}, "d0 d1"),
    ({"metadata.user_id": "1"}, "d0"),
    ({"metadata.user_id": "2"}, "d1"),
    ({"metadata.user_id__in": {"1", "2"}}, "d0 d1"),
    ({"metadata.year": 2020}, "d0"),
    ({"metadata.year": "2020"}, "d2"),
    ({"metadata.year__gt": 2020}, "d1"),
    ({"metadata.year__gte": "2019"}, "d2"),
    ({"metadata.ok": True}, "d0"),
    ({"metadata.ok": False}, "d1"),
    ({"metadata.ok": 1}, ""),
    ({"metadata.ok__isnull": True}, "d2 d3"),
    ({"metadata.user_id__isnull": True}, "d2 d3"),
    ({"metadata.user_id__isnull": False}, "d0 d1"),
    ({"metadata.tags__contains": "tech"}, "d0"),
    ({"metadata.user_id__contains": "1"}, "d0"),
    ({"metadata.a b": "x"}, "d0"),
    ({"metadata.nothing": "x"}, ""),
    ({"key.person": "Ada Lovelace"}, "e0"),
    ({"key.person": "ADA  lovelace"}, "e0"),
    ({"key.person__in": ["Bob", "Ada Lovelace"]}, "e0 e2"),
    ({"key.person__startswith": "Ada"}, "e0"),
    ({"key.person__contains": "love"}, ""),
    ({"key.person__isnull": False}, "e0 e2"),
    ({"key.person__isnull": True}, "e1 e3 e4"),
    ({"key.person__ne": "Bob"}, "e0"),
    ({"key.amount": 3}, "e1"),
    ({"key.amount__gte": 1}, "e1 e2"),
    ({"key.amount__gt": 1, "key.amount__lt": 10}, "e1"),
    ({"key.amount": "three"}, "e4"),
    ({"key.amount": True}, ""),
    ({"key.flag": True}, "e3"),
    ({"key.flag": 1}, ""),
    ({"key.date__gte": "2021", "key.date__lte": "2021"}, "e3"),
    ({"key.date__gt": dt.date(2021, 12, 23)}, "e3"),
    ({"key.date__gt": dt.date(2021, 12, 24)}, ""),
    ({"date__gte": "2021"}, "e1 e3"),
    ({"date__lte": "2020"}, "e0 e4"),
    ({"date__isnull": True}, "e2"),
    ({"content__contains": "Apple", "language": "en"}, "e0 e1"),
    ({"event_index": 1}, "e1"),
    ({"key.person": "Bob", "title": "苹果公司"}, ""),
]


def test_an_unknown_key_type_is_refused_with_those_that_there_are(sandbox):
    for where in ({"key.persn": "Ada"}, {"key.persn__isnull": True}, {"language": "en", "key.persn__in": ["Ada"]}):
        with pytest.raises(FilterError) as refused:
            sandbox.allowed(None, where)

        assert "no key of this release has the type 'persn'; did you mean 'person'?" in str(refused.value)
        assert "it has amount, date, flag, person, topic" in str(refused.value)
    assert sandbox.allowed(None, {"key.persn": None}) is None


def found(sandbox, where):
    named = list(sandbox._named_by_where(where))
    if not named:
        return DOCUMENTS
    return tuple((DOCUMENTS if named[0].table == "documents" else EVENTS)[row] for row in sorted(named[0].rows))


@pytest.mark.parametrize(("where", "ids"), MATCHES, ids=[str(n) for n in range(len(MATCHES))])
def test_conditions_match_by_type_and_value(sandbox, where, ids):
    assert found(sandbox, where) == (ids if isinstance(ids, tuple) else tuple(ids.split()))


REFUSED = [
    {"foo": 1},
    {"foo__in": ["a"]},
    {"title__like": "a"},
    {"title__": "a"},
    {"__eq": "a"},
    {"": "a"},
    {"key.": "a"},
    {"metadata.": "a"},
    {"title": 3},
    {"title": True},
    {"char_count": "3"},
    {"title__gt": "Apple"},
    {"key.person__gt": "Bob"},
    {"key.flag__gt": True},
    {"metadata.ok__lte": False},
    {"char_count__contains": 3},
    {"title__isnull": "yes"},
    {"title__in": 3},
    {"title__in": {"a": 1}},
    {"title__in": [None]},
    {"title__in": [["a"]]},
    {"title": ["a"]},
    {"title": object()},
    {"title": b"a"},
    {"key.amount": math.nan},
    {"key.amount": math.inf},
    {"key.amount": 10**30},
    {"title": "x" * 20_000},
    {"title": "\ud800"},
    {"key.\ud800": "a"},
    {"foo": None},
]


@pytest.mark.parametrize("where", REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_does_not_fit_is_refused_with_a_reason(sandbox, where):
    with pytest.raises(FilterError, match=r"\w+ .+"):
        sandbox.allowed(where=where)


INJECTIONS = [
    "' OR '1'='1",
    "'; DROP TABLE events; --",
    "'; DELETE FROM documents; --",
    '" OR 1=1 --',
    '"; DROP TABLE keys; --',
    "1; DROP TABLE events",
    "') OR ('1'='1",
    "')) UNION SELECT document_id FROM documents --",
    "' UNION ALL SELECT content FROM read_text('/etc/passwd') --",
    "x' AND (SELECT count(*) FROM documents) > 0 AND 'x'='x",
    "/* */ OR TRUE",
    "-- ",
    "\\'; DROP TABLE events; --",
    "\\",
    "%",
    "_",
    "%' --",
    "$1",
    "?",
    ":name",
    "{0}",
    "{sql}",
    "%s",
    "\x00",
    "a\x00'; DROP TABLE events",
    "\n); DROP TABLE events; --",
    "e.event_id",
    "d.title",
    "NULL",
    "TRUE",
    "$.*",
    '$."a"',
    "$[0]",
    'a" OR "b',
    'year" ; DROP TABLE events; --',
    "../../etc/passwd",
    "＇ OR ＇1＇＝＇1",
    "’ OR ’1’=’1",
    "ʼ; DROP TABLE events --",
    "0x27204f5220313d31",
    "CHAR(39) OR 1=1",
    "1 OR 1=1",
    "1e309",
    "sleep(10)",
    "${jndi:ldap://127.0.0.1}",
    "$$; DROP TABLE events; $$",
    "E'\\x27'",
    "U&'\\0027'",
    "' || (SELECT string_agg(title, ',') FROM documents) || '",
    "x'; ATTACH 'y' AS z; --",
    "x'; COPY events TO 'out.csv'; --",
    "x'; SET enable_external_access=true; --",
]

PLACES = [
    *({"title": attack} for attack in INJECTIONS),
    *({"title__in": [attack]} for attack in INJECTIONS),
    *({"metadata.user_id__contains": attack} for attack in INJECTIONS),
    *({"key.person": attack} for attack in INJECTIONS),
    *({"date__gte": attack} for attack in INJECTIONS),
    *({f"key.{attack}": "x"} for attack in INJECTIONS),
    *({f"key.{attack}__isnull": False} for attack in INJECTIONS),
    *({f"metadata.{attack}": "x"} for attack in INJECTIONS),
    *({attack: "x"} for attack in INJECTIONS),
    *({f"title__{attack}": "x"} for attack in INJECTIONS),
    *({f"{attack}__eq": "x"} for attack in INJECTIONS),
    *({f"title {attack}": "x"} for attack in INJECTIONS),
]


def test_the_attacks_are_many():
    assert len(PLACES) >= 3 * 150


def test_an_attack_as_field_operator_or_value_is_an_error_or_matches_nothing_and_the_tables_stay(sandbox):
    matched = []
    for where in PLACES:
        with suppress(FilterError):
            matched += [(where, ids) for ids in [found(sandbox, where)] if ids != ()]

    assert matched == []
    assert ids_of(sandbox, "SELECT event_id FROM events")[1] == EVENTS
    assert ids_of(sandbox, "SELECT document_id FROM documents")[1] == DOCUMENTS


@pytest.mark.slow
@given(
    st.sampled_from([*COLUMNS, "metadata.x", "key.x"]),
    st.sampled_from(OPERATORS),
    st.text() | st.floats() | st.integers() | st.booleans() | st.lists(st.text(), max_size=3),
)
def test_values_never_enter_the_text_of_a_condition(field, operator, value):
    try:
        compiled = compile_where({f"{field}__{operator}": value})
    except FilterError:
        return

    again = compile_where({f"{field}__{operator}": _other(value)})
    assert compiled.sql == again.sql
    assert len(compiled.parameters) == len(again.parameters) == compiled.sql.count("?")


def _other(value):
    """A value of the same form."""
    if isinstance(value, list):
        return [_other(item) for item in value]
    return value if not isinstance(value, str) or not value.isalnum() or value[:1].isdigit() else "other"


def scoped(where):
    """The condition over metadata of users and agents."""
    return {
        name if not name.startswith(("user_id", "agent_id")) else f"metadata.{name}": v for name, v in where.items()
    }


def test_scope_fields_are_normalised_as_recorded():
    for case in recorded("memu_retrieve")["where_normalize"]:
        where = case["where"] or {}
        if "error" in case:
            with pytest.raises(FilterError):
                compile_where(scoped(where))
        else:
            compiled = compile_where(scoped(where))
            assert sum(not str(value).startswith("$.") for value in compiled.parameters) == sum(
                len(v) if isinstance(v, list) else 1 for v in case["normalized"].values()
            )


def test_scope_fields_match_as_recorded():
    cases = recorded("memu_retrieve")["where_match"]
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("CREATE TABLE documents (metadata VARCHAR)")
    for case in cases:
        compiled = compile_where(scoped(case["where"]))
        row = f"(SELECT {chr(39)}{json.dumps(case['record'])}{chr(39)} AS metadata) AS d"

        matches = connection.execute(f"SELECT count(*) FROM {row} WHERE {compiled.sql}", list(compiled.parameters))

        assert bool(matches.fetchone()[0]) is case["match"], case
    assert cases
