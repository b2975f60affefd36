"""Estimators of columns of several families: rows of any kind, files, columns by name."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from tests.support.mixed_rows import BERNOULLI, COUNTS, GAUSSIAN, MIXED, rows


@pytest.mark.parametrize("binarize", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("scheme", ["joint", "ovo"])
def test_sparse_rows_are_dense_rows(binarize, scheme):
    """Functions of x apply in their own columns, relative to an absent value where it has one."""
    x, y = rows(8)
    mixed = snb.Mixed({snb.Laplace(0.7): GAUSSIAN, "bernoulli": BERNOULLI, "multinomial": COUNTS, "poisson": ...})
    dense, sparse = (
        snb.LinearNB(mixed, snb.L1(0.3), scheme=scheme, binarize=binarize).fit(make(x), y)
        for make in (np.asarray, sp.csr_array)
    )
    assert np.array_equal(dense.coef_, sparse.coef_)
    margins = dense._model.margins(*as_chunk(x))
    statistic = x.copy()
    statistic[:, GAUSSIAN] = np.abs(x[:, GAUSSIAN] - 0.7)
    statistic[:, BERNOULLI] = x[:, BERNOULLI] > binarize
    np.testing.assert_allclose(margins, statistic @ dense.coef_.T + dense.intercept_, rtol=1e-9, atol=1e-9)
    for model in (sparse, clone(sparse).fit(sp.csr_array(x), y).sparsify()):
        np.testing.assert_allclose(model._model.margins(*as_chunk(sp.csr_array(x))), margins, rtol=1e-9, atol=1e-9)


def test_a_family_may_stand_for_several_groups_of_columns(tmp_path):
    x, y = rows(18)
    frame = pd.DataFrame(np.abs(x), columns=list("abcdefghi"))
    family = snb.Mixed([("multinomial", ["a", "c"]), (snb.Multinomial(), ["b", "h", "i"]), ("poisson", ...)])
    model = snb.LinearNB(family, snb.L1(0.4)).fit(frame, y)
    groups = [("multinomial", [0, 2]), ("multinomial", [1, 7, 8]), ("poisson", [3, 4, 5, 6])]
    stats, parts = snb.scan(frame, y), [snb.scan(frame.iloc[:, columns], y) for _, columns in groups]
    assert np.array_equal(model.coef_, snb.solve(stats, snb.Mixed(groups), snb.L1(0.4))[0].coef_)
    for (name, columns), part in zip(groups, parts, strict=True):
        assert np.array_equal(model.coef_[:, columns], snb.solve(part, name, snb.L1(0.4))[0].coef_)
    together = snb.Mixed({"multinomial": [0, 1, 2, 7, 8], "poisson": ...})
    assert not np.array_equal(model.coef_, snb.solve(stats, together, snb.L1(0.4))[0].coef_)
    assert repr(snb.Mixed(groups)).startswith("Mixed([(Multinomial(), [0, 2]), (Multinomial(), [1, 7, 8]), ")

    model.save(tmp_path / "model.snb")
    for other in (snb.load(tmp_path / "model.snb"), pickle.loads(pickle.dumps(model)), clone(model).fit(frame, y)):
        assert other.family == model.family and repr(other.family) == repr(model.family)
        assert np.array_equal(other.decision_function(frame), model.decision_function(frame))
    assert np.array_equal(snb.load(tmp_path / "model.snb").refit(penalty=None).coef_, model.refit(penalty=None).coef_)


@pytest.mark.parametrize("make", [pd.DataFrame, lambda x, columns: pd.DataFrame(x, columns=columns).iloc[:, ::-1]])
def test_columns_by_name(make):
    x, y = rows(10)
    names = np.array([f"column {j}" for j in range(9)])
    frame = make(x, columns=names)
    named = snb.Mixed({"gaussian": names[GAUSSIAN].tolist(), "bernoulli": names[BERNOULLI], "poisson": ...})
    model = snb.LinearNB(named, snb.L1(0.4)).fit(frame, y)
    numbered = snb.LinearNB(snb.Mixed({"gaussian": GAUSSIAN, "bernoulli": BERNOULLI, "poisson": ...}), snb.L1(0.4))
    np.testing.assert_allclose(model.predict_proba(frame), numbered.fit(x, y).predict_proba(x), rtol=1e-10)
    halves = clone(model).partial_fit(frame[:70], y[:70]).partial_fit(frame[70:], y[70:])
    assert np.array_equal(halves.coef_, model.coef_)
    assert np.array_equal(model.refit(penalty=None).coef_, clone(model).fit(frame, y).coef_)
    with pytest.raises(ValueError, match=r"Bernoulli\(\) name 'height', which X does not have.*'column"):
        snb.LinearNB(snb.Mixed({"bernoulli": "height", "poisson": ...})).fit(frame, y)


def test_names_need_a_data_frame():
    x, y = rows(11)
    named = snb.Mixed({"gaussian": ["a", "b", "f", "i"], "poisson": ...})
    with pytest.raises(ValueError, match=r"named \('a'\), but X has no names.*data frame"):
        snb.LinearNB(named).fit(x, y)
    with pytest.raises(ValueError, match=r"named \('a'\), but X has no names.*data frame.*family\.named\(names\)"):
        snb.solve(snb.scan(x, y), named)
    solved = snb.solve(snb.scan(x, y), named.named(list("abcdefghi")))[0]
    numbered = snb.solve(snb.scan(x, y), snb.Mixed({"gaussian": [0, 1, 5, 8], "poisson": ...}))[0]
    assert np.array_equal(solved.coef_, numbered.coef_)


def test_features_are_ranked_over_all_columns():
    x, y = rows(12)
    ranking = snb.rank_features(snb.scan(x, y), by="score", family=MIXED)
    assert np.array_equal(ranking.scores, snb.solve(snb.scan(x, y), MIXED).breakpoints("score"))
    selector = snb.FeatureSelector("score", 3, family=MIXED).fit(x, y)
    assert np.array_equal(np.flatnonzero(selector.get_support()), np.sort(ranking.ranking[:3]))


def test_predictive_distributions_are_refused():
    x, y = rows(13)
    with pytest.raises(ValueError, match=r"predictive=True is for the families.*not 'mixed'"):
        snb.LinearNB(MIXED).fit(x, y).predict(x, predictive=True)
