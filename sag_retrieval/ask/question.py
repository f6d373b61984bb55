"""What a question asks: its terms and its parts."""

import re
from functools import lru_cache

from sag_retrieval.ask.plan import Plan, SubQuestion
from sag_retrieval.text.sentences import sentences
from sag_retrieval.text.words import STOP_WORDS, is_cjk, stem, tokens

_ENGLISH = re.compile(
    r"(?:[,;]\s++|(?<!\s)\s++)(?:and|as well as)\s++(?=(?:in\s++)?(?:who|whom|whose|what|when|where|which|why|how)\b)",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"[，,；;]\s*+(?:以及|并且|而且|和|又|还有|同时)?+(?=[^，,；;]{0,100}(?:谁|什么|何|哪|多少|几|怎|为什么|吗))"
    r"|(?:以及|并且)(?=[^，,；;]{0,100}(?:谁|什么|何|哪|多少|几|怎))"
)
_ASKS = re.compile(r"\b(?:who|whom|whose|what|when|where|which|why|how)\b|谁|什么|何|哪|多少|几|怎|吗", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\b(?:it|its|he|his|him|she|her|they|their|them)\b|其|它|他|她|该", re.IGNORECASE)
_LEAST_TERMS = 2


def split_question(question: str, limit: int) -> Plan:
    """Parts of a question that each ask something, side by side; else the question itself.

    Examples:
        >>> plan = split_question("Who wrote Emma, and when was Emma published?", 8)
        >>> [step.question for step in plan.steps]
        ['Who wrote Emma', 'when was Emma published?']
        >>> [step.question for step in split_question("谁创建了苹果公司，苹果公司总部在哪里？", 8).steps]
        ['谁创建了苹果公司', '苹果公司总部在哪里？']

    """
    parts = [
        part.strip()
        for sentence in sentences(question)
        for clause in _ENGLISH.split(sentence)
        for part in _CHINESE.split(clause)
    ]
    asking = list(dict.fromkeys(parts))
    if not all(map(_stands_alone, asking)):
        asking = [question]
    steps = [SubQuestion(f"q{n}", part) for n, part in enumerate((asking or [question])[:limit], start=1)]
    return Plan(tuple(steps), ("there is no language model: the question was divided by rules",))


def _stands_alone(part: str) -> bool:
    """Whether a part asks something by itself, without pointing to another part."""
    return bool(_ASKS.search(part)) and not _POINTS_BACK.search(part) and len(question_terms(part)) >= _LEAST_TERMS


_ASKING = frozenset("谁何什哪几么吗呢的了是在和与及或请问于被把为个这那此其之中有")
_ASKING_PAIRS = frozenset({"多少", "怎样", "如下"})
_ASKING_STEMS = frozenset(stem(word) for word in ("many", "much", "name", "tell", "give", "list")) | STOP_WORDS


@lru_cache(maxsize=4096)
def question_terms(question: str) -> frozenset[str]:
    """Index terms of a question without the words that only ask.

    Examples:
        >>> sorted(question_terms("How many people live in Paris?"))
        ['live', 'pari', 'peopl']
        >>> sorted(question_terms("谁创建了苹果？"))
        ['创', '创建', '建', '果', '苹', '苹果']

    """
    return frozenset(term for term in tokens(question) if not _only_asks(term))


def _only_asks(term: str) -> bool:
    if not is_cjk(term):
        return term in _ASKING_STEMS
    return term in _ASKING_PAIRS or any(character in _ASKING for character in term)
