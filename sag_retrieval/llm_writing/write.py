"""Let a model write a report: each theme from its events, then the first page, then the lists below it."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.clusters.groups import PROPER, CitedSentence, Communities, Community
from sag_retrieval.core.errors import BudgetExceeded, ModelError, ModelUnavailable
from sag_retrieval.llm_writing.lines import (
    Judge,
    PromptLine,
    PromptLines,
    by_day,
    day_of,
    event_lines,
    first_rows,
    in_prompt,
    packed,
)
from sag_retrieval.llm_writing.written import (
    LISTS,
    Finding,
    LeftOutKind,
    ListedAnswer,
    ReportAnswer,
    ThemeAnswer,
    ThemeText,
    WritingPlan,
    WrittenReport,
)
from sag_retrieval.models.openai import request_tokens
from sag_retrieval.models.protocols import AnswerT, ChatModel, Reply, Request, Usage, estimate_tokens
from sag_retrieval.prompts import load_prompt
from sag_retrieval.topics.titler import TakenTitles

STEP: Final = "findings"
_REPLY_TOKENS: Final = 900
"""Expected tokens of a reply."""
_FINDINGS: Final = 7
_SHORTEST_LINE: Final = 15
"""Estimated tokens of a line that says little."""


class WritingOptions(Protocol):
    """Bounds of what a model writes: fields of `ReportOptions`."""

    @property
    def model_themes(self) -> int: ...  # noqa: D102  described there
    @property
    def prompt_tokens(self) -> int: ...  # noqa: D102  described there
    @property
    def max_calls(self) -> int: ...  # noqa: D102  described there
    @property
    def max_tokens(self) -> int: ...  # noqa: D102  described there


@dataclass(frozen=True, slots=True)
class _Theme:
    """A theme, its lines in a prompt, and the expected tokens of the request about it."""

    community_id: str
    shown: PromptLines
    sent: int


@dataclass
class Asking:
    """Requests to a model that may fail: each failure is a value, and nothing is asked once the server is gone."""

    chat: ChatModel
    usage: Usage = field(default_factory=Usage)
    gone: ModelError | None = None

    def ask_all(self, requests: Sequence[Request[AnswerT]]) -> Iterator[AnswerT | ModelError]:
        """The answer to each request, or why there is none."""
        replies = iter(self.chat.ask_all(requests)) if self.gone is None else iter(())
        for _ in requests:
            yield self._next(replies)

    def _next(self, replies: Iterator[Reply[AnswerT] | ModelError]) -> AnswerT | ModelError:
        if self.gone is not None:
            return self.gone
        try:
            reply = next(replies, None) or ModelError("the model gave fewer answers than it was asked for")
        except ModelError as error:  # the server, or the budget; what one answer lacks is a value
            self.gone = error
            return error
        if isinstance(reply, ModelError):
            self.usage += getattr(reply, "usage", Usage())
            return reply
        self.usage += reply.usage
        return reply.value


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """What is known of events beside their texts."""

    later: Mapping[str, str] = field(default_factory=dict)
    """By id of a revised event: what was said later in its place."""
    listed: Sequence[int] = ()
    """Rows of what documents list as decisions, risks, open points and actions, and of what has a date ahead."""
    newest: str = ""
    """The day up to which the documents tell."""


class Writer:
    """Writes about the themes of a report; what is not supported by events is left out, with the reason."""

    def __init__(
        self,
        events: EventTable,
        communities: Communities,
        options: WritingOptions,
        language: str,
        known: ReportFacts = ReportFacts(),
    ) -> None:
        """Choose the themes and their events within the budget; nothing is asked yet."""
        self.events, self._later, self._newest = events.cleaned(), known.later, known.newest or "-"
        self.language, self.options = language, options
        finest = [each for each in communities.at(0) if len(each.members) >= PROPER]
        ordered = sorted(finest, key=lambda each: (-len(each.members), each.community_id))[: options.model_themes]
        self._listed = self._lines_of_lists(known.listed, {row for each in ordered for row in each.members.tolist()})
        self._themes, self._over = self._within(ordered)
        self._judge = Judge(self.events)
        self._theme_of = {row: each.community_id for each in communities.at(0) for row in each.members.tolist()}
        self._row_of = {event_id: row for row, event_id in enumerate(self.events.event_ids)}

    def plan(self, chat: ChatModel | None = None) -> WritingPlan:
        """What writing takes at most; with a model that keeps answers, how many of its calls are answered already."""
        requests = [self._about(theme.shown) for theme in self._themes]
        find = getattr(chat, "find", None)
        cached = sum(1 for request in requests if find and find(request) is not None)
        calls, tokens = self._cost(self._themes)
        return WritingPlan(
            calls=calls,
            cached_calls=cached,
            input_tokens=tokens - calls * _REPLY_TOKENS,
            output_tokens=calls * _REPLY_TOKENS,
            themes=len(self._themes),
            left_out=len(self._over),
        )

    def write(self, chat: ChatModel) -> WrittenReport:
        """Ask about every theme, then about the report.

        Source: docs/algorithm.md §reports.12.
        """
        asking = Asking(chat)
        for each in self._over:
            self._judge.leave_out(each.community_id, "theme", "budget")
        texts = self._theme_texts(asking)
        stated = self._statements(texts)
        lines = [*self._listed, *stated] if stated else []
        summary, findings = self._first_page(asking, lines)
        page: list[CitedSentence | Finding] = [*summary, *findings]
        told = [PromptLine({"page": "first", **self._line(each)}, self._rows(each)) for each in page]
        lists, overtaken = self._lists(asking, [*told, *lines])
        texts = {key: self._without(key, text, overtaken) for key, text in texts.items()}
        return WrittenReport(
            lists=lists,
            themes={key: text for key, text in texts.items() if text != ThemeText()},
            summary=summary,
            findings=findings[:_FINDINGS],
            left_out=tuple(self._judge.left_out),
            usage=asking.usage,
            plan=self.plan(),
        )

    def _lines_of_lists(self, listed: Sequence[int], in_themes: AbstractSet[int]) -> list[PromptLine]:
        """What documents list, then what is in no theme, the newest first: half of a prompt at most."""
        alone = (row for row in range(len(self.events)) if row not in in_themes)
        rows = [*by_day(self.events, dict.fromkeys(listed))[::-1], *by_day(self.events, alone)[::-1]]
        most = self.options.prompt_tokens // 2
        shown = list(dict.fromkeys(rows))[: most // _SHORTEST_LINE]
        return next(iter(packed(event_lines(self.events, shown, self._later), most)), [])

    def _within(self, communities: Sequence[Community]) -> tuple[list[_Theme], list[Community]]:
        """The themes that the budget reaches, the largest first, and the others."""
        themes: list[_Theme] = []
        for place, each in enumerate(communities):
            rows = first_rows(self.events, each.members.tolist(), self.options.prompt_tokens)
            shown = PromptLines.of(self.events, event_lines(self.events, rows, self._later))
            theme = _Theme(each.community_id, shown, request_tokens(self._about(shown)))
            calls, tokens = self._cost([*themes, theme])
            if calls > self.options.max_calls or tokens > self.options.max_tokens:
                return themes, list(communities[place:])
            themes.append(theme)
        return themes, []

    def _cost(self, themes: Sequence[_Theme]) -> tuple[int, int]:
        """Calls, and tokens sent and received, at most: of themes, of the first page and of the lists."""
        if not themes:
            return 0, 0
        calls = len(themes) + 2
        page = estimate_tokens(in_prompt(self._listed)) + _REPLY_TOKENS * len(themes)
        whole = sum(min(self.options.prompt_tokens, each) for each in (page, page + _REPLY_TOKENS))
        return calls, sum(theme.sent for theme in themes) + whole + calls * _REPLY_TOKENS

    def _about(self, shown: PromptLines) -> Request[ThemeAnswer]:
        return self._request("theme", ThemeAnswer, shown, newest=self._newest)

    def _request(self, name: str, answer: type[AnswerT], shown: PromptLines, **values: str) -> Request[AnswerT]:
        prompt = load_prompt(name, self.language)
        return Request(prompt.fill(lines=in_prompt(shown.lines), **values), answer, STEP, prompt.system)

    def _theme_texts(self, asking: Asking) -> dict[str, ThemeText]:
        """What events support of the answer about each theme; nothing, with the reason, where there is none."""
        found: dict[str, ThemeText] = {}
        replies = asking.ask_all([self._about(theme.shown) for theme in self._themes])
        for theme, answer in zip(self._themes, replies, strict=True):
            key, shown = theme.community_id, theme.shown
            found[key] = ThemeText()
            if isinstance(answer, ModelError):
                self._judge.leave_out(key, "theme", _reason(answer), str(answer))
                continue
            of_theme = dict.fromkeys((row for line in shown.lines for row in line.rows), key)
            found[key] = ThemeText(
                title=self._judge.title(key, answer.title, [*of_theme]),
                summary=self._judge.sentences(key, answer.summary, shown),
                findings=self._judge.findings(key, answer.findings, shown, of_theme.__getitem__),
            )
        return self._with_own_titles(found)

    def _with_own_titles(self, texts: dict[str, ThemeText]) -> dict[str, ThemeText]:
        """The texts without titles that another theme has."""
        taken = TakenTitles()
        for key, text in texts.items():
            if text.title in taken:
                self._judge.leave_out(key, "title", "taken", text.title)
                texts[key] = replace(text, title="")
            elif text.title:
                taken.add(text.title)
        return texts

    def _statements(self, texts: dict[str, ThemeText]) -> list[PromptLine]:
        """What was kept of themes as lines, theme by theme: findings, then what else their summaries cite."""
        found: list[PromptLine] = []
        for text in texts.values():
            named = {"theme": text.title} if text.title else {}
            told = {event_id for each in text.findings for event_id in each.event_ids}
            beside = [each for each in text.summary if not told.issuperset(each.event_ids)]
            stated: list[CitedSentence | Finding] = [*text.findings, *beside]
            for each in stated:
                rated: dict[str, object] = {}
                if isinstance(each, Finding):
                    rated = {"importance": each.importance} | ({"why": each.reason} if each.reason else {})
                found.append(PromptLine({**named, **self._line(each), **rated}, self._rows(each)))
        return found

    def _rows(self, stated: CitedSentence | Finding) -> tuple[int, ...]:
        return tuple(self._row_of[event_id] for event_id in stated.event_ids)

    def _line(self, stated: CitedSentence | Finding) -> dict[str, object]:
        """A sentence with the newest day of the events behind it."""
        said = max(day_of(self.events, row) for row in self._rows(stated))
        return {"said": said, "text": stated.text} if said else {"text": stated.text}

    def _without(self, key: str, text: ThemeText, overtaken: AbstractSet[object]) -> ThemeText:
        """The text without sentences that no longer stand."""
        stated: list[CitedSentence | Finding] = [*text.findings, *text.summary]
        for each in stated:
            if each.text in overtaken:
                kind: LeftOutKind = "finding" if isinstance(each, Finding) else "sentence"
                self._judge.leave_out(key, kind, "overtaken", each.text)
        summary = tuple(each for each in text.summary if each.text not in overtaken)
        return replace(
            text, summary=summary, findings=tuple(each for each in text.findings if each.text not in overtaken)
        )

    def _first_page(
        self, asking: Asking, lines: Sequence[PromptLine]
    ) -> tuple[tuple[CitedSentence, ...], tuple[Finding, ...]]:
        """Summary and findings over all themes; nothing, with the reason, where the model gave none."""
        answer, shown = self._over_all(asking, "report", ReportAnswer, lines)
        if answer is None:
            return (), ()
        summary = self._judge.sentences("", answer.summary, shown)
        return summary, self._judge.findings("", answer.findings, shown, lambda row: self._theme_of.get(row, ""))

    def _lists(
        self, asking: Asking, lines: Sequence[PromptLine]
    ) -> tuple[dict[str, tuple[CitedSentence, ...]], AbstractSet[object]]:
        """The lists below the first page, and texts that other lines overtake; none where the model gave none."""
        answer, shown = self._over_all(asking, "report_lists", ListedAnswer, lines)
        if answer is None:
            return {}, set()
        found = {name: self._judge.sentences("", getattr(answer, name), shown) for name in LISTS}
        overtaken = {shown.lines[n - 1].shown["text"] for n in answer.overtaken if 1 <= n <= len(shown)}
        return {name: sentences for name, sentences in found.items() if sentences}, overtaken

    def _over_all(
        self, asking: Asking, name: str, shape: type[AnswerT], lines: Sequence[PromptLine]
    ) -> tuple[AnswerT | None, PromptLines]:
        """The answer about as many lines as a prompt holds; None, with the reason, where there is none."""
        shown = PromptLines.of(self.events, next(iter(packed(lines, self.options.prompt_tokens)), []))
        if not shown.lines:
            return None, shown
        (answer,) = asking.ask_all([self._request(name, shape, shown, newest=self._newest)])
        if isinstance(answer, ModelError):
            self._judge.leave_out("", "report", _reason(answer), str(answer))
            return None, shown
        return answer, shown


def _reason(error: ModelError) -> str:
    """Why there is no answer, in two words; the message is kept as the text."""
    if isinstance(error, BudgetExceeded):
        return "budget"
    return "no server" if isinstance(error, ModelUnavailable) else "no answer"


def with_texts(communities: Communities, written: WrittenReport) -> Communities:
    """The communities with the titles and summaries of a model where it wrote any; titles of the others stay theirs."""
    taken = TakenTitles(each.title for each in communities if each.community_id not in written.themes)
    found = []
    for each in communities:
        text = written.themes.get(each.community_id, ThemeText())
        title = text.title if text.title and text.title not in taken else each.title
        found.append(replace(each, title=title, summary=text.summary or each.summary))
    return replace(communities, communities=tuple(found))
