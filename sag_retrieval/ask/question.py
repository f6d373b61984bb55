"""What a question asks: its parts, the kind of answer each part expects, and its index terms."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from sag_retrieval.ask.plan import Plan, SubQuestion
from sag_retrieval.language.sentences import sentence_spans
from sag_retrieval.language.words import STOP_WORDS, is_cjk, stem, tokens
from sag_retrieval.release.arrays import Index

AnswerKind = Literal["name", "date", "duration", "number", "place", "reason", "comparison", "statement"]
"""What the answer must hold; a yes-or-no question, like one with what or how, expects a statement."""

AskedUnit = Literal["", "money", "share"]
"""What a number must count; nothing where any number may answer."""

TermWeights = Callable[[Iterable[str]], Mapping[str, float]]
"""The idf of each index term over all passages of a release."""


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One part of a question; `points_back` is true where it needs the answer of the part before."""

    text: str
    kind: AnswerKind
    terms: frozenset[str]
    points_back: bool = False
    is_list: bool = False
    context: frozenset[str] = frozenset()
    """Terms that stand only in clauses that ask nothing, such as `after the storm,`."""
    counted: frozenset[str] = frozenset()
    """Terms of what is counted: `ships` in `how many ships`."""
    unit: AskedUnit = ""

    def weights(self, idf: Mapping[str, float]) -> dict[str, float]:
        """The weight of each term: its idf, half for context, thrice for what is counted."""
        return {
            term: idf[term] * (_OF_CONTEXT if term in self.context else _OF_COUNTED if term in self.counted else 1.0)
            for term in self.terms
        }


_ASKING = frozenset("谁何什哪几么吗呢的了是在和与及或请问于被把为个这那此其之中有")
_ASKING_PAIRS = re.compile("多少|怎样|如下|根据|按照")
_ASKING_STEMS = (
    frozenset(stem(word) for word in ("many", "much", "name", "tell", "give", "list", "according")) | STOP_WORDS
)

_MEASURES = (
    "sum|price|cost|fee|amount|number|percentage|share|rate|ratio|value|total|size|figure|income|revenue|profit|salary"
    "|assets|liabilities|debts?|loads?|turnover|margin|loss|losses|earnings|expenses|budget|area|capacity|fine|penalty|flow|bound|limit|threshold"
    "|length|height|width|depth|weight|distance|age|temperature|speed|population"
)
_CHANGES = "lower|raise|reduce|cut|drop|fall|fell|rise|rose|climb|increase|decrease|grow|decline|shrink|change|set|lift"
_PATTERNS: Mapping[AnswerKind, str] = {
    "comparison": r"\b(?:higher|larger|smaller|bigger|greater|longer|shorter|older|younger|earlier|later|sooner"
    r"|faster|slower|cheaper)\b|(?<!to )\blower\b(?! (?:the|its|their|his|her|our)\b)"
    r"|哪.{0,30}更|谁.{0,20}更|更[早晚多少高低大小长短]",
    "duration": r"\bhow (?:long|many (?:minute|hour|day|week|month|year)s)\b|多久|多长时间"
    r"|(?:几|多少)(?:个)?(?:天|日|周|星期|月|年|小时|分钟)(?!级)",
    "date": r"\bwhen\b|\b(?:what|which) (?:year|month|day|date|time)\b"
    r"|\bwhat (?:is|was|are|were)\b(?: [\w.'’&-]+){1,8}? dates?\b"
    r"|(?:日期|时间)(?:分别)?(?:是|为)(?:什么|几)|何时|什么时[候间]|哪一?(?:年|天|日|月|个月)|[哪几]月|几号|几点",
    "number": r"\bhow (?:many|much|large|big|high|tall|deep|wide|far|old|fast|heavy|often)\b"
    rf"|\b(?:to|by|from|at) what (?:do|does|did|has|have|was|were|will)\b.{{0,200}} (?:{_CHANGES})\b"
    rf"|\b(?:what|which) (?:\w+ ){{0,3}}?(?:{_MEASURES})s?\b"
    rf"|\bwhat (?:is|was|are|were)\b(?: [\w.'’&-]+){{1,8}}? (?:{_MEASURES})s?\b"
    r"|\bwhat (?:do|does|did|will|would)\b.{0,200} (?:cost|pay|earn|weigh|measure|charge)\b"
    r"|多少|几(?!乎)|多[大高深宽远重快]",
    "name": r"\b(?:who|whom|whose)\b|\b(?:what|which) (?:\w+ ){0,2}?(?:company|companies|firm|firms|bank|person|people"
    r"|organi[sz]ation|agency|institution|author|director)\b"
    r"|谁|何人|哪位|哪[些几]?(?:一)?(?:[个家名所])?(?:人|公司|银行|机构|单位|企业|学校|大学|医院|法院|教授|成员)",
    "place": r"\bwhere\b|\b(?:what|which) (?:city|country|state|town|place|region|county|river|street)\b"
    r"|哪里|哪儿|何处|何地|在哪(?![家个一位些所])|什么地方|哪[一]?[个座]?(?:城市|国家|地方|省|市|区)",
    "reason": r"\bwhy\b|\bwhat (?:caused|led to)\b|\bfor what reason\b|为什么|为何|为啥|什么原因|原因是什么",
}
_KINDS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS.items()]
"""A comparison wins wherever it stands; else the kind that is asked for first."""
_BARE_KINDS: frozenset[AnswerKind] = frozenset({"date", "duration", "name", "place"})
"""Kinds whose asking words (`which year`, `哪家公司`) an answer need not repeat."""
_JOINT = re.compile(
    r"(?:(?<![\s,，;；])[\s,，;；]++(?:and|as well as|以及|并且|而且|和|又|还有|同时)?|以及|并且)$", re.IGNORECASE
)
_OF_CONTEXT, _OF_COUNTED = 0.5, 3.0
_CLAUSE_MARK = re.compile(r"[，；：]|[,;:.](?=\s)")
_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b"
_COUNTED = re.compile(
    rf"\bhow many (?!{_AUXILIARY}|of\b)(\w+(?: (?!{_AUXILIARY})\w+)?(?= {_AUXILIARY})|\w+)"
    r"|(?:多少|几)[个位名家座台艘套种项份次架枚]?(?!钱)(人|[\u4e00-\u9fff]{1,3})",
    re.IGNORECASE,
)
_UNITS: Sequence[tuple[AskedUnit, re.Pattern[str]]] = (
    (
        "share",
        re.compile(
            r"\b(?:what|which) (?:share|percentage|proportion|part|fraction)\b|百分之|百分比|占比|比例|比率",
            re.IGNORECASE,
        ),
    ),
    (
        "money",
        re.compile(
            r"\bhow much (?:money|(?:is|are|was|were|do|does|did|will|has|have)\b.{0,200}"
            r" (?:cost|paid|pay|spen[dt]|fined?|charge|owe|earn|lend|lent|borrow|donate|overspend|worth))\b"
            r"|\bwhat (?:do|does|did|will|would)\b.{0,200} (?:cost|pay|earn|charge)\b"
            r"|\bwhat (?:was |is |were )?(?:the )?(?:\w+ )?(?:price|fine|penalty|fee|fare|salary|wage)s?\b"
            r"|多少[元钱]|几块钱|几元|(?:价格?|报价|罚款|费用|工资|薪[水酬]|票价|金额).{0,8}多少",
            re.IGNORECASE,
        ),
    ),
)
_LIST = re.compile(
    r"\b(?:which|what) (?:of|are|were)\b|\bwhat (?:\w+ )?\w{2,}s (?:are|were|did|do)\b|\brespectively\b|\blist\b"
    r"|哪些|哪几|分别|列出|有什么",
    re.IGNORECASE,
)

_ENGLISH = re.compile(
    r"(?:[,;]\s++|(?<!\s)\s++)(?:and|as well as)\s++"
    r"(?=(?:(?:in|from|to|by|at|for|of|with|on)\s++)?(?:who|whom|whose|what|when|where|which|why|how)\b)",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"[，,；;]\s*+(?:以及|并且|而且|和|又|还有|同时)?+(?=[^，,；;]{0,100}(?:谁|什么|何|哪|多少|几|怎|为什么|吗))"
    r"|(?:以及|并且)(?=[^，,；;]{0,100}(?:谁|什么|何|哪|多少|几|怎))"
)
_ASKS = re.compile(r"\b(?:who|whom|whose|what|when|where|which|why|how)\b|谁|什么|何|哪|多少|几|怎|吗", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"\b(?:it|its|he|his|him|she|her|they|their|them|this|that|these|those|the same)\b"
    r"|其|它|他|她|该|这|那|前者|后者|前任",
    re.IGNORECASE,
)
_LEAST_TERMS = 2


@lru_cache(maxsize=4096)
def question_terms(question: str) -> frozenset[str]:
    """Index terms of a question without the words that only ask.

    Examples:
        >>> sorted(question_terms("How many people live in Paris?"))
        ['live', 'pari', 'peopl']
        >>> sorted(question_terms("谁创建了苹果？"))
        ['创', '创建', '建', '果', '苹', '苹果']

    """
    return frozenset(term for term in tokens(_ASKING_PAIRS.sub(" ", question)) if not _only_asks(term))


def question_parts(question: str) -> list[QuestionPart]:
    """The parts of a question that each ask something, in order; a part that asks nothing joins the next one.

    Example:
        >>> [(part.text, part.kind) for part in question_parts("Who wrote Emma, and when was it published?")]
        [('Who wrote Emma', 'name'), ('when was it published?', 'date')]
        >>> [part.kind for part in question_parts("哪家公司造了浮标？这家公司的总部在哪里？")]
        ['name', 'place']

    """
    starts: list[int] = []
    has_asked = False
    for start, end in _clause_spans(question):
        asks = _ASKS.search(question, start, end) is not None
        if not starts or (has_asked and asks):
            starts.append(start)
            has_asked = asks
        has_asked |= asks
    texts = [_JOINT.sub("", question[a:b].strip()).strip() for a, b in pairwise([*starts, len(question)])]
    if not all(question_terms(text) for text in texts):
        texts = [question]
    return [_part(text, is_first=number == 0) for number, text in enumerate(texts or [question])]


def split_question(question: str, limit: int) -> Plan:
    """Parts of a question that each ask something, side by side; else the question itself.

    Example:
        >>> plan = split_question("Who wrote Emma, and when was Emma published?", 8)
        >>> [step.question for step in plan.steps]
        ['Who wrote Emma', 'when was Emma published?']
        >>> [step.question for step in split_question("谁创建了苹果公司，苹果公司总部在哪里？", 8).steps]
        ['谁创建了苹果公司', '苹果公司总部在哪里？']

    """
    asking = list(dict.fromkeys(question[start:end].strip() for start, end in _clause_spans(question)))
    if not all(map(_stands_alone, asking)):
        asking = [question]
    steps = [SubQuestion(f"q{n}", part) for n, part in enumerate((asking or [question])[:limit], start=1)]
    return Plan(tuple(steps), ("there is no language model: the question was divided by rules",))


def release_weights(index: Index) -> TermWeights:
    """The idf of terms by the full text of a release; a term of no passage weighs most.

    A pair of Chinese characters that no passage has may join two words: it weighs what its rarer character does.
    """
    numbers, idf = index.arrays.terms.trie, index.arrays.chunk_text.idf
    unknown = float(idf.max()) if len(idf) else 1.0

    def weigh(term: str) -> float:
        number = numbers.get(term)
        if number is not None:
            return float(idf[number])
        return max(map(weigh, term)) if len(term) > 1 and is_cjk(term) else unknown

    def weigh_all(terms: Iterable[str]) -> dict[str, float]:
        wanted = set(terms)
        known = {term for term in wanted if len(term) == 2 and is_cjk(term) and term in numbers}  # noqa: PLR2004
        ends, starts = {term[1] for term in known}, {term[0] for term in known}
        return {
            term: 0.0 if _joins_words(term, ends, starts) and term not in numbers else weigh(term) for term in wanted
        }

    return weigh_all


def _joins_words(term: str, ends: set[str], starts: set[str]) -> bool:
    """Whether a pair of Chinese characters stands between two pairs that passages hold: one word ends, one begins."""
    return len(term) == 2 and is_cjk(term) and term[0] in ends and term[1] in starts  # noqa: PLR2004


def pool_weights(texts: Iterable[str]) -> TermWeights:
    """The idf of terms by some texts, for a search that no release stands behind."""
    pool = [frozenset(tokens(text)) for text in texts]

    def weigh(term: str) -> float:
        return math.log(1 + (len(pool) + 1) / (sum(term in each for each in pool) + 0.5))

    return lambda terms: {term: weigh(term) for term in terms}


def _clause_spans(question: str) -> Iterator[tuple[int, int]]:
    for start, end in sentence_spans(question):
        cuts = [match.span() for pattern in (_ENGLISH, _CHINESE) for match in pattern.finditer(question, start, end)]
        first = start
        for cut, after in sorted(cuts):
            if first < cut:
                yield first, cut
                first = after
        yield first, end


def _part(text: str, *, is_first: bool) -> QuestionPart:
    kind: AnswerKind = "statement"
    bare = text
    found = [(match.start(), number) for number, (_, pattern) in enumerate(_KINDS) for match in pattern.finditer(text)]
    if found:
        kind, pattern = _KINDS[min((start, number) if number else (-1, 0) for start, number in found)[1]]
        bare = pattern.sub(" ", text) if kind in _BARE_KINDS else text
    terms = _telling(question_terms(bare)) or question_terms(text)
    asking = [clause for clause in _CLAUSE_MARK.split(text) if _ASKS.search(clause)]
    counted = _COUNTED.search(text)
    return QuestionPart(
        text,
        kind,
        terms,
        points_back=not is_first and _POINTS_BACK.search(text) is not None,
        is_list=_LIST.search(text) is not None,
        context=terms - question_terms(" ".join(asking)) if asking else frozenset(),
        counted=_telling(question_terms(counted[1] or counted[2])) if counted else frozenset(),
        unit=next((unit for unit, asks in _UNITS if kind == "number" and asks.search(text)), ""),
    )


def _telling(terms: frozenset[str]) -> frozenset[str]:
    """The terms without the single Chinese characters that a pair holds: a character alone stands in many words."""
    in_pairs = {character for term in terms if len(term) > 1 and is_cjk(term) for character in term}
    return terms - in_pairs


def _stands_alone(part: str) -> bool:
    """Whether a part asks something by itself, without pointing to another part."""
    return bool(_ASKS.search(part)) and not _POINTS_BACK.search(part) and len(question_terms(part)) >= _LEAST_TERMS


def _only_asks(term: str) -> bool:
    if not is_cjk(term):
        return term in _ASKING_STEMS
    return any(character in _ASKING for character in term)
