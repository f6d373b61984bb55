"""Forms of English words by lemminflect's dictionary, of which only the entries of words that occur are read."""

import gzip
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final


class _NotSpacy:
    """lemminflect imports spaCy where it is installed, to extend its tokens: a second that nothing here needs."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Refuse spaCy, and leave every other module to the other finders."""
        if name == "spacy":
            raise ImportError(name)


sys.meta_path.insert(0, _NotSpacy)
try:
    from lemminflect.codecs.InflectionLUCodec import InflectionLUCodec
    from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec
    from lemminflect.codecs.OverridesCodec import OverridesCodec
    from lemminflect.config import infl_overrides_fn, inflection_lu_fn, lemma_lu_fn, lemma_overrides_fn
    from lemminflect.core.LexicalUtils import categoryToUPos, pennTagAlts
finally:
    sys.meta_path.remove(_NotSpacy)

FormEntry = dict[str, tuple[str, ...]]
"""Part of speech or tag → spellings."""


class _Entries(Mapping[str, FormEntry]):
    """A dictionary file as a mapping: to parse all of it takes half a second, to find a line in it microseconds."""

    def __init__(self, path: str, read: Callable[[str], FormEntry], fixed: Mapping[str, FormEntry]) -> None:
        self._lines = sorted(gzip.decompress(Path(path).read_bytes()).splitlines())
        self._read = read
        self._fixed = fixed
        """Entries that replace those of the file."""

    def __getitem__(self, word: str) -> FormEntry:
        """The entry of a word, of all its lines."""
        if word in self._fixed:
            return self._fixed[word]
        start = word.encode("utf-8", "surrogatepass") + b","
        row, found = bisect_left(self._lines, start), FormEntry()
        while row < len(self._lines) and self._lines[row].startswith(start):
            found.update(self._read(self._lines[row].decode()))
            row += 1
        if not found:
            raise KeyError(word)
        return found

    def __iter__(self) -> Iterator[str]:
        """Every word."""
        return iter({line.partition(b",")[0].decode() for line in self._lines} | set(self._fixed))

    def __len__(self) -> int:
        """How many words there are."""
        return len(set(self))


@cache
def _lemma_entries() -> _Entries:
    return _Entries(lemma_lu_fn, _lemmas_of, {})


@cache
def _form_entries() -> _Entries:
    return _Entries(inflection_lu_fn, _forms_of, InflectionLUCodec.updateForAuxMod({}))


_lemma_overrides: Final = cache(partial(OverridesCodec.load, lemma_overrides_fn))
_form_overrides: Final = cache(partial(OverridesCodec.load, infl_overrides_fn))


def _lemmas_of(line: str) -> FormEntry:
    _, category, forms = LemmaLUCodec.fromString(line)
    return {categoryToUPos(category): forms}


def _forms_of(line: str) -> FormEntry:
    forms: FormEntry = InflectionLUCodec.fromString(line)[2]
    return forms


def all_lemmas(word: str) -> Mapping[str, tuple[str, ...]]:
    """Part of speech → lemmas of a word in small letters, of the dictionary alone; empty for unknown words."""
    return _small({**_lemma_entries().get(word, {}), **_lemma_overrides().get(word, {})})


def inflected(lemma: str, tag: str) -> tuple[str, ...]:
    """The spellings of a form of a lemma in small letters, of the dictionary alone; empty for unknown words.

    Where the dictionary lacks a tag, that of the form which is mostly spelt alike counts.
    """
    forms = _small({**_form_entries().get(lemma, {}), **_form_overrides().get(lemma, {})})
    return next((forms[each] for each in (tag, *pennTagAlts(tag)) if forms.get(each)), ())


def _small(entry: FormEntry) -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(map(str.lower, spellings)) for name, spellings in entry.items()}
