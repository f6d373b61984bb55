"""Find persons and places in Japanese text by what stands behind a name, and foreign names in kana."""

from collections.abc import Iterator

from sag_pipeline.extract.rules.name_types import ORGANISATION, PERSON, PLACE
from sag_retrieval.language.data import patterns
from sag_retrieval.language.mentions import Mention

_SAYS = patterns("ja")


def japanese_firms(text: str) -> Iterator[Mention]:
    """Firms with a Japanese legal form before or behind their name: 株式会社… and …株式会社."""
    for found in _SAYS["firm"].finditer(text) if "会社" in text else ():
        name = found[0].lstrip("与和及由向对从在是的")
        yield Mention(found.end() - len(name), found.end(), ORGANISATION, name)


def japanese_names(text: str) -> Iterator[Mention]:
    """Persons before a form of address or an office, foreign names in kana, and places, in no order.

    Examples:
        >>> [found.value for found in japanese_names("昨日、田中さんは横浜市でマリー・ルグランに会った。")]
        ['田中', 'マリー・ルグラン', '横浜市']
    """
    for kind, key_type in (("titled", PERSON), ("foreign", PERSON), ("place", PLACE)):
        for found in _SAYS[kind].finditer(text):
            yield Mention(found.start(), found.end(), key_type, found[0])
