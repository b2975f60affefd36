"""The best of many classes: that of all scores, bit by bit, though few tiles of classes are looked through."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.models import linear
from streamnb.models.linear import TILE, ClassTiles
from streamnb.problem.schemes import Joint
from streamnb.rows.boundary import checked
from streamnb.rows.opening import opened

K, N_FEATURES = 330, 60  # the last tile has ten classes
RNG = np.random.default_rng(0)
RATES = (RNG.gamma(0.3, size=(33, N_FEATURES)) + 0.01).repeat(10, axis=0) * RNG.uniform(0.8, 1.25, (K, N_FEATURES))
WEIGHTS, INTERCEPT = np.log(RATES / RATES.sum(axis=1, keepdims=True)), np.log(RNG.dirichlet(np.ones(K)))
WEIGHTS[5], INTERCEPT[50] = WEIGHTS[300], INTERCEPT[40]
ROWS = sp.csr_array(RNG.poisson(10 * RATES[RNG.integers(0, K, 200)]).astype(np.float32))


def model_of(weights=WEIGHTS, intercept=INTERCEPT):
    return snb.LinearModel(np.arange(K), np.ascontiguousarray(weights.T), intercept, Joint())


def chunk_of(X):
    return checked(next(opened(X, labelled=False).blocks()))[0]


def test_the_first_of_equal_classes_is_chosen_in_whichever_tile():
    weights, intercept = WEIGHTS.copy(), np.zeros(K)
    weights[[7, 3 * TILE, 200]] = weights[299] + 0.1
    found = ClassTiles(np.ascontiguousarray(weights.T), intercept).top_classes(chunk_of(ROWS))
    assert np.array_equal(found, model_of(weights, intercept).decision_function(ROWS).argmax(axis=1))
    assert (found == 7).any() and not np.isin(found, [3 * TILE, 200, 299]).any()


@pytest.mark.parametrize("bounds", [linear.BOUNDS, 1000])
@pytest.mark.parametrize("step", [3, 70])
def test_labels_are_the_same_for_any_blocks(step, bounds, monkeypatch):
    monkeypatch.setattr(linear, "BOUNDS", bounds)
    model = model_of()
    found = np.concatenate([model.predict(ROWS[start : start + step]) for start in range(0, 200, step)])
    assert np.array_equal(found, model.decision_function(ROWS).argmax(axis=1))
    assert model.score(ROWS, found) == 1.0


def unsafe(weight=0.0, value=1.0):
    weights, X = WEIGHTS.copy(), ROWS.copy()
    weights[100, X.indices[0]], X.data[0] = weight, value
    return weights, X


@pytest.mark.parametrize(
    ("weights", "X"),
    [
        unsafe(value=-1.0),
        unsafe(-np.inf, value=0.0),  # their product is NaN
        unsafe(np.inf),
        (RNG.permuted(WEIGHTS, axis=1), ROWS),  # neighbours are not alike, so that bounds are high
    ],
    ids=["negative", "not a number", "infinite", "not alike"],
)
def test_all_classes_are_scored_where_bounds_are_unsafe_or_do_not_help(weights, X):
    tiles, model = ClassTiles(np.ascontiguousarray(weights.T), INTERCEPT), model_of(weights)
    assert tiles.top_classes(chunk_of(X)) is None
    with np.errstate(invalid="ignore"):
        assert np.array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_impossible_classes_are_never_chosen_and_rows_of_zeros_have_the_likeliest():
    weights, X = WEIGHTS.copy(), sp.vstack([ROWS, sp.csr_array((2, N_FEATURES), dtype=np.float32)], format="csr")
    weights[RNG.random(weights.shape) < 0.02] = -np.inf
    tiles, model = ClassTiles(np.ascontiguousarray(weights.T), INTERCEPT), model_of(weights)
    found = tiles.top_classes(chunk_of(X))
    assert np.array_equal(found, model.decision_function(X).argmax(axis=1))
    assert found[-2:].tolist() == 2 * [INTERCEPT.argmax()]


@pytest.mark.filterwarnings("ignore:y has .* distinct whole numbers")
def test_a_rule_decides_by_the_scores_of_all_classes():
    y = np.concatenate([np.arange(K), RNG.integers(0, K, 70)])
    X = sp.csr_array(RNG.poisson(2 * RATES[y]))
    model = snb.LinearNB("multinomial", threshold=0.5, reject_label=-1).fit(X, y)
    proba = model.predict_proba(X)
    expected = np.where(proba.max(axis=1) < 0.5, -1, proba.argmax(axis=1))
    assert np.array_equal(model.predict(X), expected) and 0 < np.mean(expected == -1) < 1
