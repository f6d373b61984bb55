"""The notebook of the examples: each cell runs against the demo's release and shows what its text promises."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from sag_retrieval import Hit, SearchResult

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook" / "release.ipynb"


def code_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of an expression at its end is what it shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)  # our own notebook
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names) if last else None


def shown(value: Any) -> str:
    """What a notebook shows of a value."""
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


def test_every_cell_of_the_notebook_runs_and_shows_its_result(demo):
    names: dict[str, Any] = {"__name__": "__main__"}

    said = [shown(run_cell(cell, names)) for cell in code_cells()]

    release, result, frame, answer, largest, summary, chinese, _ = said
    assert "23" in release
    assert "Marlow Seals" in result
    assert "kestrel-7-recall-2022.md" in frame
    assert "2025年5月" in answer
    assert len(names["largest"]) == 5
    assert "organisation" in largest or "person" in largest
    assert "document_id" in summary
    assert all(hit.document_id for hit in names["chinese"])
    assert "海澜" in chinese


def test_the_notebook_is_stored_without_outputs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]

    assert [cell["id"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.parametrize("is_first", [True, False])
def test_a_filter_and_a_users_own_connection_do_not_disturb_each_other(demo, is_first):
    import duckdb

    from sag_retrieval import open_release

    with open_release() as release:
        if is_first:
            release.search("Heron", where={"language": "en"})
        with duckdb.connect() as database:
            database.register("documents", release.table("documents"))
            ((count,),) = database.execute("SELECT count(*) FROM documents").fetchall()
            assert len(release.search("Heron", where={"language": "zh"}, top_k=2)) == 2
        assert release.sql("SELECT count(*) AS n FROM documents").to_pandas()["n"].tolist() == [count]


def test_a_notebook_shows_the_page_of_a_hit_where_there_is_one():
    hit = Hit(1, 0.5, "c", "a.pdf", "A", "text", (), (), 0, 10, 20, place="p. 4")
    found = SearchResult("q", "r", "sag", (hit,), (), {}, {})

    assert "p. 4" in found._repr_html_()
    assert "10–20" not in found._repr_html_()
