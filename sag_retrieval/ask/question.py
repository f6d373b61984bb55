"""What a question asks: its parts, the kind of answer each part expects, and its index terms."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, get_args

from sag_retrieval.ask.plan import Plan, SubQuestion
from sag_retrieval.language.data import asked_words, asking, patterns
from sag_retrieval.language.sentences import sentence_spans
from sag_retrieval.language.spans import revising
from sag_retrieval.language.words import STOP_WORDS, is_cjk, stem, tokens
from sag_retrieval.release.arrays import Index

AnswerKind = Literal["comparison", "duration", "date", "number", "name", "place", "reason", "statement"]
"""What the answer must hold; a yes-or-no question, like one with what or how, expects a statement."""
_KINDS: Final[tuple[AnswerKind, ...]] = get_args(AnswerKind)[:-1]
"""Those that words ask for: a comparison wins wherever it stands, else the kind that is asked for first."""
_BARE_KINDS: Final[frozenset[AnswerKind]] = frozenset({"date", "duration", "name", "place"})
"""Kinds whose asking words (`which year`, `哪家公司`) an answer need not repeat."""

TermWeights = Callable[[Iterable[str]], Mapping[str, float]]
"""The idf of each index term over all passages of a release."""

_OF_CONTEXT, _OF_COUNTED = 0.5, 3.0
_CLAUSE_MARK = patterns("all")["clause_mark"]
_LEAST_TERMS = 2
"""Terms of a part that stands alone."""
_ENDINGS: Final = frozenset({"er", "r", "or", "ed", "d", "ing", "ment", "ion", "ee", "s", "y", "e", "al", "ance", "n"})
"""Endings by which a verb and a noun of one stem differ: `bid`, `bidder`."""
_LEAST_STEM: Final = 3


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

    def weights(self, idf: Mapping[str, float]) -> dict[str, float]:
        """The weight of each term: its idf, half for context, thrice for what is counted."""
        return {
            term: idf[term] * (_OF_CONTEXT if term in self.context else _OF_COUNTED if term in self.counted else 1.0)
            for term in self.terms
        }


@lru_cache(maxsize=4096)
def question_terms(question: str) -> frozenset[str]:
    """Index terms of a question without the words that only ask.

    Examples:
        >>> sorted(question_terms("How many people live in Paris?"))
        ['live', 'pari', 'peopl']
        >>> sorted(question_terms("谁创建了苹果？"))
        ['创', '创建', '建', '果', '苹', '苹果']
    """
    return frozenset(term for term in tokens(asking("asking").sub(" ", question)) if not _only_asks(term))


def telling_terms(question: str) -> frozenset[str]:
    """The terms of a question but those that narrow nothing where all documents are asked (`main`, `documents`).

    Examples:
        >>> sorted(telling_terms("What are the main plans for tourism?"))
        ['plan', 'tourism']
        >>> telling_terms("What are these documents about?"), telling_terms("这些文档主要讲述什么内容？")
        (frozenset(), frozenset())
    """
    wide = asked_words("wide")
    for word in wide:
        question = question.replace(word, " ") if is_cjk(word) else question
    return frozenset(term for term in question_terms(question) if term not in {stem(word) for word in wide})


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
        asks = asking("asks").search(question, start, end) is not None
        if not starts or (has_asked and asks):
            starts.append(start)
            has_asked = asks
        has_asked |= asks
    texts = [asking("joins").sub("", question[a:b].strip()).strip() for a, b in pairwise([*starts, len(question)])]
    if not all(any(len(term) > 1 for term in question_terms(text)) for text in texts):
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
    parts = question_parts(question)
    can_stand = all(not part.points_back and len(part.terms) >= _LEAST_TERMS for part in parts)
    texts = list(dict.fromkeys(part.text for part in parts)) if can_stand else [question]
    steps = [SubQuestion(f"q{n}", part) for n, part in enumerate(texts[:limit], start=1)]
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
        first = start
        for cut, after in sorted(found.span() for found in asking("cut").finditer(question, start, end)):
            if first < cut:
                yield first, cut
                first = after
        yield first, end


def _part(text: str, *, is_first: bool) -> QuestionPart:
    found = [(match.start(), kind) for kind in _KINDS for match in asking(kind, "kinds").finditer(text)]
    first = min(((-1 if kind == "comparison" else start, _KINDS.index(kind)) for start, kind in found), default=None)
    kind: AnswerKind = _KINDS[first[1]] if first else "statement"
    bare = asking(kind, "kinds").sub(" ", text) if kind in _BARE_KINDS else text
    for tense in ("asks_past", "asks_present"):  # which of two statements is meant, and no word of either
        bare = revising(tense).sub(" ", bare)
    terms = _telling(question_terms(bare)) or question_terms(text)
    clauses = [clause for clause in _CLAUSE_MARK.split(text) if asking("asks").search(clause)]
    counted = asking("counted").search(text)
    return QuestionPart(
        text,
        kind,
        terms,
        points_back=not is_first and asking("points_back").search(text) is not None,
        is_list=asking("list").search(text) is not None,
        context=terms - question_terms(" ".join(clauses)) if clauses else frozenset(),
        counted=_telling(question_terms(" ".join(filter(None, counted.groups())))) if counted else frozenset(),
    )


def alike(one: str, other: str) -> bool:
    """Whether two stems are of one word: equal, or apart by an ending that makes a noun of a verb.

    Examples:
        >>> alike("teach", "teacher"), alike("bid", "bidder"), alike("cart", "carton")
        (True, True, False)
    """
    shorter, longer = sorted((one, other), key=len)
    if shorter == longer:
        return True
    if len(shorter) < _LEAST_STEM or not longer.startswith(shorter):
        return False
    ending = longer[len(shorter) :]
    return ending in _ENDINGS or (ending[:1] == shorter[-1] and ending[1:] in _ENDINGS)


def _telling(terms: frozenset[str]) -> frozenset[str]:
    """The terms without the single Chinese characters that a pair holds: a character alone stands in many words."""
    in_pairs = {character for term in terms if len(term) > 1 and is_cjk(term) for character in term}
    return terms - in_pairs


@lru_cache(maxsize=4096)
def _only_asks(term: str) -> bool:
    if is_cjk(term):
        return any(character in word for word in asked_words("asking") if is_cjk(word) for character in term)
    return term in STOP_WORDS or any(stem(word) == term for word in asked_words("asking"))
