"""The new words of a mail: what its sender says, and whom he forwards; no quotations, no signature."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from sag_retrieval.language.data import pattern_of_all, patterns, source_of_all
from sag_retrieval.language.layout import Span, physical_lines
from sag_retrieval.language.spans import revising
from sag_retrieval.language.words import is_cjk

_QUOTED = patterns("all")["quote_mark"]
_HEADER = patterns("all")["mail_header"]
_SIGNED = patterns("all")["signature_mark"]
_WROTE = pattern_of_all("attribution")
_SAYS = re.compile(revising("quotes_below").pattern, re.IGNORECASE | re.MULTILINE)
_FORWARDED = pattern_of_all("forwarded_mark")
_ORIGINAL = pattern_of_all("original_mark")
_SENT_FROM = pattern_of_all("sent_from")
_SALUTATION = pattern_of_all("salutation")
_VALEDICTION = pattern_of_all("valediction")
_FROM, _FIELD, _DATE = (
    re.compile(rf"[*_]{{0,2}}(?:{source_of_all(name)})[*_ ]{{0,3}}[:：][*_ \t]{{0,3}}(?P<value>[^\n]*)")
    for name in ("mail_from", "mail_field", "mail_date")
)
_NUMBER_OR_ADDRESS = re.compile(r"[\d@]")
_WRAPPED = 3
"""Lines over which mail programs wrap `On …, Ann <ann@example.org> wrote:`."""
_ADDRESS = "@"
_HEAD = 5
"""Lines within which the head of a quoted mail names its subject or when it was sent."""
_SIGNATURE_LINES, _SIGNATURE_WIDTH = 8, 60
"""A longer part, or one with a sentence, below `Best regards,` is a postscript, not a signature."""
_SENTENCE_ENDS = tuple(".!?。！？…")
_SENTENCE_WORDS = 4


class Said(NamedTuple):
    """What one person says in a mail."""

    sender: str
    """Of the mail that is forwarded, as its head has it; empty: who sent this one."""
    date: str
    text: str


def new_words(body: str) -> list[Said]:
    r"""What the sender of a mail says, then what each forwarded mail says; none that says nothing. Linear in the lines.

    Left out are lines behind `>`, what stands below the head of an earlier mail (`From: … Sent: …`, `发件人：…`) or
    below `On …, Ann wrote:`, salutations and signatures. A mail that says nothing above such a head forwards it.

    Example:
        >>> new_words("It is 5 bar.\n\nOn 3 May 2024, Ann <a@b.org> wrote:\n> It is 3 bar.\n\nBest,\nBo")
        [Said(sender='', date='', text='It is 5 bar.')]
    """
    lines = [line.strip() for line in body.split("\n")]
    found: list[tuple[str, str, list[str]]] = [("", "", [])]
    at, is_signature = 0, False
    while at < len(lines):
        line, said = lines[at], found[-1][2]
        is_forward = _FORWARDED.fullmatch(line) is not None
        if is_forward or _ORIGINAL.fullmatch(line) or _is_head(lines, at):
            if not is_forward and _own(said):
                break
            sender, date, at = _head(lines, at)
            found.append((sender, date, []))
            is_signature = False
        elif below := _below_quotation(lines, at, said):
            at, is_signature = below, False
        else:
            is_signature = is_signature or _SIGNED.fullmatch(line) is not None
            if not is_signature and not _SENT_FROM.fullmatch(line):
                said.append(line)
            at += 1
    passages = (Said(sender, date, "\n".join(_own(said)).strip()) for sender, date, said in found)
    return [passage for passage in passages if passage.text]


def senders(text: str) -> list[str]:
    r"""What a converted mail says of its sender, and of those whom it forwards; none for any other text.

    Example:
        >>> senders("# Seals\n\nFrom: Ada Lin <ada@example.org>\nDate: 2025-06-17\n\nAda Lin: They leak.")
        ['Ada Lin <ada@example.org>']
    """
    lines = text.split("\n", _HEAD)[:_HEAD]
    first = [found["value"] for line in lines if (found := _FROM.match(line))]
    return first + [found[0] for found in _SAYS.finditer(text)] if first else []


def mail_heads(text: str) -> list[Span]:
    r"""The lines in which mails name who sent them, to whom and when: they are no statements. Linear in the lines.

    A form with `From: Kiel` and `Date: 3 May` is none: a head names a subject, when it was sent, or an address.

    Example:
        >>> mail_heads("# Seals\n\nFrom: Ada <ada@example.org>\nDate: 2025-06-17\n\nAda: They leak.")
        [Span(start=9, end=53)]
    """
    found, first = list[Span](), -1
    spans = [*physical_lines(text), Span(0, 0)]
    for row, span in enumerate(spans):
        if span.start < span.end and _HEADER.match(text, *span):
            first = row if first < 0 else first
        elif first >= 0:
            head = [text[slice(*each)] for each in spans[first:row]]
            is_head = any(map(_FROM.match, head)) and any(_FIELD.match(line) or _ADDRESS in line for line in head)
            found += [Span(spans[first].start, spans[row - 1].end)] if is_head else []
            first = -1
    return found


def _is_head(lines: Sequence[str], at: int) -> bool:
    """Whether the head of an earlier mail begins here."""
    if not _FROM.match(lines[at]):
        return False
    return any(_FIELD.match(line) for line in lines[at + 1 : at + _HEAD])


def _head(lines: Sequence[str], at: int) -> tuple[str, str, int]:
    """Sender and date that the head of a mail names, and the line below it."""
    sender = date = ""
    if not _FROM.match(lines[at]):
        at = next((row for row in range(at + 1, len(lines)) if lines[row]), len(lines))
    while at < len(lines) and _HEADER.match(lines[at]):
        named, dated = _FROM.match(lines[at]), _DATE.match(lines[at])
        sender = named["value"] if named else sender
        date = dated["value"] if dated else date
        at += 1
    return sender.strip(), date.strip(), at


def _below_quotation(lines: Sequence[str], at: int, said: list[str]) -> int:
    """The line below a quoted one, and below `On …, Ann wrote:` if a quoted one is next, else the end; 0: it is new."""
    if _QUOTED.match(lines[at]):
        if said and _SAYS.fullmatch(said[-1]):
            said.pop()
        return at + 1
    for end in range(at + 1, min(at + _WRAPPED, len(lines)) + 1):
        if not lines[end - 1] or (end > at + 1 and not _goes_on(lines, at, end)):
            return 0
        if _WROTE.fullmatch(" ".join(lines[at:end])):
            below = next((row for row in range(end, len(lines)) if lines[row]), len(lines))
            return below if below < len(lines) and _QUOTED.match(lines[below]) else len(lines)
    return 0


def _goes_on(lines: Sequence[str], at: int, end: int) -> bool:
    return bool(_NUMBER_OR_ADDRESS.search(lines[at])) and not lines[end - 2].endswith(_SENTENCE_ENDS)


def _own(said: Sequence[str]) -> list[str]:
    """The lines without a salutation before and a signature behind."""
    start = next((row for row, line in enumerate(said) if line), 0)
    start += bool(said) and _SALUTATION.fullmatch(said[start]) is not None
    end, below = len(said), 0
    for row in range(len(said) - 1, start - 1, -1):
        line = said[row]
        if _VALEDICTION.fullmatch(line):
            end = row
        elif _is_said(line) or below == _SIGNATURE_LINES:
            break
        below += bool(line)
    return list(said[start:end]) if any(said[start:end]) else []


def _is_said(line: str) -> bool:
    is_long = len(line.split()) >= _SENTENCE_WORDS or (is_cjk(line) and len(line) >= 2 * _SENTENCE_WORDS)
    return (is_long and line.endswith(_SENTENCE_ENDS)) or len(line) > _SIGNATURE_WIDTH
