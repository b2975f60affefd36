"""Choice by cross-validation: scikit-learn's errors and choices on the same folds, from one read."""

import numpy as np
import pytest
from sklearn import linear_model

import streamnb as snb
from streamnb.selection.score_table import split_interval
from tests.estimators.test_regressor import X, Y
from tests.support.refusals import refuses

FOLDS = snb.fold_numbers(200, 4, seed=2)
CV = [(np.flatnonzero(fold != FOLDS), np.flatnonzero(fold == FOLDS)) for fold in range(4)]


def test_path_errors_and_choice_are_those_of_scikit_learn():
    ours = snb.ElasticNetCV([0.2, 1.0], n_alphas=40, folds=4, seed=2).fit(X, Y)
    theirs = linear_model.ElasticNetCV(l1_ratio=[0.2, 1.0], cv=CV, tol=1e-13, max_iter=10**5, alphas=40).fit(X, Y)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-12)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-8)
    assert (ours.l1_ratio_, ours.alpha_) == pytest.approx((theirs.l1_ratio_, theirs.alpha_))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    assert ours.coefs_path_.shape == (5, 40)
    at = int(np.argmin(np.abs(ours.alphas_[0] - ours.alpha_)))
    np.testing.assert_allclose(ours.coefs_path_[:, at], ours.coef_, rtol=1e-12)
    assert -ours.cv_results_["mean_test_score"].max() == pytest.approx(theirs.mse_path_.mean(axis=-1).min())


def test_ridge_errors_are_those_of_models_without_the_fold():
    ours = snb.ElasticNetCV(0.0, alphas=[1.0, 0.1, 0.001, 1e-5], folds=FOLDS).fit(X, Y)
    for at, alpha in enumerate([1.0, 0.1, 0.001]):
        for fold, (rest, own) in enumerate(CV):
            model = linear_model.Ridge(alpha * len(rest)).fit(X[rest], Y[rest])
            assert ours.mse_path_[at, fold] == pytest.approx(np.mean((Y[own] - model.predict(X[own])) ** 2), rel=1e-9)


def test_rows_are_read_once():
    reads = []

    def rows():
        reads.append(1)
        yield X, Y

    model = snb.ElasticNetCV(1.0).fit(rows)
    assert len(reads) == 1
    assert model.mse_path_.shape == (100, 5)
    assert model.refit(rule="one_se").alpha_ >= snb.ElasticNetCV(1.0).fit(X, Y).alpha_
    assert len(reads) == 1


def test_groups_stay_in_one_fold_and_several_targets_share_an_alpha():
    groups = np.arange(200) // 20
    model = snb.ElasticNetCV(0.5, folds=3).fit(X, np.column_stack([Y, 100.0 * X[:, 1]]), groups=groups)
    assert model.coef_.shape == (2, 5)
    assert model.mse_path_.shape == (len(model.alphas_), 3)
    assert [fold.n_rows % 20 for fold in model.stats_.folds] == [0, 0, 0]
    refuses(ValueError, "the fit was given groups=", lambda: model.partial_fit(X, np.column_stack([Y, Y])))
    with pytest.raises(ValueError, match="the fit was given the fold of each row"):
        snb.ElasticNetCV(0.5, folds=FOLDS).fit(X, Y).partial_fit(X, Y)


def test_forward_regression_finds_the_features_that_count():
    model = snb.ForwardRegression(rule="one_se").fit(X, Y)
    assert model.order_[:2].tolist() == [4, 1]
    assert np.flatnonzero(model.coef_).tolist() == sorted(model.order_)
    assert snb.ForwardRegression(2).fit(X, Y).order_.tolist() == [4, 1]


def test_units_of_the_target_do_not_decide_a_ridge_regression():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(200, 20)) * np.geomspace(0.1, 10.0, 20)
    target = columns @ (1.0 / np.geomspace(0.1, 10.0, 20)) + 2.0 * rng.normal(size=200)
    models = [snb.ElasticNetCV(0.0).fit(columns, target * unit) for unit in (1.0, 1e2, 1e6, 1e-6)]
    reference = linear_model.RidgeCV(np.geomspace(1e-3, 1e5, 200)).fit(columns, target)
    assert len({round(np.log(model.alpha_), 9) for model in models}) == 1
    assert models[2].score(columns, target * 1e6) == pytest.approx(reference.score(columns, target), abs=0.002)
    further = snb.ElasticNetCV(0.0).fit(columns * 1e4, target)
    assert further.alpha_ == pytest.approx(1e8 * models[0].alpha_)


@pytest.mark.parametrize("l1_ratio", [0.0, [0.3, 1.0]])
def test_the_grid_goes_on_where_one_column_is_large(l1_ratio):
    """The largest alpha is that of the large column; a thousandth of it leaves hardly any other."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 6, 400)
    columns = np.column_stack([rng.gamma(2.0, 2000.0, 400), place[:, None] == np.arange(6)])
    target = 0.001 * columns[:, 0] + 3.0 * rng.normal(size=6)[place] + 0.3 * rng.normal(size=400)
    model = snb.ElasticNetCV(l1_ratio).fit(columns, target)
    assert model.score(columns, target) > 0.98 and model.alphas_.shape[-1] >= 100
    assert model.mse_path_.shape == (*model.alphas_.shape, 5) and model.coefs_path_.shape[1] == model.alphas_.shape[-1]


def test_an_alpha_at_the_end_of_those_given_says_so():
    noisy = Y + 3.0 * np.random.default_rng(0).normal(size=200)
    for given, end in (([1.0, 0.5], "alpha=0.5 is the smallest"), ([1e-3, 1e-4], None), ([1e-3], None)):
        if end is None:
            snb.ElasticNetCV(1.0, alphas=given).fit(X, noisy)
        else:
            with pytest.warns(snb.StreamnbWarning, match=end):
                snb.ElasticNetCV(1.0, alphas=given).fit(X, noisy)
    few = np.random.default_rng(1).normal(size=(30, 25))
    with pytest.warns(snb.StreamnbWarning, match=r"alpha=0.01 is the largest of those tried.* larger ones may be"):
        snb.ElasticNetCV(0.0, alphas=[0.01, 0.001]).fit(few, few[:, 0] + np.random.default_rng(2).normal(size=30))


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_of_several_targets_are_relative_to_their_variances(intercept):
    targets = np.column_stack([Y + 20.0, 100.0 * X[:, 1] + 300.0])
    together = snb.ElasticNetCV(0.5, alphas=[0.1], folds=FOLDS, fit_intercept=intercept).fit(X, targets)
    alone = [snb.ElasticNetCV(0.5, alphas=[0.1], folds=FOLDS, fit_intercept=intercept).fit(X, y) for y in targets.T]
    expected = np.mean([one.mse_path_ / y.var() for one, y in zip(alone, targets.T, strict=True)], axis=0)
    np.testing.assert_allclose(together.mse_path_, expected, rtol=1e-9)


def test_names_of_older_versions_in_the_table_of_scores_are_those_of_errors():
    model = snb.ElasticNetCV(n_alphas=5, folds=4).fit(X, Y)
    table, errors = model.cv_results_, model.mse_path_
    low, high = split_interval(errors, 4)
    former = {"mean": errors.mean(axis=1), "std": errors.std(axis=1, ddof=1), "low": low, "high": high}
    for name, value in former.items():
        with pytest.warns(FutureWarning, match=f"cv_results_ has '{name}_test_score' now"):
            np.testing.assert_allclose(table[f"{name}_test_error"], value)
    with pytest.warns(FutureWarning, match="mean_test_score"):
        np.testing.assert_allclose(table.get("mean_test_error"), former["mean"])
    assert table.get("mean_test_errors", 7) == 7
    assert "mean_test_error" not in table
    with pytest.raises(KeyError):
        table["mean_test_loss"]
