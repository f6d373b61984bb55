"""The page in a real browser: quiet, alone, drawn, and answering to mouse and keyboard."""

from functools import cache
from itertools import pairwise

import pytest

pytestmark = pytest.mark.browser
HOSTILE = "</title><script>document.title = 'owned'</script><img src='http://127.0.0.1:9/x'>"


@pytest.fixture(scope="module")
def news(towns):
    """Town news of six months: what makes their table, always the same one for the same languages and days."""

    @cache
    def of(languages=("zh",), day=""):
        return lambda: towns(languages=languages, months=6, day=day)

    return of


@pytest.fixture
def opened(visit, written, news):
    """Opens a report of town news."""

    def open_page(scheme="light", size=(1280, 900), *, title="Town news", languages=("zh",), day="", **options):
        return visit(written(news(languages, day), title=title).page, scheme, size, **options)

    return open_page


def test_the_page_says_nothing_and_asks_for_nothing(opened):
    page = opened()

    page.wait_for_timeout(100)
    assert page.said == []
    assert [url for url in page.asked if not url.startswith("file:")] == []
    assert len(page.asked) == 1


def test_pointing_at_a_citation_shows_its_sentence(opened):
    page = opened(day="-05")

    page.locator("article .cite").first.hover()

    assert page.locator("#tip").inner_text().endswith("。")


def test_finding_marks_every_place_and_goes_to_the_first_and_the_next(opened):
    page = opened()

    page.fill("#filter", "图书馆")
    page.locator("#found").wait_for(state="visible")
    marked = page.locator(".found-here")
    assert page.locator("#found").inner_text() == f"找到 {marked.count()} 处，按回车跳到下一处"
    assert marked.count() > 1
    assert marked.first.evaluate(
        "each => { const box = each.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight }"
    )

    page.press("#filter", "Enter")
    assert marked.nth(1).is_visible()

    page.fill("#filter", "")
    page.locator("#found").wait_for(state="hidden")
    assert marked.count() == 0


def test_a_citation_leads_to_its_marked_sentence_and_back(opened):
    page = opened()

    link = page.locator("article .cite").first
    reference = link.get_attribute("id")
    link.click()
    marked = page.locator(page.evaluate("location.hash"))
    assert marked.is_visible()
    assert marked.evaluate("each => each.matches(':target')")

    page.locator(f".by a[href='#{reference}']").click()
    assert page.locator(f"#{reference}").is_visible()


def test_a_citation_shows_its_document_and_a_finger_sees_that_before_it_goes_there(opened):
    page = opened(size=(390, 844), has_touch=True)
    cite = page.locator("article .cite").first
    source = page.locator(cite.get_attribute("href")).locator("xpath=ancestor::div[@class='source']")
    title = source.locator(".name").evaluate("each => each.childNodes[1].textContent.trim()")

    cite.tap()
    shown = page.locator("#tip").inner_text()
    stayed = page.evaluate("location.hash")
    cite.tap()

    assert shown.splitlines()[0] == title
    assert shown.splitlines()[-1] == "再点一次前往"
    assert stayed == ""
    assert page.evaluate("location.hash") == cite.get_attribute("href")
    assert page.locator("#tip").is_hidden()


def test_every_citation_has_a_sentence_to_show(opened):
    page = opened(day="-05")

    shown = page.evaluate(
        """() => [...document.querySelectorAll('.cite')].map((each) => {
            each.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
            return document.querySelector('#tip').hidden ? 0 : document.querySelector('#tip').children.length;
        })"""
    )

    assert shown
    assert set(shown) == {2}


def test_the_contents_lead_into_what_is_folded(opened):
    page = opened()

    page.locator(".side a[href='#sources']").click()

    assert page.locator("#sources .source").first.is_visible()


def test_a_keyboard_reaches_search_topics_and_citations_and_sees_where_it_is(opened):
    page = opened()
    reached = []

    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.getAttribute('class') || document.activeElement.id"
                " || document.activeElement.tagName"
            )
        )

    text = " ".join(reached)
    assert all(each in text for each in ("skip", "filter", "cite", "SUMMARY"))


def test_a_link_into_closed_details_opens_them(opened):
    page = opened()
    inside = page.locator("details .source").first.get_attribute("id")

    page.evaluate(f"location.hash = '{inside}'")

    page.locator(f"#{inside}").wait_for(state="visible")
    assert page.locator(f"details:has(#{inside})").evaluate("each => each.open")


def test_light_and_dark_follow_the_system_and_the_button(opened):
    page = opened(scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)

    page.click("#theme")

    assert dark == "rgb(20, 22, 27)"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_nothing_is_wider_than_a_phone_and_the_title_comes_before_the_tools(opened, language):
    page = opened(size=(390, 844), languages=(language,))

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    title, tools = page.locator("h1").bounding_box(), page.locator(".tools").bounding_box()
    assert title["y"] < tools["y"]


def test_a_hostile_title_is_shown_as_text_and_does_nothing(opened):
    page = opened(title=HOSTILE)

    page.wait_for_timeout(100)
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.title() != "owned"
    assert len(page.asked) == 1


def test_the_policy_stops_what_is_injected_later(opened):
    page = opened()

    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = "document.title = 'owned'";
            document.body.append(script);
        }"""
    )
    refused = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')")

    assert page.title() == "Town news"
    assert refused == "refused"
    assert any("Content Security Policy" in text for text in page.said)


def test_without_scripts_everything_can_be_read_and_links_work(opened):
    page = opened(script=False)

    assert page.locator("article").first.is_visible()
    assert not page.locator(".tools").is_visible()
    assert page.locator("nav a").first.is_visible()


def test_every_control_has_a_name_and_headings_step_down_one_by_one(opened):
    page = opened(languages=("en", "zh"))

    nameless = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, input, svg[role]')]
            .filter((each) => !each.textContent.trim() && !each.ariaLabel && !each.labels?.length)
            .map((each) => each.outerHTML)"""
    )
    levels = page.evaluate(
        "[...document.querySelectorAll('main :is(h1, h2, h3, h4, h5)')].map((each) => +each.tagName[1])"
    )
    assert nameless == []
    assert levels[0] == 2
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.evaluate("document.querySelectorAll('main').length") == 1
    assert page.evaluate("[...document.querySelectorAll('th')].every((each) => each.scope)")


def test_chinese_is_drawn_and_not_as_boxes(opened):
    page = opened()

    widths = page.evaluate(
        """() => { const pen = document.createElement('canvas').getContext('2d');
            pen.font = '40px ' + getComputedStyle(document.body).fontFamily;
            const dots = (text) => { pen.clearRect(0, 0, 300, 150); pen.fillText(text, 0, 60);
                return pen.getImageData(0, 0, 60, 80).data.reduce((sum, one) => sum + one, 0); };
            return ['港', '湾', '\\uffff'].map(dots); }"""
    )
    assert len(set(widths)) == 3


def test_print_leaves_out_tools_and_sources_unless_they_are_wanted(opened):
    page = opened()
    page.emulate_media(media="print")

    assert not page.locator(".tools").is_visible()
    assert not page.locator("details .source").first.is_visible()

    page.emulate_media(media="screen")
    page.check("#print-all")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("details .source").first.is_visible()
