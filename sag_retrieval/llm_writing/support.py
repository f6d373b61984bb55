"""Check a sentence that a model wrote against the events that it cites: figures, names and words must stand there."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from babel import Locale

from sag_retrieval.language.words import fold, is_cjk, normal_name, tokens
from sag_retrieval.statements.form import is_prose, is_speech

WhyLeftOut = Literal["cites nothing", "figure", "name", "words", "form"]
"""Why a sentence is left out: it cites no event that was shown; a figure or a name of it stands in none of those that
it cites; too few of its words do; it is no statement (speech, an address, a row)."""

_LEAST_WORDS: Final = 0.4
"""Share of the terms of a sentence that its events must hold."""
_LEAST_OWN: Final = 0.15
"""Share that one event must hold to stay among the citations of a sentence."""
_MOST_CITED: Final = 5
_FIGURE: Final = re.compile(r"\d+(?:[.,]\d+)*")
_CAPITALISED: Final = re.compile(r"[A-Z][\w'’-]+")
_OPENING: Final = " \"“‘'(（「『"
_MONTH: Final = re.compile(r"\b\d{4}-(\d\d)")
_MONTHS: Final = Locale("en").months["format"]["wide"]
_LAST_PART: Final = re.compile(r",(?=\d{3}(?:\D|$))")


@dataclass(frozen=True, slots=True)
class EventEvidence:
    """What an event says, as a sentence is compared with it: its text, date, document and keys."""

    text: str
    """Without punctuation, with a space before and behind."""
    terms: frozenset[str]
    figures: frozenset[str]

    @classmethod
    def of(cls, *parts: str) -> "EventEvidence":
        """The evidence of an event by all that is known of it."""
        joined = "\n".join(filter(None, parts))
        months = [int(month) for month in _MONTH.findall(joined)]
        joined = " ".join([joined, *(_MONTHS[month] for month in months if month in _MONTHS)])
        return cls(f" {normal_name(joined)} ", frozenset(tokens(joined)), frozenset(figures(joined)))


@dataclass(frozen=True, slots=True)
class Checked:
    """The events that support a sentence, best first; none, with the reason, if they do not."""

    numbers: tuple[int, ...]
    reason: WhyLeftOut | None = None


def figures(text: str) -> list[str]:
    """The figures of a text, in order, without separators of thousands, leading and closing zeros.

    Examples:
        >>> figures("1,200.50 euros on 2022-05-03")
        ['1200.5', '2022', '5', '3']

    """
    found = (_LAST_PART.sub("", figure).replace(",", ".") for figure in _FIGURE.findall(fold(text)))
    return [_shortest(figure) for figure in found]


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text, both without punctuation; a name in an alphabet as whole words."""
    return (name if is_cjk(name) else f" {name} ") in text


def _capitalised(sentence: str) -> list[str]:
    """The capitalised words that do not begin the sentence."""
    first = len(sentence) - len(sentence.lstrip(_OPENING))
    return [word[0] for word in _CAPITALISED.finditer(sentence) if word.start() > first]


def _shortest(figure: str) -> str:
    whole, _, rest = figure.partition(".")
    return ".".join(filter(None, (whole.lstrip("0") or "0", rest.rstrip("0"))))


def check(
    sentence: str, numbers: Sequence[int], shown: Mapping[int, EventEvidence], names: Sequence[str] = ()
) -> Checked:
    """The events among `numbers` that support a sentence, or why they do not.

    Args:
        sentence: What the model wrote.
        numbers: The events it cites.
        shown: The events that the model was shown, by number.
        names: Names that occur in the theme, as `normal_name` has them.

    Source:
        docs/algorithm.md §reports.12.

    """
    cited = [number for number in dict.fromkeys(numbers) if number in shown]
    if not cited:
        return Checked((), "cites nothing")
    terms, own = frozenset(tokens(sentence)), frozenset(figures(sentence))
    cover = {number: _cover(terms, own, shown[number]) for number in cited}
    kept = sorted((n for n in cited if cover[n] >= _LEAST_OWN), key=lambda n: (-cover[n], cited.index(n)))[:_MOST_CITED]
    reason = _reason(sentence, terms, own, [shown[number] for number in kept], names)
    return Checked((), reason) if reason else Checked(tuple(kept))


def _cover(terms: frozenset[str], own: frozenset[str], event: EventEvidence) -> float:
    """Share of the terms of a sentence that an event holds; at least the least for one that holds a figure of it."""
    share = len(terms & event.terms) / (len(terms) or 1)
    return max(share, _LEAST_OWN) if own & event.figures else share


def _reason(
    sentence: str, terms: frozenset[str], own: frozenset[str], events: Sequence[EventEvidence], names: Sequence[str]
) -> WhyLeftOut | None:
    """The first thing that keeps a sentence from being supported by events; None if nothing does."""
    if is_speech(sentence) or not is_prose(sentence):
        return "form"
    held = frozenset[str]().union(*(event.terms for event in events))
    is_said = bool(terms) and len(terms & held) >= _LEAST_WORDS * len(terms)
    return unstated(sentence, own, events, names) or (None if is_said else "words")


def unstated(
    sentence: str, own: frozenset[str], events: Sequence[EventEvidence], names: Sequence[str]
) -> Literal["figure", "name"] | None:
    """Whether a figure of a sentence, or a name in it, stands in none of the events."""
    if not own <= frozenset[str]().union(*(event.figures for event in events)):
        return "figure"
    held = frozenset[str]().union(*(event.terms for event in events))
    text, said = "\n".join(event.text for event in events), f" {normal_name(sentence)} "
    if any(stands_in(name, said) and not stands_in(name, text) for name in names):
        return "name"
    return "name" if any(not set(tokens(word)) <= held for word in _capitalised(sentence)) else None
