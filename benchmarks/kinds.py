"""Further kinds of documents, so that the ranking is not judged on passages alone.

`manuals` and `business` lie in `../shared/data`, `faq`, `headings` and `man` come from Debian packages, `code` from the
Python that runs this; `tables` and the piles of `office.py` are generated. No set is looked at while the ranking is
made except by halves: only the half that is held out decides whether `quality.py` fails.
"""

import ast
import gzip
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from lxml import etree, html
from office import OFFICE, office
from sets import DATA, Question, QuestionSet

HEADINGS = ("h1", "h2", "h3", "h4")
_UNREAD = ("script", "style", "nav", "footer", "head")
_BLOCKS = frozenset("p div li dt dd pre tr br table ul ol dl section blockquote".split())
_POD_CODE = re.compile(r"[A-Z]<<+ (.*?) >>+|[A-Z]<([^<>]*)>", re.DOTALL)
_ROFF_ESCAPES = (
    (re.compile(r"\\f(?:\[[^]]*\]|\(..|.)|\\s[-+]?\d|\\[&/,|^%:]|\\c$"), ""),
    (re.compile(r"\\\((?:aq|cq|oq)|\\\[(?:aq|cq|oq)\]"), "'"),
    (re.compile(r"\\\((?:em|en|mi)|\\\[(?:em|en|mi)\]|\\-"), "-"),
    (re.compile(r"\\\((?:lq|rq|dq)|\\\[(?:lq|rq|dq)\]"), '"'),
    (re.compile(r"\\\(..|\\\[[^]]*\]"), " "),
    (re.compile(r"\\e"), r"\\"),
    (re.compile(r"\\[ ~0]"), " "),
)
_ROFF_TEXT = re.compile(
    r"\.\s*(?:B|I|R|SM|SB|BI|BR|IB|IR|RB|RI|IP|TP|SS|UR|MT|Nm|Fl|Ar|Pa|Xr|Li|Ic|Em|Sy|Dq|Ql|It|Nd)\b(.*)"
)
_ROFF_HEADING = re.compile(r"\.\s*S[Hh]\b\s*(.*)")


@dataclass
class Section:
    """A heading and the text below it, without the heading."""

    page: str
    title: str
    heading: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its lines, with runs of empty ones as one."""
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines)).strip()


def sections_of(path: Path, page: str) -> list[Section]:
    """The sections of a page by its suffix; none where it cannot be parsed or is of another kind."""
    data = path.read_bytes()
    name = path.name
    if name.endswith(".gz"):
        data, name = gzip.decompress(data), name.removesuffix(".gz")
    if name.endswith((".html", ".htm")):
        return list(_of_html(data, page))
    text = data.decode("utf-8", errors="replace")
    if name.endswith(".pod"):
        return list(_of_pod(text, page))
    return list(_of_roff(text, page)) if re.search(r"\.\d\w*$", name) else []


def _of_html(data: bytes, page: str) -> Iterator[Section]:
    try:
        tree = html.fromstring(data)
    except (etree.ParserError, ValueError):
        return
    etree.strip_tags(tree, etree.Comment, etree.ProcessingInstruction)
    title = _spoken(tree.findtext(".//title") or "")
    for unread in tree.xpath(" | ".join(f"//{name}" for name in _UNREAD)):
        unread.drop_tree()
    section = Section(page, title, "")
    for kind, text in _pieces(tree):
        if kind == "heading":
            yield section
            section = Section(page, title, re.sub(r"[¶#]\s*$", "", _spoken(text)).strip())
        elif kind == "break":
            section.lines.append("")
        elif section.lines:
            section.lines[-1] += text
        else:
            section.lines.append(text)
    yield section


def _pieces(tree: html.HtmlElement) -> Iterator[tuple[str, str]]:
    """Headings, breaks between blocks and texts, in the order of the page."""
    inside = None
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        if inside is not None:
            if event == "end" and element is inside:
                inside = None
                yield "text", _joined(element.tail)
            continue
        if element.tag in HEADINGS:
            inside = element
            yield "heading", element.text_content()
        else:
            if element.tag in _BLOCKS:
                yield "break", ""
            text = element.text if event == "start" else element.tail
            yield "text", text or "" if element.tag == "pre" and event == "start" else _joined(text)


def _of_pod(text: str, page: str) -> Iterator[Section]:
    section, title = Section(page, Path(page).stem, ""), Path(page).stem
    for paragraph in re.split(r"\n\s*\n", text):
        command = re.match(r"=(\w+)\s*(.*)", paragraph, re.DOTALL)
        if command and command[1] in ("head1", "head2", "head3"):
            yield section
            section = Section(page, title, _spoken(_without_codes(command[2])))
        elif not command or command[1] == "item":
            plain = command[2] if command else paragraph
            section.lines += [_without_codes(plain) if plain[:1] not in " \t" else plain, ""]
    yield section


def _without_codes(text: str) -> str:
    for _ in range(3):  # codes stand in one another
        text = _POD_CODE.sub(lambda found: found[1] or (found[2] or "").split("|")[0], text)
    return text


def _of_roff(text: str, page: str) -> Iterator[Section]:
    title = re.sub(r"\.(gz)$", "", Path(page).name)
    section = Section(page, title, "")
    for line in text.splitlines():
        heading = _ROFF_HEADING.match(line)
        kept = _ROFF_TEXT.match(line)
        if heading:
            yield section
            section = Section(page, title, _plain_roff(heading[1]))
        elif not line.startswith((".", "'")):
            section.lines.append(_plain_roff(line))
        elif kept:
            section.lines.append(_plain_roff(kept[1]))
        elif re.match(r"\.\s*(PP|P|LP|Pp|sp)\b", line):
            section.lines.append("")
    yield section


def _plain_roff(text: str) -> str:
    for pattern, plain in _ROFF_ESCAPES:
        text = pattern.sub(plain, text)
    return text.replace('"', "").strip() if text.lstrip().startswith('"') else text.strip()


def _joined(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "")


def _spoken(text: str) -> str:
    return " ".join(text.split())


FAQ_PACKAGES = ("perl-doc", "python3.11-doc", "sqlite3-doc", "apache2-doc", "exim4-doc-html", "git-doc")
HEADING_PACKAGES = ("apache2-doc", "git-doc", "exim4-doc-html", "sqlite3-doc", "cmake-doc")
MAN_PACKAGES = ("manpages", "manpages-de", "manpages-es", "manpages-fr", "manpages-ja", "manpages-ru")
LEFT_OUT = re.compile(r"/zh[-_]|/_sources/|/man3/.*perl\.gz$|/(man|da|pt-br|tr|ko)/.*perl", re.IGNORECASE)
"""Chinese pages are kept for another set; sources of pages and man pages made from POD are the same text again."""
LEAST_TEXT, MOST_TEXT = 200, 20_000
_NAME_LINE = re.compile(r"\s(?:-{1,2}|—|–)\s+(.*)", re.DOTALL)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


class UnavailableError(Exception):
    """A set cannot be made here; the message says why."""


@dataclass(frozen=True)
class Rule:
    """How a set is made: its packages, what is asked, and how much of both is taken."""

    packages: tuple[str, ...]
    is_asked: Callable[[Section], bool]
    read: Callable[[Sequence[tuple[str, Path]]], Iterable[Section]]
    documents: int = 1200
    questions: int = 240


def of_packages(rule: Rule, folder: Path) -> QuestionSet:
    """The set of a rule, its packages brought into the folder.

    Raises:
        UnavailableError: If a package cannot be brought.

    """
    pages = [found for package in rule.packages for found in _pages(package, unpacked(package, folder))]
    sections = {_place(n, each): each for n, each in enumerate(_distinct(rule.read(pages)))}
    seen = Counter(_bare(each.heading) for each in sections.values())
    asked = {
        place: each
        for place, each in sections.items()
        if rule.is_asked(each) and seen[_bare(each.heading)] == 1 and not _repeats(each)
    }
    chosen = sorted(asked, key=_hash)[: rule.questions]
    others = sorted(sections.keys() - set(chosen), key=_hash)[: rule.documents - len(chosen)]
    lines = [{"id": p, "title": sections[p].title, "text": sections[p].text} for p in sorted([*chosen, *others])]
    questions = [Question(p, asked[p].heading, p.partition("/")[0], (p,)) for p in sorted(chosen)]
    return QuestionSet(lines, questions)


def unpacked(package: str, folder: Path) -> Path:
    """The folder that holds a package's files, downloaded once.

    Raises:
        UnavailableError: If there is no apt here, or it does not bring the package.

    """
    target = folder / package
    if not target.is_dir():
        scratch = folder / "debs"
        scratch.mkdir(parents=True, exist_ok=True)
        part = folder / f"{package}.part"
        try:
            subprocess.run(["apt-get", "download", "-q", package], cwd=scratch, check=True, capture_output=True)
            archive = max(scratch.glob(f"{package}_*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive, part], check=True, capture_output=True)
        except FileNotFoundError as error:
            raise UnavailableError(f"{error.filename} is not here; packages come by apt") from error
        except subprocess.CalledProcessError as error:
            said = (error.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {error.returncode}"])[-1]
            raise UnavailableError(f"{package} cannot be downloaded: {said}; try `apt-get update`") from error
        part.rename(target)
    return target


def _pages(package: str, root: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(root.rglob("*")):
        page = f"{package}/{path.relative_to(root)}"
        if path.is_file() and not path.is_symlink() and not LEFT_OUT.search(f"/{page}"):
            yield page, path


def _sections(pages: Sequence[tuple[str, Path]]) -> Iterator[Section]:
    for page, path in pages:
        if path.name.endswith((".html", ".pod")):
            yield from sections_of(path, page)


def _man_pages(pages: Sequence[tuple[str, Path]]) -> Iterator[Section]:
    """Whole pages, their NAME line as heading; of a page in several languages the one with the lowest hash."""
    by_name: dict[str, list[tuple[str, Path]]] = {}
    for page, path in pages:
        if "/man/" in page and page.endswith(".gz"):
            by_name.setdefault(path.name, []).append((page, path))
    for same in by_name.values():
        page, path = min(same, key=lambda found: _hash(found[0]))
        parts = sections_of(path, page)
        named = next((n for n, part in enumerate(parts) if part.heading), None)
        described = _NAME_LINE.search(" ".join(parts[named].text.split())) if named is not None else None
        if described and named is not None:
            rest = [f"{part.heading}\n\n{part.text}" for part in parts[named + 1 :]]
            yield Section(page, path.name.removesuffix(".gz"), described[1].rstrip("."), "\n\n".join(rest).split("\n"))


def _distinct(sections: Iterable[Section]) -> Iterator[Section]:
    """Sections of a readable length, each text once."""
    seen = set()
    for each in sections:
        key = _bare(each.text)
        if LEAST_TEXT <= len(each.text) <= MOST_TEXT and key not in seen:
            seen.add(key)
            yield each


def _is_long_enough(heading: str) -> bool:
    return len(_WIDE.findall(heading)) >= 6 or len(re.findall(r"[^\W\d_]{2,}", heading)) >= 3


def _is_question(section: Section) -> bool:
    return section.heading.endswith(("?", "？")) and _is_long_enough(section.heading)


def _is_heading(section: Section) -> bool:
    return not section.heading.endswith(("?", "？")) and _is_long_enough(section.heading)


def _repeats(section: Section) -> bool:
    wanted = _bare(section.heading)
    return wanted in _bare(section.text) or wanted in _bare(section.title)


def _place(number: int, section: Section) -> str:
    return f"{section.page}#{number}"


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


RULES = {
    "faq": Rule(FAQ_PACKAGES, _is_question, _sections),
    "headings": Rule(HEADING_PACKAGES, _is_heading, _sections),
    "man": Rule(MAN_PACKAGES, lambda section: _is_long_enough(section.heading), _man_pages, documents=500),
}
"""Rules by the name of their set."""


SEED: Final = 20251120
_TEXTUAL: Final = (".txt", ".md", ".html", ".csv", ".json", ".jsonl")
_LIBRARY_LEFT_OUT: Final = {"test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "turtledemo"}


def manuals(cache: Path) -> QuestionSet:
    """Pages of Debian's manuals in five languages; gold is the chunk that holds the sentence that answers."""
    folder, pages = _shared("manuals"), cache / "sources" / "manuals"
    if not pages.is_dir():
        part = pages.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        built = subprocess.run([sys.executable, folder / "build.py", part], capture_output=True, text=True, check=False)
        if built.returncode:
            said = (built.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise UnavailableError(f"the manuals cannot be downloaded: {said}")
        part.rename(pages)
    questions = [
        Question(
            each["id"],
            each["question"],
            each["language"],
            quotes=tuple((e["document"], e["text"]) for e in each["evidence"]),
        )
        for each in _json_lines(folder / "questions.jsonl")
    ]
    return QuestionSet([], questions, pages)


def business(cache: Path, *, is_small: bool = False) -> QuestionSet:
    """Mixed files of an invented firm; gold are documents. `is_small`: only files of plain text."""
    folder = _shared("business")
    documents = folder / "documents"
    if is_small:
        documents = cache / "sources" / "small-business"
        for path in sorted((folder / "documents").rglob("*")):
            if path.suffix in _TEXTUAL:
                target = documents / path.relative_to(folder / "documents")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    questions = [
        Question(
            each["id"],
            each["question"],
            each["type"],
            tuple(each["gold_documents"]),
            quotes=tuple((e["document"], *_parts(e["text"])) for e in each["evidence"]),
        )
        for each in _json_lines(folder / "questions.jsonl")
        if each["gold_documents"]
    ]
    return QuestionSet([], questions, documents)


def _parts(text: str | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else list(map(str, text))


def _shared(name: str) -> Path:
    folder = DATA / name
    if not folder.is_dir():
        raise UnavailableError(f"there is no ../shared/data/{name}")
    return folder


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def code(*, documents: int = 1500, questions: int = 240) -> QuestionSet:
    """Functions and classes of Python's standard library; asked is the first line of a docstring, taken out of it.

    A line is asked for if it has four words or more, stands once, and the rest of the function does not repeat it.
    """
    found = {place: each for place, *each in _documented(Path(sysconfig.get_path("stdlib")))}
    seen = Counter(first for first, _ in found.values())
    asked = [
        place
        for place, (first, text) in found.items()
        if seen[first] == 1 and len(first.split()) >= 4 and _bare(first) not in _bare(text)
    ]
    chosen = sorted(asked, key=_hash)[:questions]
    others = sorted(found.keys() - set(chosen), key=_hash)[: documents - len(chosen)]
    lines = [{"id": place, "title": place, "text": found[place][1]} for place in sorted([*chosen, *others])]
    return QuestionSet(lines, [Question(p, found[p][0], "code", (p,)) for p in sorted(chosen)])


def _documented(root: Path) -> Iterator[tuple[str, str, str]]:
    """Name, first line of the docstring, and the rest as Markdown: what the docstring goes on to say, and the code."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if _LIBRARY_LEFT_OUT.intersection(parts) or not all(map(str.isidentifier, parts)):
            continue
        source = path.read_text(encoding="utf-8", errors="replace")
        for names, node in _definitions(ast.parse(source), ()):
            document = ast.get_docstring(node)
            if document:
                first, _, rest = document.partition("\n")
                body = _without_docstring(source, node)
                if len(body) >= 200:
                    yield (
                        ".".join([*parts, *names]),
                        first.strip().rstrip("."),
                        f"{rest.strip()}\n\n```python\n{body}\n```",
                    )


def _definitions(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (*names, child.name), child
        elif isinstance(child, ast.ClassDef):
            yield from _definitions(child, (*names, child.name))


def _without_docstring(source: str, node: Any) -> str:  # noqa: ANN401  a function
    lines, said = source.splitlines(), node.body[0]
    return "\n".join([*lines[node.lineno - 1 : said.lineno - 1], *lines[said.end_lineno : node.end_lineno]])


_REGIONS: Final = {
    "en": ("Aldermoor Brackwater Corran Dunmere Eastfold Farrowdale Glenmarch Harbury Inverlock Jarrowby "
           "Kelderby Lowmere Marsham Norwold Oxcombe Penhallow Quarley Ravensby Stanmoor Thornby").split(),
    "zh": ("安岭 白河 昌平原 东浦 恩溪 丰泽 高淳湾 河阴 嘉木 康定坪 "
           "临港 明州 宁远 平武 清源 荣昌 山阳 桐城 武安 云麓").split(),
}  # fmt: skip
_SUBJECTS: Final = {
    "en": ("Pumping stations", "Ferry landings", "Grain stores", "Weather masts", "Bus depots", "Fish farms",
           "Quarries", "Reservoirs", "Lighthouses", "Sawmills"),
    "zh": ("泵站", "渡口", "粮库", "气象塔", "公交场", "养鱼场", "采石场", "水库", "灯塔", "锯木厂"),
}  # fmt: skip
_COLUMNS: Final = {
    "en": (
        ("Staff", "How many people work at {label}, one of the {subject} in {year}?"),
        ("Commissioned", "Since when has {label} been in service, according to the {year} list of {subject}?"),
        ("Annual cost (EUR)", "What did {label} among the {subject} spend in {year}?"),
        ("Inspector", "Who checked {label}, {subject}, in {year}?"),
        ("Capacity (t)", "How much can {label} hold, by the {year} table of {subject}?"),
    ),
    "zh": (
        ("在编人数", "{year}年{subject}中，{label}有多少人工作？"),
        ("投用年份", "根据{year}年{subject}一览表，{label}是从什么时候开始运行的？"),
        ("年度费用（元）", "{year}年{subject}里，{label}花了多少钱？"),
        ("检查员", "{year}年是谁查验了{subject}的{label}？"),
        ("容量（吨）", "按{year}年{subject}的表，{label}能装多少？"),
    ),
}
_FAMILY: Final = {
    "en": "Abbot Birch Calder Dyer Ellis Frost Gale Hume Ives Judd Kerr Lorne Mead Nash Orme Pike".split(),
    "zh": "赵启明 钱若兰 孙一帆 李文舟 周子衡 吴雨桐 郑海平 王静远 冯立新 陈思齐 卫东来 蒋书言".split(),
}


def tables(*, years: tuple[int, ...] = (2019, 2020, 2021), subjects: int = 10) -> QuestionSet:
    """Generated Markdown tables in both languages; a question asks for one cell, gold is the row's chunk.

    The same places stand in the tables of every subject and year, so that only subject, year and row together decide;
    a question says neither its column's name nor its value.
    """
    draw = random.Random(SEED)
    lines, questions = [], []
    for language, every in _SUBJECTS.items():
        for subject in every[:subjects]:
            for year in years:
                document = f"{language}-{subject}-{year}"
                text, rows = _table(language, subject, year, draw)
                title = f"{subject}, {year}" if language == "en" else f"{year}年{subject}一览"
                lines.append({"id": document, "title": title, "text": text})
                for label in draw.sample(sorted(rows), 4):
                    _, asked = draw.choice(_COLUMNS[language])
                    spoken = asked.format(label=label, subject=subject.lower(), year=year)
                    questions.append(
                        Question(f"{document}/{label}", spoken, language, spans=((document, *rows[label]),))
                    )
    return QuestionSet(lines, questions)


def joined(*sets: QuestionSet) -> QuestionSet:
    """Several sets as one, so that they are ingested together."""
    return QuestionSet([line for each in sets for line in each.lines], [q for each in sets for q in each.questions])


def _table(language: str, subject: str, year: int, draw: random.Random) -> tuple[str, dict[str, tuple[int, int]]]:
    """The text of a table and where each row stands in it."""
    first = {"en": "Site", "zh": "站点"}[language]
    names = [first, *(name for name, _ in _COLUMNS[language])]
    opening = {"en": f"{subject} of the district, {year}.", "zh": f"全区{year}年{subject}情况如下。"}[language]
    text = f"{opening}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}\n"
    rows = {}
    places = [f"{region} {side}" if language == "en" else f"{region}{side}" for region in _REGIONS[language]
              for side in (("North", "South") if language == "en" else ("北站", "南站"))]  # fmt: skip
    for label in draw.sample(places, len(places)):
        values = (draw.randint(3, 90), draw.randint(1951, year - 1), f"{draw.randint(10_000, 990_000):,}",
                  draw.choice(_FAMILY[language]), draw.randint(50, 9000))  # fmt: skip
        row = f"| {label} | {' | '.join(map(str, values))} |"
        rows[label] = (len(text), len(text) + len(row))
        text += f"{row}\n"
    return text, rows


KINDS: Final[dict[str, Callable[[Path], QuestionSet]]] = {
    "manuals": manuals,
    "business": business,
    **{name: (lambda cache, rule=rule: of_packages(rule, cache / "packages")) for name, rule in RULES.items()},
    "tables": lambda _: tables(),
    "code": lambda _: code(),
    **{name: (lambda _, make=make: make()) for name, make in OFFICE.items()},
}
"""Sets by name; each is made in a folder that keeps what was downloaded."""
SMALL_KINDS: Final[dict[str, Callable[[Path], QuestionSet]]] = {
    "small-business": partial(business, is_small=True),
    "small-office": lambda _: office("clinic"),
    "small-generated": lambda _: joined(tables(years=(2019, 2020), subjects=3), code(documents=100, questions=40)),
}
