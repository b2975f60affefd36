"""Whoever guesses a name or a keyword of scikit-learn is told what to type instead, and that works."""

import re

import numpy as np
import pytest

import streamnb as snb
from streamnb.core.guesses import NAMES, missing
from tests.support.refusals import refuses


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("LogisticRegression", r"snb.SoftmaxRegression\(l2=1/C\)"),
        ("read_parquet", "pass the path itself to fit"),
        ("cross_val_score", "snb.search"),
        ("StandardScaler", "standardize=True"),
        ("save", r"model.save\(path\)"),
    ],
)
def test_names(name, instead):
    refuses(AttributeError, f"module 'streamnb' has no attribute '{name}': .*{instead}", lambda: getattr(snb, name))


def test_hints_name_what_exists_and_no_public_name_is_hidden():
    assert not set(NAMES) & set(snb.__all__)
    for hint in NAMES.values():
        for name in re.findall(r"snb\.(\w+)", hint):
            assert hasattr(snb, name)


@pytest.mark.parametrize(
    ("estimator", "keyword", "instead"),
    [
        (snb.SoftmaxRegression, "C", "use l2=1/C"),
        (snb.SoftmaxRegressionCV, "cv", "use folds="),
        (snb.SoftmaxRegressionCV, "random_state", "use seed="),
        (snb.SoftmaxRegression, "random_state", "leave it out"),
        (snb.SoftmaxRegression, "max_iter", "use max_passes="),
        (snb.SoftmaxRegression, "penalty", "use l1= and l2="),
        (snb.LinearNB, "alpha", "use smoothing="),
        (snb.LinearNB, "n_jobs", "use n_threads= of fit"),
        (snb.ElasticNetCV, "verbose", "use progress=True of fit"),
        (snb.Ridge, "cv", "$"),  # has no folds
        (snb.AdditiveClassifier, "class_weight", "use sample_weight= of fit"),
        (snb.SoftmaxRegression, "warm_start", "use start=, a fitted model"),
        (snb.GaussianNB, "warm_start", "partial_fit adds rows"),
    ],
)
def test_keywords_of_constructors(estimator, keyword, instead):
    told = rf"{estimator.__name__}.__init__\(\) got an unexpected keyword argument '{keyword}'"
    refuses(TypeError, f"{told}.*{instead}", lambda: estimator(**{keyword: 1}))


@pytest.mark.parametrize("estimator", [snb.LinearNB, snb.SoftmaxRegression, snb.SoftmaxRegressionCV, snb.Ridge])
@pytest.mark.parametrize(("keyword", "instead"), [("target", "y="), ("n_jobs", "n_threads="), ("verbose", "progress=")])
def test_keywords_of_fit(estimator, keyword, instead):
    with pytest.raises(TypeError, match=rf"fit\(\) got an unexpected keyword argument '{keyword}': use {instead}"):
        estimator().fit([[1.0], [2.0]], **{keyword: 1})


def test_words_of_others_for_columns_exposures_and_texts():
    for call in (snb.search, snb.compare, snb.Ridge().fit, snb.AdditiveClassifier().fit):
        refuses(TypeError, r"argument 'drop': use X=snb.table\(X, y, drop=", call, [[1.0], [2.0]], [0, 1], drop=["id"])
    for keyword, instead in {"cv": "folds", "random_state": "seed", "n_jobs": "n_threads", "n_iter": "budget"}.items():
        told = rf"^search\(\) got an unexpected keyword argument '{keyword}': use {instead}=$"
        refuses(TypeError, told, snb.search, [[1.0], [2.0]], [0, 1], **{keyword: 1})
    refuses(TypeError, "'ignore': use X=snb.table", snb.search, [[1.0], [2.0]], [0, 1], ignore=["id"])
    refuses(TypeError, "'exposure': use offset=np.log", snb.PoissonRegressor().fit, [[1]], [1], exposure=[1])
    refuses(TypeError, r"'ngram_range': use words=\(1, 2\)", snb.text, ["a"], ngram_range=(1, 2))


def test_attributes_of_a_search_are_told_and_exist():
    X, y = [[2, 0], [3, 1], [1, 4], [0, 5]] * 3, ["cat", "cat", "dog", "dog"] * 3
    found = snb.search(X, y, families=["poisson"], penalties=[None], folds=2, scoring="accuracy", show=False)
    for name in ("best_estimator_", "best_params_", "leaderboard_", "predict", "predict_proba", "score", "evaluate"):
        with pytest.raises(AttributeError, match=f"'Search' object has no attribute '{name}': use ") as told:
            getattr(found, name)
        eval("found." + str(told.value).split(": use ")[1])
    assert not hasattr(found, "nothing")
    assert found.best_score_ == found.results_["accuracy"][0] == 1.0


@pytest.mark.parametrize(
    ("model", "name", "instead"),
    [
        (snb.SoftmaxRegression(), "feature_importances_", r"top_features\(\).*permutation_importance"),
        (snb.Ridge(), "feature_importances_", "use coef_ for the weights"),
        (snb.Ridge(), "plot", "use snb.report"),
        (snb.AdditiveClassifier(), "plot", "use snb.AdditiveDisplay"),
        (snb.LinearNB(), "report", r"use snb.report\(model, X, y, path\)"),
        (snb.LinearNB(), "tune_threshold", r"use model.set_threshold"),
        (snb.Ridge(), "update", "use partial_fit"),
        (snb.GaussianNB(), "plot", r"use snb.TellingFeaturesDisplay.from_estimator\(model\)"),
    ],
)
def test_attributes_of_models(model, name, instead):
    refuses(AttributeError, f"^{type(model).__name__} has no '{name}': .*{instead}", lambda: getattr(model, name))
    assert not hasattr(model, name)


def test_errors_of_properties_and_of_other_names_stay_as_they_are():
    with pytest.raises(AttributeError, match="has no 'partial_fit': its weights follow from reading all rows"):
        snb.SoftmaxRegression().partial_fit  # noqa: B018
    refuses(AttributeError, r"'LinearNB' object has no attribute 'nothing'$", lambda: snb.LinearNB().nothing)
    refuses(AttributeError, r"has no attribute 'nothing'$", lambda: snb.nothing)
    gone = AttributeError("gone")
    assert missing(gone) is gone


def test_the_chosen_point_has_its_old_name_with_a_warning():
    X, y = np.arange(40.0)[:, None] % 7, np.arange(40) % 2
    for model in (snb.LinearNBCV(penalty=snb.L1([0.1, 1.0]), folds=2), snb.SoftmaxRegressionCV([0.1, 1.0], folds=2)):
        assert not hasattr(model, "best_")
        model.fit(X, y)
        with pytest.warns(FutureWarning, match="best_ is named best_params_ now"):
            assert model.best_ == model.best_params_
