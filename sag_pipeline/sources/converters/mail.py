"""Convert e-mail: subject, people, date, and the body as plain text; attachments are named."""

import re
from collections.abc import Iterable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime

from sag_pipeline.sources.converters.html import convert_html
from sag_pipeline.sources.converters.pieces import Converted, TextPiece, one_paragraph
from sag_pipeline.sources.decoding import decode

_QUOTED = re.compile(r"^(?:>\s?)+", re.MULTILINE)
_GAP = re.compile(r"\n[> \t]*+\n")
_HEADERS = ("From", "To", "Cc", "Date")


def convert_eml(payload: bytes) -> Converted:
    """A message as RFC 5322 has it.

    Raises:
        ValueError: If it has no header of a message.

    """
    message = message_from_bytes(payload, policy=policy.default)
    assert isinstance(message, EmailMessage)
    if not any(message.get(name) for name in (*_HEADERS, "Subject", "Received", "Message-ID")):
        raise ValueError("no header of an e-mail")
    people = {name: one_paragraph(str(message.get(name) or "")) for name in _HEADERS}
    attached = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    return _mail(one_paragraph(str(message.get("Subject") or "")), people, _body(message), attached)


def convert_msg(payload: bytes) -> Converted:
    """A message as Outlook saves it."""
    import io  # noqa: PLC0415

    import oxmsg  # noqa: PLC0415  only needed for such files

    message = oxmsg.Message.load(io.BytesIO(payload))
    to = ", ".join(f"{each.name} <{each.email_address}>" for each in message.recipients)
    people = {"From": message.sender or "", "To": to, "Date": str(message.sent_date or "")}
    body = message.body or _html_text((message.html_body or "").encode("utf-8", "replace"))
    return _mail(message.subject or "", people, body, [each.file_name or "attachment" for each in message.attachments])


def _mail(subject: str, people: dict[str, str], body: str, attached: Iterable[str]) -> Converted:
    """Headers as lines, then the body; quoted lines lose their marks."""
    lines = [f"{name}: {_date(value) if name == 'Date' else value}" for name, value in people.items() if value]
    names = [name for name in attached if name]
    if names:
        lines.append(f"Attachments: {', '.join(names)}")
    text = "\n\n".join(_paragraphs(body))
    heading = f"# {subject}\n\n" if subject else ""
    return Converted(subject or None, [TextPiece(f"{heading}{chr(10).join(lines)}\n\n{text}")])


def _date(value: str) -> str:
    try:
        return parsedate_to_datetime(value).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return value


def _paragraphs(body: str) -> Iterator[str]:
    for paragraph in _GAP.split(body.replace("\r\n", "\n")):
        bare = _QUOTED.sub("", paragraph).strip("\n")
        if bare.strip():
            yield bare


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
    return "".join(piece.text for piece in convert_html(payload).pieces) if payload.strip() else ""
