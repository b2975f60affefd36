"""search: the scores of each candidate are those it has alone, from two reads; nothing leaks; what is wrong is said."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_score

import streamnb as snb

rng = np.random.default_rng(0)
N = 90
Y = np.array(["ash", "birch", "cedar"])[np.arange(N) % 3]
X = rng.poisson(np.array([[1, 3, 1, 2, 1], [3, 1, 1, 2, 1], [2, 2, 3, 2, 1]])[np.arange(N) % 3]).astype(float)
QUIET = {"show": False, "folds": 3}


def by_name(found):
    return {judged.name: judged for judged in found.candidates}


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_each_setting_has_the_scores_that_it_has_alone():
    top, options = snb.TopK([1, 3]), {"smoothing": 0.1, "scheme": "ovr"}
    found = snb.search(
        sp.csr_array(X),
        Y,
        families=["multinomial", "gaussian"],
        transforms=[None, ("l1:10", "log1p")],
        normalize=[None, "l2"],
        idf=[False, True],
        smoothing=[0.1],
        penalties=[None, top],
        schemes=["ovr"],
        scoring=["accuracy", "roc_auc"],
        **QUIET,
    )
    judged = {name.replace(", scheme=ovr, smoothing=0.1", ""): one for name, one in by_name(found).items()}
    assert len(judged) == 32 and not found.left_out
    for name, of_setting in {
        "multinomial, normalize=l2": {"normalize": "l2", "penalty": "none"},
        f"gaussian, {top!r}, transform=('l1:10', 'log1p')": {
            "family": "gaussian",
            "penalty": top,
            "transform": ("l1:10", "log1p"),
        },
        f"multinomial, {top!r}, idf=True": {"idf": True, "penalty": top},
    }.items():
        alone = snb.LinearNBCV(**options, **of_setting, folds=3, scoring=["accuracy", "roc_auc"]).fit(X, Y)
        at = alone.cv_results_["params"].tolist().index(alone.best_params_)
        assert judged[name].point == alone.best_params_ and judged[name].mean("accuracy") == alone.best_score_
        assert judged[name].mean("roc_auc") == alone.cv_results_["mean_test_roc_auc"][at]
        assert judged[name].n_features == alone.cv_results_["n_features"][at]
    assert {one.reads for one in found.candidates} == {2} and found.report_.rows == 2 * N


def test_the_best_is_fitted_to_all_rows_without_a_further_read():
    opened = []

    def rows():
        opened.append(1)
        yield from ((X[i : i + 20], Y[i : i + 20]) for i in range(0, N, 20))

    found = snb.search(
        rows, families=["poisson"], penalties=[snb.L1([0.5, 2.0])], transforms=["sqrt"], keep="no", **QUIET
    )
    point = found.candidates[0].point
    alone = snb.LinearNB("poisson", snb.L1(point["l1"]), transform="sqrt").fit(X, Y)
    np.testing.assert_array_equal(found.best_.coef_, alone.coef_)
    assert len(opened) == 2 and found.best_.predict(X[:3]).tolist() == alone.predict(X[:3]).tolist()


def test_models_and_any_other_estimator_are_judged_on_the_same_folds():
    softmax, logistic = snb.SoftmaxRegressionCV([0.1, 10.0], max_passes=5), LogisticRegression(C=0.1)
    given = {"models": [softmax, snb.LinearNBCV("poisson")], "others": {"logistic": logistic}, "seed": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snb.StreamnbWarning)  # that reads were spent
        found = snb.search(X, Y, families=[], **given, **QUIET)
        by = found.scorings
        alone = snb.SoftmaxRegressionCV([0.1, 10.0], max_passes=5, folds=3, seed=3, scoring=by).fit(X, Y)
    judged = by_name(found)
    split = PredefinedSplit(snb.fold_numbers(N, 3, seed=3))
    for scoring, name in (("accuracy", "accuracy"), ("roc_auc_ovr", "roc_auc")):
        theirs = cross_val_score(logistic, X, Y, cv=split, scoring=scoring)
        np.testing.assert_allclose(judged["logistic"].scores[name], theirs, rtol=1e-12)
    ours = next(one for name, one in judged.items() if name.startswith("Softmax"))
    assert ours.mean("overall") == alone.best_score_ and ours.reads > 2
    assert len(judged) == 3 and softmax.folds == 5


def test_what_does_not_take_the_values_is_left_out_and_said_once():
    with pytest.warns(snb.StreamnbWarning, match="left out: ") as said:
        found = snb.search(
            X - 3.0, Y, families=["multinomial", "gaussian"], penalties=[None], transforms=[None, "sqrt"],
            others={"broken": LogisticRegression(C=-1.0)}, **QUIET,
        )  # fmt: skip
    assert len(said) == 1 and [one.name for one in found.candidates] == ["gaussian"]
    assert "search(families='multinomial')" in found.left_out["multinomial"]
    assert "should be at least 0" in found.left_out["multinomial"] and "C" in found.left_out["broken"]
    assert "transform='sqrt'" in found.left_out["gaussian, transform=sqrt"]


def test_a_family_of_categories_is_left_out_of_other_rows_with_the_row_that_it_cannot_have():
    halves = X.copy()
    halves[40, 1] = 0.5
    given = {"penalties": [None], "models": [], **QUIET}
    with pytest.warns(snb.StreamnbWarning, match="left out: categorical: X has at row 40, column 1"):
        found = snb.search(halves, Y, families=["categorical", "gaussian"], **given)
    assert [one.name for one in found.candidates] == ["gaussian"]
    with pytest.raises(ValueError, match=r"no candidate could be judged. categorical: X has at row 40, column 1"):
        snb.search(halves, Y, families=["categorical"], **given)


def test_scorings_that_need_probabilities_leave_out_what_has_none():
    given = {"schemes": ["joint", "ovo"], "penalties": [None], "families": ["poisson"], "scoring": "neg_log_loss"}
    with pytest.warns(snb.StreamnbWarning, match="left_out has 1 more"):
        found = snb.search(X, Y, **given, models=[snb.MarginClassifierCV()], **QUIET)
    assert [one.name for one in found.candidates] == ["poisson"]
    assert all("needs probabilities" in why for why in found.left_out.values())


def test_the_table_says_beforehand_what_is_read(capsys):
    snb.search(X, Y, penalties=[None], families=["poisson"], transforms=[None, "log1p"], folds=3, show=True)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "2 settings of naive Bayes, rows prepared in 2 ways: 2 reads"
    scorings = ["overall", "95", "%", "accuracy", "roc_auc", "neg_log_loss"]
    assert said[1].split() == [*scorings, "features", "folds", "reads", "seconds"] and len(said) == 6
    assert said[4].startswith("guesses by frequency")


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"families": []}, ValueError, r"families=\[\] is empty; .*give models= or others="),
        ({"models": [snb.CrammerSingerSVMCV([0.001, -1])]}, ValueError, r"has CrammerSinger.*: C\[1\]=-1 should be"),
        ({"families": "poisson"}, TypeError, "families='poisson' should be a list of candidates"),
        ({"families": ["weibull"]}, ValueError, "family='weibull' is unknown; it should be one of"),
        ({"transforms": ["log2"]}, ValueError, "transform='log2' is unknown"),
        ({"encodings": []}, ValueError, r"encodings=\[\] is empty"),
        ({"encodings": {"bins": 8}}, TypeError, "should be a list of candidates"),
        ({"encodings": [8]}, TypeError, "encodings has 8; each should be None for rows as they are, a dict"),
        ({"encodings": [None, None]}, ValueError, "encodings has None twice"),
        ({"transforms": ("l1", "log1p")}, TypeError, "transforms=.* should be a list of candidates"),
        ({"normalize": ["l3"]}, ValueError, "normalize='l3' is unknown; it should be one of None, 'l1', 'l2'"),
        ({"schemes": ["reference"]}, ValueError, "schemes='reference' is unknown"),
        ({"penalties": ["L1"]}, TypeError, "penalties='L1' is unknown"),
        ({"smoothing": [1.0, 1.0]}, ValueError, "smoothing has 1.0 twice"),
        ({"models": [snb.SoftmaxRegression()]}, TypeError, "models has SoftmaxRegression"),
        ({"models": snb.SoftmaxRegressionCV()}, TypeError, "should be a list"),
        ({"others": [LogisticRegression()]}, TypeError, "should be a dict"),
        ({"others": {"a": LogisticRegression}}, TypeError, "should be an estimator"),
        ({"budget": [600]}, TypeError, "budget=.600. is of type list; it should be seconds such as 600 or '600s'"),
        ({"budget": "20 bytes"}, ValueError, "budget='20 bytes' is not a budget; it should be seconds"),
        (
            {"budget": "1 read"},
            ValueError,
            "too small for one candidate, in reads: naive Bayes in 7 settings takes 2, ",
        ),
        ({"positive": "typo"}, ValueError, r"positive=.typo. should be one of"),
        ({"budget": "0.0000001s"}, ValueError, "too small for one candidate: naive Bayes in 7 settings took"),
        ({"scoring": "auc"}, ValueError, "scoring='auc' is unknown"),
        ({"folds": 1}, ValueError, "folds=1"),
        ({"families": [snb.Beta()]}, ValueError, r"no candidate could be judged. .*Beta\(\): X has"),
        ({"families": ["poisson"], "smoothing": [-1.0]}, ValueError, "^smoothing=-1.0 should be"),
        ({"families": [snb.Gaussian(covariance="full")], "memory_limit": 1000}, MemoryError, "memory_limit"),
    ],
)
def test_what_is_wrong_is_said(options, kind, words):
    with pytest.raises(kind, match=words):
        snb.search(X, Y, **{**QUIET, **options})


def test_seconds_are_those_of_all_that_was_done():
    began = time.perf_counter()
    found = snb.search(X, Y, families=["gaussian"], penalties=[None], models=[snb.AdditiveClassifier(0)], **QUIET)
    spent, seconds = time.perf_counter() - began, found.results_.set_index("candidate")["seconds"]
    assert 0.2 * spent < seconds.sum() <= found.report_.seconds <= spent
    began = time.perf_counter()
    model = snb.AdditiveClassifier(0).fit(X, Y)
    spent = time.perf_counter() - began
    assert 0.2 * spent < model.report_.seconds <= spent


def test_columns_of_distinct_values_are_told_once_and_are_not_said_to_have_one_value():
    frame = pd.DataFrame({"key": [f"k{i}" for i in range(len(Y))], "x": X[:, 0]})
    with pytest.warns(snb.StreamnbWarning, match="have a different value in each") as said:
        snb.search(frame, Y, families=["auto"], models=[snb.AdditiveClassifier(0)], penalties=[None], **QUIET)
    assert len(said) == 1
    assert said[0].filename == __file__


def test_candidates_without_a_place_for_missing_values_are_left_out():
    with pytest.warns(snb.StreamnbWarning, match="left out: .* NaN"):
        found = snb.search(np.where(X > 1.0, np.nan, X), Y, **QUIET)
    assert {one.name for one in found.candidates} == {"AdditiveClassifier()"}


def test_a_penalty_that_solving_refuses_is_left_out():
    with pytest.warns(snb.StreamnbWarning, match="left out"):
        found = snb.search(X, Y == "ash", families=["poisson"], penalties=[None, snb.Decorrelation(0.1)], **QUIET)
    assert len(found.candidates) == len(found.left_out) == 1


def test_a_fold_without_a_class_has_no_score_where_columns_are_learned_of_the_other_rows():
    y = np.arange(40) % 2
    folds = np.where(y == 1, 1 + np.arange(40) // 2 % 2, np.arange(40) // 2 % 3)
    asked = {"families": ["gaussian"], "penalties": [None], "transforms": [None, "quantile_normal"], "models": []}
    with pytest.warns(snb.StreamnbWarning, match=r"1 of 3 folds lack rows of \[1\]"):
        found = snb.search(X[:40], y, folds=folds, scoring="roc_auc", show=False, **asked)
    assert len(found.candidates) == 2 and not found.left_out
    for judged in found.candidates:
        np.testing.assert_array_equal(np.isnan(judged.scores["roc_auc"]), [True, False, False])


def test_functions_of_users_are_not_asked_about_guesses():
    def fussy(evaluation):
        if evaluation.accuracy() < 0.5:
            raise ZeroDivisionError
        return evaluation.accuracy()

    x = np.random.default_rng(0).normal(size=(90, 3))
    how = {"families": ["gaussian"], "penalties": [None], "models": [], "show": False}
    found = snb.search(x, np.argmax(x, axis=1), scoring=[fussy, "accuracy"], **how)
    assert found.guesses.keys() == {"accuracy"}


def test_groups_have_a_name_beside_weights_of_any_kind():
    frame, weight, groups = pd.DataFrame(X, columns=[*"abcde"]), 1.0 + np.arange(N) % 2, np.arange(N) % 11
    asked = {"families": ["poisson"], "penalties": [None], "scoring": "accuracy", **QUIET}
    of_arrays = snb.search(frame, Y, groups=groups, sample_weight=weight, **asked)
    named = frame.assign(site=groups, seen=weight)
    for X_given, given in ((named[[*frame, "site"]], weight), (named, "seen")):
        found = snb.search(X_given, Y, groups="site", sample_weight=given, **asked)
        assert found.best_score_ == of_arrays.best_score_ and found.best_.n_features_in_ == 5
