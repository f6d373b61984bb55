"""The page of `sag serve` in Chromium: at two widths, in both themes and languages, by mouse and by keyboard."""

from pathlib import Path
from urllib.parse import quote, unquote_plus

import httpx
import pytest

from sag_pipeline.extract.name_decisions import read_decisions
from sag_pipeline.runs.status import HomeDecider
from sag_retrieval import open_release
from tests.conftest import json_lines
from tests.serve.conftest import DOCUMENTS, SECRET, serving
from tests.support.bare_ingest import kept_ingest
from tests.support.browser import PATIENCE

pytest.importorskip("fastapi", reason="serve: fastapi not installed, an extra")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

from sag_retrieval.serve.access import (  # noqa: E402
    LOOPBACK,
    AccessKey,
    AccessKeys,
    CurrentRelease,
    Service,
    hash_of,
)
from sag_retrieval.serve.http import build_app  # noqa: E402

pytestmark = pytest.mark.browser

QUESTION = "Who built the Heron buoy?"
CHINESE = "苍鹭浮标由哪家公司制造？"
MORE = [
    {
        "id": "notes/note.md",
        "title": "Correction of the price",
        "text": "Correction: the price of the Heron buoy is 45,000 euros, not 40,000 euros. 🦩🦩 Ada Brandt was wrong.",
        "metadata": {"department": "sales", "date": "2024-01-10"},
    },
    {
        "id": "notes/苍鹭.md",
        "title": "苍鹭浮标",
        "text": "苍鹭浮标由卢曼光学公司于2021年制造。🦩卢曼光学公司设在柏林，由阿达·布兰特领导。",
        "metadata": {"department": "sales", "date": "2021-06-01"},
    },
    {"id": "notes/guide.md", "title": "Guide", "text": "# Buoys\n\nThe buoys are red. 2*3*4 *buoys* are **new**."},
    {"id": "notes/buoy.yaml", "title": "Settings", "text": "# Buoys\nred: 24"},
]
WIDE = ((1280, 900), "light", "en-GB")
NARROW = ((390, 844), "dark", "zh-CN")
VIEWS = [
    f"q={QUESTION}&way=w1&way=howall",
    "",
    "view=topics&way=map",
    "view=keys&find=Heron",
    "view=timeline&period=2023",
    "view=changes",
    "q=x&doc=notes/note.md&start=0&end=20",
]
HOLD = """
const send = window.fetch;
let held = 0;
window.fetch = async (path, options) => {
  const answer = await send(path, options);
  if (!String(path).includes("stream=true")) return answer;
  const events = (await answer.text()).split(/(?<=\\n\\n)/);
  return new Response(new ReadableStream({ async pull(to) {
    if (events[0]?.startsWith("event: sentence")) await new Promise((go) => {
      window.goOn = go;
      document.documentElement.dataset.held = ++held;
    });
    if (events.length) to.enqueue(new TextEncoder().encode(events.shift()));
    else to.close();
  } }, { highWaterMark: 0 }));
};
"""
"""Lets each sentence of an answer through when the test says so."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SOURCE", "CHAT_MODEL", "EMBEDDING_MODEL", "LANGUAGE"):
            patch.delenv(f"SAG_{name}", raising=False)
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        Path("documents.jsonl").write_text(json_lines(DOCUMENTS + MORE), encoding="utf-8")
        kept_ingest(["documents.jsonl"])
        yield folder / "home"


@pytest.fixture(scope="module")
def address(home):
    service = Service(CurrentRelease(home), decider=HomeDecider(home))
    with serving(build_app(service, LOOPBACK)) as address:
        yield address


@pytest.fixture(scope="module")
def screens(browser):
    """One browser context for each kind of screen, shared by all tests."""
    contexts = {}

    def screen(size, scheme, locale, *, bypass_csp):
        wanted = (size, scheme, locale, bypass_csp)
        if wanted not in contexts:
            contexts[wanted] = browser.new_context(
                viewport={"width": size[0], "height": size[1]},
                color_scheme=scheme,
                locale=locale,
                bypass_csp=bypass_csp,
                reduced_motion="reduce",
            )
            contexts[wanted].set_default_timeout(PATIENCE)
        return contexts[wanted]

    yield screen
    for context in contexts.values():
        context.close()


@pytest.fixture
def visit(screens, address):
    """Opens a state of the page; at the end nothing was asked of others, nothing failed, no dialog was opened."""
    opened = []

    def go(state="", screen=WIDE, *, bypass_csp=False, script="", at=address):
        page = screens(*screen, bypass_csp=bypass_csp).new_page()
        opened.append((page, at, asked := [], wrong := []))
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if "Failed to load" not in message.text else None)
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        if script:
            page.add_init_script(script)
        page.goto(f"{at}/#{quote(state, safe='=&/')}")
        page.locator("main > div > *").first.wait_for()
        return page

    yield go
    for page, at, asked, wrong in opened:
        page.close()
        assert wrong == []
        assert all(url.startswith((f"{at}/", "data:")) for url in asked)


def ready(page):
    """The page, when everything has come."""
    page.wait_for_load_state("networkidle")
    page.locator(".waiting").first.wait_for(state="detached")
    return page


def state_of(page):
    return unquote_plus(page.url.partition("#")[2])


@pytest.mark.parametrize(("question", "screen"), [(QUESTION, WIDE), (CHINESE, NARROW)])
def test_a_question_is_answered_beside_the_passages_with_the_cited_words_marked(home, visit, question, screen):
    with open_release(home) as release:
        wanted = release.ask(question)
        titles = [hit.title for hit in release.search(question, top_k=12)]
    page = visit(screen=screen)

    page.fill("#query", question)
    page.press("#query", "Enter")
    ready(page)

    cited = {each.quote for each in wanted.citations}
    assert wanted.is_found
    assert page.locator(".cite").all_inner_texts() == [str(each.marker) for each in wanted.citations]
    assert page.locator(".answer blockquote").all_inner_texts() == [each.quote for each in wanted.citations]
    assert page.locator(".hit h3").all_inner_texts() == titles
    assert cited & {*page.locator(".hit mark").all_inner_texts()}
    assert page.locator(".hit .text b").count() > 0
    assert page.title() == f"{question} – sag"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_an_answer_grows_by_sentences(visit, address):
    asked = {"query": "Who leads Lumen Optics, and what is the price of the Heron buoy?", "mode": "deep"}
    told = httpx.post(f"{address}/v1/ask?stream=true", json=asked, timeout=60).text.count("event: sentence")
    page = visit(f"q={asked['query']}&mode=deep", script=HOLD)

    assert told > 1
    for shown in range(1, told + 1):
        page.locator(f"html[data-held='{shown}']").wait_for(timeout=60_000)
        assert page.locator(".answer .waiting").count() == 1
        assert page.locator("a.cite").count() == 0
        page.evaluate("goOn()")
        page.locator(f".answer .text > span:nth-child({shown})").wait_for()
        assert page.locator(".answer .text > span").count() == shown

    page.locator("a.cite").first.wait_for()
    assert page.locator(".answer .waiting").count() == 0


def test_a_follow_up_goes_on_from_the_answer_and_has_a_link(visit):
    page = ready(visit(f"q={QUESTION}"))

    page.fill(".follow input", "Who leads it?")
    page.press(".follow input", "Enter")
    page.locator(".turn + h3").wait_for()
    again = ready(visit(state_of(page)))

    assert again.locator(".answer h3").all_inner_texts().count("Who leads it?") == 1
    assert "Ada Brandt leads Lumen Optics" in again.locator(".turn").last.inner_text()


def test_a_citation_opens_the_document_at_its_place_and_escape_leads_back(visit):
    page = ready(visit("q=Ada Brandt was wrong", NARROW))

    cite = page.locator(".cite").first
    cite.click()
    mark = page.locator("#document mark")
    mark.wait_for()
    assert mark.inner_text() == page.locator(".answer blockquote").first.text_content()
    assert mark.evaluate("e => e.getBoundingClientRect().bottom < innerHeight && e.getBoundingClientRect().top > 0")
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "doc=" not in url)

    assert cite.evaluate("e => e === document.activeElement")


def test_headings_are_shown_as_such_and_a_comment_stays_one(visit):
    page = ready(visit("q=x&doc=notes/guide.md&start=9&end=27"))

    assert page.locator("#document .heading").all_inner_texts() == ["Buoys"]
    assert page.locator("#document mark").inner_text() == "The buoys are red."
    assert page.locator("#document .paper").inner_text() == "Buoys\n\nThe buoys are red. 2*3*4 buoys are new."
    assert page.locator("#document header button").inner_text() == "Close"
    again = ready(visit("q=x&doc=notes/buoy.yaml&start=0&end=0"))
    assert again.locator("#document .paper").inner_text() == "# Buoys\nred: 24"


def test_a_first_question_leads_to_its_answer(visit):
    page = ready(visit())

    page.locator(".begin a", has_text="Ada Brandt").press("Enter")
    page.locator(".cite").first.wait_for()

    assert state_of(page) == "q=Who is Ada Brandt?"


def test_characters_outside_the_basic_plane_do_not_shift_a_place(visit, address):
    text = MORE[0]["text"]
    start = text.index("Ada Brandt was")

    page = visit(f"q=x&doc=notes/note.md&start={start}&end={len(text)}")

    page.locator("#document mark").wait_for()
    assert page.locator("#document mark").inner_text() == text[start:]


def test_what_was_corrected_since_stands_beside_the_passage_and_in_a_list(home, visit):
    with open_release(home) as release:
        hits = release.search("What is the price of the Heron buoy?", top_k=12)
        revised = [one.quote for hit in hits for one in hit.revised_by]
    page = ready(visit("q=What is the price of the Heron buoy?"))

    assert revised
    assert page.locator(".hit .revised q").all_inner_texts() == revised
    listed = ready(visit("view=changes"))
    assert "45,000" in listed.locator(".card").first.inner_text()


def test_the_way_to_each_passage_is_drawn_and_stays_in_the_link(visit, address):
    ways = httpx.post(f"{address}/v1/explain", json={"query": QUESTION, "top_k": 12}).json()["ways"]
    page = ready(visit(f"q={QUESTION}"))

    page.locator(".w1 summary").click()
    page.locator(".howall summary").click()
    page.locator(".howall svg").wait_for()
    again = ready(visit(state_of(page)))
    again.locator(".w1 svg").wait_for()

    kinds = [each.get_attribute("class") for each in again.locator(".w1 .node").all()]
    assert kinds[0] == "node question"
    assert kinds[-1] == "node passage"
    assert {"node key", "node statement"} <= set(kinds)
    assert again.locator(".w1 svg").get_attribute("aria-label") == ways[0]["why"]
    assert again.locator(".howall .passage").count() == len(ways)
    assert again.locator(".howall .edge").count() >= len(ways)


def test_filters_are_those_of_the_release_and_restrict_both_sides(visit):
    page = ready(visit(f"q={QUESTION}"))

    page.locator("#filters summary").click()
    page.focus("[name=folder]")
    page.select_option("[name=folder]", "legal/")
    page.locator("#chosen a").first.wait_for()
    ready(page)
    assert page.evaluate("document.activeElement.name") == "folder"
    assert {each.inner_text() for each in page.locator(".hit .name").all()} == {f"legal/{SECRET}.md"}
    assert all("legal/" in link.get_attribute("href").replace("%2F", "/") for link in page.locator(".cite").all())

    page.get_by_role("link", name="Remove the filter").click()
    page.locator("#chosen a").first.wait_for(state="detached")
    ready(page)
    assert page.locator(".hit").count() > 1
    assert page.locator("[name=language] option").count() == 3  # any, en, zh


def test_topics_and_a_timeline_lead_to_statements(visit):
    topics = ready(visit("view=topics"))
    assert topics.locator(".card").count() > 0

    years = ready(visit("view=timeline"))
    years.get_by_role("link", name="2023").press("Enter")
    years.locator(".bars a >> nth=11").wait_for()
    ready(years)

    assert "period=2023" in years.url
    assert all(each.inner_text().startswith("2023") for each in years.locator(".statements time").all())


def test_the_map_has_a_circle_for_each_topic_and_leads_to_it(visit, address):
    topics = httpx.get(f"{address}/v1/topics").json()["rows"]
    page = ready(visit("view=topics&way=map", NARROW))

    assert page.locator(".map circle").count() == len(topics) > 1
    assert page.locator(".map line").count() == sum(len(each["ties"]) for each in topics) > 0
    assert all(tie["topic"] < place and tie["keys"] for place, each in enumerate(topics) for tie in each["ties"])
    page.locator(".map a").first.press("Enter")
    page.wait_for_url(lambda url: "q=" in url)
    assert state_of(page) == f"q={topics[0]['title']}"


def test_keys_are_merged_and_split_by_keyboard_and_taken_back(visit, home):
    page = ready(visit("view=keys&find=Lumen"))
    before = read_decisions(home / "aliases.csv").lines

    page.get_by_role("button", name="Choose Lumen Optics").press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Ada Brandt")
    page.get_by_role("button", name="Keep apart", exact=True).press("Enter")
    page.get_by_role("button", name="Undo the decision on Lumen Optics and Ada Brandt").wait_for()
    (made,) = read_decisions(home / "aliases.csv").lines
    page.get_by_label("Name", exact=True).fill("Nobody at all")
    page.get_by_role("button", name="Merge", exact=True).press("Enter")
    page.locator(".trouble").wait_for()
    refused = page.locator(".trouble").inner_text()
    page.get_by_role("button", name="Undo the decision on Lumen Optics and Ada Brandt").press("Enter")
    page.get_by_role("button", name="Undo the decision on Lumen Optics and Ada Brandt").wait_for(state="detached")

    assert before == read_decisions(home / "aliases.csv").lines == ()
    assert (made.verb, made.name, made.other) == ("apart", "Lumen Optics", "Ada Brandt")
    assert "no key is called 'Nobody at all'" in refused
    assert str(home) not in page.content()


def test_a_printed_answer_is_whole_and_says_where_its_sources_are(visit):
    page = ready(visit(f"q={QUESTION}"))
    page.emulate_media(media="print")

    assert page.locator("h1").bounding_box()["height"] > 10
    assert [page.locator(each).first.is_visible() for each in ("search", "nav", ".follow", ".howall")] == [False] * 4
    shown = page.locator(".sources a").first
    assert shown.evaluate("e => getComputedStyle(e, '::after').content").startswith('" (notes/heron.md, ')
    assert page.locator(".hit").count() > 0
    page.emulate_media(media="screen")


def test_the_keyboard_alone_is_enough(visit):
    page = visit()
    keys = page.keyboard

    keys.type(QUESTION)
    keys.press("Enter")
    page.locator(".cite").first.wait_for()
    for _ in range(40):
        keys.press("Tab")
        if page.evaluate("document.activeElement.className") == "cite":
            break
    keys.press("Enter")
    page.locator("#document mark").wait_for()
    keys.press("Escape")
    page.locator("#document").wait_for(state="hidden")
    while page.evaluate("document.activeElement.closest('.how') === null"):
        keys.press("Tab")
    keys.press("Enter")

    page.locator(".how svg").first.wait_for()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_markup_in_titles_and_keys_is_text(visit):
    page = ready(visit(f"q={SECRET}&way=w1&way=howall&doc=legal/{SECRET}.md"))

    assert DOCUMENTS[2]["title"] == page.locator("#document-title").inner_text()
    assert DOCUMENTS[2]["title"] in page.locator(".hit h3").all_inner_texts()
    assert page.locator("script").count() == 2
    assert any("<script>" in each for each in page.locator(".howall svg title").all_text_contents())


def test_language_and_theme_are_switched_and_kept(visit):
    page = ready(visit(f"q={QUESTION}"))

    page.click("#language")
    page.click("#theme")
    ready(page)
    page.reload()
    ready(page)

    assert page.locator("#answer-title").inner_text() == "回答"
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dataset.theme]") == [
        "zh-Hans",
        "dark",
    ]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 27)"
    page.evaluate("localStorage.clear()")


@pytest.mark.parametrize("screen", [WIDE, NARROW])
def test_axe_finds_nothing(visit, screen):
    page = visit(VIEWS[0], screen, bypass_csp=True)
    for state in VIEWS:
        page.evaluate("(state) => { location.hash = state; }", quote(state, safe="=&/"))
        page.wait_for_timeout(50)  # the page hears of its address a moment later
        ready(page)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        ready(page)
        found = axe.Axe().run(page).response["violations"]
        assert [(state, each["id"], each["nodes"][0]["html"][:120]) for each in found] == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_without_a_release_the_page_says_how_to_make_one(visit, tmp_path):
    with serving(build_app(Service(CurrentRelease(tmp_path)), LOOPBACK)) as at:
        page = visit(f"q={QUESTION}", at=at)

        assert "sag ingest" in page.locator(".trouble").inner_text()
        assert str(tmp_path) not in page.content()


def test_a_server_with_keys_asks_for_one(visit, home):
    keys = AccessKeys([AccessKey(name="sales", hash=hash_of("open sesame"), where={"metadata.department": "sales"})])
    with serving(build_app(Service(CurrentRelease(home), keys))) as at:
        page = visit(f"q={QUESTION}", at=at)

        page.fill("#key", "open sesame")
        page.press("#key", "Enter")
        page.locator(".hit").first.wait_for()
        ready(page)

        assert SECRET not in page.locator("main").inner_text()
        for path in ("filters", "timeline", "topics", "corrections"):
            told = httpx.get(f"{at}/v1/{path}", headers={"Authorization": "Bearer open sesame"})
            assert told.status_code == 200
            assert SECRET not in told.text
            assert httpx.get(f"{at}/v1/{path}").status_code == 401


def test_every_file_of_the_page_has_the_strict_policy(address):
    for path in ("/", "/page.js", "/page.css"):
        policy = httpx.get(f"{address}{path}").headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
