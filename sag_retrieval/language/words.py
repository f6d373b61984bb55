"""Characters and words: which characters text may hold, and one reading of words for keys, full text and vectors."""

import re
import threading
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, cast

CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Control characters but tab and the two line breaks: a terminal takes them for commands."""
ORDER_MARKS = "\u202a-\u202e\u2066-\u2069"
"""Embeddings, overrides and isolates: they show a text in another order than it is written in."""

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters and Japanese syllables, as ranges for a character class of a regular expression."""

_UNWANTED = re.compile(f"[{CONTROLS}{ORDER_MARKS}]")
_BREAKS = re.compile(r"[\t\r\n\u2028\u2029]")
_HIDDEN = re.compile(f"[{CONTROLS}\r{ORDER_MARKS}\u061c\u200b\u200e\u200f\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(
    r"(\\\\)|\\(?:[bf]|u(?:00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])|202[a-e]|206[6-9]))", re.IGNORECASE
)

_UNSPACED = "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer: alphabets without spaces between words."""
_HANGUL = "\u1100-\u11ff\uac00-\ud7a3"
_MARKS = "".join(chr(code) for code in range(0x0590, 0x1DC0) if unicodedata.category(chr(code)).startswith("M"))
"""Vowel signs and points, which are letters in the scripts of the Near East, India and South East Asia."""
_CJK_CHARACTER = re.compile(f"[{CJK}]")
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_HANGUL_CHARACTER = re.compile(f"[{_HANGUL}]")
_SPACED_LETTER = rf"[^\W_{CJK}{_UNSPACED}{_HANGUL}]"
_SPACED = rf"{_SPACED_LETTER}++(?:[{_MARKS}]++{_SPACED_LETTER}*+)*+"
_WORD_OR_RUN = re.compile(rf"[{CJK}]+|[{_UNSPACED}]+|[{_HANGUL}]+|{_SPACED}(?:'{_SPACED})?")
BETWEEN_RUNS = r"[\x00-&(-/:-@\[-`{-\x7f、。，；：！？（）《》“”]+"
"""What no index term has, for RE2: ASCII but letters, digits and the apostrophe; Chinese marks."""
_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Points of Hebrew and Arabic, and the line that stretches an Arabic word: most writers leave them out."""
_STEMMERS = (
    ("\u0370", "english"),
    ("\u0400", "greek"),
    ("\u0530", "russian"),
    ("\u0600", "english"),
    ("\u0780", "arabic"),
    ("\u0900", "english"),
    ("\u0980", "hindi"),
)
"""The Snowball stemmer of words whose first letter lies below the character; others have none."""
ENGLISH = "english"
LATIN_STEMMERS = {
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "sv": "swedish",
}
"""The Snowball stemmer of a language's Latin words, of those whose endings show without accents; else `ENGLISH`."""
_GAP = re.compile(r"\s+")
_ACCENTED = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]")
_ACCENT = re.compile(f"(?<=[a-z])([{_MARKS}]*)[\u0300-\u036f]+")
_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
_NOT_IN_NAMES = re.compile(rf"[^\w%°$€£¥+#&{_MARKS}]|_", re.UNICODE)
_SPACE_BESIDE_CJK = re.compile(rf"(?<=[{CJK}]) | (?=[{CJK}])")
_FIRST_RUN = "\u0e00"
"""No script before this character writes without spaces or with particles behind its words."""
_MOST_MARKS = 30
"""Combining marks that are put in order together, as in Unicode's stream-safe form: sorting takes the square."""
_MANY_MARKS = re.compile(rf"[^\w\s]{{{_MOST_MARKS + 1},}}")

STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being both but by can could did do does
    doing down during each few for from further had has have having he her here hers him his how i if in into is it
    its itself just me more most my no nor not of off on once only or other our out over own s same she should so some
    such t than that the their them then there these they this those through to too under until up very was we were
    what when where which while who whom whose why will with would you your""".split()
)

_ELIDED = frozenset("c d j l m n qu s t jusqu lorsqu puisqu quoiqu all coll dall dell nell quest quell sull un".split())
"""What stands before the apostrophe in French, Italian and Catalan where a vowel was left out."""
_local = threading.local()


def without_controls(text: str) -> str:
    r"""The text without control characters and marks that reorder it; joiners and direction marks stay.

    Joiners (U+200C, U+200D) are spelling in Persian and in emoji, direction marks (U+200E, U+200F) are punctuation in
    Arabic and Hebrew. Embeddings, overrides and isolates are not: whoever shows a text isolates it.

    Examples:
        >>> without_controls("pay\u202ecod.exe \x1b[2Jnow")
        'paycod.exe [2Jnow'
    """
    return _UNWANTED.sub("", text)


def json_without_controls(text: str) -> str:
    r"""The same for text that may be JSON: also where such a character is written as an escape.

    Examples:
        >>> json_without_controls('{"a": "\\u001b]0;x"}')
        '{"a": "]0;x"}'
    """
    return without_controls(_ESCAPED.sub(lambda found: found[1] or "", text))


def without_breaks(text: str) -> str:
    """A name on one line: no control character, no line break."""
    return _BREAKS.sub(" ", without_controls(text))


def printable(text: str) -> str:
    """The text without what a terminal could misread: controls but tab and line feed, marks that hide or reorder."""
    return _SURROGATES.sub("\ufffd", _HIDDEN.sub("", text))


def ascii_where_hidden(text: str) -> str:
    r"""JSON text with every character that a terminal may not be given as its escape: the value stays the same.

    Examples:
        >>> ascii_where_hidden('"\u202e雨"')
        '"\\u202e雨"'
    """
    return _SURROGATES.sub(_escape, _HIDDEN.sub(_escape, text))


def is_text(text: str) -> bool:
    """Whether it holds whole characters only: a lone surrogate is half of one."""
    return not _SURROGATES.search(text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def is_cjk(text: str) -> bool:
    """Whether any character is Chinese or Japanese."""
    return _CJK_CHARACTER.search(text) is not None


def language_of(text: str) -> str:
    """`zh` where at least a tenth of the letters of the first 20,000 characters are Chinese, else `en`."""
    letters = [c for c in text[:20_000] if c.isalpha()]
    chinese = sum(1 for c in letters if _CJK_CHARACTER.match(c))
    return "zh" if letters and chinese >= 0.1 * len(letters) else "en"


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The text in a Unicode form; a run of more than 30 combining marks is read in parts of 30. Linear in the text."""
    if text.isascii():
        return text  # the same in every form
    return "".join(unicodedata.normalize(form, piece) for piece in mark_runs(text))


def mark_runs(text: str) -> list[str]:
    """The text in pieces whose runs of combining marks have at most 30: normalising one sorts them in their square."""
    pieces: list[str] = []
    start = 0
    for run in _MANY_MARKS.finditer(text):
        marks = 0
        for place in range(run.start(), run.end()):
            marks = marks + 1 if unicodedata.combining(text[place]) else 0
            if marks > _MOST_MARKS:
                pieces.append(text[start:place])
                start, marks = place, 1
    return [*pieces, text[start:]]


def fold(text: str) -> str:
    """Text for comparing: compatibility forms, case, accents and white space made one.

    Who types `Aschenbrodel` or `Tekeze` means Aschenbrödel and Tekezé.

    Examples:
        >>> fold("ＡＢＣ  Straße"), fold("Łódź, Œuvre")
        ('abc strasse', 'lodz, oeuvre')
    """
    if text.isascii():
        return " ".join(text.lower().split())  # which is all that follows of it
    folded = normal_form("NFKC", text).casefold()
    if _ACCENTED.search(folded):
        bare = _ACCENT.sub(r"\1", normal_form("NFD", folded)).translate(_PLAIN)
        folded = normal_form("NFC", bare)
    if not folded.isascii() and _POINTS.search(folded):
        folded = _POINTS.sub("", folded)
    return _GAP.sub(" ", folded).strip()


@lru_cache(maxsize=65_536)
def normal_name(name: str) -> str:
    """A key's name for comparing: folded, without punctuation, and without spaces next to Chinese characters.

    A name that is all punctuation keeps it. `302.AI` and `３０２－ＡＩ` are one name, `302 ai`; that `302ai` is the
    same one is for aligning to decide.

    Examples:
        >>> normal_name("Ｐéter  O'Neil-Smith"), normal_name("苹果 公司（中国）")
        ('peter oneil smith', '苹果公司中国')
    """
    folded = fold(name).replace("'", "").replace("’", "")
    bare = _GAP.sub(" ", _NOT_IN_NAMES.sub(" ", folded)).strip() or folded
    return _SPACE_BESIDE_CJK.sub("", bare)


def words(text: str) -> list[str]:
    """Folded words in order: Latin words whole, Chinese one character at a time; nothing dropped or stemmed."""
    found: list[str] = []
    for run in _WORD_OR_RUN.findall(fold(text)):
        found.extend(run if _CJK_CHARACTER.match(run) else [run])
    return found


def tokens(text: str, latin: str = ENGLISH) -> list[str]:
    """Index terms in order: stems of words without stop words, Chinese characters and their neighbouring pairs.

    Characters with pairs need no dictionary and rank as well as segmented words (docs/algorithm.md §text.1). Korean
    words give their pairs, so that particles do not hide them; runs of Thai and its like give three letters at a time.
    `latin` is the Snowball stemmer of Latin words, of `LATIN_STEMMERS`.

    Examples:
        >>> tokens("The Companies’ 苹果公司")
        ['compani', '苹', '果', '公', '司', '苹果', '果公', '公司']
        >>> tokens("Schleusen der Häfen", "german")
        ['schleus', 'der', 'haf']
    """
    found: list[str] = []
    for run in _WORD_OR_RUN.findall(fold(text).replace("’", "'")):
        if run.isascii() or not _CJK_CHARACTER.match(run):
            word = _without_elision(run) if "'" in run else run
            if word not in STOP_WORDS:
                found.extend([stem(word, latin)] if word[0] < _FIRST_RUN else _terms(word))
        else:
            found.extend(run)
            found.extend(map("".join, pairwise(run)))
    return found


def _without_elision(run: str) -> str:
    """The word behind an elided article, pronoun or preposition of a Romance language: `l'argent`, `dell'arte`."""
    head, _, tail = run.partition("'")
    return tail if head in _ELIDED and len(tail) > 1 else run


def _terms(run: str) -> list[str]:
    """The terms of a run in a script whose words have no spaces between them, or particles behind them."""
    if _HANGUL_CHARACTER.match(run):
        return list(map("".join, pairwise(run))) or [run]
    if _UNSPACED_CHARACTER.match(run):
        return [run[place : place + 3] for place in range(max(1, len(run) - 2))]
    return [stem(run)]


@lru_cache(maxsize=1 << 18)
def stem(word: str, latin: str = ENGLISH) -> str:
    """The Snowball stem of a folded word, by its script and, if it is Latin, by the stemmer of its language."""
    algorithm = next((name for below, name in _STEMMERS if word[:1] < below), "")
    if algorithm == ENGLISH and latin != ENGLISH and word[:1].isalpha():
        algorithm = latin
    if not algorithm:
        return word
    stemmers = _local.__dict__
    if algorithm not in stemmers:  # a stemmer may not be shared between threads
        import Stemmer  # noqa: PLC0415  printing and `--help` stem nothing

        stemmers[algorithm] = Stemmer.Stemmer(algorithm)
    return cast("str", stemmers[algorithm].stemWord(word.removesuffix("'s")))


_RETAGGED: Final = {"合同": "n"}
"""Nouns that the dictionary takes for something else."""


@lru_cache(maxsize=1 << 16)
def tagged(run: str) -> Sequence[tuple[str, str]]:
    """The words of a run of Chinese characters, each with its part of speech as jieba writes it."""
    import rjieba  # noqa: PLC0415  its dictionary is read once, and only where there is Chinese

    return tuple((word, _RETAGGED.get(word, part)) for word, part in rjieba.tag(run))
