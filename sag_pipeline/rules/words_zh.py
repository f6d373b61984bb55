"""Word lists for Chinese names, from `words_zh.txt`."""

from sag_pipeline.rules.words import read_words

_WORDS = read_words("zh")

SURNAMES = _WORDS["SURNAMES"]
RARE_SURNAMES = _WORDS["RARE_SURNAMES"]
DOUBLE_SURNAMES = _WORDS["DOUBLE_SURNAMES"]
ROLES = _WORDS["ROLES"]
AFTER_NAME = _WORDS["AFTER_NAME"]
COMMON = _WORDS["COMMON"]
ORGANISATION_SUFFIXES = _WORDS["ORGANISATION_SUFFIXES"]
NOT_QUOTED = _WORDS["NOT_QUOTED"]
GENERIC_ORGANISATIONS = _WORDS["GENERIC_ORGANISATIONS"]
VERBS = _WORDS["VERBS"]
INDUSTRIES = _WORDS["INDUSTRIES"]
PLACE_SUFFIXES = _WORDS["PLACE_SUFFIXES"]
NOT_PLACES = _WORDS["NOT_PLACES"]
KNOWN_PLACES = _WORDS["KNOWN_PLACES"]
NUMBERED_KINDS = _WORDS["NUMBERED_KINDS"]

FUNCTION_CHARACTERS = (
    "的了在于与及或由被对向从是将把给到等该其此这那并以因后前而且则但若如至自各每另均已曾又也都"
    "就还只再更最很不未无有使让令叫请跟比除据按随着依往朝获含即指称个位次者"
)
"""In no name of an organisation or place."""
FUNCTION_UNLESS = (
    "和(?!平|谐|田)|同(?!济|仁|方|安|心)|本(?!地|田|溪|草)|为(?!民)|时(?!代)|日(?!报|照|本)|年(?!华)|月(?!亮|湖)"
    "|家(?!园|乐|具|电)"
)
"""More of them, but for words they begin."""
