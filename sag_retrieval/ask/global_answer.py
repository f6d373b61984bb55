"""Global mode: a question about all documents, answered from the themes: by a model over each, or by the nearest."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.asked_words import AskedWord, asked_words, share_held
from sag_retrieval.ask.cited import Cited
from sag_retrieval.ask.evidence import sentence_for
from sag_retrieval.ask.modes import ModeResult, ask_fast
from sag_retrieval.ask.options import AT_ONCE
from sag_retrieval.ask.passages import JoinedPassage
from sag_retrieval.ask.question import AnswerKind, question_parts
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.values import states, states_unit
from sag_retrieval.clusters.events import EventTable, Rows
from sag_retrieval.clusters.groups import CitedSentence, Community
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.types import Floats
from sag_retrieval.language.words import fold, is_cjk, tokens
from sag_retrieval.llm_writing.lines import Judge, PromptLine, PromptLines, event_lines, in_prompt, packed
from sag_retrieval.llm_writing.themes import NearTheme, Themes, best_statements, nearest_themes, similarities
from sag_retrieval.llm_writing.written import WrittenSentence
from sag_retrieval.models.protocols import embed_queries, estimate_tokens
from sag_retrieval.notebook import snippet
from sag_retrieval.search.lookup import chunk_by_id
from sag_retrieval.statements.form import refers_back
from sag_retrieval.statements.quoting import judged, quotable, worth

_LONGEST_TITLE: Final = 60
"""Characters of a title that says whom a quotation is about."""


class ThemeSources:
    """Citations of events, numbered as they are first cited, and the passages that hold them."""

    def __init__(self, session: Session, themes: Themes) -> None:
        assert session.context is not None
        self._index, self._themes = session.context.index, themes
        self._row_of = {event_id: row for row, event_id in enumerate(themes.events.event_ids)}
        self._marker: dict[int, int] = {}
        self.citations: list[Citation] = []
        self.passages: dict[str, JoinedPassage] = {}

    def sentence(self, sentence: CitedSentence) -> str:
        """A sentence with the markers of its events."""
        markers = "".join(dict.fromkeys(f"[{self._cite(self._row_of[each])}]" for each in sentence.event_ids))
        return sentence.text + ("" if is_cjk(sentence.text) else " ") + markers

    def quotation(self, row: int) -> str:
        """The words of an event with its marker, and the title of its document where they share no word with it."""
        cited = self.citations[self._cite(row) - 1]
        is_chinese = is_cjk(cited.quote)
        marker = f"{'' if is_chinese else ' '}[{self._marker[row]}]"
        if len(cited.title) > _LONGEST_TITLE or not set(tokens(cited.title)).isdisjoint(tokens(cited.quote)):
            return snippet(cited.quote) + marker
        return snippet(cited.quote) + (f"（{cited.title}）" if is_chinese else f" ({cited.title})") + marker

    def _cite(self, row: int) -> int:
        if row not in self._marker:
            passage = self._passage(row)
            start, end = self._span(row, passage.text)
            known = (passage.chunk_id, passage.start + start, passage.start + end)
            same = next((each.marker for each in self.citations if (each.chunk_id, each.start, each.end) == known), 0)
            self._marker[row] = same or len(self.citations) + 1
            if not same:
                quote = passage.text[start:end]
                named = (passage.chunk_id, passage.document_id, passage.title)
                self.citations.append(Citation(self._marker[row], *named, known[1], known[2], quote, passage.place))
        return self._marker[row]

    def _span(self, row: int, text: str) -> tuple[int, int]:
        start, end = self._themes.events.spans[row].tolist()
        return (
            (start, end) if 0 <= start < end <= len(text) else sentence_for(self._themes.events.contents[row], "", text)
        )

    def _passage(self, row: int) -> JoinedPassage:
        events = self._themes.events
        chunk = int(events.chunk[row])
        chunk_id, document = events.chunks.chunk_ids[chunk], int(events.chunks.document[chunk])
        if chunk_id not in self.passages:
            first, text = self._start(chunk_id), events.chunks.texts[chunk]
            self.passages[chunk_id] = JoinedPassage(
                chunk_id=chunk_id,
                document_id=events.documents.document_ids[document],
                title=events.documents.titles[document],
                text=text,
                score=1 / (1 + len(self.passages)),
                start=first,
                end=first + len(text),
                chunks=((first, chunk_id),),
                place=events.chunks.places[chunk] if events.chunks.places else "",
            )
        return self.passages[chunk_id]

    def _start(self, chunk_id: str) -> int:
        return int(chunk_by_id(self._index, chunk_id).start)


LEAST: Final = 0.5
"""Weighted share of the question's words that a statement holds, to answer it."""
LEAST_NEAR: Final = 0.15
"""To be among the nearest where none answers."""
_WHOLE: Final = 0.9
_ENOUGH: Final = 3
"""Where this number of statements hold what is asked as a whole, those that hold less are left out."""
_READ: Final = 400
"""Events that are read word by word, those first that seem to hold most."""
_JUDGED: Final = 40
"""Those of a theme that hold most, judged as statements."""
_VAGUE: Final = 0.7
"""Factor of a statement that is surely not worth a line."""
_OF_BEST: Final = 0.75
"""Share of the best statement's rank that the others have."""
_OTHER_KIND: Final = 0.75
"""Factor of a statement without a value of the kind that is asked for."""
_VALUED: Final[frozenset[AnswerKind]] = frozenset({"name", "date", "duration", "number", "reason"})
"""Kinds of answers that a statement states or does not."""
_CONNECTIVE: Final = re.compile(
    r"(?:接着|此外|另外|同时|其次|随后|然后|首先|最后)[，,]"
    r"|(?:in addition|additionally|moreover|furthermore|also|then|finally|meanwhile|first|second),\s",
    re.IGNORECASE,
)
_MOST: Final = 6
_OF_A_THEME: Final = 4
_OF_A_DOCUMENT: Final = 2
_NEARLY: Final = 0.25
"""What a statement has to score that comes after those that can be quoted."""
_ALIKE: Final = 0.6
"""Common share of the terms of two statements that say the same."""


class _Scored(NamedTuple):
    """An event in order: how well it answers and its likeness, both negative, its row, and the share it holds."""

    rank: float
    likeness: float
    row: int
    held: float
    is_full: bool
    """Whether it holds what is asked as a whole and states the kind of value that is asked for."""


@dataclass(frozen=True, slots=True)
class ThemeStatements:
    """A theme, and the rows of its events that are quoted, the best first."""

    community: Community
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What a question asks the themes for: its words, the kinds of value that it expects, its language."""

    words: Sequence[AskedWord]
    likeness: Floats
    """Of each event with the question and its words; shape (events,)."""
    language: str
    """Statements in it come first, others only where there are none."""
    question: str = ""
    least: float = LEAST
    """Share of the weight of the words that a statement holds."""

    def is_stated_by(self, text: str) -> bool:
        """Whether a text states a value of each kind that the question expects."""
        parts = [part for part in question_parts(self.question) if part.kind in _VALUED]
        return all(states(part.kind, text, self.question) and states_unit(part.unit, text) for part in parts)


def answering_statements(events: EventTable, near: Sequence[NearTheme], wanted: Wanted) -> tuple[ThemeStatements, ...]:
    """The statements of themes that hold enough of what is asked, by theme; none where no statement does.

    Source:
        docs/algorithm.md §answers.9.

    """
    theme_of = {row: place for place, each in enumerate(near) for row in each.rows}
    rows = np.array(sorted(theme_of), np.int32)
    is_own = np.array(
        [events.documents.languages[one] == wanted.language for one in events.document[rows].tolist()], np.bool_
    )
    for part in (rows[is_own], rows[~is_own]):
        scored = _scored(events, part, wanted)
        near_best = [each for each in scored if each.rank <= _OF_BEST * scored[0].rank]
        found: list[int] = []
        for tier in ([each for each in scored if each.is_full], near_best, scored):
            if len(found) < _ENOUGH:
                found = _chosen(events, _quotable(events, tier, theme_of), theme_of)
        if found:
            places = dict.fromkeys(theme_of[row] for row in found)
            return tuple(
                ThemeStatements(near[place].community, tuple(row for row in found if theme_of[row] == place))
                for place in places
            )
    return ()


def _scored(events: EventTable, rows: Rows, wanted: Wanted) -> list[_Scored]:
    """The events that hold enough of what is asked, those that answer best first."""
    asked, likeness = wanted.words, wanted.likeness
    types = _types(events, rows)
    seeming = np.zeros(len(rows))
    folded = [fold(events.contents[row]) for row in rows.tolist()]
    for each in asked:
        beginnings = (*each.beginnings(), *each.kin_cjk)
        seeming += each.weight * np.array(
            [
                any(word in text for word in beginnings) or bool(each.types & own)
                for text, own in zip(folded, types, strict=True)
            ],
            dtype=np.float64,
        )
    order = np.lexsort((rows, -np.round(likeness[rows], 9), -seeming))
    scored = []
    for place in order[:_READ].tolist():
        terms = frozenset(tokens(events.contents[rows[place]]))
        held = share_held(asked, folded[place], terms, types[place])
        if held >= wanted.least:
            text = events.contents[rows[place]]
            is_of_kind = wanted.is_stated_by(text)
            told = float(worth(events, rows[place : place + 1])[0])
            rank = held * (1.0 if is_of_kind else _OTHER_KIND) * (_VAGUE + (1 - _VAGUE) * told)
            near = round(float(likeness[rows[place]]), 9)
            scored.append(_Scored(-round(rank, 6), -near, int(rows[place]), held, held >= _WHOLE and is_of_kind))
    return sorted(scored)


def _quotable(events: EventTable, scored: Sequence[_Scored], theme_of: Mapping[int, int]) -> list[int]:
    """The rows that can be quoted, of the first ones of each theme; those that nearly can come last."""
    counted: dict[int, int] = {}
    first: list[int] = []
    for row in (each.row for each in scored):
        counted[theme_of[row]] = counted.get(theme_of[row], 0) + 1
        if counted[theme_of[row]] <= _JUDGED:
            first.append(row)
    rows = np.array(first, np.int32)
    good = quotable(events, rows) | np.array([_only_connects(events.contents[row]) for row in first], np.bool_)
    nearly = np.array([each.quotable >= _NEARLY for each in judged(events, rows)], np.bool_)
    return [int(row) for row in (*rows[good].tolist(), *rows[nearly & ~good].tolist())]


def _only_connects(text: str) -> bool:
    """Whether a statement refers back by its first word alone: `此外，` says nothing that another sentence explains."""
    opening = _CONNECTIVE.match(text)
    return opening is not None and not refers_back(text[opening.end() :])


def _types(events: EventTable, rows: Rows) -> list[frozenset[str]]:
    """The types of the keys of each event."""
    kinds = events.keys.types
    starts = np.searchsorted(events.links.event, np.stack([rows, rows + 1]))
    keys = events.links.key
    return [frozenset(kinds[key] for key in keys[a:b].tolist()) for a, b in zip(*starts.tolist(), strict=True)]


def _chosen(events: EventTable, ranked: Sequence[int], theme_of: Mapping[int, int]) -> list[int]:
    """The first of them that say different things, a few of each theme; a second one of a document after all firsts."""
    chosen: list[int] = []
    said: list[frozenset[str]] = []
    themes: Counter[int] = Counter()
    documents: Counter[int] = Counter()
    for most in range(1, _OF_A_DOCUMENT + 1):
        for row in ranked:
            theme, document = theme_of[row], int(events.document[row])
            if len(chosen) == _MOST or themes[theme] >= _OF_A_THEME or documents[document] >= most:
                continue
            terms = frozenset(tokens(events.contents[row]))
            if all(len(terms & other) < _ALIKE * len(terms | other) for other in said):
                chosen.append(row)
                said.append(terms)
                themes[theme] += 1
                documents[document] += 1
    return sorted(chosen, key=ranked.index)


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
    query = embed_queries(context.index.embedder, [session.question])
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
    query = embed_queries(session.context.index.embedder, texts)
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
