"""Pages with charts, tables and long titles: printed whole, and nothing cut on a wide and on a narrow screen."""

import io
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

pdfium = pytest.importorskip("pypdfium2", reason="comes with the readers of PDF files")

pytestmark = pytest.mark.browser
COMPANIES = ("Heron Foods", "Kestrel Yard", "Oban Metals", "Petrel Lines", "Skua Timber", "Gannet Glass")
DEALS = (
    ("Dividends of Listed Companies and Their Shareholders", "paid its shareholders a dividend of {} million euros"),
    (
        "Acquisitions of Shipyards and of Harbour Warehouses",
        "bought a shipyard with its warehouses for {} million euros",
    ),
    (
        "Loans from Savings Banks of the Northern Provinces",
        "borrowed from the savings bank of the province {} million euros",
    ),
)
SHOWN = "[...document.querySelectorAll({!r})].filter((each) => each.getClientRects().length)"


def company_news(base):
    """Three kinds of deals of each company, with amounts, in twelve quarters."""
    told, keys, links = [], {}, []
    for kind, (topic, deal) in enumerate(DEALS):
        for place, name in enumerate(COMPANIES):
            amount, date = 3 + 7 * place + kind, f"20{18 + place % 3}-{1 + 3 * kind:02}"
            told.append((f"{name} {deal.format(amount)} in {date}, said the harbour office.", date, place % 4))
            carried = (("topic", topic), ("organisation", name), ("money", f"{amount} million EUR"))
            links.extend((len(told) - 1, keys.setdefault(key, len(keys))) for key in carried)
    pairs = np.array(links, np.int32)
    is_money = [kind == "money" for kind, _ in keys]
    random = np.random.default_rng(0).standard_normal((len(DEALS), 8))
    vectors = np.repeat(random / np.linalg.norm(random, axis=1, keepdims=True), len(COMPANIES), axis=0)
    return replace(
        base,
        event_ids=[f"e{row}" for row in range(len(told))],
        contents=[text for text, *_ in told],
        chunk=np.array([document for *_, document in told], np.int32),
        spans=np.full((len(told), 2), -1, np.int32),
        dates=[date for _, date, _ in told],
        keys=replace(
            base.keys,
            types=[kind for kind, _ in keys],
            values=[value for _, value in keys],
            is_text=~np.array(is_money),
            numbers=[
                float(value.split()[0]) * 1e6 if money else None
                for (_, value), money in zip(keys, is_money, strict=True)
            ],
            units=["EUR" if money else None for money in is_money],
        ),
        links=replace(base.links, event=pairs[:, 0], key=pairs[:, 1]),
        vectors=vectors.astype(np.float32),
    )


@pytest.fixture(scope="module")
def deals(towns):
    """What makes the table of the companies."""
    return lambda: company_news(towns(months=4))


@pytest.fixture
def opened(visit, written, deals):
    """Opens the report of the companies."""
    return lambda size=(1280, 900), scheme="light": visit(written(deals, title="Deals").page, scheme, size)


def paper(page):
    """The lines of each printed page, without its number."""
    with pdfium.PdfDocument(io.BytesIO(page.pdf(format="A4", prefer_css_page_size=True))) as document:
        texts = [sheet.get_textpage().get_text_range() for sheet in document]
    return [[line for line in text.split("\r\n") if line.strip()][1:] for text in texts]


def test_no_heading_ends_a_printed_page_and_none_stands_without_content(opened):
    page = opened()
    headings = page.evaluate(
        "[...document.querySelectorAll('h2, h3, h4, h5, caption')].map((each) => each.textContent)"
    )

    sheets = paper(page)
    page.emulate_media(media="print")
    bare = page.evaluate(
        f"{SHOWN.format('main section')}.filter((each) => each.innerText.trim() === each.querySelector('h2')?.innerText)"
    )

    assert len(sheets) > 1
    assert [sheet[-1] for sheet in sheets if sheet[-1].strip() in {each.strip() for each in headings}] == []
    assert bare == []
    assert any("How this page was made" in line for line in sheets[-1])


def test_what_is_folded_is_printed_under_its_heading_where_sources_are_asked_for(opened):
    page = opened()
    page.check("#print-all")

    sheets = paper(page)

    lines = [line.strip() for sheet in sheets for line in sheet]
    assert any(one == "Sources" and after.startswith("[1]") for one, after in pairwise(lines))


def test_sources_have_one_size_on_paper(opened):
    page = opened()
    page.emulate_media(media="print")

    sizes = page.evaluate(
        "[...document.querySelectorAll('.sources, .source .name, .source .meta')].map((each) => getComputedStyle(each).fontSize)"
    )

    assert len(sizes) > 1
    assert len(set(sizes)) == 1


def test_paper_is_white_and_leads_to_no_file_that_is_not_on_it(opened):
    page = opened(scheme="dark")

    page.check("#print-all")
    page.emulate_media(media="print", color_scheme="dark")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    targets = page.evaluate(f"{SHOWN.format('a[href]')}.map((each) => each.getAttribute('href'))")
    assert targets
    assert [each for each in targets if not each.startswith("#") or not page.locator(each).count()] == []


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_tables_are_no_wider_than_their_place(opened, size):
    page = opened(size)

    for table in (".amounts", ".names"):
        assert page.locator(table).first.is_visible()
        wider = page.evaluate(
            f"{SHOWN.format(table)}.filter((each) => each.scrollWidth > each.parentElement.clientWidth + 1).length"
        )
        assert wider == 0
        cells = page.evaluate(
            f"{SHOWN.format(f'{table} tbody > tr > *')}.map((each) => [each.clientWidth, each.innerText])"
        )
        assert [text for width, text in cells if len(text) > 4 and width < 40] == []  # a letter a line
