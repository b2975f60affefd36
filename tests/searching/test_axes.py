"""What a search tries: every valid combination of the lists, in words, and defaults that suit the rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC

import streamnb as snb
from streamnb.evaluation.scorers import as_scorer
from streamnb.rows.opening import opened
from streamnb.searching.axes import Encoded, checked, default_candidates, default_transforms, is_sparse, settings_of
from streamnb.searching.rounds import Judging


def settings(scoring="accuracy", **lists):
    return settings_of(checked(lists)[0], Judging(5, 5, None, 0, scoring, as_scorer(scoring)), {})


def test_the_settings_are_the_product_of_the_lists():
    found, _ = settings(transforms=[None, ("l1", "sqrt")], idf=[True], smoothing=[0.5, 2.0], families=["poisson"])
    assert len(found) == 8 and found[-1].rows.transform == ("l1", "sqrt")
    assert found[-1].options == {"scheme": "joint", "smoothing": 2.0, "idf": True}
    assert found[-1].name.endswith("smoothing=2.0, transform=('l1', 'sqrt'), idf=True")


@pytest.mark.parametrize("covariance", ["own", "full"])
def test_what_takes_neither_penalty_nor_smoothing_stands_there_once(covariance):
    family = snb.Gaussian(covariance=covariance)
    found, _ = settings(families=[family], smoothing=[0.5, 2.0], penalties=[snb.L1(0.1), snb.L2(1.0)])
    assert len(found) == 1 and found[0].penalty is None


def test_columns_of_mixed_families_may_have_names():
    mixed = snb.Mixed({"poisson": ["a"], "gaussian": ...})
    (found,), _ = settings(families=[mixed], penalties=[None])
    assert found.on(np.array(["b", "a"], object), None).family.parts(2)[0][1] == slice(1, 2)


def candidates_of(X):
    return default_candidates(Encoded(opened(X, labelled=False), (X, None, None)))


def test_rows_of_each_kind_have_candidates_that_suit_them():
    few, wide = (candidates_of(np.ones((4, n)))[0][0]["families"] for n in (3, 400))
    assert len(few) == 4 == 1 + len(wide)
    kinds = [[getattr(model, "standardize", None) for model in candidates_of(np.ones((4, n)))[1]] for n in (3, 400)]
    assert kinds == [[True, None], [True, False]]  # the second is an additive model, or of rows of length 1
    assert candidates_of(np.ones((4, 400)))[1][1].normalize == "l2"
    axes, models = candidates_of(sp.csr_array(np.eye(6)))
    assert {name for some in axes for name in some["families"]} == {"multinomial", "bernoulli"}
    assert [model.idf for model in models] == [True, False] and models[1].l2 == [10.0, 1.0]
    ragged = candidates_of(sp.csr_array(np.triu(np.ones((9, 40)), 36)))[1]
    assert [model.idf for model in ragged] == [True, False] and ragged[1].l2 == [1.0]
    for counts in (sp.csr_array(2.0 * np.triu(np.ones((9, 40)), 36)), snb.text(["ash birch"], n_features=2**18)):
        encoded = Encoded(opened(counts, labelled=False), (counts, None, None))
        assert [model.idf for model in default_candidates(encoded)[1]] == [True]
    for values in (2.5, -2.0):
        assert [model.idf for model in candidates_of(sp.csr_array(values * np.eye(6)))[1]] == [True, False]
    assert default_transforms(Encoded(opened(np.ones((4, 3)), labelled=False), (None, None, None))) == [
        "quantile_normal"
    ]
    assert not default_transforms(Encoded(snb.text(["ash birch"], n_features=16), (None, None, None)))
    assert not is_sparse(opened(lambda: iter([np.ones((4, 3))]), labelled=False))
    assert is_sparse(snb.text(["ash birch"], n_features=2**18))


def test_what_is_asked_for_takes_the_place_of_what_is_usual():
    X, y = load_iris(return_X_y=True)
    X = sp.csr_array(np.where(X > 5.0, np.round(X), 0.0))
    found = snb.search(X, y, models=[], folds=3, show=False)
    words = [one.words for one in found.candidates]
    assert len(words) == 3 and {one["smoothing"] for one in words} == {"0.1", "0.01"}
    assert [one["idf"] for one in words].count("True") == 1
    found = snb.search(X, y, models=[], smoothing=[1.0], penalties=[None], idf=[False], folds=3, show=False)
    assert {(one.words["smoothing"], one.words["idf"]) for one in found.candidates} == {("1.0", "False")}


def test_a_blind_search_finds_what_suits_flowers():
    X, y = load_iris(return_X_y=True)
    found = snb.search(X, y, folds=3, show=False)
    assert found.candidates[-1].name == "AdditiveClassifier()" and len(found.candidates) == 12
    assert found.scorings == ["overall", "accuracy", "roc_auc", "neg_log_loss"]
    assert found.ranked[0].mean("accuracy") > 0.95 and found.best_.score(X, y) > 0.97


def test_sparse_rows_are_judged_before_probabilities_are_calibrated():
    X, y = load_iris(return_X_y=True)
    X = sp.csr_array(np.where(X > 5.0, np.round(X), 0.0))
    assert snb.search(X, y, folds=3, show=False).scorings[0] == "accuracy_and_roc_auc"
    assert snb.search(X, y, families=["poisson"], folds=3, show=False).scorings[0] == "overall"


def test_tables_with_numbers_are_encoded_in_two_ways():
    frame = pd.DataFrame({"port": ["oslo", "bern"] * 30, "miles": np.arange(60.0)})
    y = np.where(np.arange(60) % 7 < 3, "late", "on time")
    ways = {}
    for name, X in (("numbers", frame), ("categories", frame[["port"]])):
        ways[name] = {one.words.get("encoding") for one in snb.search(X, y, models=[], show=False).candidates}
    assert ways == {"numbers": {"as usual", "bins=None"}, "categories": {"as usual"}}


def test_candidates_without_probabilities_are_judged_by_decisions_and_ranking():
    X, y = load_iris(return_X_y=True)
    how = {"families": [], "folds": 3, "show": False}
    assert snb.search(X, y, models=[snb.MarginClassifierCV([1.0])], **how).scorings[0] == "accuracy_and_roc_auc"
    assert snb.search(X, y, models=[snb.SoftmaxRegressionCV([1.0])], **how).scorings[0] == "overall"
    assert snb.search(X, y, others={"svm": LinearSVC()}, **how).scorings[0] == "accuracy_and_roc_auc"
