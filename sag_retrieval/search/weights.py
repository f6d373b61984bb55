"""The formulas that pass weights between keys, events and chunks: pure functions of arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.release.csr import CsrLists


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Pairs of positions in two lists of rows: which event carries which key."""

    event: npt.NDArray[np.intp]
    key: npt.NDArray[np.intp]


def sharpen(similarity: npt.NDArray[Any], power: float) -> Floats:
    """`max(0, similarity)^power`: a clear lead becomes a large one, docs/algorithm.md §search.4."""
    return np.asarray(np.maximum(similarity, 0), np.float64) ** power


def rarity(idf: npt.NDArray[Any], highest: float, power: float) -> Floats:
    """`(idf / highest idf)^power`; 1 where no key is rarer than another, docs/algorithm.md §search.4."""
    if power == 0 or highest <= 0:
        return np.ones(len(idf))
    return np.asarray(np.asarray(idf, np.float64) / highest, np.float64) ** power


def event_weights(links: Links, key_weight: Floats, similarity: Floats) -> Floats:
    """`w(e) = similarity(e) · Σ key_weight(k)` over the keys k of e, docs/algorithm.md §search.6.

    Args:
        links: Event-key pairs, each listed once.
        key_weight: Shape (keys,), not negative.
        similarity: Shape (events,).

    Returns:
        Shape (events,). An event without keys weighs 0.

    """
    return sum_at(links.event, key_weight[links.key], len(similarity)) * similarity


def key_weights(links: Links, event_weight: Floats, key_count: int) -> Floats:
    """`w(k) = Σ event_weight(e)` over the events e with k, docs/algorithm.md §search.7."""
    return sum_at(links.key, event_weight[links.event], key_count)


def chunk_weights(similarity: Floats, key_term: Floats, share: float) -> Floats:
    """`W_init = share · s + ln(1 + key term)`, docs/algorithm.md §search.10."""
    return share * similarity + np.log1p(key_term)


def key_terms(weight: Floats, count: npt.NDArray[Any], hop: npt.NDArray[Any]) -> Floats:
    """What a key adds to a chunk's key term: `weight · ln(1 + count) / hop`, docs/algorithm.md §search.10."""
    return np.asarray(weight * np.log1p(count) / hop, np.float64)


def normalise(weight: Floats) -> Floats:
    """Weights divided by their maximum; unchanged where it is not positive."""
    highest = weight.max(initial=0.0)
    return weight / highest if highest > 0 else weight


def min_max(values: npt.NDArray[Any], allowed: Flags | None = None) -> Floats:
    """Values moved to [0, 1] over the allowed rows, 0 elsewhere; all 0 where they are all equal."""
    values = np.asarray(values, np.float64)
    inside = values if allowed is None else values[allowed]
    if not len(inside) or inside.max() <= inside.min():
        return np.zeros(len(values))
    scaled = (values - inside.min()) / (inside.max() - inside.min())
    return scaled if allowed is None else np.where(allowed, scaled, 0.0)


def sum_at(position: npt.NDArray[np.intp], value: Floats, size: int) -> Floats:
    """Shape (size,): the sum of the values at each position."""
    return np.asarray(np.bincount(position, weights=value, minlength=size), np.float64)


def look_up(rows: Rows, values: Floats, wanted: npt.NDArray[Any]) -> Floats:
    """Values of wanted rows in an ascending list of rows; 0 for those it does not hold."""
    if not len(rows):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return np.where(rows[place] == wanted, values[place], 0.0)


def links_from(lists: CsrLists, rows: Rows, allowed: Flags | None) -> tuple[Links, Rows]:
    """Links of some rows to the allowed items of their lists, and those items, ascending, each once."""
    owner, place = lists.gather(rows)
    items = lists.items[place]
    if allowed is not None:
        owner, items = owner[allowed[items]], items[allowed[items]]
    found, position = np.unique(items, return_inverse=True)
    return Links(owner.astype(np.intp), position), found
