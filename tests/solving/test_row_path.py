"""Models judged from rows in memory: as by refitting, and the same for any blocks, threads and keeping."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.solving import row_path
from streamnb.solving.row_path import RowsInMemory

RNG = np.random.default_rng(5)
Y = RNG.integers(0, 4, 240)
X = sp.csr_array(sp.random_array((240, 900), density=0.03, rng=RNG, format="csr") * 4.0)
X = sp.csr_array(X + sp.csr_array((np.full(240, 2.0), (np.arange(240), 20 * Y)), X.shape))
WEIGHT = RNG.integers(0, 3, 240).astype(float)
L2 = [10.0, 1.0, 0.3]


@pytest.fixture(autouse=True)
def few_weights(monkeypatch):
    monkeypatch.setattr(row_path, "LEAST_WEIGHTS", 0)


@pytest.mark.parametrize("options", [{}, {"idf": True}, {"class_weight": {0: 1.0, 1: 2.0, 2: 1.0, 3: 0.5}}], ids=str)
def test_folds_are_judged_as_by_refitting(options):
    folds = np.arange(240) % 3
    folds[Y == 3] = 0  # in one fold alone, but for a few
    folds[(Y == 3) & (np.arange(240) > 200)] = 1
    model = snb.SoftmaxRegressionCV(L2, folds=folds, scoring="neg_log_loss", **options).fit(X, Y, WEIGHT)
    results = model.cv_results_
    assert set(results["param_max_passes"]) == {1} and model.converged_
    for i, l2 in enumerate(results["param_l2"][:2]):  # a weaker one takes more turns
        for fold in range(3):
            rest = folds != fold
            alone = snb.SoftmaxRegression(float(l2), **options).fit(X[rest], Y[rest], WEIGHT[rest])
            # duals pull intercepts a little
            loss = log_loss(Y[~rest], alone.predict_proba(X[~rest]), sample_weight=WEIGHT[~rest], labels=range(4))
            assert results[f"split{fold}_test_score"][i] == pytest.approx(-loss, abs=0.05)


def test_the_same_bits_for_any_blocks_threads_and_keeping():
    def chunks():
        for first in range(0, 240, 70):
            yield X[first : first + 70], Y[first : first + 70]

    one = snb.SoftmaxRegressionCV(L2, folds=3).fit(X, Y, n_threads=1)
    for rows, options in (((X, Y), {"n_threads": 2}), ((chunks,), {"n_threads": 2}), ((X, Y), {"keep": "no"})):
        other = snb.SoftmaxRegressionCV(L2, folds=3).fit(*rows, **options)
        np.testing.assert_array_equal(one.coef_, other.coef_)
        for name in ("split0_test_score", "split2_test_score"):
            np.testing.assert_array_equal(one.cv_results_[name], other.cv_results_[name])


def test_the_plan_is_of_one_read_in_which_models_are_judged():
    model = snb.SoftmaxRegressionCV(L2, folds=3, max_passes=20)
    needed = snb.plan(X, Y, model=model)
    assert (needed.n_models, needed.n_groups, needed.model_bytes) == (9, 1, 5 * 8 * 900 * 4)
    assert model.fit(X, Y).report_.reads <= needed.most_reads == 1 + 1 + 20
    in_reads = snb.plan(X, Y, model=snb.SoftmaxRegressionCV(l1=[1.0, 0.5], folds=3, max_passes=20))
    assert in_reads.most_reads == 1 + 20 + 20
    labels = np.eye(4, dtype=bool)[Y]
    assert snb.plan(X, labels, model=model).most_reads > 22


def test_other_rows_are_judged_in_reads():
    options = RunOptions(memory_limit=10**7, n_threads=1)
    assert RowsInMemory.suit(240, 900, 4, 400.0, options)
    assert not RowsInMemory.suit(901, 900, 4, 400.0, options)
    assert not RowsInMemory.suit(240, 900, 4, 400.0, RunOptions(memory_limit=10**5, n_threads=1))
    for model in (snb.MarginClassifierCV(folds=3), snb.SoftmaxRegressionCV(l1=[1.0, 0.5], folds=3)):
        assert max(model.fit(X, Y).cv_results_["param_max_passes"]) > 1
