"""Words that only ask, in each language: a question holds them, what answers it does not, so they find nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import STOP_WORDS, fold


@dataclass(frozen=True, slots=True)
class _Language:
    """Folded words that ask, and frequent words by which a question in this language is known."""

    asking: frozenset[str]
    frequent: frozenset[str]


def _language(asking: str, frequent: str) -> _Language:
    return _Language(frozenset(asking.split()), frozenset(frequent.split()))


_LATIN: Final = (
    _language(  # German
        """wie was wer wen wem wessen wo woran worauf woraus worin womit wofur wodurch woher wohin wann warum weshalb
        wieso welche welchem welchen welcher welches wieviel wieviele""",
        """das dem den der des ein eine einem einen einer eines und oder ist sind wird werden wurde wurden ich wir sie
        es nicht mit von vom zu zum zur fur auf im bei nach aus hat haben kann konnen muss soll sich uber""",
    ),
    _language(  # French
        "comment pourquoi quand qui que quoi quel quelle quels quelles lequel laquelle lesquels combien ou",
        """le la les un une des du de et est sont dans pour sur avec il elle ils au aux ce cette ces ne pas je nous
        vous peut faut doit son sa ses par se""",
    ),
    _language(  # Spanish
        "como que quien quienes cual cuales cuando cuanto cuanta cuantos cuantas donde adonde",
        "el la los las un una de del y es son en para por con se su sus al lo ha han fue debe puede hay",
    ),
    _language(  # Italian
        "come che chi cosa quale quali quando quanto quanta quanti quante dove perche",
        "il lo la gli le un una di del della dei delle e sono per con non si da al nel nella ha deve puo",
    ),
    _language(  # Portuguese
        "como que quem qual quais quando quanto quanta quantos quantas onde porque",
        "o os as um uma de do da dos das e sao em no na para por com nao se ao foi pode deve",
    ),
    _language(  # Dutch
        "hoe wat wie wiens waar waarom waarmee wanneer welk welke hoeveel",
        "de het een en van voor op met niet te zijn wordt worden uit bij naar om kan moet",
    ),
)
_RUSSIAN: Final = frozenset(
    """кто кого кому кем что чего чему чем где куда откуда когда почему зачем отчего как какой какая какое какие какого
    какому каким какими каких какую сколько чей чья чьё чье чьи ли""".split()
)
_WORD = patterns("all")["letters"]
_ENGLISH_MEASURE = patterns("en")["asks_measure"]


def _longest_first(listed: str) -> str:
    return "|".join(sorted(listed.split(), key=len, reverse=True))


_CHINESE = patterns("zh")["asking_word"]
_KANA = patterns("ja")["kana"]
_JAPANESE = patterns("ja")["asking_word"]


def without_question_words(text: str) -> str:
    """The folded text without the words that only ask; a word of a European language goes only in its own sentences.

    `comment` asks in French and is a thing in English. So a question is taken for French where it holds another
    frequent French word and no fewer of these than English ones, or where it starts with `comment`, ends with a
    question mark, and holds no English one. With a word that asks go the frequent words of its language.

    Example:
        >>> without_question_words("Wie lange läuft der Vertrag?").split()
        ['lange', 'lauft', 'vertrag?']
        >>> without_question_words("Who deleted the comment?").split()
        ['who', 'deleted', 'the', 'comment?']
        >>> without_question_words("为什么要召回苹果？").split()
        ['要召回苹果?']

    Source: docs/algorithm.md §search.2.
    """
    folded = fold(text)
    if _KANA.search(folded):
        return _JAPANESE.sub(" ", folded)
    asking = _asking_words(folded)
    left = _WORD.sub(lambda word: " " if word[0] in asking else word[0], folded)
    return _CHINESE.sub(" ", _ENGLISH_MEASURE.sub(" ", left))


def _asking_words(folded: str) -> frozenset[str]:
    """The words of this text that ask in the languages it may be written in; of a question also its frequent words."""
    found = _WORD.findall(folded)
    spoken = [language for language in _LATIN if _is_written_in(language, found, folded)]
    return _RUSSIAN.union(
        *(
            language.asking | (language.frequent if language.asking.intersection(found) else frozenset())
            for language in spoken
        )
    )


def _is_written_in(language: _Language, found: list[str], folded: str) -> bool:
    own = language.asking | language.frequent
    english = _count(found, STOP_WORDS - own)
    if found and found[0] in language.asking and folded.endswith("?") and not english:
        return True
    return _count(found, language.frequent) > 0 and _count(found, own) > english


def _count(found: Iterable[str], among: frozenset[str]) -> int:
    return sum(word in among for word in found)
