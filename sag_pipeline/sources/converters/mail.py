"""Convert e-mail: subject, people and date, then each line that its sender or whom he forwards says; attachments."""

import io
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parseaddr, parsedate_to_datetime

from sag_pipeline.sources.converters.html import page_text, parse_html
from sag_pipeline.sources.converters.pieces import Converted, TextPiece, joined, one_paragraph
from sag_pipeline.sources.decoding import decode
from sag_retrieval.language.layout import LineKind, logical_lines
from sag_retrieval.language.mail import new_words
from sag_retrieval.language.words import is_cjk

_HEADERS = ("From", "To", "Cc", "Date")
_THREAD = ("References", "In-Reply-To", "Message-ID")

Attachment = tuple[str, bytes]
ReadAttachment = Callable[[str, bytes], Iterable[TextPiece]]
"""The text of an attachment; raises ValueError with the reason if it cannot be read."""


@dataclass(frozen=True, slots=True)
class _Mail:
    subject: str
    people: dict[str, str]
    body: str
    attached: list[Attachment]
    thread: str = ""


def convert_eml(payload: bytes, read: ReadAttachment | None = None) -> Converted:
    """A message as RFC 5322 has it, or one of a mailbox with the line `From …` before it."""
    if payload.startswith(b"From "):
        payload = payload.partition(b"\n")[2].replace(b"\n>From ", b"\nFrom ")
    message = message_from_bytes(payload, policy=policy.default)
    assert isinstance(message, EmailMessage)
    if not any(message.get(name) for name in (*_HEADERS, "Subject", "Received", "Message-ID")):
        raise ValueError("no header of an e-mail")
    people = {name: one_paragraph(str(message.get(name) or "")) for name in _HEADERS}
    thread = next((str(message[name]).split()[0] for name in _THREAD if str(message.get(name) or "").split()), "")
    subject = one_paragraph(str(message.get("Subject") or ""))
    return _converted(_Mail(subject, people, _body(message), list(_attached(message)), thread), read)


def convert_msg(payload: bytes, read: ReadAttachment | None = None) -> Converted:
    """A message as Outlook saves it."""
    import oxmsg  # noqa: PLC0415  only needed for such files

    message = oxmsg.Message.load(io.BytesIO(payload))
    to = ", ".join(f"{each.name} <{each.email_address}>" for each in message.recipients)
    people = {"From": message.sender or "", "To": to, "Date": str(message.sent_date or "")}
    body = message.body or _html_text((message.html_body or "").encode("utf-8", "replace"))
    attached = [(each.file_name or "attachment", each.file_bytes or b"") for each in message.attachments]
    return _converted(_Mail(message.subject or "", people, body, attached), read)


def _converted(mail: _Mail, read: ReadAttachment | None) -> Converted:
    sent = _moment(mail.people["Date"])
    people = {name: value for name, value in mail.people.items() if value}
    if sent:
        people["Date"] = f"{sent:%Y-%m-%d %H:%M}"
    fields = {"from": people.get("From", ""), "date": f"{sent:%Y-%m-%d}" if sent else "", "thread": mail.thread}
    return Converted(mail.subject or None, _pieces(mail, people, read), {n: v for n, v in fields.items() if v})


def _moment(value: str) -> datetime | None:
    try:
        return parsedate_to_datetime(value)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _pieces(mail: _Mail, people: dict[str, str], read: ReadAttachment | None) -> Iterator[TextPiece]:
    """The head; what each person says, by name; what is attached."""
    names = [name for name, _ in mail.attached if name]
    lines = [f"{name}: {value}" for name, value in people.items()]
    lines += [f"Attachments: {', '.join(names)}"] if names else []
    heading = f"# {mail.subject}\n\n" if mail.subject else ""
    yield TextPiece(f"{heading}{chr(10).join(lines)}")
    sender = _name(people.get("From", ""))
    for passage in new_words(mail.body.replace("\r\n", "\n")):
        name = _name(passage.sender) or (sender if not passage.date else "")
        if passage.sender or passage.date:
            yield TextPiece(f"\n\n{_forwarded(passage.sender, passage.date, is_chinese=is_cjk(passage.text))}")
        yield TextPiece(f"\n\n{_said(name, passage.text)}")
    for name, content in mail.attached if read else ():
        try:
            yield from read(name, content)  # type: ignore[misc]
        except ValueError as error:
            warnings.warn(f"attachment {name!r}: {error}", stacklevel=2)


def _forwarded(sender: str, date: str, *, is_chinese: bool) -> str:
    """The line that names a forwarded mail; what stands below it is a quotation of that day."""
    name = sender or ("有人" if is_chinese else "somebody")
    return f"{date}，{name}写道：" if is_chinese else f"{f'On {date}, ' if date else ''}{name} wrote:"


def _said(name: str, text: str) -> str:
    """The lines of a mail as turns of a conversation, each with the name of who says it; items and rows as they are."""
    mark = f"{name}{'：' if is_cjk(text) else ': '}" if name else ""
    lines = logical_lines(text)
    parts = []
    for line in lines:
        is_turn = line.kind in (LineKind.PROSE, LineKind.LABEL)
        words = one_paragraph(text[line.start : line.end]) if is_turn else text[line.start : line.end]
        if line is lines[-1] and words in {name, *name.split()}:  # who signs
            continue
        parts.append(f"{mark}{words}" if is_turn else words)
    return joined(parts)


def _name(address: str) -> str:
    """Who is meant by `"Lin, Ada" <ada@example.org>`: Ada Lin; of an address alone, what stands before `@`."""
    name, mail = parseaddr(address)
    last, _, first = name.partition(",")
    name = f"{first} {last}" if first.strip() and not is_cjk(name) else name
    if not name.strip():
        name = (mail or address).partition("@")[0].replace(".", " ").title()
    return " ".join(name.replace(":", " ").split())


def _attached(message: EmailMessage) -> Iterator[Attachment]:
    for part in message.iter_attachments():
        content = part.get_payload(decode=True)
        yield part.get_filename() or part.get_content_type(), content if isinstance(content, bytes) else b""


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    try:
        text = payload.decode(part.get_content_charset("utf-8"))
    except (LookupError, UnicodeDecodeError):
        text = decode(payload)
    return _html_text(text.encode("utf-8", "replace")) if part.get_content_type() == "text/html" else text


def _html_text(payload: bytes) -> str:
    """The text of a mail in HTML, without what it cites of earlier ones."""
    if not payload.strip():
        return ""
    root = parse_html(payload)
    for element in list(root.iter("blockquote")):
        if element.get("type") == "cite" or "quote" in (element.get("class") or ""):
            element.drop_tree()
    return page_text(root)
