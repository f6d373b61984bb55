"""Known keys as a question about other keys shows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from sag_pipeline.extract.name_matching import EXACT_TYPES
from sag_retrieval.core.key_schema import KeyTypes
from sag_retrieval.models.protocols import estimate_tokens
from sag_retrieval.prompts import quoted


class KnownKey(NamedTuple):
    """A key as shown to the model."""

    key_type: str
    value: str


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Known keys for one event: those that it seems to spell otherwise, those near it, and the rest."""

    otherwise: tuple[KnownKey, ...] = ()
    direct: tuple[KnownKey, ...] = ()
    from_events: tuple[KnownKey, ...] = ()

    def every(self) -> tuple[KnownKey, ...]:
        """All of them, the best first."""
        return (*self.otherwise, *self.direct, *self.from_events)


NO_KNOWN = KnownKeys()


def known_lines(known: Sequence[KnownKeys], types: KeyTypes, language: str, *, most: int, tokens: int) -> str:
    """Known keys of several events, the best of each event first; one line per type.

    Dates, times and numbers are left out: they have one spelling, which the prompt gives.

    Args:
        known: The known keys of each event.
        types: The types of the schema.
        language: The prompt's language, in which types are named.
        most: Most keys.
        tokens: Most tokens of their values.
    """
    tiers = [one.otherwise for one in known], [one.direct for one in known], [one.from_events for one in known]
    ranked = dict.fromkeys(
        key for tier in tiers for row in zip_longest(*tier) for key in row if key and key.key_type not in EXACT_TYPES
    )
    by_type: dict[str, list[str]] = {}
    left = tokens
    for key in list(ranked)[:most]:
        left -= estimate_tokens(f'"{key.value}" ')
        if left < 0:
            break
        known_type = types.named(key.key_type)
        by_type.setdefault(known_type.called(language) if known_type else quoted(key.key_type), []).append(key.value)
    return "\n".join(f"{name}: {quoted(*values)}" for name, values in sorted(by_type.items()))
