"""The pages for readers with a screen reader, a keyboard, a phone, the dark, or paper."""

from functools import partial

import pytest

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

pytestmark = pytest.mark.browser


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
def test_axe_finds_nothing_on_the_page(checked, written, news, scheme, size):
    page = checked(written(news).page, scheme, size)
    for each in page.locator("details > summary").all():
        each.click()
    assert violations(page) == []


def test_axe_would_have_found_a_fault(checked, written, news):
    page = checked(written(news).page)

    page.evaluate("document.querySelector('#filter').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('#filter').removeAttribute('placeholder')")

    assert [name for name, _ in violations(page)] == ["label"]
