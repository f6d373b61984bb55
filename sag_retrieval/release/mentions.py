"""Names of keys as a dictionary in memory maps, and the longest of them that a text mentions."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import marisa_trie
import numpy as np
import pyarrow as pa

from sag_retrieval.core.types import Rows
from sag_retrieval.release.csr import CsrLists, group, map_trie
from sag_retrieval.text.words import STOP_WORDS, is_cjk, normal_name

_POSSESSIVE: Final = re.compile(r"['’]s\b")
_SHORTEST: Final = 2
_REACH: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class Mentions:
    """Folded names and the keys each of them may mean."""

    trie: marisa_trie.Trie
    keys_of: CsrLists

    def exact(self, name: str) -> Rows:
        """Keys with exactly this name, however it is spelt; empty for none."""
        number = self.trie.get(normal_name(name))
        return self.keys_of.row(number) if number is not None else np.zeros(0, np.int32)

    def find(self, text: str) -> list[tuple[str, Rows]]:
        """The longest names in the text from left to right, without overlap, and their keys.

        A name counts where it does not cut a Latin word or a number; Chinese names need no boundary. Names
        of one character and stop words are passed over. The text is read with and without possessive endings.

        Source:
            docs/algorithm.md §search.3.

        """
        readings = dict.fromkeys((normal_name(text), normal_name(_POSSESSIVE.sub("", text))))
        names = dict.fromkeys(name for reading in readings for name in self._longest(reading))
        return [(name, self.keys_of.row(self.trie[name])) for name in names]

    def _longest(self, text: str) -> Iterator[str]:
        place = 0
        while place < len(text):
            name = "" if cuts_word(text, place) else self._longest_at(text, place)
            if name:
                yield name
            place += len(name) or 1

    def _longest_at(self, text: str, place: int) -> str:
        fitting = [
            name
            for name in names_at(self.trie, text, place)
            if len(name) >= _SHORTEST and name not in STOP_WORDS and not cuts_word(text, place + len(name))
        ]
        return max(fitting, key=len, default="")

    @classmethod
    def open(cls, folder: Path) -> "Mentions":
        """Map what `write_mentions` wrote."""
        return cls(map_trie(folder / "names.marisa"), CsrLists.open(folder / "keys"))


def write_mentions(folder: Path, names: Iterable[tuple[str, int]]) -> None:
    """Write the dictionary of (name, key row) pairs; a key may have several names, a name several keys."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [(name, row) for name, row in names if name]
    coded = pa.array([name for name, _ in pairs], pa.string()).dictionary_encode()
    distinct = coded.dictionary.to_pylist()
    trie = marisa_trie.Trie(distinct)
    trie.save(str(folder / "names.marisa"))
    number_of = np.fromiter((trie[name] for name in distinct), np.int64, len(distinct))
    rows = np.fromiter((row for _, row in pairs), np.int64, len(pairs))
    width = int(rows.max(initial=0)) + 1
    numbers, keys = np.divmod(np.unique(number_of[coded.indices.to_numpy()] * width + rows), width)
    group(numbers, keys, len(trie))[0].save(folder / "keys")


def names_at(trie: marisa_trie.Trie, text: str, place: int) -> list[str]:
    """The names of a dictionary that stand in the text at a place; looks no further than the longest of them may go."""
    reach = _REACH
    while place + reach < len(text) and next(trie.iterkeys(text[place : place + reach]), None) is not None:
        reach *= 4
    names: list[str] = trie.prefixes(text[place : place + reach])
    return names


def cuts_word(text: str, place: int) -> bool:
    """Whether a place lies inside a Latin word or a number."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    return before.isalnum() and after.isalnum() and not is_cjk(before) and not is_cjk(after)
