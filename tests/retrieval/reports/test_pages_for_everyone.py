"""The pages for readers with a screen reader, a keyboard, a phone, the dark, or paper."""

import shutil
from collections.abc import Iterator

import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import write_report
from sag_retrieval.topics.naming import name_communities

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright from the extra dev")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium fonts-noto-cjk"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator["sync_api.Browser"]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=300_000)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Opens a file; a policy that allows no foreign script would also stop the one that checks."""
    contexts = []

    def open_file(path, scheme="light", size=(1280, 900)):
        context = browser.new_context(
            bypass_csp=True,
            color_scheme=scheme,
            viewport={"width": size[0], "height": size[1]},
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(300_000)  # milliseconds
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()


def written(events, out, **options):
    named = name_communities(events, build_communities(events)).communities
    return write_report(events, named, ReportOptions(title="Town news", release="r1", **options), out)


def violations(page):
    """What axe finds wrong: the rule and the first element."""
    found = axe.Axe().run(page).response["violations"]
    return [(each["id"], each["nodes"][0]["html"][:120]) for each in found]


@pytest.mark.parametrize(("scheme", "size"), [("light", (1280, 900)), ("dark", (390, 844))])
def test_axe_finds_nothing_on_the_page_and_on_the_page_of_a_theme(visit, towns, tmp_path, scheme, size):
    report = written(towns(languages=("en", "zh"), months=6), tmp_path)

    page = visit(report.page, scheme, size)
    for each in page.locator("details > summary").all():
        each.click()
    theme = visit(next((tmp_path / "themes").glob("1-*.html")), scheme, size)

    assert violations(page) == []
    assert violations(theme) == []


def test_axe_would_have_found_a_fault(visit, towns, tmp_path):
    page = visit(written(towns(), tmp_path).page)

    page.evaluate("document.querySelector('#filter').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('#filter').removeAttribute('placeholder')")

    assert [name for name, _ in violations(page)] == ["label"]
