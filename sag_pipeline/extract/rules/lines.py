"""What the lines of a document are to its events: titles, fields of a form, turns of a conversation, running heads."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sag_pipeline.extract.rules.headings import headings_of
from sag_retrieval.language.data import patterns, word_lists
from sag_retrieval.language.layout import Line, LineKind, logical_lines, trimmed
from sag_retrieval.language.mail import mail_heads, senders
from sag_retrieval.language.words import STOP_WORDS, fold, words

_EN, _ZH = word_lists("en"), word_lists("zh")
_SAYS = patterns("all")
_NOT_SPEAKERS = frozenset().union(
    *(_EN[name] for name in ("FORM_WORDS", "COMMON", "CALENDAR", "EMPTY_CELLS")), _ZH["NOT_QUOTED"]
)
_LEAST_TURNS = 4
_LEAST_SHARE = 0.4
"""Of the lines of a text: fewer that begin so are labels."""
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
    say something with a mark of a sentence. A word of forms, such as `Date`, is nobody who speaks. In a mail, its
    sender and those whom it forwards speak, however few their lines.
    """
    found: dict[int, Utterance] = {}
    spoken = 0
    for line in lines:
        if line.kind in (LineKind.ROW, LineKind.RULE, LineKind.CODE, LineKind.HEADING):
            continue
        mark = _SAYS["speaker"].match(text, line.start, line.end)
        if mark and mark["name"].lower() not in _NOT_SPEAKERS:
            found[line.start] = Utterance(mark["name"], mark.start("name"), mark.end("name"), mark.end())
            spoken += bool(_SAYS["sentence_mark"].search(text, mark.end(), line.end))
    if sent := [set(words(each)) for each in senders(text)]:
        return {at: turn for at, turn in found.items() if any(each.issuperset(words(turn.speaker)) for each in sent)}
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


_RUNNING = 4
"""A line that stands so often, but for its digits, is a running head or foot."""
_LONGEST_HEAD = 80
_LEAST_SHOUTED = 2
_WORDS_OF_A_ROW = 2
"""How many words more than twice its figures a row may have."""


class Page:
    """The lines of one document, read once for all of its chunks."""

    def __init__(self, text: str, language: str) -> None:
        """Read the lines."""
        self.text = text
        self._lines = logical_lines(text)
        self._ends = [line.end for line in self._lines]
        self._starts = [line.start for line in self._lines]
        self._turns = turns_of(text, self._lines)
        self.has_head = bool(senders(text))
        self._heads = mail_heads(text)
        self._titles = {heading.start for heading in headings_of(text, language, self._lines)}
        self._bare = [_bare(text, line) for line in self._lines]
        self._often = {bare for bare, count in Counter(self._bare).items() if bare and count >= _RUNNING}
        self.speakers = frozenset(
            fold(part) for turn in self._turns.values() for part in _SAYS["part_of_name"].findall(turn.speaker)
        )

    def within(self, start: int, end: int) -> list[Line]:
        """The lines that lie in a part of the text, cut at its ends."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        cut = []
        for line in self._lines[first:last]:
            span = trimmed(self.text, (max(line.start, start), min(line.end, end)))
            if span.start < span.end:
                cut.append(Line(line.kind, *span))
        return cut

    def turn(self, line: Line) -> Utterance | None:
        """The turn that a line is part of."""
        return self._turns.get(self._starts[self._row(line)]) if self._turns else None

    def is_title(self, line: Line) -> bool:
        """Whether a line only names what follows: a line that stands alone like a heading, or one in capitals."""
        whole = self._lines[self._row(line)]
        return whole.start in self._titles or _is_shouted(self.text[whole.start : whole.end])

    def is_head(self, line: Line) -> bool:
        """Whether a line is of the head of a mail, which says nothing."""
        row = bisect_right(self._heads, line.start, key=lambda head: head.start) - 1
        return row >= 0 and line.end <= self._heads[row].end

    def is_furniture(self, line: Line) -> bool:
        """Whether a line stands again and again, but for its digits, as running heads and page marks do."""
        row = self._row(line)
        return self._bare[row] in self._often and self._starts[row] not in self._turns

    def _row(self, line: Line) -> int:
        return bisect_right(self._starts, line.start) - 1


def is_field_line(text: str, line: Line) -> bool:
    """Whether a line is a label with its value, or a few words with figures, as a row of a table without borders."""
    if line.kind not in (LineKind.PROSE, LineKind.ITEM):
        return False
    return bool(_SAYS["field"].match(text, line.start, line.end)) or _has_figures(text[line.start : line.end])


def _has_figures(words: str) -> bool:
    """Whether a short line has two figures at least, and hardly more words than figures."""
    parts = words.split() if len(words) <= _LONGEST_HEAD else []
    figures = sum(part[-1:].isdigit() or part[-1:] in "%)—-" for part in parts)
    return figures > 1 and len(parts) <= 2 * figures + _WORDS_OF_A_ROW


def _bare(text: str, line: Line) -> str:
    """The letters of a short line without a statement or a value; empty for any other."""
    if line.kind in (LineKind.ROW, LineKind.RULE, LineKind.CODE) or line.end - line.start > _LONGEST_HEAD:
        return ""
    words = text[line.start : line.end]
    if ":" in words or "：" in words or _SAYS["no_statement"].search(words):
        return ""
    return " ".join(_SAYS["letters"].findall(words.lower()))


def _is_shouted(words: str) -> bool:
    """Whether a short line is in capitals, and no sentence."""
    if len(words) > _LONGEST_HEAD or not words.isupper() or _SAYS["no_statement"].search(words):
        return False
    return sum(word.isalpha() for word in words.split()) >= _LEAST_SHOUTED
