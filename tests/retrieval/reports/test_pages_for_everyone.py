"""The pages for readers with a screen reader, a keyboard, a phone, the dark, or paper; the map at any number of themes."""

from functools import cache, partial

import pytest

from tests.support.planted import planted

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

pytestmark = pytest.mark.browser


@cache
def themes_of(count):
    """What makes a table of about so many themes."""
    return lambda: planted(count * 12)[0]


@pytest.fixture(scope="module")
def news(towns):
    """What makes a table of town news in two languages."""
    return partial(towns, languages=("en", "zh"), months=6)


@pytest.fixture
def checked(visit):
    """Opens a file; a policy that allows no foreign script would also stop the one that checks."""
    return partial(visit, bypass_csp=True)


def violations(page):
    """What axe finds wrong: the rule and the first element."""
    found = axe.Axe().run(page).response["violations"]
    return [(each["id"], each["nodes"][0]["html"][:120]) for each in found]


@pytest.mark.parametrize(("scheme", "size"), [("light", (1280, 900)), ("dark", (390, 844))])
def test_axe_finds_nothing_on_the_page_and_on_the_page_of_a_theme(checked, written, news, scheme, size):
    report = written(news)

    page = checked(report.page, scheme, size)
    for each in page.locator("details > summary").all():
        each.click()
    assert violations(page) == []

    theme = checked(next((report.page.parent / "themes").glob("1-*.html")), scheme, size)
    assert violations(theme) == []


def test_axe_would_have_found_a_fault(checked, written, news):
    page = checked(written(news).page)

    page.evaluate("document.querySelector('#filter').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('#filter').removeAttribute('placeholder')")

    assert [name for name, _ in violations(page)] == ["label"]


@pytest.mark.parametrize("themes", [10, 200])
def test_the_map_is_read_and_used_at_ten_and_at_two_hundred_themes(visit, written, themes):
    page = visit(written(themes_of(themes), articles=200).page)

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


def test_a_theme_chosen_on_the_map_is_shown_with_those_tied_to_it_until_all_are_asked_for(visit, written):
    page = visit(written(themes_of(200), articles=200).page)
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
