"""Sentences and terms of German, French, Spanish, Japanese and Russian."""

import pytest

from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import tokens


@pytest.mark.parametrize(
    "wanted",
    [
        ["Am 3. November 2007 kam Dr. Petzold, d. h. der Leiter.", "Im 18. Jahrhundert stand hier ein Turm."],
        ["Die Firma hat ca. 4 Mio. Euro Umsatz, z. B. in Kiel.", "Siehe Abs. 3 und Nr. 7 der Satzung."],
        ["Er sagte: „Das ist gut.“", "Dann ging er."],
        ["Die Antwort ist 3.", "Der Rest folgt."],
        ["Il a dit : « C'est fini. »", "Puis il partit."],
        ["M. Dupont et Mme Roux ont vu la cale, p. ex. le vin.", "Cf. art. 3 du code."],
        ["La Dra. López vive en EE. UU. desde 1990.", "Véase la pág. 5 y el art. 3 del código."],
        ["¿Quién vino?", "¡Nadie!", "Dijo: «Es tarde.»", "Y salió."],
        ["令和5年に「終わりだ。」と言った。", "その後、帰った。"],
        ["В 2019 г. завод, т. е. верфь, работал на ул. Ленина.", "Он сказал: «Всё.»", "Потом ушёл."],
    ],
)
def test_a_sentence_ends_neither_at_an_abbreviation_nor_an_ordinal_and_with_its_quote(wanted):
    assert sentences(("" if "。" in wanted[0] else " ").join(wanted)) == wanted


def test_an_elided_article_is_no_part_of_its_word():
    assert tokens("l'argent d’or dell'argento") == [*tokens("argent or"), *tokens("argento")]
    assert tokens("O'Neil") == ["o'neil"]
