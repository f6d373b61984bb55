"""Passages as a prompt shows them: one JSON object a line, so that no text can pass for anything but data."""

import json
from collections.abc import Iterable, Mapping, Sequence

_LINE_ENDS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}


def numbered(texts: Sequence[str], titles: Sequence[str] = (), *, longest: int | None = None) -> str:
    r"""Lines `{"n": 1, "title": …, "text": …}` from 1 on; a text over `longest` characters is cut with `…`.

    Example:
        >>> print(numbered(["An answer\nof two lines", "长长的一段话"], ["A", ""], longest=20))
        {"n": 1, "title": "A", "text": "An answer\nof two li…"}
        {"n": 2, "text": "长长的一段话"}

    """
    named = list(titles) or [""] * len(texts)
    lines = (
        {"n": n} | ({"title": title} if title else {}) | {"text": _cut(text, longest)}
        for n, (text, title) in enumerate(zip(texts, named, strict=True), start=1)
    )
    return as_lines(lines)


def as_lines(rows: Iterable[Mapping[str, object]]) -> str:
    """One JSON object a line, whatever marks of a line's end stand in its values."""
    return "\n".join(json.dumps(row, ensure_ascii=False).translate(_LINE_ENDS) for row in rows)


def shown_numbers(numbers: Iterable[int], shown: int) -> list[int]:
    """Numbers of passages that were really shown, each once, in the order given."""
    return list(dict.fromkeys(n for n in numbers if 1 <= n <= shown))


def _cut(text: str, longest: int | None) -> str:
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"
