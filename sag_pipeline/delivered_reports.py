"""A finished report as a message for web hooks, e-mail and folders, and the link to its page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sag_pipeline.delivery import MAIL, Message, send

if TYPE_CHECKING:
    from sag_retrieval.reports.report import Report

_THEMES: Final = "themes"


def deliver_report(made: "Report", targets: Sequence[str], *, name: str, smtp: str, address: str) -> list[str]:
    """Send a report everywhere; why it could not be sent, for each place where it was not.

    Args:
        made: The report.
        targets: Hooks, addresses of e-mail and folders.
        name: Of the asset: folders get the files below `NAME/RELEASE`.
        smtp: The server that sends e-mails.
        address: Below which a folder is served.

    """
    message = _message(made, name, link_of(made, name, targets, address))
    sent = ((target, send(target, smtp, message)) for target in targets)
    return [f"the report could not be delivered to {target}: {fault}" for target, fault in sent if fault]


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
        "release": made.release,
        "previous": made.previous,
        "new_events": made.counts["new"],
        "link": link,
    }
    listed = [f"{number}. {each['text']}" for number, each in enumerate(made.findings, 1)]
    return Message(
        name=str(Path(name) / made.release),
        subject=f"{made.title}: {made.headline}",
        told=told,
        text="\n\n".join([made.headline, *listed, link]) + "\n",
        attachment=made.page,
        folder=made.folder,
        parts=(made.page.name, made.markdown.name, _THEMES, *(path.name for path in made.tables.values())),
    )
