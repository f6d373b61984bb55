"""Pages in Chromium, and reports that are written once for all of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.clusters.events import EventTable
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import Report, write_report
from sag_retrieval.topics.naming import name_communities
from tests.support.browser import PATIENCE


@pytest.fixture(scope="session")
def visit(browser) -> Callable[..., Any]:
    """Opens a file in the one page of its screen, as it was left by no other test; it keeps what it said and asked for."""
    pages: dict[object, Any] = {}

    def open_file(path: Path, scheme="light", size=(1280, 900), *, script=True, **options):
        wanted = (scheme, size, script, *sorted(options.items()))
        if wanted not in pages:
            context = browser.new_context(
                viewport={"width": size[0], "height": size[1]}, java_script_enabled=script, **options
            )
            context.set_default_timeout(PATIENCE)
            pages[wanted] = page = context.new_page()
            page.on("console", lambda message: page.said.append(message.text))
            page.on("pageerror", lambda error: page.said.append(str(error)))
            page.on("request", lambda request: page.asked.append(request.url))
        page = pages[wanted]
        page.emulate_media(media="null", color_scheme=scheme, reduced_motion="reduce")
        page.mouse.move(0, 0)
        page.said, page.asked = [], []
        page.goto(path.as_uri())
        return page

    return open_file


@pytest.fixture(scope="session")
def written(tmp_path_factory) -> Callable[..., Report]:
    """Writes the report of some events: `written(make, title=…)`, once for the same `make` and options."""
    kept: dict[object, Report] = {}

    def write(make: Callable[[], EventTable], **options: Any) -> Report:
        wanted = (make, *sorted(options.items()))
        if wanted not in kept:
            events = make()
            named = name_communities(events, build_communities(events)).communities
            chosen = ReportOptions(**({"title": "Town news", "release": "r1"} | options))
            kept[wanted] = write_report(events, named, chosen, tmp_path_factory.mktemp("report"))
        return kept[wanted]

    return write
