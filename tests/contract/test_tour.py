"""The tour of all features: nothing comes out empty, and what does is noticed."""

import re

import pytest

import sag_retrieval
from tests.support import tour


@pytest.mark.slow
def test_every_feature_over_the_demo_documents_gives_something(capsys, monkeypatch):
    monkeypatch.delenv("SAG_HOME", raising=False)

    code = tour.main(["--small"])

    said = capsys.readouterr().out
    assert code == 0, said
    assert re.search(rf"{len(tour.DEMO) + len(tour.FEATURES)} features, 0 empty", said)
    assert "long documents skipped: --small" in said


@pytest.mark.parametrize("value", [None, [], "", 0, {}, False])
def test_nothing_counts_as_empty(tmp_path, value):
    feature = tour.Feature("000", "nothing", "nothing()", lambda _: value)

    ((_, _, is_something),) = tour.visited([feature], tour.Visit(tmp_path, tmp_path))

    assert not is_something


def test_a_feature_that_fails_is_empty_with_its_error(tmp_path):
    failing = [
        tour.call("000", "no release", "release.search(…)", lambda release: release.search("q").hits),
        tour.command("000", "no such command", ["serch"], ""),
    ]

    found = list(tour.visited(failing, tour.Visit(tmp_path, tmp_path)))

    assert [is_something for _, _, is_something in found] == [False, False]
    assert found[0][1].startswith("ReleaseError: ")
    assert "serch" in found[1][1]


def test_every_seed_has_its_features_and_no_feature_uses_a_private_import():
    places = {feature.place.partition(" ")[0] for feature in tour.FEATURES}

    assert places == {"000", "001", "002", "003", "004"}
    assert all(feature.place.startswith(("000", "001", "002", "003", "004")) for feature in tour.LONG_FEATURES)
    source = (tour.ROOT / "tests" / "support" / "tour.py").read_text(encoding="utf-8")
    assert re.findall(r"^\s*(?:from|import) (sag_\w+\S*)", source, re.MULTILINE) == ["sag_retrieval"]
    assert sag_retrieval.__all__


def test_a_path_that_is_not_there_is_nothing():
    assert tour.picked({"hits": [{"parts": {"kg": 0.2}}]}, "hits.0.parts.kg") == 0.2
    assert tour.picked({"hits": []}, "hits.0.parts") is None
    assert tour.picked({"hits": 3}, "hits.parts") is None
