"""The pages for readers with a screen reader, a keyboard, a phone, the dark, or paper; the map at any number of themes."""

import shutil
from collections.abc import Iterator

import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import write_report
from sag_retrieval.topics.naming import name_communities
from tests.support.planted import planted

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


@pytest.mark.parametrize("themes", [10, 200])
def test_the_map_is_read_and_used_at_ten_and_at_two_hundred_themes(visit, tmp_path, themes):
    events = planted(themes * 12)[0]
    report = written(events, tmp_path, articles=200)
    page = visit(report.page)

    areas = page.locator(".map.wide .area")
    shown = page.evaluate(
        """() => [...document.querySelectorAll('.map.wide .area')].map((each) => {
            const area = each.querySelector('rect').getBoundingClientRect();
            const texts = [...each.querySelectorAll('text')];
            return texts.every((text) => {
                const box = text.getBoundingClientRect();
                return parseFloat(getComputedStyle(text).fontSize) >= 14 && box.right <= area.right + 1 &&
                    box.bottom <= area.bottom + 1 && !text.textContent.endsWith('…');
            });
        })"""
    )
    assert 1 < areas.count() <= 60
    assert all(shown)
    assert page.locator(".map.wide .area .label").count() >= areas.count()

    areas.last.focus()
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Enter")
    number = areas.last.get_attribute("data-number")
    assert page.evaluate("location.hash") == f"#c{number}"
    assert page.locator(f"#c{number} .name").is_visible()
    assert page.locator(f"#c{number} .summary").is_visible()
    assert page.locator("article:has(> details.theme)").count() == max(0, page.locator("article").count() - 8)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert (
        page.locator("article:not([hidden]) .summary:visible").count() == page.locator("article:not([hidden])").count()
    )


def test_a_theme_chosen_on_the_map_is_shown_with_those_tied_to_it_until_all_are_asked_for(visit, tmp_path):
    report = written(planted(2400)[0], tmp_path, articles=200)
    page = visit(report.page)
    area = page.locator(".map.wide .area").last
    number, tied = area.get_attribute("data-number"), area.get_attribute("data-tied") or ""
    every = page.locator("main article[id^='c']")
    count = every.count()

    area.click()
    shown = page.evaluate(
        "[...document.querySelectorAll(\"main article[id^='c']:not([hidden])\")].map((each) => each.id)"
    )

    assert set(shown) == {f"c{each}" for each in (number, *tied.split())} & {
        each.get_attribute("id") for each in every.all()
    }
    assert len(shown) < count
    page.locator("#show-all").click()
    assert page.locator("main article[id^='c']:not([hidden])").count() == count
    assert page.locator("#show-all").is_hidden()
