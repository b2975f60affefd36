"""TreeNB: scikit-learn's contract, rows of any kind, parts of rows, files, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.multioutput import MultiOutputClassifier

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(4)
Y = np.array(["ash", "birch", "cedar"])[rng.integers(0, 3, 150)]
X = rng.integers(0, 3, (150, 5)).astype(float)
X[:, 1] = (X[:, 0] + (Y == "ash")) % 3
X[:, 4] = X[:, 3] * (Y == "birch")
WEIGHT = rng.choice([0.5, 1.0, 2.0], 150)
KINDS = [{}, {"family": "categorical"}, {"transform": snb.Bins(3)}]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_edges_and_pairs_have_the_names_of_columns(options):
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = snb.TreeNB(**options, significance_level=None).fit(frame, Y)
    assert set(named.edges_["parent"]) | set(named.edges_["child"]) == set("abcde")
    assert any(" & " in name for name in named.column_names_)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_refit_has_another_strength_or_class_weight(options):
    model = snb.TreeNB(**options).fit(X, Y, WEIGHT)
    assert model.strength_ == 5.0 and model.refit(strength=50.0).strength_ == 50.0
    balanced = model.refit(class_weight="balanced").class_count_
    np.testing.assert_allclose(balanced, balanced[0])


def test_one_column_is_naive_bayes_and_has_no_edges():
    model = snb.TreeNB(snb.L1(0.5)).fit(X[:, :1], Y)
    naive = snb.LinearNB("bernoulli", snb.L1(0.5)).fit(X[:, :1], Y)
    np.testing.assert_allclose(model.predict_proba(X[:, :1]), naive.predict_proba(X[:, :1]), atol=1e-12)
    assert model.edges_.empty and model.parents_.tolist() == [-1]
    assert snb.TreeNB(strength="evidence").fit(X[:, :1], Y).score(X[:, :1], Y) > 0.3


def test_few_rows_and_many_bins_leave_naive_bayes():
    wine, kind = load_wine(return_X_y=True)
    bins = snb.Bins(16)
    model = snb.TreeNB(transform=bins).fit(wine, kind)
    naive = snb.LinearNB("categorical", transform=bins).fit(wine, kind)
    assert model.edges_.empty and (model.parents_ == -1).all()
    np.testing.assert_allclose(model.predict_proba(wine), naive.predict_proba(wine), atol=1e-12)
    assert len(model.refit(significance_level=None).edges_) == 12
    model = snb.TreeNB(transform=snb.Bins(4)).fit(wine, kind)
    assert 2 < len(model.edges_) < 12
    with pytest.warns(snb.StreamnbWarning, match=r"weights of 178 rows add up to 1.78e-10, .* no feature has a parent"):
        assert model.fit(wine, kind, np.full(178, 1e-12)).edges_.empty
    with pytest.warns(snb.StreamnbWarning, match="no feature has a parent"):
        model.refit(class_weight=dict.fromkeys(range(3), 1e-3))
    snb.TreeNB(significance_level=None).fit(wine > 2, kind, np.full(178, 1e-12))  # which has all edges


def test_it_says_what_tells():
    model = snb.TreeNB(family="categorical").fit(pd.DataFrame(X, columns=list("abcde")), Y)
    told = model.explain(pd.DataFrame(X[:1], columns=list("abcde")))
    assert told["contribution"].sum() == pytest.approx(told.attrs["score"])
    assert told.attrs["class"] == model.predict(pd.DataFrame(X[:1], columns=list("abcde")))[0]
    assert told.attrs["score"] == pytest.approx(
        model.decision_function(pd.DataFrame(X[:1], columns=list("abcde"))).max()
    )
    best = model.top_features(3)
    assert best["feature"].isin(model.column_names_).all() and len(best) == 9
    assert len(model.contrast("ash", "birch", 2)) == 4


def test_a_class_that_is_not_there_yet_is_never_decided():
    model = snb.TreeNB().fit(X, Y, classes=["ash", "birch", "cedar", "yew"])
    np.testing.assert_allclose(model.predict_proba(X)[:, :3], snb.TreeNB().fit(X, Y).predict_proba(X), atol=1e-12)
    assert not model.predict_proba(X)[:, 3].any()
    first = snb.TreeNB().partial_fit(X[Y == "ash"], Y[Y == "ash"])
    refuses(ValueError, "one class only", lambda: first.predict(X))
    both = first.partial_fit(X[Y != "ash"], Y[Y != "ash"])
    np.testing.assert_array_equal(both.predict(X), snb.TreeNB().fit(X, Y).predict(X))


def test_wrong_rows_are_refused():
    with pytest.raises(ValueError, match=r"y holds one class only \(\['ash'\]\); TreeNB needs at least 2 classes"):
        snb.TreeNB().fit(X, np.full(150, "ash"))
    with pytest.raises(ValueError, match="row 3, column 2"):
        snb.TreeNB().fit(np.where(np.arange(750).reshape(150, 5) == 17, np.nan, X), Y)
    refuses(ValueError, "not a category number", lambda: snb.TreeNB(family="categorical").fit(X + 0.5, Y))
    with pytest.warns(snb.StreamnbWarning, match="no column varies: .* give transform=snb.Bins"):
        snb.TreeNB().fit(X + 1.0, Y)
    with pytest.raises(ValueError, match=r"TreeNB takes one label a row: sklearn.multioutput.MultiOutputClassifier\("):
        snb.TreeNB().fit(X, np.eye(2)[np.arange(150) % 2])
    several = MultiOutputClassifier(snb.TreeNB()).fit(X, np.column_stack([Y == "ash", X[:, 0] > 0]))
    np.testing.assert_array_equal(several.predict(X)[:, 0], snb.TreeNB().fit(X, Y == "ash").predict(X))
    with pytest.raises(MemoryError, match=r"2.0 MB.* memory_limit allows 10.0 kB; use max_features=") as refused:
        snb.TreeNB().fit(sp.random_array((150, 500), rng=rng), Y, memory_limit="10kB")
    assert "pooled" not in str(refused.value)
    refuses(ValueError, "read", lambda: snb.TreeNB(max_features=2).fit(iter([(X, Y)]), keep="no"))
    model = snb.TreeNB().fit(X, Y)
    refuses(ValueError, "max_features=2: what is done to rows is learned before the scan", model.refit, max_features=2)
    refuses(ValueError, r"binarize=1\.0 is applied in the scan", lambda: model.refit(binarize=1.0))
    refuses(ValueError, "5 features", lambda: model.predict(X[:, :3]))
