"""Further kinds of documents, so that the ranking is not judged on passages alone.

`manuals` and `business` lie in `../shared/data`, `code` comes from the Python that runs this; `tables` and the piles of
`office.py` are generated. No set is looked at while the ranking is made except by halves: only the half that is held
out decides whether `quality.py` fails.
"""

import ast
import json
import random
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.office import OFFICE, office
from benchmarks.sets import DATA, Question, QuestionSet, bare, hash_of


class UnavailableError(Exception):
    """A set cannot be made here; the message says why."""


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
        if seen[first] == 1 and len(first.split()) >= 4 and bare(first) not in bare(text)
    ]
    chosen = sorted(asked, key=hash_of)[:questions]
    others = sorted(found.keys() - set(chosen), key=hash_of)[: documents - len(chosen)]
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
