"""CrammerSingerSVM beside liblinear, with planes shared by several C, calibrated, kept in files."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

import streamnb as snb
from streamnb.estimators.trained import choose_best, fit_best, scanned_to_choose
from streamnb.evaluation.scorers import as_scorer
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.opening import opened
from streamnb.selection.fold_models import judged_models

X, Y = load_iris(return_X_y=True)
X, Y = X[:, 1:] / 4.0, np.array(["setosa", "versicolor", "virginica"])[Y]


def objective(coef, intercept, C, X, y, weight=1.0):
    classes, rows = np.unique(y), np.arange(len(X))
    codes, scores = np.searchsorted(classes, y), X @ coef.T + intercept
    losses = (scores + (np.arange(len(classes)) != codes[:, None])).max(axis=1) - scores[rows, codes]
    return 0.5 * (np.sum(coef**2) + np.sum(np.square(intercept))) + C * (weight * losses).sum()


@pytest.mark.parametrize("C", [0.03, 1.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_optimum_is_that_of_liblinear_within_the_gap(C, fit_intercept):
    ours = snb.CrammerSingerSVM(C, fit_intercept=fit_intercept).fit(sp.csr_array(X), Y)
    theirs = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=fit_intercept, tol=1e-8, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, FutureWarning))
        theirs.fit(X, Y)
    found, least = (objective(m.coef_, m.intercept_, C, X, Y) for m in (ours, theirs))
    assert ours.converged_ and ours.gap_ <= 1e-3 * found
    assert -1e-6 * least <= found - least <= ours.gap_
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.95


def test_weights_are_within_the_gap_of_the_best_and_held_out_scores_come_together_with_tol():
    r = np.random.default_rng(3)
    y = r.integers(0, 2, 80)
    X, folds = r.normal(size=(80, 6)) + 0.5 * np.eye(2, 6)[y], snb.fold_numbers(80, 3)

    def weights(model):
        return np.append(model.coef_, model.intercept_)

    def both(tol):
        """Held-out AUC by cross-validation, and by models that are fitted without each fold, and these models."""
        cv = snb.CrammerSingerSVMCV([0.1, 0.3], folds=3, scoring="roc_auc", tol=tol, max_passes=2000).fit(X, y)
        ours = [cv.cv_results_[f"split{fold}_test_score"][1] for fold in range(3)]
        held = [folds == fold for fold in range(3)]
        alone = [snb.CrammerSingerSVM(0.3, tol, max_passes=2000).fit(X[~own], y[~own]) for own in held]
        pairs = zip(alone, held, strict=True)
        return ours, [roc_auc_score(y[own], one.decision_function(X[own])) for one, own in pairs], alone

    (ours, theirs, coarse), (exact, same, fine) = both(1e-3), both(1e-7)
    assert np.abs(np.subtract(ours, theirs)).max() > 0.002
    np.testing.assert_allclose(exact, same, rtol=1e-12)
    for one, best in zip(coarse, fine, strict=True):
        apart = np.linalg.norm(weights(one) - weights(best)) / np.sqrt(2.0)  # of two classes: one row, the difference
        assert 0.0 < apart <= np.sqrt(2.0 * one.gap_) + np.sqrt(2.0 * best.gap_)


def test_planes_of_another_c_save_reads_and_those_of_other_rows_are_refused():
    small = snb.CrammerSingerSVM(0.3).fit(X, Y)
    led, alone = snb.CrammerSingerSVM(1.0, start=small.planes_).fit(X, Y), snb.CrammerSingerSVM(1.0).fit(X, Y)
    assert led.n_passes_ < alone.n_passes_
    values = [objective(m.coef_, m.intercept_, 1.0, X, Y) for m in (led, alone)]
    assert abs(values[0] - values[1]) <= max(led.gap_, alone.gap_)
    calibrated = snb.CrammerSingerSVM(1.0, start=small.planes_, calibration="sigmoid").fit(X, Y)
    assert calibrated.n_passes_ == led.n_passes_ and calibrated.predict_proba(X).shape == (150, 3)
    with pytest.raises(ValueError, match="planes of other rows"):
        snb.CrammerSingerSVM(1.0, start=small.planes_).fit(X[1:], Y[1:])


GRID, FOLDS = [0.03, 0.3], snb.fold_numbers(150, 3)


def chosen(X=X, Y=Y, folds=FOLDS, **options):
    asked = {"folds": folds, "scoring": "accuracy", "tol": 1e-4, **options}
    run = {name: asked.pop(name) for name in ("n_threads", "checkpoint", "memory_limit") if name in asked}
    return snb.CrammerSingerSVMCV(GRID, **asked).fit(X, Y, **run)


def test_shared_reads_judge_what_fits_one_by_one_come_to_and_the_best_is_fitted():
    model, n_reads = chosen(), []
    for row, C in enumerate(GRID):
        for fold in range(3):
            rest = fold != FOLDS
            one = snb.CrammerSingerSVM(C, 1e-4).fit(X[rest], Y[rest])
            n_reads.append(one.n_passes_)
            assert model.cv_results_[f"split{fold}_test_score"][row] == one.score(X[~rest], Y[~rest])
            assert model.cv_results_[f"split{fold}_gap"][row] <= 1e-4 * one.history_["objective"].min() * (1 + 1e-3)
    means = model.cv_results_["mean_test_score"]
    assert model.best_params_["C"] == GRID[means.argmax()] and model.best_score_ == means.max()
    whole = snb.CrammerSingerSVM(tol=1e-4, **model.best_params_).fit(X, Y)
    least = [one.history_["objective"].min() for one in (model, whole)]
    assert abs(least[0] - least[1]) <= max(model.gap_, whole.gap_)
    found = objective(model.coef_, model.intercept_, model.best_params_["C"], X, Y)
    assert abs(found - least[0]) < 1e-9 * found  # what is fitted has the objective that its gap is of
    assert model.history_["gap"][0] < 0.5 * whole.history_["gap"][0]  # led by the planes of the folds
    shared = model.report_.rows / 150 - model.n_passes_ - 1
    assert shared < 1.3 * max(n_reads) < sum(n_reads) / 2


def test_reads_that_are_short_go_on_and_models_wait_for_memory(tmp_path):
    short = "6 of 6 models without a fold have gaps above tol=0.0001"
    with (
        pytest.warns(snb.StreamnbWarning, match=short),
        pytest.warns(snb.StreamnbWarning, match="the objective may be"),
    ):
        chosen(max_passes=10)
    at_once = chosen(rule="parsimonious", tol=1e-3, checkpoint=tmp_path)
    for file in sorted(tmp_path.glob("folds-*"))[5:]:
        file.unlink()
    resumed = chosen(tol=1e-3, checkpoint=tmp_path)
    means = at_once.cv_results_["mean_test_score"]
    assert at_once.best_params_["C"] == GRID[(means >= 0.99 * means.max()).argmax()]
    assert resumed.best_params_["C"] == GRID[means.argmax()]
    np.testing.assert_array_equal(resumed.cv_results_["split1_gap"], at_once.cv_results_["split1_gap"])
    with pytest.warns(snb.StreamnbWarning, match="6 models take .* more than memory_limit"):
        waiting = chosen(tol=1e-3, memory_limit=250_000)
    np.testing.assert_allclose(waiting.cv_results_["mean_test_score"], at_once.cv_results_["mean_test_score"])


def test_it_is_a_candidate_of_searches_and_ends_when_time_is_over():
    model = snb.CrammerSingerSVMCV([0.03, 0.3])
    found = snb.search(X, Y, families=["gaussian"], models=[model], folds=3, budget="30 reads", show=False)
    judged = next(one for one in found.candidates if "Crammer" in one.name)
    assert judged.point["C"] == 0.3 and judged.reads <= 30 - 2
    hurried = snb.CrammerSingerSVMCV(GRID, folds=FOLDS)
    scanned = scanned_to_choose(hurried, opened(X, Y), None, RunOptions(progress=False))
    models, report = run_reads(judged_models(scanned, as_scorer(hurried.scoring), time_is_up=lambda: True))
    assert scanned.report.rows == 150 and report.rows == 2 * 150  # a read, and one that judges
    choose_best(hurried, scanned, models)
    with pytest.warns(snb.StreamnbWarning, match="after 1 reads at most|the 1 allowed reads were spent"):
        fit_best(hurried, scanned, models, report, further=True, own=True)
    assert hurried.n_passes_ == hurried.best_params_["max_passes"] == 1
    assert (hurried.cv_results_["split0_gap"] > 0.1).all()


@pytest.mark.filterwarnings("ignore:.*reads:streamnb.StreamnbWarning")
@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_the_fit_to_all_rows_keeps_to_a_budget_of_reads():
    models = [snb.CrammerSingerSVMCV([0.3, 30.0], tol=1e-6)]
    found = snb.search(X, Y, families=[], models=models, folds=3, budget="20 reads", show=False)
    assert found.report_.rows <= 20 * 150 and found.best_.n_passes_ <= found.best_.best_params_["max_passes"] <= 9
