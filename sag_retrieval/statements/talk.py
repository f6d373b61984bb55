"""Read what is agreed, planned and done in talk: turns with a speaker become statements that say who, when and what."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Rows
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import is_cjk
from sag_retrieval.statements.word_lists import is_past_form, opinion_words

_COLON: Final = re.compile(r"[:：](?=[^\d/]|$)")
_NO_LABEL: Final = re.compile(r"[:：\"“”]")
_LONGEST_LABEL: Final = 60
"""Characters before a colon that may name a speaker; the keys of the event say whether they end with a person."""
_SETTLES: Final = re.compile(
    r"\b(?:meet|meets|meeting|reminder|remind|scheduled?|booked|reserved|appointment|deadline|due|starts?|begins?"
    r"|opens?|closes|arrives?|arriving|deliver(?:y|ed|ing)?|pick up|drop off|rehearsals?|session|attend|join"
    r"|moved to|put off"
    r"|cancel(?:l?ed)?|postponed?|agreed|decided|finali[sz]e|pay|paid|send|submit|finish|hand over"
    r"|(?:can['’]?t|cannot|won['’]?t|will not|won['’]t be able to|not able to) (?:make|come|join|attend)"
    r"|(?:i|we)(?:['’]ll| will) (?:also )?be (?:there|at|in|back))\b"
    r"|一起|见面|碰头|集合|开会|定在|改[到在成]|安排|提醒|截止|出发|送到|来取|预订|订[了好]|报名|推迟|取消|决定|约[在好定]|交付|提交|完成",
    re.IGNORECASE,
)
"""What settles something, or says that it is settled."""
_LOOSE: Final = re.compile(
    r"\b(?:i|we|they|he|she)(?:['’]ll| will| can| (?:am|are|is) going to|['’](?:m|re|s) going to|['’]ve got)\b"
    r"|\b(?:there(?:['’]s| is| will be)|will be|is (?:on|at|this|next)|(?:i|we)['’](?:m|re) [a-z]{2,12}ing"
    r"|you can (?:come|swing|stop|pick|drop))\b"
    r"|\b(?:let['’]s|how about|what about|shall we|should we|can we|could we|can you|could you)\b"
    r"|[我咱]们?(?:会|要|将|准备|打算|先|就|都|可以)",
    re.IGNORECASE,
)
"""An intention; it settles something with an hour or a day of a month."""
_NOTHING: Final = re.compile(
    r"\b(?:can['’]?t wait|look(?:ing)? forward|make the most|energy|vibes?|spirit|rock|feel like|a-game|crush it"
    r"|the best|memorable|magic|fun)\b"
    r"|迫不及待|期待|加油",
    re.IGNORECASE,
)
"""What is said to cheer somebody."""
_DONE: Final = re.compile(
    r"\b(?:I|[Ww]e)(?:['’]ve| have|['’]d| had)?(?: (?:just|already|finally|recently|also|even))? ([a-z]+)\b"
    r"|(?:^|[,;] )(?:[Jj]ust|[Ff]inally|[Rr]ecently|[Aa]lready) ([a-z]+)\b"
)
_DONE_CJK: Final = re.compile(r"[我咱]们?(?:刚|已经|今天|昨天|前天|上周|终于)?[^，。！？]{1,12}了")
_FELT: Final = re.compile(
    r"(?:lov|lik|enjoy|want|need|wonder|hop|miss|feel|felt|thought|guess|agre|remember|notic|realis|realiz"
    r"|appreciat|heard"
    r"|knew|meant|tri|consider|believ|discuss|talk|look)"
)
"""Beginnings of verbs that say what somebody feels or thinks, not what was done."""
_HOUR: Final = re.compile(
    r"\b\d{1,2}(?::\d\d)? ?[ap]\.?m\b|\b\d{1,2}:\d\d\b|\b\d{1,2} o['’]clock\b|\b(?:noon|midnight)\b"
    r"|\bthe \d{1,2}(?:st|nd|rd|th)\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december) \d"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:january|february|march|april|may|june|july|august|september|october"
    r"|november"
    r"|december)\b"
    r"|\d{1,2}[日号]|\d{1,2}[点时]|[一二三四五六七八九十]{1,3}点|\d[:：]\d\d",
    re.IGNORECASE,
)
"""An hour, or a day of a month."""
_WEEKDAY: Final = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|周[一二三四五六日末天]|星期[一二三四五六日天]", re.IGNORECASE
)
_DAY: Final = re.compile(
    r"\b(?:today|tomorrow|tonight|yesterday|(?:this|next|last) (?:morning|afternoon|evening|night|week|weekend|month)"
    r"|in \w{1,8} (?:minutes|hours|days|weeks))\b"
    r"|今[天晚早]|明[天早晚]|后天|昨[天晚]|[上下本这]周|[上下]个?月|[上下]午|晚上",
    re.IGNORECASE,
)
_MEASURE: Final = re.compile(
    r"[$€£¥]\s?\d|\d\s?(?:%|dollars?|euros?|pounds?|yuan|km|kg|miles?|metres?|meters?|people|tickets|times)\b"
    r"|\d[万亿]?[元块人公张次]"
)
_ENDS: Final = re.compile(r"(?:[.!?。！？…~]|\d|[ap]\.?m)[’'\")）]*$", re.IGNORECASE)
_AGREES: Final = re.compile(
    r"\W*(?:yes|yeah|yep|yup|sure|sounds (?:good|great|perfect|like a plan|awesome|fantastic)|perfect|deal|ok"
    r"|okay|works for"
    r"|that works|absolutely|definitely|of course|got it|will do|i['’]m in|count me in|awesome|great|agreed"
    r"|no problem"
    r"|see you|.{0,30}\bworks (?:perfectly |great |well )?for me|.{0,20}\bsounds (?:good|great|perfect)"
    r"|.{0,14}\b(?:it is|is perfect)\b|好|行|可以|没问题|同意|收到|当然|嗯|是的|就这么定)",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(r"[?？]")
_PROPOSES: Final = re.compile(
    r"\b(?:how about|what about|shall we|should we|can we|could we|can you|could you|are we still"
    r"|if we['’]re still|meet)\b"
    r"|[吧吗]？",
    re.IGNORECASE,
)
_AUXILIARIES: Final = frozenset(
    "am are be can could did do does had has have is may must was were will would might".split()
)
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_DEGREE: Final = re.compile(
    r"\bso (?!that\b|far\b|as\b|on\b|long\b)[a-z]+\b|\bsuch an? |\bjust (?:as|so|the|on|[a-z]+s)\b"
)
"""`so powerful`, `such a place`: how somebody feels about it."""
_POLITE_CJK: Final = re.compile(r"(?<![申邀聘提恳报])请(?![求假示])|祝(?=你|您|大家|愿)")
"""`请` and `祝` as courtesies, not inside another word."""
_NOISE: Final = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f]+")
_OPENING: Final = re.compile(r"^(?:also|so|and|but|oh|well|plus|okay|ok|alright|btw)\b[,!]? ", re.IGNORECASE)
_QUOTED: Final = re.compile(r'"([^"]{1,100})"')
_GAP: Final = re.compile(r"\s+")
_LENGTHS: Final = (25, 240)
_LENGTHS_CJK: Final = (8, 90)
_DAY_LENGTH: Final = len("2024-01-01")
TOLD: Final = re.compile(r"^[^“”:：]{1,90}[:：] ?“[^”]{8,240}”")
"""The form of a statement made here."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """What a person says without a break in one event."""

    row: int
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence of a turn worth telling, and how much it holds."""

    speaker: str
    sentence: str
    value: int
    agreed_by: str = ""


def told(events: EventTable) -> EventTable:
    """The same events; of those that are talk, each that settles something says it as a statement.

    A sentence of a turn is reported if it makes an appointment, or says what the speaker has done, and names a time, an
    amount or something with a name. A proposal counts if the next speaker agrees. Other talk stays as it is.

    Source:
        docs/algorithm.md §reports.6.

    """
    turns = _turns(events)
    best: dict[int, _Told] = {}
    for one, following in zip_longest(turns, turns[1:]):
        is_answered = following is not None and events.chunk[following.row] == events.chunk[one.row]
        answer = following if is_answered and following.speaker != one.speaker else None
        names = _names(events, one.row)
        for found in _worth_telling(one, answer, names):
            if one.row not in best or found.value > best[one.row].value:
                best[one.row] = found
    if not best:
        return events
    days = _days(events)
    contents = list(events.contents)
    for row, found in best.items():
        contents[row] = _statement(found, days.get(int(events.chunk[row]), ""))
    return replace(events, contents=contents)


def spoken_rows(events: EventTable) -> Rows:
    """Rows of the events that hold a turn of talk, in their order."""
    return np.array(sorted({turn.row for turn in _turns(events)}), np.int32)


def settles(statement: str) -> int:
    """How firmly a statement made here settles something: 2 for an hour or an answer, 1 for a day, 0 for neither."""
    said = statement[statement.find("“") :]
    if _HOUR.search(said) or statement.endswith(("agreed.", "同意。")):
        return 2
    return int(bool(_SETTLES.search(said) and (_WEEKDAY.search(said) or _DAY.search(said))))


def _turns(events: EventTable) -> list[_Turn]:
    """The turns of all events, in their order; a label is a speaker if the event has the person as a key."""
    found: list[_Turn] = []
    for row, text in enumerate(events.contents):
        if ":" not in text and "：" not in text:
            continue
        people = _people(events, row)
        labels = list(_labels(text, people))
        if not labels or len(_SHORT.findall(text[: labels[0][1]])) > _MOST_BEFORE:
            continue
        ends = [start for _, start, _ in labels[1:]] + [len(text)]
        for (speaker, _, behind), end in zip(labels, ends, strict=True):
            found.append(_Turn(row, speaker, text[behind:end].strip()))
    return found


def _labels(text: str, people: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Each speaker, where the name begins, and where the turn begins behind the colon."""
    for colon in _COLON.finditer(text):
        before = _NO_LABEL.split(text[max(0, colon.start() - _LONGEST_LABEL) : colon.start()])[-1]
        if speaker := _speaker(before, people):
            yield speaker, colon.start() - len(speaker), colon.end()


_SHORT: Final = re.compile(r"\w+")
_MOST_BEFORE: Final = 6
"""Words before the first speaker, such as a time stamp; more are a text that quotes somebody."""


def _speaker(label: str, people: Sequence[str]) -> str:
    """The person whose name ends a label; empty for none."""
    return next((name for name in people if label.endswith(name)), "")


def _keys(events: EventTable, row: int) -> list[int]:
    start, end = np.searchsorted(events.links.event, [row, row + 1]).tolist()
    found: list[int] = events.links.key[start:end].tolist()
    return found


def _people(events: EventTable, row: int) -> list[str]:
    return [events.keys.values[key] for key in _keys(events, row) if events.keys.types[key] == "person"]


def _names(events: EventTable, row: int) -> list[str]:
    """What an event names, but for people, dates and titles."""
    kinds = {"organisation", "place", "product", "work", "occasion"}
    return [events.keys.values[key] for key in _keys(events, row) if events.keys.types[key] in kinds]


def _worth_telling(turn: _Turn, answer: _Turn | None, names: Sequence[str]) -> Iterator[_Told]:
    agrees = answer is not None and _AGREES.match(answer.text) is not None
    spoken = [_plain(each) for each in sentences(turn.text)]
    for sentence, following in pairwise([*spoken, ""]):
        value = _value(sentence, names)
        if not value:
            continue
        asks = _ASKS.search(sentence) is not None
        is_last = not following or (_ASKS.search(following) is not None and len(spoken) > 1)
        is_agreed = agrees and _PROPOSES.search(sentence) is not None and (asks or is_last)
        if not asks or is_agreed:
            yield _Told(turn.speaker, sentence, value + 2 * is_agreed, answer.speaker if answer and is_agreed else "")


def _plain(sentence: str) -> str:
    bare = _OPENING.sub("", _GAP.sub(" ", _NOISE.sub("", sentence)).strip())
    quoted = _QUOTED.sub(r"‘\1’", bare).replace("“", "‘").replace("”", "’").replace('"', "’")
    return quoted[:1].upper() + quoted[1:]


def _value(sentence: str, names: Sequence[str]) -> int:
    """How much a sentence settles: 0 for nothing."""
    low, high = _LENGTHS_CJK if is_cjk(sentence) else _LENGTHS
    if not low <= len(sentence) <= high or _is_opinion(sentence):
        return 0
    if _NOTHING.search(sentence) or not _ENDS.search(sentence):
        return 0
    hour = bool(_HOUR.search(sentence))
    day = hour or bool(_WEEKDAY.search(sentence) or _DAY.search(sentence))
    held = any(name in sentence for name in names) + bool(_MEASURE.search(sentence))
    if (_LOOSE.search(sentence) and hour) or (_SETTLES.search(sentence) and day):
        return 3 + hour + held
    return 2 + hour + held if _is_done(sentence) and (day or held) else 0


def _is_opinion(text: str) -> bool:
    """Whether a sentence of talk praises, guesses, wishes or thanks."""
    if _DEGREE.search(text):
        return True
    if is_cjk(text):
        return bool(_POLITE_CJK.search(text)) or any(word in text for word in _opinions_cjk())
    return any(token.casefold() in opinion_words() for token in _TOKEN.findall(text))


@lru_cache
def _opinions_cjk() -> tuple[str, ...]:
    return tuple(sorted(word for word in opinion_words() if is_cjk(word) and len(word) > 1))


def _is_done(sentence: str) -> bool:
    if _DONE_CJK.search(sentence):
        return True
    verbs = [one or other for one, other in _DONE.findall(sentence)]
    return any(is_past_form(verb) and verb not in _AUXILIARIES and not _FELT.match(verb) for verb in verbs)


def _days(events: EventTable) -> dict[int, str]:
    """The day that most events of each chunk have: the day of the talk."""
    counted: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for chunk, date in zip(events.chunk.tolist(), events.dates, strict=True):
        if date and len(date) == _DAY_LENGTH:
            counted[chunk][date] += 1
    return {chunk: min(days, key=lambda day: (-days[day], day)) for chunk, days in counted.items()}


def _statement(found: _Told, day: str) -> str:
    if is_cjk(found.sentence):
        who = f"{found.speaker}（{day}）" if day else found.speaker
        return f"{who}：“{found.sentence}”" + (f"{found.agreed_by}同意。" if found.agreed_by else "")
    who = f"{found.speaker} ({day})" if day else found.speaker
    return f"{who}: “{found.sentence}”" + (f" {found.agreed_by} agreed." if found.agreed_by else "")
