"""Multi-label: binary relevance from one scan equals one two-class fit a label."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score

import streamnb as snb

rng = np.random.default_rng(3)
Y = (rng.random((300, 4)) < [0.5, 0.2, 0.4, 0.3]).astype(int)
X = rng.poisson(0.7, (300, 12)).astype(float)
X[:, :4] += 2 * Y


def test_predictions_and_scores_of_each_label():
    model = snb.LinearNB("poisson").fit(X, Y)
    scores = model.decision_function(X)
    assert scores.shape == (300, 4)
    assert (model.predict(X) == (scores > 0)).all()
    np.testing.assert_allclose(np.log(model.predict_proba(X)), model.predict_log_proba(X))
    assert model.score(X, Y) == accuracy_score(Y, model.predict(X))
    assert model.score(X, sp.csr_array(Y)) == model.score(X, Y)
    lazy = model.predict(da.from_array(X, chunks=(70, 12)))
    assert lazy.shape == (300, 4)
    assert (lazy.compute() == model.predict(X)).all()
    assert model.score(da.from_array(X, chunks=(70, 12)), da.from_array(Y, chunks=(50, 4))) == model.score(X, Y)


def test_priors_of_labels():
    given = snb.solve(snb.scan(X, Y), "poisson", priors=[0.5, 0.1, 0.9, 0.2])[0]
    uniform = snb.solve(snb.scan(X, Y), "poisson", priors="uniform")[0]
    np.testing.assert_allclose(given.intercept_ - uniform.intercept_, np.log([1.0, 1 / 9, 9.0, 0.25]), atol=1e-12)
    with pytest.raises(ValueError, match="at most 1"):
        snb.solve(snb.scan(X, Y), priors=[0.5, 2.0, 0.1, 0.1])


@pytest.mark.slow
def test_two_thousand_labels():
    labels = sp.random_array((3000, 2000), density=0.002, format="csr", rng=rng)
    labels.data[:] = 1.0
    rows = sp.random_array((3000, 400), density=0.02, format="csr", rng=rng)
    rows.data[:] = 1.0
    with pytest.warns(snb.StreamnbWarning):  # some labels have no row
        model = snb.LinearNB("bernoulli", snb.L1(2.0, scale="score")).fit(rows, labels)
    seen = int(np.flatnonzero(np.asarray(labels.sum(axis=0)) > 3)[0])
    alone = snb.LinearNB("bernoulli", snb.L1(2.0, scale="score")).fit(rows, labels.toarray()[:, seen] > 0)
    np.testing.assert_allclose(model.coef_[seen], alone.coef_[0], rtol=1e-10)
    assert model.predict(rows).shape == (3000, 2000)


def test_what_takes_one_label_a_row_says_so():
    with pytest.raises(ValueError, match="MultinomialNB takes one label a row"):
        snb.MultinomialNB().fit(X, Y)
    with pytest.raises(ValueError, match="one label a row"):
        snb.LinearNB("poisson").fit(X, Y).score(X, Y[:, 0])
    with pytest.raises(ValueError, match="indicator of labels"):
        snb.LinearNB("poisson").fit(X, Y[:, 0]).score(X, Y)


def test_the_columns_of_a_frame_name_the_labels():
    names, later = ["sun", "rain", "snow", "fog"][: Y.shape[1]], Y[:, ::-1]
    frame = pd.DataFrame(Y, columns=names)
    model = snb.LinearNB("poisson").fit(X, frame)
    assert model.classes_.tolist() == names
    np.testing.assert_array_equal(model.predict(X), snb.LinearNB("poisson").fit(X, Y).predict(X))
    parts = snb.LinearNB("poisson").partial_fit(X[:30], frame[:30]).partial_fit(X[30:], Y[30:])
    assert parts.classes_.tolist() == names and np.array_equal(parts.coef_, model.coef_)
    space = snb.LabelSpaceCV(1, 1.0, folds=2, scoring="f1_micro").fit(X, frame)
    assert space.classes_.tolist() == names
    turned = pd.DataFrame(later, columns=names[::-1])
    stack = snb.StackedNB(["poisson", "bernoulli"]).fit(X, frame)
    for ask in (model.partial_fit, model.score, model.calibrate, stack.score, stack.calibrate, space.score):
        with pytest.raises(ValueError, match=r"y has the columns .* the labels are .*: give the columns in that order"):
            ask(X, turned)
    with pytest.raises(ValueError, match="give the columns in that order"):
        snb.RocDisplay.from_estimator(model, X, turned)
    other = pd.DataFrame(Y, columns=list("abcd")[: Y.shape[1]])
    for ask in (model.score, model.calibrate, snb.LinearNB("poisson").fit(X, frame).partial_fit):
        with pytest.warns(snb.StreamnbWarning, match=r"y has the columns \['a', .* labels of the model are \['sun'"):
            ask(X, other)
    numbered = snb.LinearNB("poisson").fit(X, Y)
    assert numbered.score(X, other) == numbered.score(X, Y)  # without a word
    assert snb.scan(X, frame, classes=list("abcd")[: Y.shape[1]]).classes.tolist() == list("abcd")[: Y.shape[1]]
    assert snb.scan(X, pd.DataFrame(Y)).classes.tolist() == list(range(Y.shape[1]))
