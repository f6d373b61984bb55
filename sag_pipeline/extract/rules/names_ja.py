"""Find persons and places in Japanese text by what stands behind a name, and foreign names in kana."""

import re
from collections.abc import Iterator

from sag_pipeline.extract.rules.name_types import ORGANISATION, PERSON, PLACE
from sag_retrieval.language.mentions import Mention

_HAN = "\u3400-\u4dbf\u4e00-\u9fff々"
_KANA = "ァ-ヴー"
_TITLES = "さん|さま|氏|様|君|先生|教授|博士|社長|会長|部長|課長|係長|監督|選手|首相|大臣|知事|議員|弁護士|医師"
_TITLED = re.compile(
    rf"(?<![{_HAN}{_KANA}])(?P<name>(?:[{_HAN}]{{2,5}}|[{_KANA}]{{2,12}}))(?=(?:{_TITLES})(?![{_HAN}]))"
)
_FOREIGN = re.compile(rf"(?<![{_KANA}・])[{_KANA}]{{2,12}}(?:[・＝][{_KANA}]{{2,12}}){{1,3}}(?![{_KANA}・])")
_PLACE = re.compile(rf"(?<![{_HAN}])(?:[{_HAN}]{{2,3}}[都府県]|[{_HAN}]{{2,4}}[市町村区駅港])(?![{_HAN}])")
_NOT_PERSON = re.compile(rf"(?:{_TITLES}|当社|弊社|御社|同社|本社|担当|関係|皆|各|新|前|元|両|代表|お客).*")
_NOT_PLACE = re.compile("[各両何他].*|.*(?:都道府県|市町村|市区町|地区|学区|校区|都市)|政令指定.*")
_JAPANESE_NAME = rf"(?![的了])[{_HAN}ァ-ヶーA-Za-z0-9・&]"
_JAPANESE_FIRM = re.compile(
    rf"(?:株式|有限|合同|合資)会社(?:{_JAPANESE_NAME}){{2,20}}|(?:{_JAPANESE_NAME}){{2,20}}?(?:株式|有限|合同|合資)会社"
)


def japanese_firms(text: str) -> Iterator[Mention]:
    """Firms with a Japanese legal form before or behind their name: 株式会社… and …株式会社."""
    for found in _JAPANESE_FIRM.finditer(text) if "会社" in text else ():
        name = found[0].lstrip("与和及由向对从在是的")
        yield Mention(found.end() - len(name), found.end(), ORGANISATION, name)


def japanese_names(text: str) -> Iterator[Mention]:
    """Persons before a form of address or an office, foreign names in kana, and places, in no order.

    Examples:
        >>> [found.value for found in japanese_names("昨日、田中さんは横浜市でマリー・ルグランに会った。")]
        ['田中', 'マリー・ルグラン', '横浜市']

    """
    for found in _TITLED.finditer(text):
        if not _NOT_PERSON.fullmatch(found["name"]):
            yield Mention(found.start(), found.end(), PERSON, found["name"])
    for found in _FOREIGN.finditer(text):
        yield Mention(found.start(), found.end(), PERSON, found[0])
    for found in _PLACE.finditer(text):
        if not _NOT_PLACE.fullmatch(found[0]):
            yield Mention(found.start(), found.end(), PLACE, found[0])
