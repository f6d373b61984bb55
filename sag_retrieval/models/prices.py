"""What calls cost: tokens of a text, and money for tokens."""

import math
import re
from dataclasses import dataclass
from typing import ClassVar, Self

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.models.protocols import Usage


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens, in any one currency."""

    input: float
    output: float
    form: ClassVar[str] = "prices as input/output"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Prices written as `input/output`.

        Raises:
            SettingsError: If it is not two numbers of at least 0.

        Example:
            >>> Prices.parse("0.25/2")
            Prices(input=0.25, output=2.0)

        """
        try:
            given, received = map(float, text.split("/"))
        except ValueError:
            given = received = -1.0
        if not (0 <= given < math.inf and 0 <= received < math.inf):
            raise SettingsError(f"prices {text!r} are not `input/output` for a million tokens, such as 0.25/2")
        return cls(given, received)

    def __str__(self) -> str:
        return f"{self.input:g}/{self.output:g}"

    def cost(self, usage: Usage) -> float:
        """Money for a usage."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")

WIDE_TOKENS = 0.7
"""Tokens a Chinese, Japanese or Korean character, near the vocabularies of 150,000 and more words."""
OTHER_TOKENS = 0.27
"""Tokens a character of anything else: English prose, with its punctuation; tables and code take more."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is: 0.7 a CJK character, 0.27 any other (docs/algorithm.md §extraction.27).

    Example:
        >>> estimate_tokens("Four words of English"), estimate_tokens("一共八个汉字而已"), estimate_tokens("")
        (6, 6, 0)

    """
    wide = len(_WIDE.findall(text))
    return -int(-(WIDE_TOKENS * wide + OTHER_TOKENS * (len(text) - wide)) // 1)
