import numpy as np
import pytest
from scipy.sparse import csr_array

from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.release.vectors import open_vectors, write_vectors

DIMENSION = 8


def sample(rows, seed=0, share=0.4):
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(rows, DIMENSION)) * (random.random((rows, DIMENSION)) < share)
    length = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
    return (matrix / np.where(length == 0, 1, length)).astype(np.float32)


def written(folder, matrix, kind, rows=None, parts=3, count=None):
    """The matrix written in several blocks and opened again."""
    rows = np.arange(len(matrix)) if rows is None else rows
    wrap = csr_array if kind == "sparse" else np.asarray
    cuts = np.array_split(np.arange(len(rows)), parts)
    blocks = [(rows[cut], wrap(matrix[cut])) for cut in cuts if len(cut)]
    write_vectors(folder, "events", blocks, (count or len(matrix), DIMENSION))
    return open_vectors(folder)["events"]


KINDS = pytest.mark.parametrize("kind", ["dense", "sparse"])


@KINDS
def test_scores_are_cosines_of_all_rows_or_of_some(tmp_path, kind):
    matrix, query = sample(50), sample(1, seed=9, share=1)
    vectors = written(tmp_path, matrix, kind)

    assert vectors.scores(query) == pytest.approx(matrix @ query[0], abs=1e-6)
    assert vectors.scores(csr_array(query), np.array([7, 3])) == pytest.approx(matrix[[7, 3]] @ query[0], abs=1e-6)
    assert (vectors.row_count, vectors.dimension) == (50, DIMENSION)


@KINDS
@pytest.mark.parametrize("rows", [[4, 1, 4], [-1, 299, -300], list(range(-1, 299))])
def test_rows_are_taken_as_they_were_written(tmp_path, kind, rows):
    matrix = sample(300)

    taken = written(tmp_path, matrix, kind).take(np.array(rows, np.int32))

    assert (taken.toarray() if kind == "sparse" else taken) == pytest.approx(matrix[rows])


@KINDS
@pytest.mark.parametrize("row", [300, -301])
def test_a_row_that_is_not_there_is_not_taken(tmp_path, kind, row):
    with pytest.raises(IndexError):
        written(tmp_path, sample(300), kind).take(np.array([1, row], np.int32))


@KINDS
def test_rows_without_a_vector_score_zero_and_are_never_found(tmp_path, kind):
    matrix, query = sample(20), sample(1, seed=3, share=1)
    rows = np.arange(0, 40, 2)

    vectors = written(tmp_path, matrix, kind, rows=rows, count=41)

    assert vectors.scores(query)[1::2].tolist() == [0] * 20
    assert set(vectors.top(query, 40)[0].tolist()) <= set(rows.tolist())


@KINDS
def test_the_best_allowed_rows_are_found_even_when_few_are_allowed(tmp_path, kind):
    query = np.full((1, DIMENSION), 0.3, np.float32)
    matrix = np.abs(sample(200, share=1))
    allowed = np.zeros(200, bool)
    allowed[[5, 50, 150]] = True

    rows, scores = written(tmp_path, matrix, kind).top(query, 10, allowed)

    assert sorted(rows.tolist()) == [5, 50, 150]
    assert np.all(np.diff(scores) <= 0)


@KINDS
def test_a_table_without_rows_is_written_and_opened(tmp_path, kind):
    write_vectors(tmp_path, "events", [], (0, DIMENSION))

    vectors = open_vectors(tmp_path)["events"]

    assert vectors.scores(sample(1)).tolist() == []
    assert vectors.top(sample(1), 5)[0].tolist() == []


@KINDS
def test_vectors_of_another_width_are_refused(tmp_path, kind):
    wrap = csr_array if kind == "sparse" else np.asarray
    with pytest.raises(ReleaseError, match="5 columns, not 8"):
        write_vectors(tmp_path, "keys", [(np.arange(2), wrap(np.ones((2, 5), np.float32)))], (2, DIMENSION))
