import subprocess
import sys

import pytest

from sag_retrieval.language.detection import detect_language


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("en", "The meeting is on Monday, and the report follows with the figures."),
        ("zh", "海澜潮汐能源 Ltd 成立于2014年"),
        ("ja", "会社は新しい工場を開いた。"),
        ("ko", "회사는 새 공장을 열었다."),
        ("th", "บริษัทเปิดโรงงานใหม่"),
        ("ar", "ذهب المدير إلى السوق ثم عاد إلى المكتب"),
        ("hi", "कंपनी ने नया कारखाना खोला है और लोग खुश हैं"),
        ("ru", "Компания открыла новый завод в городе."),
        ("el", "Η εταιρεία άνοιξε νέο εργοστάσιο."),
        ("he", "החברה פתחה מפעל חדש."),
        ("de", "Die Rechnung wurde am Montag geprüft und bezahlt."),
        ("fr", "La facture a été vérifiée et payée lundi dernier."),
        ("es", "La factura fue revisada y pagada el lunes pasado."),
        ("it", "La fattura è stata controllata e pagata lunedì scorso."),
        ("pt", "A fatura foi verificada e paga na segunda-feira passada."),
        ("nl", "De rekening werd maandag gecontroleerd en betaald."),
        ("sv", "Fakturan granskades och betalades i måndags."),
        ("pl", "Faktura została sprawdzona i zapłacona w poniedziałek."),
        ("tr", "Fatura pazartesi günü kontrol edildi ve ödendi."),
    ],
)
def test_a_text_has_its_language(expected, text):
    assert detect_language(text) == expected


@pytest.mark.parametrize("text", ["", "123 !", "ok", "Kestrel-7", "Invoice 123", "Ada met Bob in 1843.", "👍"])
def test_a_text_too_short_to_tell_is_english(text):
    assert detect_language(text) == "en"


def test_a_chinese_text_may_name_a_japanese_firm_and_be_half_in_latin_letters():
    assert detect_language("与水城精機株式会社签订协议。Owain Pritchard and Ann Lee signed it.") == "zh"


SHOWN = {
    "en": "The office was closed on Monday, and nobody knew when it would open.",
    "de": "Das Amt war am Montag geschlossen und niemand wusste, wann es wieder für alle geöffnet wird.",
    "fr": "Le bureau est fermé dans la matinée, sur avis du maire, et avec lui les écoles.",
    "es": "La oficina cerró el lunes y los vecinos, según el alcalde, fueron a las otras.",
    "ru": "Контора была закрыта, и мы не знали, когда её откроют.",
    "ja": "事務所は月曜日に閉まっていた。",
}


def test_frequent_words_and_letters_show_a_language_without_the_model():
    told = (
        "import sys; from sag_retrieval.language.detection import detect_language;"
        "found = [detect_language(text) for text in sys.argv[1:]]; print(*found, 'py3langid' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", told, *SHOWN.values()], capture_output=True, text=True, check=True)
    assert printed.stdout.split() == [*SHOWN, "False"]


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("da", "Kontoret var lukket om mandagen, og ingen af dem vidste, hvornår det ville åbne igen for alle."),
        ("ca", "L'oficina va tancar dilluns i els veïns van anar amb els seus fills a les altres del barri."),
        ("uk", "Контора була зачинена, і ми не знали, коли її відчинять."),
        ("bg", "Офисът беше затворен и ние не знаехме кога ще бъде отворен отново за всички."),
        ("cs", "Kancelář byla v pondělí zavřená a nikdo nevěděl, že jsou všichni pryč."),
    ],
)
def test_a_language_like_another_is_not_taken_for_it(expected, text):
    assert detect_language(text) == expected
