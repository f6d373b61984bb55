"""Divide a document into sections without a model: at headings, else where the vocabulary changes."""

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array

from sag_pipeline.extract.rules.headings import headings_of
from sag_pipeline.extract.sections import SectionOptions, section_records, untitled
from sag_retrieval.core.records import Document, Section
from sag_retrieval.core.types import Floats, Rows64
from sag_retrieval.language.sentences import sentence_spans
from sag_retrieval.language.words import fold, tokens


def depths(texts: Sequence[str], width: int) -> Floats:
    """How far the words change before each text: the depth of the valley that likeness has there.

    The `width` texts before a place and the `width` after it are compared by the cosine of their terms, each
    counted with the logarithm of its rarity. The depth is what the likeness gains from there up to the
    nearest peak on the left, plus the same on the right.

    Args:
        texts: Pieces of one text, in order, such as sentences.
        width: Pieces compared on each side.

    Returns:
        Shape (texts,), not negative; 0 at the first place.

    Source: docs/algorithm.md §sections.8.
    """
    if len(texts) < 2:  # noqa: PLR2004  one piece has no place between
        return np.zeros(len(texts))
    likeness = _likeness(_term_counts(texts), width)
    depth = np.zeros(len(texts))
    depth[1:] = _climb(likeness) + _climb(likeness[::-1])[::-1]
    return depth


def _term_counts(texts: Sequence[str]) -> csr_array:
    terms = [tokens(text) for text in texts]
    every = list(chain.from_iterable(terms))
    numbers = {term: number for number, term in enumerate(dict.fromkeys(every))}
    rows = np.repeat(np.arange(len(texts)), [len(each) for each in terms])
    columns = np.fromiter(map(numbers.__getitem__, every), np.int64, len(every))
    shape = (len(texts), max(len(numbers), 1))
    counts = csr_array(coo_array((np.ones(len(every)), (rows, columns)), shape=shape))
    counts.sum_duplicates()
    spread = np.bincount(counts.indices, minlength=shape[1])
    rarity = np.log1p(len(texts) / np.maximum(spread, 1))
    counts.data *= rarity[counts.indices]
    return counts


def _likeness(counts: csr_array, width: int) -> Floats:
    """Cosine of the windows on both sides of every place after the first text."""
    size = counts.shape[0]
    sides = []
    for offsets in (range(max(1 - width, 2 - size), 1), range(1, min(width, size - 1) + 1)):
        band = diags_array([1.0] * len(offsets), offsets=offsets, shape=(size - 1, size), format="csr")
        sides.append(csr_array(band @ counts))
    left, right = sides
    shared = np.asarray(left.multiply(right).sum(axis=1)).ravel()
    norms = [np.sqrt(np.asarray(side.multiply(side).sum(axis=1)).ravel()) for side in sides]
    likeness: Floats = shared / np.maximum(norms[0] * norms[1], 1e-12)
    return likeness


def _climb(likeness: Floats) -> Floats:
    """Height of the nearest peak to the left above every place."""
    gain = np.zeros_like(likeness)
    for place in range(1, len(likeness)):
        if likeness[place - 1] >= likeness[place]:
            gain[place] = gain[place - 1] + likeness[place - 1] - likeness[place]
    return gain


_WIDTH = 8
"""Sentences compared on each side of a place."""
_LONGEST_TITLE = 100
_LINE_WEIGHT = 2.0
"""How much more a place weighs that begins a line."""
_EVEN = 1e-6
_SURE_LEVEL = 4
"""The title of a heading guessed from looks alone holds for `max_section` characters and no further."""
_CHINESE_SHARE = 0.5
"""Chinese text needs half the characters for the same content."""


class _Part(NamedTuple):
    level: int
    title: str
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def offline_sections(document: Document, options: SectionOptions | None = None) -> list[Section]:
    """The sections of a document, a partition of its text; one untitled section for a short one.

    Headings begin sections; one shorter than `min_section` joins its neighbour, and one longer than
    `max_section` is divided where its words change most.

    Source: docs/algorithm.md §sections.8.
    """
    chosen = options or SectionOptions()
    text = document.text
    if len(text) < chosen.min_length or not text.strip():
        return untitled(document)
    share = _CHINESE_SHARE if document.language == "zh" else 1.0
    least, most = int(chosen.min_section * share), int(chosen.max_section * share)
    joined = _joined(_headed(document), least)
    parts = [piece for part in joined for piece in _divided(text, part, least, most)]
    return section_records(document, [(part.title, part.start, part.end) for part in parts])


def _headed(document: Document) -> list[_Part]:
    """The text cut at its headings; what stands before the first is untitled."""
    headings = headings_of(document.text, document.language)
    starts = [0, *(heading.start for heading in headings), len(document.text)]
    heads = [(0, ""), *((heading.level, heading.title) for heading in headings)]
    parts = [_Part(*head, *span) for head, span in zip(heads, pairwise(starts), strict=True)]
    return [part for part in parts if part.size]


def _joined(parts: Sequence[_Part], least: int) -> list[_Part]:
    """Parts of at least `least` characters: a short one goes with its own parts, else with its neighbour."""
    done: list[_Part] = []
    held = parts[0]
    for part in parts[1:]:
        if held.size >= least:
            done.append(held)
            held = part
        elif part.level >= held.level or not done:
            held = _one(held, part)
        else:
            done[-1] = done[-1]._replace(end=held.end)
            held = part
    if held.size < least and done:
        done[-1] = done[-1]._replace(end=held.end)
    else:
        done.append(held)
    return done


def _one(first: _Part, second: _Part) -> _Part:
    title = first.title or second.title
    if first.title and second.title and first.level == second.level and fold(first.title) != fold(second.title):
        both = f"{first.title} / {second.title}"
        title = both if len(both) <= _LONGEST_TITLE else first.title
    return _Part(min(first.level, second.level) if first.title else second.level, title, first.start, second.end)


def _divided(text: str, part: _Part, least: int, most: int) -> list[_Part]:
    """The part, or pieces of it no longer than `most` where sentences allow that."""
    if part.size <= most:
        return [part]
    spans = sentence_spans(text[part.start : part.end])
    starts = np.array([part.start + start for start, _ in spans], dtype=np.int64)
    depth = depths([text[part.start + start : part.start + end] for start, end in spans], _WIDTH)
    is_line = np.array([_begins_line(text, start) for start in starts.tolist()], dtype=bool)
    places = _places(starts, np.where(is_line, _LINE_WEIGHT, 1.0) * (depth + _EVEN), part, (least, most))
    bounds = [part.start, *places, part.end]
    later = part.title if part.level <= _SURE_LEVEL else ""
    titles = [part.title, *[later] * len(places)]
    return [_Part(part.level, title, *span) for title, span in zip(titles, pairwise(bounds), strict=True)]


def _begins_line(text: str, place: int) -> bool:
    while place and text[place - 1] in " \t\u3000":  # looks at the spaces alone: a line may be millions long
        place -= 1
    return not place or text[place - 1] == "\n"


def _places(starts: Rows64, weight: Floats, part: _Part, sizes: tuple[int, int]) -> list[int]:
    """Cuts at the heaviest places until all is short enough; none within `least` of another or a border.

    Of equally heavy places the one nearest the middle: a text that never changes is cut evenly.
    """
    least, most = sizes
    todo, found = [(part.start, part.end)], []
    while todo:
        start, end = todo.pop()
        first, last = np.searchsorted(starts, start + least), np.searchsorted(starts, end - least, side="right")
        if end - start > most and first < last:
            inside = weight[first:last]
            ties = starts[first:last][inside == inside.max()]
            place = int(ties[np.argmin(np.abs(2 * ties - (start + end)))])
            found.append(place)
            todo += [(start, place), (place, end)]
    return sorted(found)
