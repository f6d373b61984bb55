"""How large the project is, row by row, beside the bound of each row: `python -m scripts.size`."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("sag_retrieval", "sag_pipeline")
RULES_FROM = 5
"""Patterns and Chinese literals from which a module counts as hand-written rules for language."""
BOUNDS = {
    "lines of both packages": 68_457,
    "lines of code": 41_990,
    "lines of hand rules for language": 3_612,
    "regular expressions outside language/": 110,
    "modules": 330,
    "modules with one importer in the same folder": 25,
    "options": 140,
    "benchmarks, files": 21,
    "benchmarks, lines": 5_000,
    "decision records": 40,
    "decision records, words": 6_127,
    "decision records, words of the longest": 200,
    "pages of docs": 24,
    "pages of docs, words": 34_734,
    "lines of tests": 49_871,
}
"""Row → most that it may have; lowered with every part that goes."""


def sources(*folders: str) -> dict[Path, str]:
    """Text of each Python file below folders of the project."""
    return {path: path.read_text(encoding="utf-8") for name in folders for path in sorted((ROOT / name).rglob("*.py"))}


def code_lines(source: str, nodes: Iterable[ast.AST] | None = None) -> int:
    """Lines that hold code: no blank lines, comments, docstrings or imports; `nodes` are those of the source."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)) if nodes is None else nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _is_text(node: ast.AST) -> bool:
    """Whether a node is a docstring or another text that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def patterns(nodes: Iterable[ast.AST]) -> int:
    """Calls of `re`."""
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    return sum(isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == "re" for f in calls)


def chinese_literals(nodes: Iterable[ast.AST]) -> int:
    """Strings of code with Chinese characters."""
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = (n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in alone)
    return sum(isinstance(text, str) and re.search("[\u4e00-\u9fff]", text) is not None for text in texts)


def lone_modules(packages: dict[Path, list[ast.AST]]) -> Iterator[Path]:
    """Modules that exactly one module imports, which lies in the same folder."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in packages
    }
    importers = defaultdict[Path, set[Path]](set)
    for path, nodes in packages.items():
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                found = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                found = {alias.name for alias in node.names}
            else:
                continue
            for name in found & names.keys():
                importers[names[name]].add(path)
    for path, users in importers.items():
        if path.name != "__init__.py" and len(users - {path}) == 1 and next(iter(users)).parent == path.parent:
            yield path


def words(path: Path) -> int:
    """Words of a page, a Chinese character counting as one."""
    return len(re.findall(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+", path.read_text(encoding="utf-8")))


def rows() -> dict[str, int]:
    """Each row of the table and what it has."""
    packages = sources(*PACKAGES)
    trees = {path: list(ast.walk(ast.parse(source))) for path, source in packages.items()}
    ruled = [path for path, tree in trees.items() if patterns(tree) + chinese_literals(tree) >= RULES_FROM]
    outside = [path for path in trees if "language" not in path.parts]
    records = [path for path in (ROOT / "docs/decisions").glob("*.md") if path.name != "README.md"]
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "decisions"]
    benchmarks, tests = sources("benchmarks"), sources("tests")
    return {
        "lines of both packages": _lines(packages),
        "lines of code": sum(code_lines(source, trees[path]) for path, source in packages.items()),
        "lines of hand rules for language": _lines({path: packages[path] for path in ruled}),
        "regular expressions outside language/": sum(patterns(trees[path]) for path in outside),
        "modules": len(packages),
        "modules with one importer in the same folder": len(list(lone_modules(trees))),
        "options": (ROOT / "docs/options.md").read_text(encoding="utf-8").count("\n- `"),
        "benchmarks, files": len(benchmarks),
        "benchmarks, lines": _lines(benchmarks),
        "decision records": len(records),
        "decision records, words": sum(map(words, records)),
        "decision records, words of the longest": max(map(words, records)),
        "pages of docs": len(pages),
        "pages of docs, words": sum(map(words, pages)),
        "lines of tests": _lines(tests),
    }


def _lines(files: dict[Path, str]) -> int:
    return sum(len(source.splitlines()) for source in files.values())


if __name__ == "__main__":
    for name, value in rows().items():
        print(f"{name:46}{value:>8,}   at most {BOUNDS[name]:>7,}")
