"""Arrays that somebody else changes between a check and what relies on it: the result of the check, or an error."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core import csr, row_checks
from streamnb.kernels import row_values
from streamnb.rows.labels import RowColumns
from streamnb.stats.histograms import Grid
from tests.support.strategies import same_stats

FAR = np.iinfo(np.int32).max // 64  # well outside of every table
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(1.0, (60, 8)) + 1.0 * (np.arange(8) == 0)
Y = RNG.integers(0, 3, 60)


def spoil(array):
    """What another thread, or a process that has mapped the same file, might leave there."""
    array[::2], array[1::2] = FAR, -FAR


@pytest.fixture
def after(monkeypatch):
    """`after(module, name, spoiled)` has arrays spoiled each time that a function has returned."""

    def patch(module, name, *spoiled):
        function = getattr(module, name)

        def followed(*args, **options):
            found = function(*args, **options)
            for array in spoiled:
                spoil(array)
            return found

        monkeypatch.setattr(module, name, followed)

    return patch


def sparse(dtype=np.int32):
    rows = sp.csr_array(COUNTS)
    rows.indices, rows.indptr = rows.indices.astype(dtype), rows.indptr.astype(dtype)
    return rows


WAYS = {
    "scan": lambda X: snb.scan(X, Y, moments=["sum", "sum_sq"], n_threads=1).sum,
    "histogram": lambda X: snb.scan(X, Y, histogram="bins", n_bins=4, n_threads=1).tables["histogram"].hi,
    "products": lambda X: snb.scan(X, Y, moments=["sum", "gram"], n_threads=1).table("gram").value(),
    "linear": lambda X: snb.LinearNB("poisson").fit(COUNTS, Y).decision_function(X),
    "quadratic": lambda X: snb.GaussianNB().fit(COUNTS, Y).predict_log_proba(X),
    "predictive": lambda X: snb.LinearNB("poisson").fit(COUNTS, Y).predict_proba(X, predictive=True),
}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("way", WAYS)
def test_indices_and_ends_of_rows_that_change_after_the_check(way, dtype, after):
    expected, X = WAYS[way](sparse(dtype)), sparse(dtype)
    after(row_values, "check_indices", X.indices, X.indptr)
    assert np.array_equal(WAYS[way](X), expected)


def test_indices_that_change_between_two_reads_are_refused(after):
    X = sparse()
    after(row_values, "check_indices", X.indices)
    with pytest.raises(ValueError, match=r"X\.indices has column"):
        snb.SoftmaxRegression().fit(X, Y)


OTHER = [
    (csr.sound_csr, "csr"),
    *((convert, n) for convert in (csr.as_csr, csr.sound_csr) for n in ("csc", "coo", "bsr")),
]


@pytest.mark.parametrize(("convert", "name"), OTHER)
def test_sparse_arrays_that_change_before_they_are_converted(convert, name, after):
    X = sp.coo_array(COUNTS).asformat(name)
    places = X.coords if name == "coo" else (X.indices, X.indptr)
    for check in ("_check_indptr", "_check_range"):
        after(csr, check, *places)
    assert (convert(X, "X").toarray() == COUNTS).all()


@pytest.mark.parametrize(
    ("value", "rows", "weight"),  # of which sums have one part, or several
    [(np.nan, np.array, 1.0), (np.inf, sp.csr_array, 0.1), (-1e300, np.array, 0.1), (1e300, sp.csr_array, 1.0)],
)
def test_values_that_change_once_bins_are_laid_out_stay_in_the_table(value, rows, weight, monkeypatch):
    X, weights = rows(COUNTS), np.full(60, weight)
    options = {"sample_weight": weights, "histogram": "bins", "n_bins": 4, "n_threads": 1}
    total = snb.scan(X, Y, **options).tables["histogram"].value().sum()
    seen = Grid.seen

    def changed(*args):
        found = seen(*args)
        (X.data if sp.issparse(X) else X)[:] = value
        return found

    monkeypatch.setattr(Grid, "seen", changed)
    found = snb.scan(X, Y, **options).tables["histogram"].value().sum()
    assert found == pytest.approx(total)


def test_labels_and_weights_that_change_after_the_check(after):
    y, weight = Y.copy(), np.full(60, 0.5)
    expected = snb.scan(COUNTS, y, sample_weight=weight, n_threads=1)
    after(RowColumns, "_received", y, weight)
    assert same_stats(snb.scan(COUNTS, y, sample_weight=weight, n_threads=1), expected)


def test_judged_rows_that_change_after_the_check(after):
    def judged(codes, scores):
        evaluation = snb.Evaluation(3, ["hits", "ranking"], exact_rows=4, n_bins=16)
        evaluation.add(codes, None, predicted=Y, ranking=scores)
        return evaluation.roc_auc(None).tolist(), evaluation.accuracy()

    codes, scores = Y.copy(), RNG.normal(size=(60, 3))
    expected = judged(codes, scores)
    after(row_checks, "check_scores", scores)
    after(row_checks, "check_class_numbers", codes)
    assert judged(codes, scores) == expected


def test_a_thread_that_writes_into_the_indices_of_a_scan():
    X = sp.csr_array(np.tile(COUNTS, (500, 1)))
    y, whole, stop = np.tile(Y, 500), X.indices.copy(), threading.Event()

    def write():
        while not stop.is_set():
            spoil(X.indices)
            X.indices[:] = whole

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            try:
                snb.scan(X, y)
            except ValueError as error:
                assert "X.indices has column" in str(error)
    finally:
        stop.set()
        writer.join()
