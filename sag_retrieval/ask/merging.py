"""Several cited texts as one, their markers counted on."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.cite import Cited
from sag_retrieval.text.words import is_cjk

_MARKER = re.compile(r"\[(\d+)\]")
_MARKER_AND_GAP = re.compile(r"(?<!\s)\s*+\[\d++\]")


def merge_answers(question: str, parts: Sequence[Cited]) -> Cited | None:
    """The texts one after the other; a place that is cited twice keeps one marker. None without parts."""
    if not parts:
        return None
    citations: dict[tuple[str, int, int], Citation] = {}
    texts: list[str] = []
    for part in parts:
        marker: dict[str, int] = {}
        for citation in part.citations:
            place = (citation.chunk_id, citation.start, citation.end)
            kept = citations.setdefault(place, replace(citation, marker=len(citations) + 1))
            marker[str(citation.marker)] = kept.marker
        texts.append(_MARKER.sub(partial(_renumbered, marker), part.text))
    joint = "；" if is_cjk(question) else "; "
    is_written = all(part.is_generated for part in parts)
    return Cited(joint.join(dict.fromkeys(texts)), tuple(citations.values()), (), is_written)


def without_markers(text: str) -> str:
    """The text as it reads without its citations."""
    return _MARKER_AND_GAP.sub("", text)


def _renumbered(marker: Mapping[str, int], found: re.Match[str]) -> str:
    return f"[{marker.get(found[1], found[1])}]"
