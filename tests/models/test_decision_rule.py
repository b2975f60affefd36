"""Decisions that are not the likeliest class: losses, rejected rows, intercepts that balance two classes."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.metrics import recall_score

import streamnb as snb
from tests.support.strategies import LABELS, example, labelled

SCHEMES = [{"scheme": "joint"}, {"scheme": "ovr"}, {"scheme": "reference", "reference": 0}]


def fitted(kind="int", **options):
    rows = example(kind)
    return snb.LinearNB("poisson", snb.L1(0.2), **options).fit(rows.x, rows.y), rows


# ------------------------------------------------------------------------------------------------------ losses


@pytest.mark.parametrize("options", SCHEMES, ids=str)
@given(arrays(np.float64, (3, 3), elements=st.integers(-4, 9).map(float)))
def test_decisions_have_the_least_expected_loss(options, loss):
    """argmin_s sum_y L[y, s] P(y | x), of equal ones the first, one row and one class at a time."""
    model, rows = fitted(**options)
    probabilities = model.predict_proba(rows.x)
    found = model.refit(loss=loss).predict(rows.x)
    np.testing.assert_array_equal(model.predict_proba(rows.x), probabilities)
    for label, p in zip(found, probabilities):
        expected = np.array([sum(loss[y, s] * p[y] for y in range(3)) for s in range(3)])
        chosen = model.classes_.tolist().index(label)
        assert expected[chosen] <= expected.min() + 1e-12
        assert not (expected[:chosen] < expected[chosen] - 1e-12).any()


def test_a_scheme_without_probabilities_has_no_losses():
    model, rows = fitted()
    for options, name in (({"loss": 1 - np.eye(3)}, "loss"), ({"threshold": 0.5, "reject_label": 9}, "threshold")):
        with pytest.raises(ValueError, match=f"{name}= needs class probabilities, which scheme='ovo'"):
            model.refit(scheme="ovo", **options)
    two = snb.LinearNB(scheme="ovo", loss=[[0, 9], [1, 0]]).fit(rows.x, rows.y == 0)
    assert hasattr(two, "predict_proba") and len(two.predict(rows.x)) == len(rows)
    indicator = np.eye(3)[np.unique(rows.y, return_inverse=True)[1]]
    with pytest.raises(ValueError, match="one label a row"):
        snb.LinearNB(loss=1 - np.eye(3)).fit(rows.x, indicator)


# ------------------------------------------------------------------------------------------------------ reject


@pytest.mark.parametrize("options", SCHEMES, ids=str)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_unsure_rows_are_rejected(options, share):
    model, rows = fitted(**options)
    threshold = float(np.quantile(model.predict_proba(rows.x).max(axis=1), share))
    sure = model.predict_proba(rows.x).max(axis=1) >= threshold
    expected = np.where(sure, model.predict(rows.x), -9)
    assert 0 < sure.sum() < len(sure)
    model.refit(threshold=threshold, reject_label=-9)
    np.testing.assert_array_equal(model.predict(rows.x), expected)
    assert model.score(rows.x, rows.y) == (expected == rows.y).mean()
    assert model.score(da.from_array(rows.x), rows.y) == (expected == rows.y).mean()


def test_rows_whose_best_decision_costs_too_much_are_rejected():
    model, rows = fitted()
    loss = np.array([[0.0, 1, 5], [2, 0, 1], [1, 4, 0]])
    cost = (model.predict_proba(rows.x) @ loss).min(axis=1)
    limit = np.median(cost)
    expected = np.where(cost > limit, 100, model.refit(loss=loss).predict(rows.x))
    np.testing.assert_array_equal(model.refit(loss=loss, threshold=limit, reject_label=100).predict(rows.x), expected)


@pytest.mark.parametrize(("kind", "label"), [("str", "undecided"), ("int", -1000), ("bool", -1)])
def test_rejected_rows_have_the_label_given(kind, label, tmp_path):
    model, rows = fitted(kind, threshold=0.8, reject_label=label)
    found = model.predict(rows.x)
    assert set(found.tolist()) - set(model.classes_.tolist()) == {label}
    lazy = model.predict(da.from_array(rows.x, chunks=(9, -1)))
    assert lazy.dtype == found.dtype
    np.testing.assert_array_equal(lazy.compute(), found)
    np.testing.assert_array_equal(model.predict(sp.csr_array(rows.x)), found)
    model._model.save(tmp_path / "linear.snb")
    assert snb.load(tmp_path / "linear.snb").predict(rows.x).tolist() == found.tolist()
    assert model.classes_.tolist() == LABELS[kind] or model.classes_.tolist() == sorted(LABELS[kind])
    sparse = model.sparsify().predict(rows.x)
    np.testing.assert_array_equal(sparse, found)


def test_rules_hold_for_predictive_distributions_too():
    rows = example("int")
    model = snb.LinearNB("poisson", threshold=0.7, reject_label=-5).fit(rows.x, rows.y)
    shares = model.predict_proba(rows.x, predictive=True)
    expected = np.where(shares.max(axis=1) < 0.7, -5, model.classes_[shares.argmax(axis=1)])
    assert (expected == -5).any()
    np.testing.assert_array_equal(model.predict(rows.x, predictive=True), expected)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"loss": np.zeros((2, 3))}, ValueError, r"loss has shape \(2, 3\).*n_classes, n_classes"),
        ({"loss": [1.0, 2.0]}, ValueError, r"loss has shape \(2,\)"),
        ({"loss": np.zeros((2, 2))}, ValueError, r"loss has shape \(2, 2\) for 3 classes.*\[-1, 0, 7\]"),
        ({"loss": [[0, 1, 1], [1, 0, np.nan], [1, 1, 0]]}, ValueError, r"loss\[1, 2\]=nan should be finite"),
        ({"loss": "zero-one"}, TypeError, "loss='zero-one' should be a square array"),
        ({"loss": [[0, 1], [1]]}, TypeError, "loss=.*square array of numbers"),
        ({"threshold": 0.5}, ValueError, "threshold=0.5 needs reject_label="),
        ({"threshold": 1.5, "reject_label": 9}, ValueError, "threshold=1.5 should be between 0 and 1"),
        ({"threshold": 0.0, "reject_label": 9}, ValueError, "threshold=0 should be between 0 and 1"),
        ({"threshold": "half", "reject_label": 9}, TypeError, "threshold='half' should be a number"),
        ({"reject_label": 9}, ValueError, "reject_label=9 needs threshold="),
        ({"threshold": 0.5, "reject_label": 7}, ValueError, "reject_label=7 is a class"),
        ({"threshold": 0.5, "reject_label": "none"}, ValueError, "reject_label='none' should be a number"),
        ({"threshold": 0.5, "reject_label": np.nan}, ValueError, "reject_label"),
        ({"threshold": np.nan, "reject_label": 9, "loss": np.eye(3)}, ValueError, "threshold=nan should be finite"),
    ],
)
def test_wrong_rules_are_refused(options, error, words):
    model, rows = fitted()
    with pytest.raises(error, match=words):
        model.refit(**options)
    assert model.loss is model.threshold is None
    with pytest.raises(error, match=words):
        clone(model).set_params(**options).fit(rows.x, rows.y)


# -------------------------------------------------------------------------------------------------- intercepts


def gap(scores, y, shift, weight=None):
    found = scores + shift > 0
    return abs(recall_score(y, found, sample_weight=weight) - recall_score(~y, ~found, sample_weight=weight))


def test_the_shift_has_the_rate_that_is_asked_for_and_the_most_of_the_other():
    rng = np.random.default_rng(0)
    for seed in range(40):
        n = 6 + seed
        scores, y, w = rng.integers(-5, 6, n) / 2.0, np.arange(n) % 2, rng.choice([0.5, 1.0, 2.0], n)
        levels = np.unique(scores)
        every = [levels[0] - 1.0, *(levels[:-1] + levels[1:]) / 2.0, levels[-1] + 1.0]

        def rates(shift, scores=scores, y=y, w=w):
            found = scores + shift > 0.0
            return w[found & (y == 1)].sum() / w[y == 1].sum(), w[~found & (y == 0)].sum() / w[y == 0].sum()

        possible, least = np.array([rates(-middle) for middle in every]), rng.uniform(0.01, 0.99)
        for number, name in enumerate(("sensitivity", "specificity")):
            found = rates(snb.balancing_shift(scores, y, sample_weight=w, **{name: least}))
            most = possible[possible[:, number] >= least - 1e-12, 1 - number].max()
            assert found[number] >= least - 1e-12 and found[1 - number] == pytest.approx(most)
        both = sum(rates(snb.balancing_shift(scores, y, sample_weight=w, youden=True)))
        assert both == pytest.approx(possible.sum(axis=1).max())
    for wrong, message in (
        ({"specificity": 1.0}, r"specificity=1\.0 should be between 0 and 1"),
        ({"sensitivity": 0}, "sensitivity=0 should be between 0 and 1"),
        ({"sensitivity": np.nan}, "sensitivity"),
        ({"youden": True, "specificity": 0.9}, "give one of them"),
        ({"youden": 2}, "youden=2"),
    ):
        with pytest.raises(ValueError, match=message):
            snb.balancing_shift([0.0, 1.0], [0, 1], **wrong)


@given(st.data())
def test_the_balancing_shift_balances_best(data):
    """No other shift, tried between all neighbouring scores and beyond, brings the two closer."""
    n = data.draw(st.integers(2, 12))
    scores = data.draw(arrays(np.float64, n, elements=st.integers(-5, 5).map(float)))
    y = data.draw(arrays(bool, n).filter(lambda v: 0 < v.sum() < len(v)))
    weight = data.draw(st.none() | arrays(np.float64, n, elements=st.sampled_from([0.5, 1.0, 3.0])))
    shift = snb.balancing_shift(scores, y, sample_weight=weight)
    levels = np.unique(scores)
    tried = np.concatenate([levels - 0.5, levels, levels + 0.5])
    assert gap(scores, y, shift, weight) <= min(gap(scores, y, -t, weight) for t in tried) + 1e-12


def test_of_equally_good_shifts_the_middle_is_taken():
    assert snb.balancing_shift([-2.0, -1.0, 3.0, 8.0], ["a", "a", "b", "b"]) == -1.0
    assert snb.balancing_shift([5.0, 5.0], [0, 1]) == -5.0
    # from -1 to 1 sensitivity is the higher by a half, from 1 to 4 specificity is
    assert snb.balancing_shift([-1.0, 1.0, 4.0], [0, 1, 1], sample_weight=None) in (0.0, -0.0)
    rows = np.array([-3.0, 0.0, 2.0]), np.array([1, 0, 1])
    assert snb.balancing_shift(*rows) == snb.balancing_shift(*(np.r_[v, v] for v in rows))
    assert snb.balancing_shift(rows[0], rows[1], sample_weight=[1, 1, 0]) == 1.5


@given(labelled(min_rows=8, kind="bool"), st.sampled_from(["joint", "ovr"]))
def test_a_shifted_model_is_balanced(rows, scheme):
    rows.y[:2] = [False, True]
    model = snb.LinearNB(scheme=scheme).fit(rows.x, rows.y)
    before, intercept = model.decision_function(rows.x), model.intercept_.copy()
    shift = snb.balancing_shift(before, rows.y)
    assert model.refit(intercept_shift=shift) is model
    np.testing.assert_allclose(model.intercept_, intercept + shift)
    balanced = gap(before, rows.y, shift)
    found = model.predict(rows.x)
    at_boundary = np.abs(before + shift) < 1e-9
    if not at_boundary.any():
        now = abs(recall_score(rows.y, found) - recall_score(~rows.y, ~found))
        assert now == pytest.approx(balanced, abs=1e-12)


def test_a_shift_belongs_to_the_model_it_was_found_for(tmp_path):
    model = fitted("bool")[0]
    intercept = model.intercept_.copy()
    model.refit(intercept_shift=0.5).refit(intercept_shift=0.25)
    np.testing.assert_array_equal(model.intercept_, intercept + 0.25)
    model.save(tmp_path / "model.snb")
    np.testing.assert_array_equal(snb.load(tmp_path / "model.snb").intercept_, model.intercept_)
    with pytest.raises(ValueError, match=r"intercept_shift has shape \(2,\).*\(1,\)"):
        model.refit(intercept_shift=[1.0, 2.0], smoothing=9.0)
    assert model.smoothing == "auto"
    np.testing.assert_array_equal(model.intercept_, intercept + 0.25)
    with pytest.raises(ValueError, match="intercept_shift='up' should be finite numbers"):
        model.refit(intercept_shift="up")
    np.testing.assert_array_equal(model.refit().intercept_, intercept)
    many = fitted("int")[0]
    with pytest.raises(ValueError, match=r"intercept_shift has shape \(\).*\(3,\)"):
        many.refit(intercept_shift=1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1.0, 2.0]], [0, 1]), r"scores has shape \(1, 2\)"),
        (([1.0, np.nan], [0, 1]), "scores has nan"),
        ((["a", "b"], [0, 1]), "scores has shape .* dtype"),
        (([1.0, 2.0], [0, 0]), r"y_true has the labels \[0\]"),
        (([1.0, 2.0, 3.0], [0, 1, 2]), r"y_true has the labels \[0, 1, 2\]"),
        (([1.0, 2.0], [0]), "inconsistent numbers of samples.*y_true"),
        (([1.0, 2.0], None), "y_true"),
    ],
)
def test_what_cannot_be_balanced_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        snb.balancing_shift(*arguments)
