"""Shapes and values of decisions and probabilities, by scheme and number of classes."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax

import streamnb as snb
from streamnb.problem.schemes import Nested
from tests.support import reference as ref
from tests.support.problems import FAMILIES, SCHEMES, random_problem, scanned, solved
from tests.support.sums_by_rows import transformed


def expected_scores(problem, model, rows):
    """Transformed rows times weights plus intercepts, one number at a time."""
    out = []
    for row in rows:
        row = transformed(row, problem.transform, problem.normalize)
        if problem.family == "bernoulli":
            row = [float(v > problem.binarize) for v in row]
        pairs = zip(model.coef_, model.intercept_, strict=True)
        out.append([math.fsum([b, *(v * c for v, c in zip(row, w, strict=True))]) for w, b in pairs])
    return np.array(out)


def expected_answers(scores, scheme, classes):
    """Decision values, probabilities and labels by the table of schemes."""
    classes = np.asarray(classes)
    if scores.shape[1] == 1:
        p = expit(scores[:, 0])
        return scores[:, 0], np.column_stack([1 - p, p]), classes[(scores[:, 0] > 0).astype(int)]
    p = softmax(scores, axis=1) if scheme == "joint" else expit(scores) / expit(scores).sum(axis=1, keepdims=True)
    return scores, p, classes[scores.argmax(axis=1)]


def new_rows(problem, seed=0):
    rng = np.random.default_rng(seed)
    return np.array(problem.rows)[rng.permutation(len(problem.rows))[:17]] * rng.choice([0, 1, 2], (17, problem.n))


def assert_answers(problem, model, scheme, x, as_input=np.asarray, classes=None):
    scores = expected_scores(problem, model, x)
    decision, probability, labels = expected_answers(scores, scheme, problem.classes if classes is None else classes)
    given = as_input(x)
    assert model.decision_function(given).shape == decision.shape
    np.testing.assert_allclose(model.decision_function(given), decision, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(given), probability, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(given)), probability, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(given), labels)


@pytest.mark.parametrize("scheme, n_classes", [*SCHEMES, ("ovr", 2)])
def test_answers_by_scheme(scheme, n_classes):
    problem = random_problem("poisson", n_classes, 0)
    rows = 1 if n_classes == 2 else n_classes
    for model in solved(problem, scheme, snb.L1([0.1, 1.0])):
        assert model.coef_.shape == (rows, problem.n) and model.intercept_.shape == (rows,)
        np.testing.assert_array_equal(model.classes_, problem.classes)
        assert_answers(problem, model, scheme, new_rows(problem))


@pytest.mark.parametrize("as_input", [sp.csr_array, np.float32, np.ndarray.tolist])
def test_models_transform_raw_rows_of_any_form_themselves(as_input):
    options = [(None, None), ("binary", "l1"), ("log1p", "l2"), ("sqrt", None)]
    for family in FAMILIES:
        for transform, normalize in options:
            problem = replace(random_problem("poisson", 3, 2), family=family, transform=transform, normalize=normalize)
            x = np.float32(new_rows(problem)).astype(float)
            assert_answers(problem, solved(problem)[0], "joint", x, as_input)


@pytest.mark.parametrize("binarize", [-1.0, 0.0, 0.5, 1.0])
def test_bernoulli_models_binarise_as_the_scan_did(binarize):
    problem = random_problem("bernoulli", 3, 3, binarize=binarize)
    np.testing.assert_allclose(solved(problem)[0].coef_, ref.plain(problem, "joint")[0], rtol=1e-10, atol=1e-10)
    for as_input in (np.asarray, sp.csr_array):
        assert_answers(problem, solved(problem)[0], "joint", new_rows(problem), as_input)


@pytest.mark.parametrize("names", [["oak", "elm", "ash"], [30, -1, 7], [False, True]])
def test_labels_come_back(names):
    problem = random_problem("poisson", len(names), 0)
    y = np.array(names)[problem.y]
    named = replace(problem, y=y.tolist(), classes=None)
    path = snb.solve(scanned(named), "poisson")
    assert list(path[0].classes_) == sorted(names)
    assert_answers(named, path[0], "joint", new_rows(problem), classes=np.array(sorted(names)))
    assert path[0].predict(new_rows(problem)).dtype.kind == y.dtype.kind


@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
def test_far_away_rows_have_probabilities_all_the_same(scheme, n_classes):
    problem = random_problem("poisson", n_classes, 4)
    model = solved(problem, scheme)[0]
    x = np.array(problem.rows[:5]) * 1e5
    for probability in (model.predict_proba(x), np.exp(model.predict_log_proba(x))):
        assert np.isfinite(probability).all()
        np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert not np.isnan(model.predict_log_proba(x)).any()
    np.testing.assert_array_equal(model.classes_[model.predict_proba(x).argmax(axis=1)], model.predict(x))


def test_indicators_of_fewer_labels_are_refused():
    X, Y = np.eye(4), np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    model = snb.LinearNB().fit(X, Y)
    for judge in (lambda y: model.score(X, y), lambda y: snb.RocDisplay.from_estimator(model, X, y)):
        with pytest.raises(ValueError, match=r"y has 2 columns; .* one for each label of the model.*: \[0, 1, 2\]"):
            judge(Y[:, :2])


def test_a_row_that_names_its_lowest_label_is_right_with_all_above_it_and_no_other():
    follows = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 1]], bool)  # "a" is above "b" and "c"
    model = snb.LinearModel(np.array(["a", "b", "c"]), np.eye(3), np.full(3, -0.5), Nested(follows))
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    assert model.predict(X).tolist() == [[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 1]]
    assert model.score(X, np.array(["b", "a", "b", "d"])) == 0.5
    assert model.score(X, sp.csr_array(model.predict(X))) == 1.0
