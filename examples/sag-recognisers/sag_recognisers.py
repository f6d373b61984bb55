"""Recognisers by small models: spaCy's named entities, and GLiNER's, which needs no training for a type.

    SAG_SPACY_MODELS=en:en_core_web_sm,zh:zh_core_web_sm   pipelines by language, installed as packages
    SAG_GLINER_MODEL=FOLDER                                a GLiNER model on this machine

`sag ingest --set key.recogniser=spacy` takes one. Languages without a pipeline are read by the rules.
"""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from sag_pipeline.extract.rules.names import named_by_rules
from sag_retrieval.language.mentions import Mention

TYPES = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organisation",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "PRODUCT": "product",
    "WORK_OF_ART": "work",
    "EVENT": "occasion",
}
"""Labels of spaCy's pipelines that are names, as types of sag; dates and amounts are read by sag."""
LABELS = ("person", "organisation", "place", "product", "work")
"""Types that GLiNER is asked for."""
_PIECE = 50_000
"""Characters of a document that spaCy reads at once: its parser takes memory in proportion."""
_SENTENCES = 1_200
"""Characters that GLiNER reads at once, about its longest input of 384 words."""
_FRAME = re.compile(r"\A(?:(?i:the)\s+|[\"'“‘(])|(?:['’]s|[\"'”’),.;:])\Z")


def spacy_names(text: str, language: str) -> list[Mention]:
    """The named entities of the language's spaCy pipeline; those of the rules where there is none."""
    models = dict(each.split(":", 1) for each in os.environ.get("SAG_SPACY_MODELS", "en:en_core_web_sm").split(","))
    if language not in models:
        return named_by_rules(text, language)
    read = _spacy(models[language])
    return [
        mention
        for start, piece in _pieces(text, _PIECE)
        for entity in read(piece).ents
        if entity.label_ in TYPES
        for mention in _mention(text, start + entity.start_char, start + entity.end_char, TYPES[entity.label_])
    ]


def gliner_names(text: str, language: str) -> list[Mention]:
    """The entities that GLiNER finds of the types in `LABELS`, in any language that its model knows."""
    del language
    model = _gliner(os.environ["SAG_GLINER_MODEL"])
    return [
        mention
        for start, piece in _pieces(text, _SENTENCES)
        for found in model.predict_entities(piece, list(LABELS), threshold=0.5)
        for mention in _mention(text, start + found["start"], start + found["end"], found["label"])
    ]


def _mention(text: str, start: int, end: int, key_type: str) -> Iterable[Mention]:
    """The entity without an article, quotation marks and `'s` around it, on one line; none if nothing is left."""
    while found := _FRAME.search(text[start:end]):
        if found.start():
            end = start + found.start()
        else:
            start += found.end()
    name = " ".join(text[start:end].split())
    return [Mention(start, end, key_type, name)] if len(name) > 1 else []


def _pieces(text: str, most: int) -> Iterator[tuple[int, str]]:
    """The text in pieces of at most `most` characters that end at a line, a sentence or a blank if they can."""
    start = 0
    while start < len(text):
        end = start + most
        if end < len(text):
            ends = (text.rfind(mark, start, end) for mark in ("\n", ". ", "。", " "))
            end = next((place + 1 for place in ends if place > start), end)
        yield start, text[start:end]
        start = end


@cache
def _spacy(name: str) -> Any:  # noqa: ANN401  spaCy is no dependency
    import spacy  # noqa: PLC0415  loads a pipeline of megabytes

    return spacy.load(name)


@cache
def _gliner(folder: str) -> Any:  # noqa: ANN401  GLiNER is no dependency
    from gliner import GLiNER  # noqa: PLC0415  loads torch

    return GLiNER.from_pretrained(folder, local_files_only=True)
