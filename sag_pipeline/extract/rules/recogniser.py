"""The recogniser: what finds names in a text where no language model is asked.

The recogniser is a seam: another package adds one as an entry point of the group `sag.recognisers`, an ingest takes it
by name (`sag ingest --set key.recogniser=NAME`). What it finds is then read alike, whoever found it: one name has one
type and one full form in a document and counts wherever it is spelt so, dates, amounts and topics are added, and
aliases that the text states are joined.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from sag_retrieval.core.plugins import Seam
from sag_retrieval.language.mentions import Mention

RULES: Final = "rules"
"""The name of the recogniser that needs no model."""


class Recogniser(Protocol):
    """Finds the names in a whole document."""

    def __call__(self, text: str, language: str) -> Iterable[Mention]:
        """Mentions of names, in any order, overlapping ones included; the same for the same text.

        A mention is a span of characters of `text`, a type such as `person`, `organisation`, `place`, `product`,
        `work` or `entity` (of no known type), and the name as it is to be shown. `language` is an ISO 639-1 code.
        """
        ...


def recognised(recogniser: str, text: str, language: str) -> list[Mention]:
    """What a recogniser finds in a text.

    Examples:
        >>> [(one.key_type, one.value) for one in recognised("rules", "Mara Holt left Lumen Optics Ltd.", "en")]
        [('person', 'Mara Holt'), ('organisation', 'Lumen Optics Ltd')]

    Raises:
        SettingsError: If there is no recogniser of this name.
        PluginError: If the package that adds it cannot be used.
        ValueError: If it gives a span that is not in the text.
    """
    found = list(RECOGNISERS.function(recogniser)(text, language))
    for each in found:
        if not 0 <= each.start < each.end <= len(text):
            raise ValueError(
                f"recogniser {recogniser!r} gave the span {each.start}:{each.end} in a text of {len(text):,} characters"
            )
    return found


def _by_rules(text: str, language: str) -> list[Mention]:
    from sag_pipeline.extract.rules.names import named_by_rules  # noqa: PLC0415  loads dictionaries

    return named_by_rules(text, language)


RECOGNISERS: Final = Seam[Recogniser]("sag.recognisers", "recogniser", "a text and a language", rules=_by_rules)
"""Recognisers by name."""
