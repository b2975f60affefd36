"""Searches for numbers: how y is taken, scores against refits without each fold, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import d2_tweedie_score, mean_absolute_error, r2_score, root_mean_squared_error

import streamnb as snb
from streamnb.searching.numbers import task_of
from tests.support.clusters import cluster_of
from tests.support.refusals import refuses

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 1.0]
AMOUNTS = np.exp(0.5 * X[:, 0] + 0.02 * X[:, 1] + RNG.normal(size=300) / 4)
COUNTS = RNG.poisson(np.exp(0.4 * X[:, 0] + 5.0 * X[:, 2]))
FOLDS = np.arange(300) % 3
QUIET = {"folds": FOLDS, "budget": None, "show": False}


def test_scores_are_those_of_models_that_are_fitted_without_each_fold():
    linear = [snb.ElasticNetCV(ratio, standardize=True) for ratio in (0.0, 0.5, 1.0)] + [snb.GammaRegressorCV()]
    found = snb.search(X, AMOUNTS, models=linear, sample_weight=1.0 + FOLDS, **QUIET)
    assert [one.name.split("(")[0] for one in found.candidates].count("ElasticNetCV") == 3
    metrics = {
        "r2": r2_score,
        "neg_root_mean_squared_error": lambda y, m, **w: -root_mean_squared_error(y, m, **w),
        "neg_mean_absolute_error": lambda y, m, **w: -mean_absolute_error(y, m, **w),
    }
    for judged in found.candidates:
        kind = snb.GammaRegressor if judged.name.startswith("Gamma") else snb.ElasticNet
        for fold in range(3):
            inside, weight = fold == FOLDS, 1.0 + FOLDS
            model = kind(standardize=True, **judged.point).fit(X[~inside], AMOUNTS[~inside], weight[~inside])
            for name, metric in metrics.items():
                expected = metric(AMOUNTS[inside], model.predict(X[inside]), sample_weight=weight[inside])
                assert judged.scores[name][fold] == pytest.approx(
                    expected, rel=3e-3 if "Gamma" in judged.name else 1e-9
                )


def test_counts_are_judged_by_their_deviance_and_the_best_model_has_intervals(tmp_path):
    found = snb.search(X, COUNTS, task="regression", **QUIET)
    judged = found.candidates[0]
    assert found.scorings[0] == "d2_poisson"
    assert [one.name for one in found.candidates] == ["PoissonRegressorCV()", "AdditiveRegressor(loss='poisson')"]
    for fold in range(3):
        inside = fold == FOLDS
        model = snb.PoissonRegressor(judged.point["alpha"], standardize=True).fit(X[~inside], COUNTS[~inside])
        expected = d2_tweedie_score(COUNTS[inside], model.predict(X[inside]), power=1)
        assert judged.scores["d2_poisson"][fold] == pytest.approx(expected, abs=1e-3)
    found.save(tmp_path / "found.snb")
    loaded = snb.load(tmp_path / "found.snb")
    assert str(loaded) == str(found)
    np.testing.assert_array_equal(loaded.best_.predict(X), found.best_.predict(X))
    alone = snb.search(X, COUNTS, models=[snb.PoissonRegressorCV()], **QUIET)
    inside = alone.best_.predict(X, interval=0.9)
    assert np.mean((inside[:, 1] <= COUNTS) & (inside[:, 2] >= COUNTS)) > 0.85


def test_additive_models_are_judged_by_the_scorings_of_the_search():
    y = np.abs(X[:, 0]) + 0.05 * np.abs(X[:, 1] - 5.0) + 1.0
    additive = {"interactions": 0, "l2": 0.01, "pair_factor": 1.0}
    models = [snb.ElasticNetCV(), snb.AdditiveRegressor(**additive), snb.AdditiveRegressor("gamma", **additive)]
    found = snb.search(X, y, models=models, **QUIET)
    assert isinstance(found.best_, snb.AdditiveRegressor)
    squared, gamma = found.candidates[1:]
    of_own_choice = snb.AdditiveRegressor(**additive, folds=FOLDS).fit(X, y).cv_results_
    for fold in range(3):
        inside = fold == FOLDS
        squares = (1.0 - of_own_choice[f"split{fold}_test_score"][0]) * inside.sum() * y.var()
        expected = 1.0 - squares / ((y[inside] - y[inside].mean()) ** 2).sum()
        assert squared.scores["r2"][fold] == pytest.approx(expected, rel=1e-9)
        rmse = np.sqrt(squares / inside.sum())
        assert squared.scores["neg_root_mean_squared_error"][fold] == pytest.approx(-rmse, rel=1e-9)
    assert gamma.mean("r2") > 0.5


@pytest.mark.cluster
@pytest.mark.process
def test_workers_find_the_bits_of_one_process(tmp_path):
    store = zarr.open_group(tmp_path / "t.zarr", mode="w")
    store.create_array("X", data=X, chunks=(40, 4))
    store.create_array("y", data=COUNTS.astype(float), chunks=(40,))
    models = [snb.PoissonRegressorCV(), snb.ElasticNetCV(), snb.AdditiveRegressor(interactions=0)]
    how = {"models": models, "scoring": "r2", "folds": 3, "show": False, "progress": False}
    here, alone = snb.search(tmp_path / "t.zarr", "y", **how), snb.PoissonRegressor(0.01).fit(tmp_path / "t.zarr", "y")
    with cluster_of(2, tmp_path) as client:
        there = snb.search(tmp_path / "t.zarr", "y", client=client, **how)
        of_workers = snb.PoissonRegressor(0.01).fit(tmp_path / "t.zarr", "y", client=client)
    np.testing.assert_array_equal(of_workers.coef_, alone.coef_)
    for ours, theirs in zip(there.candidates, here.candidates, strict=True):
        np.testing.assert_array_equal(ours.scores["r2"], theirs.scores["r2"])
    np.testing.assert_array_equal(there.best_.coef_, here.best_.coef_)


@pytest.mark.parametrize(
    ("y", "options", "regression", "said"),
    [
        (AMOUNTS.astype(object), {}, True, ""),
        (np.arange(300) * 7, {}, True, "predicted as numbers; task='classification'"),
        (np.arange(300) % 59, {}, True, "its 59 whole numbers are predicted as numbers; task='classification'"),
        (np.arange(300) % 7, {"families": ["gaussian"]}, False, ""),
        (np.arange(300) % 7, {"budget": "2 reads"}, False, "its 7 whole numbers are classes; task='regression'"),
        (np.arange(300) % 7, {"models": [snb.ElasticNetCV()]}, True, ""),
        (np.arange(300) % 7, {"scoring": "r2"}, True, ""),
        (np.arange(300) % 7, {"task": "regression"}, True, ""),
        (np.where(X[:, 0] > 0, "a", "b"), {"budget": "2 reads"}, False, ""),
    ],
)
@pytest.mark.filterwarnings("ignore:left out")
def test_how_y_is_taken(y, options, regression, said):
    found = snb.search(X[:150], y[:150], folds=3, show=False, **options)
    assert hasattr(found.best_, "classes_") != regression
    assert said in found.taken and bool(said) == bool(found.taken) and found.taken in str(found)


def test_many_whole_numbers_are_said_to_be_classes_before_the_search():
    with pytest.warns(snb.StreamnbWarning, match="its 50 whole numbers are classes; task='regression' predicts"):
        task_of(None, (np.ones((600, 1)), np.arange(600) % 50), [], None, False)


def test_any_estimator_and_regressions_that_do_not_choose_on_folds_take_part():
    forest = RandomForestRegressor(10, random_state=0)
    found = snb.search(X, AMOUNTS, models=[snb.Ridge(1e-9)], others={"forest": forest}, **QUIET)
    by_name = {one.name: one.scores["r2"] for one in found.candidates}
    assert by_name.keys() == {"Ridge(alpha=1e-09)", "forest"}
    for fold in range(3):
        inside = fold == FOLDS
        plain = LinearRegression().fit(X[~inside], AMOUNTS[~inside])
        assert by_name["Ridge(alpha=1e-09)"][fold] == pytest.approx(plain.score(X[inside], AMOUNTS[inside]))
        other = forest.fit(X[~inside], AMOUNTS[~inside])
        assert by_name["forest"][fold] == pytest.approx(other.score(X[inside], AMOUNTS[inside]))
    mixed = snb.search(
        X, AMOUNTS, models=[snb.Ridge(1e-9)], others={"no": DummyRegressor(strategy="quantile", quantile=0.9)}, **QUIET
    )
    *_, guesses, worse, _ = str(mixed).splitlines()
    assert guesses.split()[:4] == ["guesses", "by", "the", "mean"] and worse == "no: no better than guesses"


def test_rows_of_many_columns_are_fitted_by_conjugate_gradients():
    wide = sp.random_array((200, 5000), density=0.01, format="csr", rng=np.random.default_rng(1))
    found = snb.search(wide, np.asarray(wide[:, :50].sum(axis=1)) + 0.1, folds=2, show=False)
    assert {one.name.split("(")[0] for one in found.candidates} == {"Ridge"} and not found.left_out


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (AMOUNTS, {"families": ["gaussian"]}, "families=.* is for classes, and y is taken as numbers"),
        (AMOUNTS, {"models": [snb.SoftmaxRegressionCV()]}, "models has SoftmaxRegressionCV.* taken as numbers"),
        (FOLDS, {"models": [snb.ElasticNetCV()], "task": "classification"}, "as classes: .* task='regression'"),
        (AMOUNTS, {"scoring": "accuracy"}, "scoring='accuracy' is unknown; .* 'r2'"),
        (AMOUNTS, {"scoring": ["d2_poisson", "d2_gamma"]}, "two families"),
        (AMOUNTS, {"task": "numbers"}, "task='numbers' .* 'classification', 'regression'"),
        (np.full(300, 1.5), {}, "y is 1.5 in every row"),
        (np.full(300, 3), {}, "^y is 3 in every row, so there is nothing to predict"),
        (np.column_stack([AMOUNTS, AMOUNTS]), {"task": "regression"}, "y has 2 columns"),
        (AMOUNTS - 1.0, {"scoring": "neg_mean_absolute_error", "models": [snb.GammaRegressorCV()]}, "above 0"),
        (COUNTS, {"scoring": "d2_poisson", "models": [snb.ElasticNetCV()]}, "0 or below, whose Poisson deviance"),
        (-AMOUNTS, {"scoring": "d2_poisson"}, "is a Poisson deviance, and y has -"),
        (np.where(FOLDS, AMOUNTS, np.nan), {}, "NaN"),
    ],
)
def test_refusals(y, options, message):
    refuses((ValueError, TypeError), message, lambda: snb.search(X, y, **QUIET | options))


@pytest.mark.parametrize("stored", [False, True])
def test_counts_with_exposures_are_judged_as_by_models_fitted_without_each_fold(stored, tmp_path):
    rng, folds = np.random.default_rng(0), np.arange(600) % 3
    frame = pd.DataFrame({"town": rng.choice(["Ulm", "Jena"], 600), "age": rng.uniform(0.0, 2.0, 600)})
    frame["log_years"] = rng.normal(0.0, 0.7, 600)
    frame["claims"] = rng.poisson(np.exp(frame["log_years"] + frame["age"] + (frame["town"] == "Ulm"))).astype(float)
    frame.to_parquet(tmp_path / "claims.parquet")
    found = snb.search(
        tmp_path / "claims.parquet" if stored else frame, "claims", offset="log_years", folds=folds, show=False
    )
    scores = {judged.name: judged.scores["d2_poisson"] for judged in found.candidates}
    assert found.scorings == ["d2_poisson"] and len(scores) == 2 and found.best_.has_offset_
    point = next(judged.point for judged in found.candidates if judged.name == "PoissonRegressorCV()")
    for fold in range(3):
        others = snb.PoissonRegressor(**point, standardize=True)
        others.fit(frame[folds != fold], "claims", offset="log_years")
        expected = others.score(frame[folds == fold], "claims", offset="log_years")
        assert scores["PoissonRegressorCV()"][fold] == pytest.approx(expected, abs=2e-4)
        assert scores["AdditiveRegressor(loss='poisson')"][fold] == pytest.approx(expected, abs=0.1)
    wrong = {"d2_poisson' or": {"scoring": "r2"}, "of classes": {"task": "classification"}}
    wrong |= {"leave others out": {"others": {"a": found.best_}}, "models has none": {"models": [snb.Ridge()]}}
    for message, options in wrong.items():
        refuses(ValueError, message, snb.search, frame, "claims", offset="log_years", show=False, **options)
    with pytest.raises(ValueError, match="offset is for counts"):
        snb.search(frame.assign(claims=-0.5 * frame["age"]), "claims", offset="log_years", show=False)
