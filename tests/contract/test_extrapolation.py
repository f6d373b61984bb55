"""Figures of small ingests are fitted by the form that they have, and the held-out ingest tells the error."""

import pytest

from benchmarks.extrapolate import fitted, predict

FIGURES = ("cpu_seconds", "peak_mb", "tables_mb", "ledger_mb", "vectors_mb", "releases_mb", "search_cpu_ms")


@pytest.mark.parametrize(
    ("form", "law"),
    [("a + b n", lambda n: 40 + 0.02 * n), ("c n^p", lambda n: 3 * n**0.5), ("c n^p", lambda n: n**1.5)],
)
def test_the_form_of_a_law_is_found_and_continued(form, law):
    sizes = [300, 1_000, 2_700, 6_000]

    name, curve = fitted(sizes, [law(size) for size in sizes])

    assert name == form
    assert curve(1_000_000) == pytest.approx(law(1_000_000), rel=1e-6)


def test_the_held_out_ingest_takes_no_part_and_tells_the_error():
    points = [{"chunks": n, **dict.fromkeys(FIGURES, 10 + n / 10)} for n in (100, 500, 1_000)]
    held_out = {"chunks": 2_000, **dict.fromkeys(FIGURES, 420.0)}

    rows = predict(points, held_out, 10_000)

    assert [row["figure"] for row in rows] == list(FIGURES)
    for row in rows:
        assert row["predicted"] == pytest.approx(210.0)
        assert row["error_percent"] == pytest.approx(-50.0)
        assert row["at_chunks"] == pytest.approx(1_010.0)
