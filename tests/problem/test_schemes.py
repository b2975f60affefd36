"""Schemes "reference" and "ovo" against the two-class problems they are made of."""

import numpy as np
import pytest
from scipy.special import softmax

import streamnb as snb
from streamnb.problem.schemes import Ballot

LABELS = np.array(["ague", "cold", "flu", "healthy"])
FAMILIES = ["poisson", "bernoulli", "gaussian", "multinomial"]
PENALTIES = {"none": None, "l1": snb.L1(0.8), "score": snb.L1(0.7, scale="score"), "l1 + l2": snb.L1(0.3) + snb.L2(0.5)}


def rows(seed=0, n_rows=200, n=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_rows)
    return rng.poisson(rng.gamma(1.0, 1.0, (4, n))[y]).astype(float), LABELS[y]


def pair_of(x, y, negative, positive, family, penalty, **options):
    """The two-class problem of a pair, with what it takes from all rows of the scan held fixed."""
    some = np.isin(y, [negative, positive])
    order = np.array([negative, positive])
    stats = snb.scan(x[some], (y[some] == order[1]).astype(int))
    return snb.solve(stats, family, penalty, **options)[0]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("family", ["bernoulli", "multinomial"])
@pytest.mark.parametrize("scheme", ["reference", "ovo"])
def test_rows_are_two_class_problems(scheme, family, penalty):
    # Poisson smooths at the mean of all rows and Gaussian pools over all classes: those are not of the pair alone
    x, y = rows()
    reference = "healthy" if scheme == "reference" else None
    model = snb.solve(snb.scan(x, y), family, PENALTIES[penalty], scheme=scheme, reference=reference)[0]
    pairs = [("healthy", u) for u in LABELS[:3]]
    if scheme == "ovo":
        pairs = [(u, v) for i, u in enumerate(LABELS) for v in LABELS[i + 1 :]]
    assert model.coef_.shape == (len(pairs), 5)
    for row, (negative, positive) in enumerate(pairs):
        expected = pair_of(x, y, negative, positive, family, PENALTIES[penalty])
        np.testing.assert_allclose(model.coef_[row], expected.coef_[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.intercept_[row], expected.intercept_[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_unregularised_reference_is_ordinary_naive_bayes(family):
    x, y = rows(1)
    stats = snb.scan(x, y)
    joint = snb.solve(stats, family)[0]
    for label in LABELS:
        model = snb.solve(stats, family, scheme="reference", reference=label)[0]
        np.testing.assert_allclose(model.predict_proba(x), joint.predict_proba(x), rtol=1e-9, atol=1e-14)
        assert (model.predict(x) == joint.predict(x)).all()


def test_reference_scores_zero():
    x, y = rows(2)
    model = snb.LinearNB("poisson", snb.L1(1.0), scheme="reference", reference="cold").fit(x, y)
    scores = model.decision_function(x)
    assert (scores[:, 1] == 0).all()
    np.testing.assert_allclose(scores[:, [0, 2, 3]], x @ model.coef_.T + model.intercept_, rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(x), softmax(scores, axis=1), rtol=1e-12)


def test_votes_of_some_pairs_at_a_time():
    earlier, later = np.array([0, 0, 1]), np.array([1, 2, 2])
    margins = np.array([[1.0, -1.0, 3.0], [-2.0, -1.0, 5.0]])  # round a circle; the first class wins both
    ballot = Ballot(2, 3, earlier, later)
    for pairs in (slice(0, 2), slice(2, 3)):
        ballot.cast(margins[:, pairs], pairs)
    scores = ballot.scores()
    assert np.array_equal(np.round(scores), [[1, 1, 1], [2, 0, 1]])
    bounded = margins / (1.0 + np.abs(margins))
    confidence = np.array(
        [-bounded[0, 0] - bounded[0, 1], bounded[0, 0] - bounded[0, 2], bounded[0, 1] + bounded[0, 2]]
    )
    np.testing.assert_allclose(scores[0] - 1.0, confidence / (3.0 * (np.abs(confidence) + 1.0)), rtol=1e-15)


def test_votes_decide_and_margins_break_ties():
    x, y = rows(3)
    model = snb.LinearNB("poisson", scheme="ovo").fit(x, y)
    margins = x @ model.coef_.T + model.intercept_
    pairs = [(u, v) for u in range(4) for v in range(u + 1, 4)]
    votes = np.zeros((len(x), 4))
    for row, (u, v) in enumerate(pairs):
        votes[np.arange(len(x)), np.where(margins[:, row] > 0, v, u)] += 1
    scores = model.decision_function(x)
    assert (np.abs(scores - votes) < 1 / 3).all()
    best = votes.max(axis=1)
    assert (votes[np.arange(len(x)), np.searchsorted(LABELS, model.predict(x))] == best).all()
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model.refit(scheme="ovo"), "predict_log_proba")
    assert hasattr(model.refit(scheme="ovr"), "predict_proba")


@pytest.mark.parametrize("scheme", ["ovo", "reference"])
def test_a_class_without_rows_never_wins(scheme):
    x, y = rows(4)
    classes = [*LABELS, "none", "other"]
    reference = "healthy" if scheme == "reference" else None
    with pytest.warns(snb.StreamnbWarning, match="without any weight"):
        path = snb.solve(snb.scan(x, y, classes=classes), "poisson", scheme=scheme, reference=reference)
    assert np.isin(path[0].predict(x), LABELS).all()


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scheme", ["ovr", "ovo", "reference"])
def test_two_classes_are_one_problem(scheme, family, penalty):
    x, y = rows(5)
    stats, reference = snb.scan(x, y == "flu"), False if scheme == "reference" else None
    model, joint = (
        snb.solve(stats, family, PENALTIES[penalty], **options)[0]
        for options in ({"scheme": scheme, "reference": reference}, {})
    )
    assert model.coef_.shape == (1, 5) and model.intercept_.shape == (1,)
    np.testing.assert_array_equal(model.coef_, joint.coef_)
    np.testing.assert_array_equal(model.intercept_, joint.intercept_)


def test_wrong_references_are_named():
    stats = snb.scan(*rows())
    with pytest.raises(ValueError, match=r"reference='plague'.*'ague'"):
        snb.solve(stats, "poisson", scheme="reference", reference="plague")
    with pytest.raises(ValueError, match=r"reference=None.*'ague'"):
        snb.solve(stats, "poisson", scheme="reference")
    with pytest.raises(ValueError, match=r"reference='flu' needs scheme='reference'"):
        snb.solve(stats, "poisson", scheme="ovr", reference="flu")


def test_a_reference_without_rows_is_never_predicted_and_makes_no_nan():
    """The others are then told apart by their priors alone."""
    x, y = rows(7)
    stats = snb.scan(x, y, classes=[*LABELS, "other"])
    with pytest.warns(snb.StreamnbWarning, match="without any weight"):
        model = snb.solve(stats, "poisson", scheme="reference", reference="other")[0]
    proba = model.predict_proba(x)
    np.testing.assert_allclose(proba, np.tile(stats.weight / stats.n_rows, (len(x), 1)), atol=1e-12)
    assert (model.predict(x) == stats.classes[stats.weight.argmax()]).all()


def test_a_row_of_a_pair_is_not_that_of_a_class():
    """Three classes have three pairs, none of which is a class."""
    x, y = rows(8)
    stats = snb.scan(x, np.where(y == LABELS[0], LABELS[1], y))
    few = snb.scan(x[np.isin(y, LABELS[:3])], y[np.isin(y, LABELS[:3])])
    for some in (few, stats):
        with pytest.raises(ValueError, match="no row of weights of its own"):
            snb.tau_for(some, "poisson", n_features=1, class_=LABELS[1], scheme="ovo")
