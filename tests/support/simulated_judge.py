"""A script for the chat server that judges paths, documents and entries as their words let it, from prompts alone.

It is no language model. It answers the six prompts of Think-on-Graph and of the tiers in the shape they ask for, and
reads nothing but the prompt: an entry is worth the share of the question's words that it says, rare words among the
entries counting more. Without landmarks that is all it can do: a reader who matches words and understands nothing, who
says "enough" only where every word of the question stands, and who asks again with the best entry's title added.

With landmarks it is an upper bound: it knows, for a question, the names a right way passes (answers of the recorded
sub-questions, or titles of gold documents), and calls an entry right if it names one that the question does not. It
asks for the first sub-question whose answer was not shown, and says "enough" once all were; of titles alone, never. A real model lies between
the two, or below both where it misreads a prompt.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sag_retrieval.language.words import normal_name, tokens
from tests.support.chat_server import Answer, Request, broken, first_prompt_of, schema_of

_QUESTION = re.compile(r"(?:Question: |问题：)(.*)")
_NUMBERED = re.compile(r"^(\d+)\. ")
_HALF = 0.5
"""Asked to leave out what does not help, it keeps what is worth half of the best."""
_COUNT = re.compile(r"(?:Choose at most|最多选择?) ?(\d+)")


@dataclass(frozen=True)
class Landmark:
    """A name on the right way, and the sub-question that it answers, if known."""

    name: str
    question: str = ""


@dataclass
class SimulatedJudge:
    """The script; without landmarks it matches words."""

    landmarks: Mapping[str, Sequence[Landmark]] = field(default_factory=dict)
    _of: dict[str, Sequence[Landmark]] = field(init=False)

    def __post_init__(self) -> None:
        self._of = {mark.question: marks for marks in self.landmarks.values() for mark in marks if mark.question}
        self._of |= self.landmarks

    def __call__(self, request: Request) -> Any:
        shown = Shown.of(first_prompt_of(request))
        replies: dict[str, Callable[[Shown], Any]] = {
            "ChosenPaths": lambda s: {"paths": self._best(s)},
            "Chosen": lambda s: {"entries": self._best(s, _HALF)},
            "DocumentScores": self._scores,
            "Decision": self._decision,
        }
        return replies[schema_of(request)](shown)

    def _best(self, shown: "Shown", least: float = 0.0) -> list[int]:
        worth = self._worth(shown)
        threshold = least * max(worth.values(), default=0.0)
        best = sorted((n for n in worth if worth[n] > 0 and worth[n] >= threshold), key=lambda n: (-worth[n], n))
        return best[: shown.count]

    def _scores(self, shown: "Shown") -> Any:
        return {"scores": [{"document": n, "score": min(1.0, worth)} for n, worth in self._worth(shown).items()]}

    def _worth(self, shown: "Shown") -> dict[int, float]:
        """At most a half for words where names are known, one more for a name."""
        marks = self._marks(shown.question)
        shares = shown.shares()
        if not marks:
            return shares
        return {n: 0.5 * shares[n] + any(_says(text, m.name) for m in marks) for n, text in shown.entries.items()}

    def _marks(self, question: str) -> list[Landmark]:
        return [mark for mark in self._of.get(question, ()) if not _says(question, mark.name)]

    def _is_enough(self, shown: "Shown") -> bool:
        said = " ".join(shown.entries.values())
        marks = self._of.get(shown.question)
        if marks:
            return all(mark.question and _says(said, mark.name) for mark in marks)
        return set(tokens(shown.question)) <= set(tokens(said))

    def _decision(self, shown: "Shown") -> Any:
        if not shown.entries:
            return {"decision": "RETRIEVE", "rewritten_query": shown.question}
        decision = "NO_RETRIEVE" if self._is_enough(shown) else "RETRIEVE"
        return {"decision": decision, "rewritten_query": self._rewritten(shown)}

    def _rewritten(self, shown: "Shown") -> str:
        said = " ".join(shown.entries.values())
        missing = [m.question for m in self._of.get(shown.question, ()) if m.question and not _says(said, m.name)]
        if missing:
            return missing[0]
        shares = shown.shares()
        best = max(shares, key=lambda n: (shares[n], -n))
        title = shown.entries[best].partition(": ")[0]
        return shown.question if self.landmarks or _says(shown.question, title) else f"{shown.question} {title}"


def unusable(request: Request) -> Answer:
    """A reply of which nothing can be saved: prose, now and then a server error."""
    return broken() if request["_n"] % 3 == 2 else Answer("I am afraid I cannot say.")


@dataclass(frozen=True)
class Shown:
    """What a prompt holds: the question, its entries by number, and how many may be chosen."""

    question: str
    entries: dict[int, str]
    count: int

    @classmethod
    def of(cls, prompt: str) -> "Shown":
        """Read a prompt of Think-on-Graph or of the tiers."""
        asked = _QUESTION.search(prompt)
        count = _COUNT.search(prompt)
        body = prompt[asked.end() if asked else 0 : count.start() if count else None]
        lines = [line for line in body.strip().splitlines()[1:] if line.strip() and line.strip() != "-"]
        entries: dict[int, str] = {}
        is_numbered = bool(lines) and _NUMBERED.match(lines[0]) is not None
        for line in lines:
            number = _NUMBERED.match(line)
            if number or not is_numbered:
                entries[int(number[1]) if number else len(entries) + 1] = _NUMBERED.sub("", line)
            else:
                entries[max(entries)] += f" {line}"
        return cls(asked[1].strip() if asked else "", entries, int(count[1]) if count else len(entries))

    def shares(self) -> dict[int, float]:
        """For each entry the share of the question's words that it says, weighed by rarity among the entries."""
        asked = set(tokens(self.question))
        said = {number: asked & set(tokens(text)) for number, text in self.entries.items()}
        frequency = Counter(word for words in said.values() for word in words)
        weight = {word: math.log(1 + (len(said) + 1) / (frequency[word] + 1)) for word in asked}
        total = sum(weight.values()) or 1.0
        return {number: sum(weight[word] for word in sorted(words)) / total for number, words in said.items()}


def _says(text: str, name: str) -> bool:
    return bool(name) and f" {normal_name(name)} " in f" {normal_name(text)} "
