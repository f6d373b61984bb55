"""A question that refers to earlier turns, put by rule so that it can be searched alone."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sag_retrieval.language.words import fold, is_cjk
from sag_retrieval.release.arrays import Index

_MOST_NAMES: Final = 4
_REFERS_EN: Final = re.compile(
    r"\b(?:he|him|his|she|her|hers|it|its|they|them|their|theirs|this|these|those|former|latter"
    r"|(?:of|in|for|with|by|from|to|about|at|on|after|before|than)\s+that|that(?=\W*$))\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\bthere\b(?!\s+(?:is|are|was|were)\b)",
    re.IGNORECASE,
)
"""Words for what was named before; `that` and `there` also introduce clauses, and count where they do not."""
_REFERS_ZH: Final = re.compile(
    r"(?<![其吉])[他她它](?![人国乡])|其(?![他它实中余])|这(?!样)|那(?!么)|(?<!应)该|(?<![因如由])此(?![外后])|前者|后者|上述|对方|当地|当时"
)
_GOES_ON: Final = re.compile(
    r"^\s*+(?:(?:and|but|or|also|then|(?:what|how)\s+about)\b|那么?|还有|另外|而)|呢[\s?？]*+$", re.IGNORECASE
)
_DATE_OR_NUMBER: Final = re.compile(r"^[\W\d_年月日时分秒]*$")


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said in a conversation, and whether the user said it."""

    text: str
    is_user: bool = True


def stand_alone(index: Index, question: str, earlier: Sequence[Turn]) -> str:
    """The question with the names that it refers to; as it is where it refers to nothing said before.

    It refers to something if it has a word that does so, goes on with `and` or 呢, or names nothing of the release. The
    names are those of the release's keys in the latest turns, back to one of the user; without any, the latest turn
    of the user is put before the question.

    Source:
        docs/algorithm.md §tiers.4

    """
    own = names_in(index, question)
    refers = _REFERS_ZH if is_cjk(question) else _REFERS_EN
    if not earlier or (own and not refers.search(question) and not _GOES_ON.search(question)):
        return question
    said = {fold(name) for name in own}
    meant = [name for name in dict.fromkeys(_names_before(index, earlier)) if fold(name) not in said][:_MOST_NAMES]
    if meant:
        return f"{question}（{'、'.join(meant)}）" if is_cjk(question) else f"{question} ({', '.join(meant)})"
    latest = next((turn.text for turn in reversed(earlier) if turn.is_user), "")
    return question if own or not latest else f"{latest} {question}"


def names_in(index: Index, text: str) -> list[str]:
    """Keys that a text names, as documents spell them, without dates and numbers."""
    values = index.rows["keys"]["value_string"]
    found = (str(values[int(rows[0])].as_py()) for _, rows in index.arrays.mentions.find(text) if len(rows))
    return [name for name in dict.fromkeys(found) if not _DATE_OR_NUMBER.match(name)]


def _names_before(index: Index, earlier: Sequence[Turn]) -> Iterator[str]:
    """Names of the latest turns, back to the first turn of the user that has or follows any."""
    has_any = False
    for turn in reversed(earlier):
        names = names_in(index, turn.text)
        yield from names
        has_any = has_any or bool(names)
        if has_any and turn.is_user:
            return
