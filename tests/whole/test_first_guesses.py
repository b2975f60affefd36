"""Ten first guesses of somebody who knows scikit-learn: what its page "Getting Started" does, with estimators of ours.

Nine work as guessed; the tenth is an error that says what to type.
"""

import pickle
import re

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score
from sklearn.model_selection import RandomizedSearchCV, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import streamnb as snb

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
WHO = Y.map({0: "malignant", 1: "benign"}).rename("who")
X_TRAIN, X_TEST, Y_TRAIN, Y_TEST = train_test_split(X, WHO, random_state=0)


@pytest.fixture(scope="module")
def model():
    return snb.SoftmaxRegression(standardize=True).fit(X_TRAIN, Y_TRAIN)


def test_fit_and_predict(model):
    assert set(model.predict(X_TEST)) == {"benign", "malignant"}
    assert model.predict_proba(X_TEST).shape == (len(X_TEST), 2)


def test_scores(model):
    assert model.score(X_TEST, Y_TEST) == accuracy_score(Y_TEST, model.predict(X_TEST)) > 0.95


def test_pipeline():
    assert make_pipeline(StandardScaler(), snb.SoftmaxRegression()).fit(X_TRAIN, Y_TRAIN).score(X_TEST, Y_TEST) > 0.95


def test_cross_validation():
    found = cross_validate(snb.SoftmaxRegression(standardize=True), X, WHO, cv=3, scoring="roc_auc")
    assert found["test_score"].mean() > 0.98


def test_search_of_parameters():
    options = {"param_distributions": {"l2": [0.1, 1.0, 10.0]}, "n_iter": 2, "random_state": 0, "cv": 2}
    search = RandomizedSearchCV(snb.SoftmaxRegression(standardize=True), **options).fit(X_TRAIN, Y_TRAIN)
    assert search.best_params_["l2"] in (0.1, 1.0, 10.0) and search.score(X_TEST, Y_TEST) > 0.95


def test_a_data_frame_with_strings_and_the_name_of_a_column():
    frame = X.assign(town=["Jena", "Ulm", None] * 189 + ["Jena", "Ulm"], who=WHO)
    assert snb.SoftmaxRegression().fit(frame, "who").score(frame, "who") > 0.95


def test_weights_have_the_names_of_columns(model):
    assert model.coef_.shape == (1, 30) and list(model.feature_names_in_) == list(X.columns)


def test_importance_of_columns(model):
    assert permutation_importance(model, X_TEST, Y_TEST, n_repeats=2).importances_mean.shape == (30,)


def test_pickle(model):
    assert (pickle.loads(pickle.dumps(model)).predict(X_TEST) == model.predict(X_TEST)).all()


@pytest.mark.parametrize("guess", [{"C": 0.1}, {"max_iter": 100}, {"random_state": 0}, {"n_jobs": -1}])
def test_keywords_are_told(guess):
    with pytest.raises(TypeError, match=re.escape(next(iter(guess))) + ".*: (use|leave it out)"):
        snb.SoftmaxRegression(**guess)
