"""Ask a language model how statements that rules found to revise each other stand to each other; answers are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from sag_pipeline.extract.claims import Revision
from sag_pipeline.llm.extract import prompt_versions
from sag_pipeline.llm.same_names import ComparedPair
from sag_retrieval.language.spans import UNCONFIRMED, first_day, last_day
from sag_retrieval.language.words import language_of
from sag_retrieval.models.cached_chat import BatchLimits, CachedChat
from sag_retrieval.models.protocols import AnswerShape, Reply, Request, estimate_tokens
from sag_retrieval.prompts import quoted

STEP: Final = "revisions"
"""Of the questions, in costs."""
LIMITS: Final = BatchLimits(parts=20, tokens=4_000)
"""Pairs of one question: each has two sentences."""
PAIRS_PER_EVENT: Final = 0.02
"""Most pairs that are asked about, for each event: a pile that revises itself has one in eight, others hardly any."""
MODEL: Final = "model"
"""Evidence of a revision whose kind a model said."""
PairKind = Literal["corrects", "replaces", "updates", "contradicts", "apart"]


class PairVerdict(AnswerShape):
    """What a model says of the pair with this number."""

    pair: int
    verdict: PairKind


class RevisionVerdicts(AnswerShape):
    """The verdicts; a pair that is not there stays as it is."""

    verdicts: list[PairVerdict]


@dataclass(frozen=True, slots=True)
class RevisedPair(ComparedPair):
    """Two statements with their days."""

    step = STEP

    statements: tuple[str, str]
    said: tuple[str, str]
    language: str

    @property
    def size(self) -> int:
        """Tokens of the statements."""
        return sum(map(estimate_tokens, self.statements))

    def merge(self, parts: Sequence["RevisedPair"]) -> Request[RevisionVerdicts]:
        """One question about all pairs, numbered from 1."""
        shown = [[text for pair in zip(part.said, part.statements, strict=True) for text in pair] for part in parts]
        pairs = "\n".join(f"{number} {quoted(*texts)}" for number, texts in enumerate(shown, 1))
        return self.asked(RevisionVerdicts, parts, (text for texts in shown for text in texts), pairs=pairs)

    def split(self, parts: Sequence["RevisedPair"], answer: RevisionVerdicts) -> list[RevisionVerdicts | None]:
        """The answer by pair, numbered 1."""
        said = {one.pair: one.verdict for one in answer.verdicts}
        return [
            RevisionVerdicts(verdicts=[PairVerdict(pair=1, verdict=said[number])] if number in said else [])
            for number in range(1, len(parts) + 1)
        ]


@dataclass(frozen=True, slots=True)
class RevisionQuestions:
    """Asks about the least certain revisions."""

    chat: CachedChat
    language: str = "auto"

    @property
    def fingerprint(self) -> str:
        """What the answers depend on besides the statements."""
        return " ".join((self.chat.fingerprint, self.language, prompt_versions(STEP)))

    def __call__(self, found: Sequence[Revision], contents: Mapping[str, str], events: int) -> list[Revision]:
        """The revisions as a model judges them, in their order; one without an answer stays, one of two things goes."""
        unsure = [row for row, one in enumerate(found) if one.evidence != UNCONFIRMED]
        unsure.sort(key=lambda row: (found[row].confidence, found[row].revision_id))
        asked = sorted(unsure[: round(PAIRS_PER_EVENT * events)])
        replies = self.chat.ask_all([self._pair(found[row], contents).request for row in asked])
        judged: list[Revision | None] = list(found)
        for row, reply in zip(asked, replies, strict=True):
            if isinstance(reply, Reply) and reply.value.verdicts:
                judged[row] = _judged(found[row], reply.value.verdicts[0].verdict)
        return [one for one in judged if one]

    def _pair(self, one: Revision, contents: Mapping[str, str]) -> RevisedPair:
        texts = contents[one.earlier_event_id], contents[one.later_event_id]
        spoken = language_of("".join(texts)) if self.language == "auto" else self.language
        return RevisedPair(texts, (one.earlier_said or "", one.later_said or ""), spoken)


def _judged(one: Revision, verdict: PairKind) -> Revision | None:
    """A revision with a model's verdict: agreed, it is surer; None where the two speak of two things.

    Which of two statements came first is a matter of their days, which a model cannot know better.
    """
    if verdict == one.kind:
        return replace(one, confidence=round((1 + one.confidence) / 2, 3))
    if verdict == "apart":
        return None
    days = (one.earlier_said, one.later_said)
    is_ordered = one.kind != "contradicts" or (all(days) and last_day(days[0] or "") < first_day(days[1] or ""))
    return replace(one, kind=verdict, evidence=MODEL) if verdict == "contradicts" or is_ordered else one
