"""Archives of mail: nobody's words count twice, and answers name who said a thing first."""

from email.message import EmailMessage
from pathlib import Path

import pytest

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.document_dates import with_context_dates
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.sources.conversion import convert
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval import open_release
from sag_retrieval.core.records import Document, Event, Quarantined, Section
from sag_retrieval.language.mail import new_words
from tests.support.bare_ingest import bare_ingest

ADA, BEN, ZHANG = '"Lin, Ada" <ada@example.org>', "Ben Moor <ben@example.org>", "张伟 <zhang@example.org>"
FIRST = "Hi Ben,\n\nthe pump of hall 7 runs at 3 bar. The seals were\nreplaced on 1 March 2025.\n\nBest regards,\nAda Lin\nWorks, Kiel"
QUOTED = "\n".join(f"> {line}" for line in FIRST.splitlines())
THREAD = [
    (ADA, "Pump 7", FIRST),
    (BEN, "Re: Pump 7", f"Correction: the pump of hall 7 runs at 5 bar, not 3 bar.\n\nOn Mon, 3 Mar 2025 at 10:12, Ada Lin\n<ada@example.org> wrote:\n{QUOTED}\n\n-- \nBen Moor\n+49 431 1234"),
    (ADA, "Re: Pump 7", f"{QUOTED}\nYou are right, I read the gauge of hall 6.\n\nSent from my iPhone"),
    (ZHANG, "回复：七号泵", "李娜：\n\n七号厂房的泵已于3月6日更换。\n\n祝好\n张伟\n\n发件人: Ben Moor <ben@example.org>\n发送时间: 2025年3月4日 9:00\n收件人: Ada Lin\n主题: Re: Pump 7\n\nCorrection: the pump of hall 7 runs at 5 bar, not 3 bar."),
    (BEN, "答复：七号泵", '收到，备件编号为 K-2044-7。\n\n在 2025-03-06 09:00:00，"张伟" <zhang@example.org> 写道：\n> 七号厂房的泵已于3月6日更换。'),
    (ADA, "RE: Pump 7", "The old pump goes to the museum.\n\n-----Original Message-----\nFrom: Ben Moor\nSent: Friday, 7 March 2025\nTo: Ada Lin\nSubject: Re: Pump 7\n\nCorrection: the pump of hall 7 runs at 5 bar, not 3 bar."),
]  # fmt: skip


def mail(number: int, sender: str, subject: str, body: str, kind: str = "plain") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, BEN, subject
    message["Date"] = f"Mon, {number + 2} Mar 2025 10:12:00 +0000"
    message["Message-ID"] = f"<{number}@example.org>"
    if number > 1:
        message["References"] = "<1@example.org>"
    message.set_content(body, subtype=kind)
    return message


def mbox(messages: list[EmailMessage]) -> bytes:
    parts = (b"From a@example.org Mon Mar 03 10:12:00 2025\n" + each.as_bytes() + b"\n\n" for each in messages)
    return b"".join(parts)


@pytest.fixture
def archive() -> list[EmailMessage]:
    return [mail(number, *each) for number, each in enumerate(THREAD, 1)]


def read(folder: Path) -> dict[str, str]:
    found = [parse_document(raw) if isinstance(raw, RawDocument) else raw for raw in list_source(str(folder))]
    return {str(each.document_id): each.reason if isinstance(each, Quarantined) else each.text for each in found}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("It is 5 bar.\n\n> It is 3 bar.\n> Really.", ["It is 5 bar."]),
        ("> Which pump?\nThe one of hall 7.\n\n> And when?\nOn Monday.", ["The one of hall 7.\n\nOn Monday."]),
        ("Ada wrote:\n> It is 3 bar.\n\nNo.", ["No."]),
        ("We note that Ada wrote:\n\nIt is 3 bar.", ["We note that Ada wrote:\n\nIt is 3 bar."]),
        ("It runs at 3 bar.\nOn 3 May 2024, Ann <a@b.org> wrote:\n\nIt stands.", ["It runs at 3 bar."]),
        ("Yes.\n\nBest,\nAda\n\nPS: The gauge of hall 6 is still broken.", ["Yes.\n\nBest,\nAda\n\nPS: The gauge of hall 6 is still broken."]),
        ("Dear all,\n\nThanks for the gauge, it works.\n\nKind regards,\nAda", ["Thanks for the gauge, it works."]),
        ("- one\n- two\n\n--\nAda", ["- one\n- two"]),
        ("大家好，\n\n泵已更换。\n\n此致\n敬礼\n张伟", ["泵已更换。"]),
        ('泵已更换。\n\n------------------ 原始邮件 ------------------\n发件人: "李娜"\n发送时间: 2025年3月3日\n\n压力为3巴。', ["泵已更换。"]),
        ("已阅。\n\n李娜 <li@example.org> 于2025年3月3日周一 10:12写道：\n\n压力为3巴。", ["已阅。"]),
        ("Train: From: Kiel\nFrom: Kiel\nTo: Hamburg\n\nFive o'clock.", ["Train: From: Kiel\nFrom: Kiel\nTo: Hamburg\n\nFive o'clock."]),
        ("", []),
    ],
)  # fmt: skip
def test_only_new_words_are_left(body, said):
    assert [passage.text for passage in new_words(body)] == said


@pytest.mark.parametrize(
    ("body", "forwarded"),
    [
        (
            "FYI\n\n---------- Forwarded message ---------\nFrom: Bo Falk <bo@example.org>\nDate: 1 March 2025\nSubject: Gauge\nTo: Ada\n\nThe gauge is broken.\n\nOn 28 February 2025, Ada wrote:\n> Which one?",
            ("Bo Falk <bo@example.org>", "1 March 2025", "The gauge is broken."),
        ),
        (
            "发件人: 李娜\n发送时间: 2025年3月1日\n收件人: 张伟\n主题: 压力表\n\n压力表已损坏。",
            ("李娜", "2025年3月1日", "压力表已损坏。"),
        ),
    ],
)
def test_what_is_forwarded_is_said_by_whom_its_head_names(body, forwarded):
    assert new_words(body)[-1] == forwarded

    _, text, *_ = convert(".eml", mail(1, ADA, "Fwd", body).as_bytes())
    assert text.endswith(
        "On 1 March 2025, Bo Falk <bo@example.org> wrote:\n\nBo Falk: The gauge is broken."
        if "Bo" in body
        else "2025年3月1日，李娜写道：\n\n李娜：压力表已损坏。"
    )


def test_a_page_of_mail_leaves_out_what_it_cites():
    cited = '<p>It is 5 bar.</p><div>On 3 March 2025, Ada wrote:</div><blockquote type="cite">It is 3 bar.</blockquote>'

    _, text, *_ = convert(".eml", mail(1, BEN, "Re: Pump", cited, "html").as_bytes())

    assert text.endswith("Ben Moor: It is 5 bar.")


def test_a_mailbox_is_a_document_a_mail_by_its_message_id(archive, tmp_path):
    archive[1].replace_header("Message-ID", "")
    (tmp_path / "all.mbox").write_bytes(mbox([*archive, archive[0]]))
    (tmp_path / "none.mbox").write_bytes(b"")
    (tmp_path / "words.mbox").write_bytes(b"From a@b.org Mon Mar 03 10:12:00 2025\nonly words\n")

    found = read(tmp_path)

    assert [name for name in found if name.startswith("all")] == [
        "all.mbox#1@example.org",
        "all.mbox#2",
        *(f"all.mbox#{number}@example.org" for number in (3, 4, 5, 6)),
    ]
    assert "Ben Moor: Correction: the pump of hall 7 runs at 5 bar, not 3 bar." in found["all.mbox#2"]
    assert found["none.mbox"] == "the mailbox holds no mail"
    assert "no header of an e-mail" in found["words.mbox#1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Seals\n\nFrom: Ada <ada@example.org>\nTo: Ben\nDate: 2025-06-17 09:00\n\nThey leak again.", ["They leak again."]),
        ("发件人：李娜\n收件人：张伟\n日期：2025年6月17日\n主题：密封件\n\n密封件又在漏水，请尽快更换。", ["密封件又在漏水，请尽快更换。"]),
        ("Von: Ada Lin\nGesendet: 17. Juni 2025\nAn: Ben\nBetreff: Dichtung\n\nSie ist wieder undicht.", ["Sie ist wieder undicht."]),
        ("# Re: Seals\n\nFrom: Ada <ada@example.org>\nDate: 2025-06-17 09:00", ["# Re: Seals"]),
        ("From: Kiel\nTo: Hamburg\nDate: 3 May 2025", ["From: Kiel To: Hamburg Date: 3 May 2025"]),
    ],
)  # fmt: skip
def test_the_head_of_a_mail_is_no_statement_and_a_form_of_a_journey_is(text, said):
    own = Document("a.txt", "s", "Seals", text, "en", "{}")

    (events,) = offline_events(own, split_chunks(own, [Section("s1", "a.txt", 0, "", "", 0, len(text))]))

    assert [event.content for event in events] == said


def test_the_header_dates_a_mail_whatever_year_its_subject_names(tmp_path):
    (tmp_path / "a.eml").write_bytes(mail(3, ADA, "Harvest 2019", "Ben,\n\nit was 298 tonnes.\n\nAda").as_bytes())

    (own,) = [parse_document(raw) for raw in list_source(str(tmp_path))]
    (event,) = with_context_dates(
        own, [Event("e", "a.eml", "c", 0, "It was 298 tonnes.", own.title, start=90, end=108)]
    )

    assert own.text.endswith("\n\nAda Lin: it was 298 tonnes.")
    assert (event.context_date, event.context_source) == ("2025-03-05", "mail header")


def test_a_line_of_a_mail_that_begins_as_a_separator_divides_nothing(tmp_path):
    body = "One.\n\nFrom here on it is dry.\n\n>From Kiel at 10:12 in 2025 the ship sails.\n"
    (tmp_path / "a.mbox").write_bytes(mbox([mail(1, ADA, "Ship", "x")]).replace(b"x\n", body.encode()))

    assert "From here on it is dry." in read(tmp_path)["a.mbox#1@example.org"]


def test_a_mail_of_a_maildir_keeps_its_id_when_it_is_read(archive, tmp_path):
    for folder in ("cur", "new", "tmp"):
        (tmp_path / "Mail" / folder).mkdir(parents=True)
    fresh = tmp_path / "Mail" / "new" / "1741000000.M1P2.host"
    fresh.write_bytes(archive[0].as_bytes())

    before = read(tmp_path)
    fresh.rename(tmp_path / "Mail" / "cur" / "1741000000.M1P2.host:2,RS")

    assert list(before) == ["Mail/1741000000.M1P2.host"]
    assert read(tmp_path) == before


def test_what_is_attached_is_a_place_of_the_mail_and_a_broken_one_a_warning():
    message = mail(1, ADA, "Costs", "See the table.")
    message.add_attachment("Part,Price\ngasket,3.50\n", subtype="csv", filename="costs.csv")
    message.add_attachment(b"no archive", maintype="application", subtype="x", filename="torn.docx")
    message.add_attachment(mail(2, BEN, "Inner", "Secret"), filename="inner.eml")

    with pytest.warns(UserWarning, match=r"attachment 'torn\.docx': broken docx file"):
        _, text, places, _ = convert(".eml", message.as_bytes())

    assert "| Part: gasket | Price: 3.50 |" in text
    assert [name for _, name in places] == ["costs.csv"]
    assert "Secret" not in text


@pytest.mark.slow
def test_no_quoted_sentence_stands_as_a_new_event_and_answers_name_who_said_it_first(home, archive, tmp_path):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "all.mbox").write_bytes(mbox(archive))

    bare_ingest([str(tmp_path / "mail")])

    with open_release(home) as release:
        rows = release.sql("SELECT document_id, content FROM events").rows
        ask = {
            question: release.ask(question).text
            for question in (
                "At which pressure does the pump of hall 7 run?",
                "When were the seals of the pump replaced?",
                "七号厂房的泵何时更换？",
            )
        }
        mails = release.search("pump", where={"metadata.from": ADA})
    said = {
        "runs at 3 bar.": "1",
        "replaced on 1 March": "1",
        "runs at 5 bar": "2",
        "hall 6": "3",
        "已于3月6日更换": "4",
    }
    for words, number in said.items():
        assert [row["document_id"] for row in rows if words in row["content"]] == [f"all.mbox#{number}@example.org"]
    now, seals, moved = ask.values()
    assert now.startswith("Ben Moor: Correction: the pump of hall 7 runs at 5 bar, not 3 bar.")
    assert seals.startswith("Ada Lin: The seals were replaced on 1 March 2025.")
    assert moved.startswith("张伟：七号厂房的泵已于3月6日更换。")
    assert {hit.document_id for hit in mails.hits} == {f"all.mbox#{number}@example.org" for number in (1, 3, 6)}
