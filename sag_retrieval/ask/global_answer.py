"""Global mode: a question about all documents, answered from the themes: by a model over each, or by the nearest."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from sag_retrieval.ask.asked_words import AskedWord, asked_words
from sag_retrieval.ask.cited import Cited
from sag_retrieval.ask.fast import ask_fast
from sag_retrieval.ask.global_statements import LEAST_NEAR, Wanted, answering_statements
from sag_retrieval.ask.modes import ModeResult
from sag_retrieval.ask.options import AT_ONCE
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.theme_sources import ThemeSources
from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.types import Floats
from sag_retrieval.llm_writing.lines import Judge, PromptLine, PromptLines, event_lines, in_prompt, packed
from sag_retrieval.llm_writing.themes import NearTheme, Themes, best_statements, nearest_themes, similarities
from sag_retrieval.llm_writing.written import WrittenSentence
from sag_retrieval.models.protocols import estimate_tokens

_MOST_THEMES: Final = 20
"""Themes that a model is asked about, the nearest."""
_PROMPT_TOKENS: Final = 4_000
"""Estimated tokens of events in one prompt, and of points in the last."""
_REPLY_TOKENS: Final = 800
_QUOTED_THEMES: Final = 4
"""Themes that answer without a model."""
_QUOTED: Final = 2
"""Statements of each."""
_NOT_TOGETHER: Final = {
    "en": "No statement of these themes holds {words} together. The nearest say:",
    "zh": "这些主题中没有一句同时提到{words}。最接近的句子：",
}
_NOTHING: Final = {
    "en": "Nothing in these themes names {words}. The nearest themes say:",
    "zh": "这些主题中没有提到{words}的句子。最接近的主题：",
}


class RatedPoint(BaseModel):
    """A point of a partial answer, the lines that state it, and how much it answers the question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(description="one sentence that answers a part of the question")
    cited: list[int] = Field(description="numbers n of the lines that state it")
    rating: FiniteFloat = Field(description="0 (does not answer) to 10 (answers decisively)")


class PartialAnswer(BaseModel):
    """What one theme says to the question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    points: list[RatedPoint] = Field(description="at most 5; none where the lines say nothing to the question")


class GlobalAnswer(BaseModel):
    """The answer to the whole question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_found: bool = Field(description="whether the lines answer the question")
    sentences: list[WrittenSentence] = Field(description="the answer, sentence by sentence; none if it is not found")


@dataclass(frozen=True, slots=True)
class _Point:
    """A supported point: its theme's title, its rating, and the rows of its events."""

    theme: str
    rating: int
    text: str
    rows: tuple[int, ...]


def ask_global(session: Session) -> ModeResult:
    """The outcome of asking the themes; where the release or its themes are not known, that of the fast mode.

    Source:
        docs/algorithm.md §answers.9.

    """
    context = session.context
    if context is None or context.themes is None:
        session.note("the themes are not known here; open the release and ask it: release.ask(…, mode='global')")
        return ask_fast(session)
    themes = context.themes()
    if themes.note:
        session.note(themes.note)
    query = context.index.embedder.embed([session.question])
    near = nearest_themes(themes, query, _MOST_THEMES)
    titles = [each.community.title for each in near]
    if not near:
        session.note("the release has no themes to answer from: too few events; see `sag status`")
        return ModeResult(None, (), {"themes": []})
    session.tell("background", documents=_documents(themes, near), keys=titles)
    if session.chat is None:
        session.note("there is no language model: their statements are quoted")
        return _by_rules(session, themes, near)
    return _by_model(session, themes, near) or _by_rules(session, themes, near)


def _documents(themes: Themes, near: Sequence[NearTheme]) -> list[str]:
    document_of = themes.events.document
    rows = {int(document_of[row]) for each in near for row in each.rows}
    return [themes.events.documents.document_ids[row] for row in sorted(rows)]


def _by_rules(session: Session, themes: Themes, near: Sequence[NearTheme]) -> ModeResult:
    """The statements that answer, each under the title of its theme; where none does, that, and the nearest ones."""
    assert session.context is not None
    sources = ThemeSources(session, themes)
    asked = asked_words(session.question, session.context.weigh)
    if asked:
        likeness = _likeness(session, themes, asked)
        wanted = Wanted(asked, likeness, session.language, session.question)
        if found := answering_statements(themes.events, near, wanted):
            return _quoted(sources, [_line(session, sources, each.community.title, each.rows) for each in found], near)
        closest = [
            _line(session, sources, each.community.title, each.rows)
            for each in answering_statements(themes.events, near, replace(wanted, least=LEAST_NEAR))
        ]
    if not asked:
        return _quoted(sources, _of_themes(session, sources, themes, near), near)
    is_chinese = session.language.startswith("zh")
    named = ("、" if is_chinese else ", ").join(f"“{each.written}”" for each in asked)
    lead = (_NOT_TOGETHER if closest else _NOTHING)["zh" if is_chinese else "en"].format(words=named)
    outcome = _quoted(sources, [lead, *(closest or _of_themes(session, sources, themes, near))], near)
    return replace(outcome, cited=None, closest=outcome.cited)


def _of_themes(session: Session, sources: ThemeSources, themes: Themes, near: Sequence[NearTheme]) -> list[str]:
    """A line of each of the largest themes that have statements."""
    found: list[str] = []
    for each in sorted(near, key=lambda each: -len(each.community.members)):
        rows = best_statements(themes, each, _QUOTED, session.language)
        if rows and len(found) < _QUOTED_THEMES:
            found.append(_line(session, sources, each.community.title, rows))
    return found


def _likeness(session: Session, themes: Themes, asked: Sequence[AskedWord]) -> Floats:
    """The mean cosine of each event with the question and with its telling words."""
    assert session.context is not None
    texts = [session.question, " ".join(each.written for each in asked)]
    query = session.context.index.embedder.embed(texts)
    return (similarities(themes.events, query[:1]) + similarities(themes.events, query[1:])) / 2


def _line(session: Session, sources: ThemeSources, title: str, rows: Sequence[int]) -> str:
    colon = "：" if session.language.startswith("zh") else ": "
    return f"{title}{colon}{_joint(session).join(sources.quotation(row) for row in rows)}"


def _quoted(sources: ThemeSources, lines: Sequence[str], near: Sequence[NearTheme]) -> ModeResult:
    cited = Cited("\n".join(lines), tuple(sources.citations), tuple(range(len(sources.citations))))
    return ModeResult(cited, tuple(sources.passages.values()), {"themes": [_told(each) for each in near]})


def _by_model(session: Session, themes: Themes, near: Sequence[NearTheme]) -> ModeResult | None:
    """A partial answer of each theme, then one of all of them; None, with a note, where the model gives none."""
    judge = Judge(themes.events.cleaned())
    shown = [
        PromptLines.of(judge.events, packed(event_lines(judge.events, each.rows), _PROMPT_TOKENS)[0]) for each in near
    ]
    reached = _within_budget(session, shown)
    if reached < len(near):
        session.note(
            f"{len(near) - reached} of {len(near)} themes are beyond the budget; raise max_calls or max_tokens"
        )
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="sag-global") as threads:
        answers = list(threads.map(lambda part: _asked(session, part), shown[:reached]))
    points: list[_Point] = []
    trace = [_told(each) for each in near]
    for theme, part, answer, told in zip(near, shown, answers, trace, strict=False):
        own = _supported(judge, theme, part, answer) if answer else []
        told["points"] = [{"text": point.text, "rating": point.rating} for point in own]
        points += own
        session.tell(
            "answered", id=theme.community.title, is_found=bool(own), answer=own[0].text if own else "", cited=[]
        )
    result = _reduced(session, judge, points) if points else None
    if judge.left_out:
        session.note(
            f"{len(judge.left_out)} sentences of the model were left out: no event that it cited supports them"
        )
    if result is None:
        return None
    sources = ThemeSources(session, themes)
    text = _joint(session).join(sources.sentence(each) for each in result)
    cited = Cited(text, tuple(sources.citations), tuple(range(len(sources.citations))), is_generated=True)
    left_out = [{"reason": each.reason, "text": each.text} for each in judge.left_out]
    return ModeResult(cited, tuple(sources.passages.values()), {"themes": trace, "left_out": left_out})


def _within_budget(session: Session, parts: Sequence[PromptLines]) -> int:
    """How many themes calls and tokens of the options reach, with the last call: known before the first is made."""
    tokens = _PROMPT_TOKENS + 2 * _REPLY_TOKENS
    for place, part in enumerate(parts):
        tokens += estimate_tokens(in_prompt(part.lines)) + 2 * _REPLY_TOKENS
        if place + 2 > session.options.max_calls or tokens > session.options.max_tokens:
            return place
    return len(parts)


def _asked(session: Session, part: PromptLines) -> PartialAnswer | None:
    values = {"lines": in_prompt(part.lines), "question": session.question}
    try:
        return session.ask("global_part", PartialAnswer, values)
    except ModelError as error:
        session.note(f"a theme was not asked about: {error}")
        return None


def _supported(judge: Judge, theme: NearTheme, part: PromptLines, answer: PartialAnswer) -> list[_Point]:
    found = []
    for each in answer.points:
        checked = judge.checked(each.text, each.cited, part)
        rating = min(10, max(0, round(each.rating)))
        if checked.reason:
            judge.leave_out(theme.community.community_id, "sentence", checked.reason, each.text)
        elif rating:
            found.append(_Point(theme.community.title, rating, each.text, checked.numbers))
    return found


def _reduced(session: Session, judge: Judge, points: Sequence[_Point]) -> tuple[CitedSentence, ...] | None:
    """The sentences of the whole answer; None, with a note, where there is none."""
    ordered = sorted(points, key=lambda point: -point.rating)
    lines = [PromptLine({"theme": each.theme, "rating": each.rating, "text": each.text}, each.rows) for each in ordered]
    shown = PromptLines.of(judge.events, packed(lines, _PROMPT_TOKENS)[0])
    values = {"lines": in_prompt(shown.lines), "question": session.question}
    try:
        answer = session.ask("global_answer", GlobalAnswer, values, is_last=True)
    except ModelError as error:
        session.note(f"the answer was made without the model: {error}")
        return None
    sentences = judge.sentences("", answer.sentences, shown) if answer.is_found else ()
    return sentences or None


def _joint(session: Session) -> str:
    return "" if session.language.startswith("zh") else " "


def _told(theme: NearTheme) -> dict[str, Any]:
    """A theme as the trace holds it."""
    return {"theme": theme.community.title, "events": len(theme.community.members), "score": theme.score}
