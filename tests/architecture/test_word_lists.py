"""The rules fit any document: no listed word, and no example in the packages, comes from one collection alone."""

import ast
import csv
import gzip
import json
import re
from collections import defaultdict
from functools import cache
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from sag_pipeline.extract.rules.keys import read_mentions
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.language.data import languages, patterns, word_lists
from sag_retrieval.language.words import is_cjk

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
LANGUAGES = tuple(language for language in languages() if word_lists(language))
NAME_TYPES = frozenset({"person", "organisation", "place", "product", "work", "entity"})
HEADINGS = frozenset({"Firm", "Organisations", "People", "in Chinese"})
"""What the rules take for names in the demo's documents and is none."""
OF_ITS_CLASS = frozenset({"kimberly", "苏州", "昆明", "银川"})
"""A frequent first name, capitals of provinces, a city of ten million: listed whichever texts are at hand."""
GRAMMAR = frozenset({"FUNCTION_WORDS", "FREQUENT_WORDS", "ASKING_WORDS", "QUESTION_WORDS"})
"""Lists of words of grammar, in which no name can stand: of some languages only one collection has texts."""
HEADER = re.compile(r"^\[([A-Z_]+)\] \S.*?\. General: \S.*\.$")


@pytest.mark.parametrize("language", languages())
def test_every_expression_of_a_language_can_be_compiled(language):
    assert all(patterns(language)[name].pattern for name in patterns(language))


def text_of(language):
    return files("sag_retrieval.language").joinpath("data", language, "words.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_listed_word_is_under_a_header_that_says_why_it_is_general(language):
    lines = [line for line in text_of(language).splitlines()[1:] if line]

    headers = [line for line in lines if line.startswith("[")]
    assert lines[0].startswith("[")
    assert all(map(HEADER.match, headers)), [line for line in headers if not HEADER.match(line)]
    assert [HEADER.match(line)[1] for line in headers] == list(word_lists(language))
    assert all(word_lists(language).values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_list_is_in_order_and_no_word_stands_twice_in_it(language):
    for part in re.split(r"^\[.*\n", text_of(language), flags=re.MULTILINE)[1:]:
        words = part.split()

        assert words == sorted(set(words))


@cache
def demo_names():
    """Names in the demo's documents, by its own index of firms and people and by the rules."""
    documents = [
        parse_document(raw) if isinstance(raw, RawDocument) else raw
        for raw in list_source(str(ROOT / "data" / "documents"))
    ]
    found = {
        str(mention.value)
        for document in documents
        for mention in read_mentions(f"{document.title}\n\n{document.text}")[0]
        if mention.key_type in NAME_TYPES
    }
    with (ROOT / "data/documents/firms-and-people.csv").open(encoding="utf-8") as table:
        cells = {part for row in csv.reader(table) for cell in row for part in (cell, *cell.split(" "))}
    found |= {cell for cell in cells if is_cjk(cell)}
    known = {name for language in LANGUAGES for name in word_lists(language).get("KNOWN_PLACES", ())}
    known |= word_lists("en")["PEOPLES"]
    return frozenset(name for name in found - HEADINGS if name.casefold() not in known)


def spelt(name):
    return re.escape(name) if is_cjk(name) else rf"(?<![\w.]){re.escape(name)}(?![\w])"


def test_the_demo_has_names_to_look_for():
    assert {"Hailan Tidal Energy", "Kestrel-7", "Lu Wenzhou", "顾明远", "潮鸣一号", "观澜", "鹿鸣海峡"} <= demo_names()


def without_docstrings(path):
    """What a file says beside its docstrings, whose examples run on the demo."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.unparse(tree)


@pytest.mark.slow
def test_no_name_of_the_demo_stands_in_the_packages():
    looked_for = re.compile("|".join(spelt(name) for name in sorted(demo_names(), key=len, reverse=True)))
    sources = [
        path
        for package in ("sag_pipeline", "sag_retrieval")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".txt", ".toml", ".md", ".j2", ".js")
    ]

    found = {path.name: hits for path in sources if (hits := set(looked_for.findall(without_docstrings(path))))}

    assert sources
    assert found == {}


def test_no_name_of_the_demo_is_a_listed_word():
    listed = {word for language in LANGUAGES for words in word_lists(language).values() for word in words}

    assert {name for name in demo_names() if name.casefold() in listed} == set()


def texts():
    """Collection → its texts, those that tell of few things: an encyclopaedia may name anything once."""
    for name in ("musique_train", "twowiki", "sag_test_hotpot10", "cmrc2018_trial"):
        yield "encyclopaedia", "\n".join(pd.read_parquet(SHARED / f"{name}.docs.parquet").text)
    for name in ("dragonball", "lihua_world"):
        yield name, "\n".join(pd.read_parquet(SHARED / f"{name}.docs.parquet").text)
    yield "locomo", "\n".join(pd.read_parquet(SHARED / "locomo.turns.parquet").text)
    for path in (SHARED / "longdocs").glob("*.gz"):
        yield path.name, gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    for path in (SHARED / "business").rglob("*"):
        if path.suffix in (".md", ".txt", ".csv", ".jsonl"):
            yield "business", path.read_text(encoding="utf-8", errors="replace")
    for path in (ROOT / "data" / "documents").iterdir():
        text = path.read_text(encoding="utf-8")
        yield (
            "demo",
            json.dumps(json.loads(text.splitlines()[0]), ensure_ascii=False) if path.suffix == ".jsonl" else text,
        )


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the evaluation data is not beside the project")
def test_no_listed_word_is_a_name_in_one_collection_alone():
    sets, small, capital = defaultdict(set), set(), set()
    lists = {(language, name): listed for language in LANGUAGES for name, listed in word_lists(language).items()}
    words = {word for (_, name), listed in lists.items() if name not in GRAMMAR for word in listed}
    chinese = sorted(word for word in word_lists("zh")["KNOWN_PLACES"])
    for name, text in texts():
        found = set(re.findall(r"[A-Za-z]+(?:-[a-z]+)?", text))
        pairs = set(re.findall(r"(?=\b([A-Za-z]+ [A-Za-z]+)\b)", text))
        for word in found | pairs:
            sets[word.casefold()].add(name)
            (small if word.islower() else capital if word.istitle() else set()).add(word.casefold())
        for word in chinese:
            if word in text:
                sets[word].add(name)

    alone = {word: sets[word] for word in words if len(sets[word]) == 1 and sets[word] != {"encyclopaedia"}}
    names = {word: where for word, where in alone.items() if word not in small and (word in capital or is_cjk(word))}

    assert len(sets) > len(words)
    assert names.keys() - OF_ITS_CLASS == set(), names
