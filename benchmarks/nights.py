"""What a folder of documents sees in many nights: documents come, change and go, in both languages."""

from pathlib import Path

PLACES = ("Port Ansel", "Mill Haven", "Grey Harbour", "South Quay", "Low Ferry")
FIRMS = ("Lumen Optics", "Quill Instruments", "Heron Works", "Ansel Freight", "North Cable")
ZH_PLACES = ("安塞港", "磨坊湾", "灰港", "南码头", "下渡口")
ZH_FIRMS = ("光澜公司", "翎羽公司", "海鹭公司", "安塞公司", "北缆公司")


def text_of(number: int, version: int = 0) -> str:
    """One document, in English or Chinese; another version says another number."""
    firm, place, year = number % 5, (number // 5) % 5, 1990 + number % 40
    count = 3 + number + 1000 * version
    if number % 2:
        one, where = ZH_FIRMS[firm], ZH_PLACES[place]
        return f"# 第{number}号记录\n\n{one}于{year}年在{where}售出{count}个浮标。{one}由第{number}号船队供货。\n"
    one, where = FIRMS[firm], PLACES[place]
    return (
        f"# Record {number}\n\n{one} sold {count} buoys in {where} in {year}. "
        f"{one} is served by Fleet Number {number}. The fleet sails from {where}.\n"
    )


def versions(name: str) -> list[str]:
    """All texts that a document of this name ever had in the first hundred nights."""
    number = int(name.removeprefix("record-").removesuffix(".md"))
    return [text_of(number, version) for version in range(100)]


def write(inbox: Path, number: int, version: int = 0) -> None:
    """Write one document."""
    inbox.mkdir(exist_ok=True)
    (inbox / f"record-{number}.md").write_text(text_of(number, version), encoding="utf-8")


def night(inbox: Path, which: int, added: int) -> None:
    """A night: some documents come, two change, and one goes."""
    for number in range(which * added, (which + 1) * added):
        write(inbox, number)
    for number in (which * added - 1, which * added // 2):
        if number > 0 and (inbox / f"record-{number}.md").exists():
            write(inbox, number, which)
    (inbox / f"record-{which * added // 3}.md").unlink(missing_ok=True)
