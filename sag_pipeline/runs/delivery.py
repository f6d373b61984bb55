"""Send a message to where somebody reads it: a web hook, an e-mail or a folder; what cannot be sent stops nothing."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from sag_retrieval.clusters.storage import drafted
from sag_retrieval.core import durable
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.secrets import keep_address, masked

if TYPE_CHECKING:
    from sag_retrieval.reports.report import Report

MAIL: Final = "mailto:"
_WEB: Final = ("http://", "https://")
_SECONDS: Final = 10
"""A receiver that does not answer must not hold up a run, or the daemon, which also starts schedules."""
_SUBMISSION, _ENCRYPTED = 587, 465
_LARGEST: Final = 15_000_000
"""Bytes of a file that an e-mail carries; servers refuse larger ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is sent: to a web hook as JSON, by e-mail as text with a file, to a folder as files."""

    name: str
    """Of the file or the folder that it becomes."""
    subject: str
    told: Mapping[str, Any]
    text: str = ""
    """Body of an e-mail; empty: the plain values by line."""
    attachment: Path | None = None
    folder: Path | None = None
    """Whose files are copied; None: the plain values become a file."""
    parts: Sequence[str] = field(default_factory=tuple)
    """Files and folders that are copied of it; none: all."""


def check_target(target: str) -> None:
    """Refuse what is neither an address of the web, nor of e-mail, nor a folder."""
    is_known = target.startswith((*_WEB, MAIL)) or "://" not in target
    if not target.strip() or not is_known or target == MAIL:
        raise SettingsError(f"{target!r} is no place to deliver to; write https://…, mailto:NAME@HOST or a folder")


def send(target: str, smtp: str, message: Message) -> str:
    """Send a message; why it could not be sent, empty if it was."""
    try:
        check_target(target)
        if target.startswith(MAIL):
            _mail(target.removeprefix(MAIL), smtp, message)
        elif target.startswith(_WEB):
            _post(target, message)
        else:
            _write(Path(target).expanduser(), message)
    except SettingsError as error:
        return str(error)
    except (OSError, ValueError, HTTPException) as error:  # an SMTPException is an OSError
        keep_address(smtp)
        keep_address(target, is_hook=True)
        return masked(f"{type(error).__name__}: {error}".replace(target, shown_target(target)))
    return ""


def shown_target(target: str) -> str:
    """The target without what only its owner knows: the path and the user of a hook."""
    if not target.startswith(_WEB):
        return target
    place = urlsplit(target) if "[" not in target else None
    return f"{place.scheme}://{place.hostname}/…" if place and place.hostname else "the web hook"


def _post(address: str, message: Message) -> None:
    import urllib.request  # noqa: PLC0415  most runs tell nobody

    body = json.dumps({"text": message.subject, **message.told}, ensure_ascii=False).encode()  # chats read `text`
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, body, headers)  # noqa: S310  http or https, as `send` has seen

    class Refused(urllib.request.HTTPRedirectHandler):
        """Nobody but the named receiver gets the message."""

        def redirect_request(self, *_: object) -> None:
            """None: the answer becomes an error."""

    with urllib.request.build_opener(Refused).open(request, timeout=_SECONDS):
        pass


def _mail(receiver: str, server: str, message: Message) -> None:
    import smtplib  # noqa: PLC0415  most runs tell nobody
    import ssl  # noqa: PLC0415
    from email.message import EmailMessage  # noqa: PLC0415

    place, mail = urlsplit(server), EmailMessage()
    mail["Subject"] = " ".join(message.subject.split())
    mail["From"] = mail["To"] = receiver
    mail.set_content(message.text or "\n".join(f"{name}: {value}" for name, value in message.told.items()))
    file = message.attachment
    if file is not None and file.stat().st_size <= _LARGEST:
        mail.add_attachment(file.read_bytes(), maintype="text", subtype="html", filename=file.name)
    host, is_encrypted = place.hostname or "localhost", place.scheme == "smtps"
    safe = ssl.create_default_context()
    opened = (
        smtplib.SMTP_SSL(host, place.port or _ENCRYPTED, timeout=_SECONDS, context=safe)
        if is_encrypted
        else smtplib.SMTP(host, place.port or _SUBMISSION, timeout=_SECONDS)
    )
    with opened as connection:
        if place.username:
            if not is_encrypted:
                connection.starttls(context=safe)  # a password is never sent in the clear
            connection.login(unquote(place.username), unquote(place.password or ""))
        connection.send_message(mail)


def _write(folder: Path, message: Message) -> None:
    durable.make_folder(folder)
    if message.folder is None:
        told = json.dumps(message.told, ensure_ascii=False, indent=1) + "\n"
        durable.write_text(folder / f"{message.name}.json", told)
        return
    own = folder / message.name
    with drafted(own) as draft:
        for name in message.parts or sorted(each.name for each in message.folder.iterdir()):
            _copy(message.folder / name, draft / name)
        shutil.rmtree(own, ignore_errors=True)


def _copy(source: Path, to: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, to)
    elif source.exists():
        shutil.copy2(source, to)


def deliver_report(made: "Report", targets: Sequence[str], *, name: str, smtp: str, address: str) -> list[str]:
    """Send a report everywhere; why it could not be sent, for each place where it was not."""
    message = _message(made, name, link_of(made, name, targets, address))
    sent = ((target, send(target, smtp, message)) for target in targets)
    return [f"the report could not be delivered to {shown_target(target)}: {fault}" for target, fault in sent if fault]


def link_of(made: "Report", name: str, targets: Sequence[str], address: str) -> str:
    """The address of the page: where its folder is served, else of the file."""
    has_folder = any(not target.startswith(("http://", "https://", MAIL)) for target in targets)
    if address and has_folder:
        return f"{address.rstrip('/')}/{name}/{made.release}/{made.page.name}"
    return made.page.resolve().as_uri()


def _message(made: "Report", name: str, link: str) -> Message:
    told: dict[str, Any] = {
        "report": name,
        "headline": made.headline,
        "findings": [dict(each) for each in made.findings],
        "topics": [{"title": title, "events": events, "new": new} for title, events, new in made.largest],
        "release": made.release,
        "previous": made.previous,
        "new_events": made.counts["new"],
        "link": link,
    }
    largest = [f"{title} ({events:,})" for title, events, _ in made.largest]
    said = [each["text"] for each in made.findings] or largest  # findings are a model's
    listed = [f"{number}. {each}" for number, each in enumerate(said, 1)]
    return Message(
        name=str(Path(name) / made.release),
        subject=f"{made.title}: {made.headline}",
        told=told,
        text="\n\n".join([made.headline, *listed, link]) + "\n",
        attachment=made.page,
        folder=made.folder,
        parts=(made.page.name, made.markdown.name, *(path.name for path in made.tables.values())),
    )
