"""Drop from a page what surrounds its content: navigation, headers, footers, forms, tables of contents."""

import re
from typing import Any

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DROPPED = frozenset(
    "script style noscript template svg math nav form button select input textarea iframe object video audio canvas"
    " head dialog".split()
)
_ROLES = frozenset("navigation banner contentinfo search menu menubar toolbar doc-toc".split())
_NAVIGATION = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|header|footer|igation)?|toc|breadcrumbs?|menu|footer)(?:$|[\s_-])", re.IGNORECASE
)
_ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]{0,20}:)?//|mailto:", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SECTIONING = ("article", "main", "section")
_LISTS = ("ul", "ol", "dl", "table", "div", "p", "section", "center", "aside")
_LEAST_LINKS = 3
_LINK_SHARE = 0.8


def drop_around(body: Any) -> None:  # noqa: ANN401  lxml has no types
    """Drop elements that hold no content, then blocks of links. Linear in the elements of a page of usual depth."""
    _drop_hidden(body)
    _drop_links(body)


def _drop_hidden(body: Any) -> None:  # noqa: ANN401
    for element in list(body.iter()):
        if element is body or not isinstance(element.tag, str):
            continue
        if element.tag in ("header", "footer") and not _is_inside(element):
            _keep_headings(element)
        elif element.tag in _DROPPED or _is_hidden(element):
            element.drop_tree()


def _is_inside(element: Any) -> bool:  # noqa: ANN401
    """Whether a header or footer belongs to an article, not to the page."""
    return any(above.tag in _SECTIONING for above in element.iterancestors())


def _keep_headings(element: Any) -> None:  # noqa: ANN401
    kept = list(element.iter(*HEADINGS)) if element.tag == "header" else []
    for each in kept:
        element.addprevious(each)
        each.tail = None
    element.drop_tree()


def _is_hidden(element: Any) -> bool:  # noqa: ANN401
    get = element.get
    if get("role") in _ROLES or get("aria-hidden") == "true" or get("hidden") is not None:
        return True
    if _HIDDEN.search(get("style") or ""):
        return True
    return element.tag not in ("body", "main", "article") and bool(
        _NAVIGATION.search(get("class") or "") or _NAVIGATION.search(get("id") or "")
    )


def _drop_links(body: Any) -> None:  # noqa: ANN401
    """Drop marks that only link to themselves, and blocks that are little else than links to pages of the same site."""
    links, letters = _counted(body)
    total = letters.get(body, 0)
    for element in [each for each in body.iter("a") if not any(map(str.isalnum, each.text_content()))]:
        element.drop_tree()
    dropped: set[Any] = set()
    for element in list(body.iter(*_LISTS)):
        is_links = _is_navigation(links.get(element, (0, 0)), letters.get(element, 0), total)
        if is_links and next(element.iter("h1", "h2"), None) is None and dropped.isdisjoint(element.iterancestors()):
            dropped.add(element)
    for element in dropped:
        element.drop_tree()


def _is_navigation(links: tuple[int, int], letters: int, total: int) -> bool:
    """Whether at least three links hold most letters of a block that is not most of the page."""
    count, linked = links
    return count >= _LEAST_LINKS and linked >= _LINK_SHARE * letters and 2 * letters <= total


def _counted(body: Any) -> tuple[dict[Any, tuple[int, int]], dict[Any, int]]:  # noqa: ANN401
    """Links within the site with their letters, and all letters, of each element."""
    links: dict[Any, tuple[int, int]] = {}
    letters: dict[Any, int] = {}
    for element in reversed(list(body.iter())):
        own = _letters(element.text) + letters.get(element, 0)
        count, linked = links.get(element, (0, 0))
        if element.tag == "a" and _is_local(element.get("href")):
            count, linked = 1, own
        letters[element], links[element] = own, (count, linked)
        above = element.getparent()
        if above is not None:
            letters[above] = letters.get(above, 0) + own + _letters(element.tail)
            before = links.get(above, (0, 0))
            links[above] = (before[0] + count, before[1] + linked)
    return links, letters


def _letters(text: str | None) -> int:
    return sum(map(str.isalnum, text)) if text else 0


def _is_local(target: str | None) -> bool:
    return target is not None and not _ELSEWHERE.match(target.strip())
