"""Read the word lists, which are text files next to this module."""

import re
from collections.abc import Mapping
from importlib.resources import files

_SECTION = re.compile(r"^\[(\w+)\].*\n((?:(?!\[|#).*\n?)*)", re.MULTILINE)


def read_words(language: str) -> Mapping[str, frozenset[str]]:
    """The lists of `words_<language>.txt` by name: words under a line `[NAME] what they are`; `_` is a space in one."""
    text = files("sag_pipeline.extract.rules").joinpath(f"words_{language}.txt").read_text(encoding="utf-8")
    return {
        found[1]: frozenset(word.replace("_", " ") for word in found[2].split()) for found in _SECTION.finditer(text)
    }
