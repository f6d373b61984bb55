"""Find the turns of a conversation: lines that begin with who speaks, and those of them that only greet or thank."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sag_pipeline.extract.rules.words import read_words
from sag_retrieval.language.layout import Line, LineKind
from sag_retrieval.language.words import STOP_WORDS, words

_EN, _ZH = read_words("en"), read_words("zh")
_SPEAKER = re.compile(
    r"(?:[\[(]?\d[\d/.:, T-]{4,24}(?:[AaPp]\.?[Mm]\.?)?[\])]?[ \t]{0,2}[-–]?[ \t]{0,2})?[*_]{0,2}"
    r"(?P<name>[^\W\d_a-z][^\W\d_]{0,19}(?:[ .'’_-]{1,2}[^\W_]{1,19}){0,3})[*_]{0,2}[ ]?[:：][*_]{0,2}[ \t]{0,2}(?=\S)"
)
_NOT_SPEAKERS = frozenset().union(
    *(_EN[name] for name in ("FORM_WORDS", "COMMON", "CALENDAR", "EMPTY_CELLS")), _ZH["NOT_QUOTED"]
)
_LEAST_TURNS = 4
_LEAST_SHARE = 0.4
"""Of the lines of a text: fewer that begin so are labels."""
_SENTENCE = re.compile(r"[.!?。！？…]")
_TALK = _EN["SMALL_TALK"] | _ZH["SMALL_TALK"]
_LONGEST_TALK = 120
_CONTRACTED = frozenset("s t m re ve ll d".split())


class Utterance(NamedTuple):
    """Who speaks in a line, and where the name stands and what is said begins."""

    speaker: str
    start: int
    end: int
    said: int


def turns_of(text: str, lines: Sequence[Line]) -> Mapping[int, Utterance]:
    """Start of a line → its turn, where a text is a conversation; empty for any other text.

    It is one if at least two speak, one of them twice, in at least four lines and two fifths of all, and most of these
    say something with a mark of a sentence. A word of forms, such as `Date`, is nobody who speaks.

    """
    found: dict[int, Utterance] = {}
    spoken = 0
    for line in lines:
        if line.kind in (LineKind.ROW, LineKind.RULE, LineKind.CODE, LineKind.HEADING):
            continue
        mark = _SPEAKER.match(text, line.start, line.end)
        if mark and mark["name"].lower() not in _NOT_SPEAKERS:
            found[line.start] = Utterance(mark["name"], mark.start("name"), mark.end("name"), mark.end())
            spoken += bool(_SENTENCE.search(text, mark.end(), line.end))
    uses = Counter(turn.speaker for turn in found.values())
    is_talk = len(found) >= max(_LEAST_TURNS, _LEAST_SHARE * len(lines)) and 2 * spoken >= len(found)
    return found if is_talk and 2 <= len(uses) <= len(found) / 2 else {}  # noqa: PLR2004  two who speak


def words_said(said: str, speakers: frozenset[str]) -> int:
    """How many words of an utterance do more than greet, thank, agree or take leave; who is spoken to is none.

    Example:
        >>> [words_said(said, frozenset({"ada"})) for said in ("Thanks so much, Ada!", "Thanks for the 12 keys.")]
        [0, 2]

    """
    spoken = "".join(" " if character in "'’" else character for character in said[:_LONGEST_TALK])
    known = _TALK | STOP_WORDS | speakers | _CONTRACTED
    return sum(word not in known for word in words(spoken)) + max(0, len(said) - _LONGEST_TALK)
