"""How many tokens a text will be, without a tokenizer."""

import re

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
