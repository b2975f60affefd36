"""What is trained on: features that rows have, rows that are made once, and the same weights as of rows at hand."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb

rng = np.random.default_rng(7)
TEXTS = [" ".join(rng.choice(["ash", "birch", "cedar", "larch", "pine"], 6)) for _ in range(40)]
Y = np.arange(40) % 3
FEW = {"max_passes": 3, "tol": 0.0}


@pytest.mark.filterwarnings("ignore:max_passes")
@pytest.mark.parametrize("room", ["1GB", "100kB"])
def test_texts_are_hashed_once_where_there_is_room_to_the_same_weights(room, monkeypatch):
    source, made = snb.text(TEXTS, y=Y, n_features=64), []
    step = source._step
    monkeypatch.setattr(source, "_step", lambda raw, first: made.append(first) or step(raw, first))
    model = snb.SoftmaxRegression(idf=True, **FEW).fit(source, memory_limit=room)
    X = snb.HashedText(n_features=64).transform(TEXTS)
    np.testing.assert_array_equal(model.coef_, snb.SoftmaxRegression(idf=True, **FEW).fit(X, Y).coef_)
    assert len(made) == 1 or room == "100kB"


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_columns_that_are_0_change_nothing(form):
    X = rng.poisson(1.0, (40, 5)).astype(float)
    wide = np.zeros((40, 9))
    wide[:, [1, 2, 4, 7, 8]] = X
    both = {"idf": True, "normalize": "l2", "transform": "log1p", **FEW}
    cases = [(kind, both) for kind in (snb.SoftmaxRegression, snb.LeastSquaresClassifier, snb.CrammerSingerSVM)]
    cases += [(snb.MarginClassifier, FEW | asked) for asked in ({"calibration": "sigmoid", "idf": True}, both)]
    folds = {"folds": 2, "scoring": "accuracy", "max_passes": 3}
    cases += [(snb.SoftmaxRegressionCV, folds | asked) for asked in ({"idf": True}, both)]
    cases += [(snb.CrammerSingerSVMCV, {"C": [0.1, 1.0], **folds})]
    for kind, options in cases if form is sp.csr_array else cases[:3]:
        found, few = kind(**options).fit(form(wide), Y), kind(**options).fit(form(X), Y)
        np.testing.assert_array_equal(found.coef_[:, [1, 2, 4, 7, 8]], few.coef_)
        assert found.coef_.shape == (3, 9) and not found.coef_[:, [0, 3, 5, 6]].any()
        assert getattr(found, "best_", None) == getattr(few, "best_", None)
    onward = snb.SoftmaxRegression(start=snb.solve(snb.scan(wide, Y), "gaussian")[0], **FEW).fit(form(wide), Y)
    assert not onward.coef_[:, 0].any()


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize("kind", [snb.CrammerSingerSVM, snb.SoftmaxRegressionCV, snb.LeastSquaresClassifier])
def test_rows_of_nothing_have_no_weights(kind):
    for X in (np.zeros((40, 5)), sp.csr_array((40, 5))):
        model = kind(max_passes=3).fit(X, Y)
        assert model.coef_.shape == (3, 5) and not model.coef_.any() and set(model.predict(X)) <= {0, 1, 2}
