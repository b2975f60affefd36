"""The drop-ins on rows in every form and in any parts, answers in kind, and what they refuse."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import naive_bayes
from sklearn.base import clone

import streamnb as snb
from tests.support.refusals import refuses
from tests.support.strategies import LABELS, build, example

MODELS = [
    snb.MultinomialNB(),
    snb.ComplementNB(norm=True),
    snb.BernoulliNB(binarize=1.0),
    snb.BernoulliNB(binarize=-1.0, fit_prior=False),
    snb.GaussianNB(var_smoothing=1e-3),
    snb.CategoricalNB(unseen="smooth"),
    snb.CategoricalNB(unseen="ignore", min_categories=5),
    snb.PoissonNB(alpha=0.5),
]
WAYS = [MODELS[0], *MODELS[3:6]]  # each way to take statistics
every_way = pytest.mark.parametrize("model", WAYS, ids=str)
LEARNED = ["classes_", "class_count_", "class_prior_", "class_log_prior_", "feature_count_", "feature_all_", "var_"]
LEARNED += ["feature_log_prob_", "theta_", "epsilon_", "rate_", "n_categories_", "category_count_"]


def outcome(model):
    """All that a model learned, to the last bit."""
    found = {name: getattr(model, name) for name in LEARNED if hasattr(model, name)}
    lists = {name: [v.tolist() for v in value] if type(value) is list else value for name, value in found.items()}
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in lists.items()}


# --------------------------------------------------------------------------------------- one model, many ways


@every_way
def test_refit_needs_no_data(model):
    rows = example("int")
    prior = "priors" if isinstance(model, snb.GaussianNB) else "class_prior"
    others = {"var_smoothing": 0.1} if isinstance(model, snb.GaussianNB) else {"alpha": 3.0}
    fitted = clone(model).fit(rows.x, rows.y)
    before = outcome(fitted)
    refuses(ValueError, "Number of priors", lambda: fitted.refit(**{prior: [0.5, 0.5]}))
    assert outcome(fitted) == before and fitted.get_params() == model.get_params()
    for options in (others, {prior: [0.2, 0.3, 0.5]}):
        assert fitted.refit(**options) is fitted
    assert outcome(fitted) == outcome(clone(model).set_params(**others, **{prior: [0.2, 0.3, 0.5]}).fit(rows.x, rows.y))


def test_categories_may_turn_up_late_and_by_the_thousand():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.arange(6000) // 7, rng.integers(0, 3, 6000), np.zeros(6000, int)]).astype(float)
    y = rng.integers(0, 3, 6000)
    whole = snb.CategoricalNB().fit(x, y)
    assert whole.n_categories_.tolist() == [858, 3, 1]
    expected = [
        [np.bincount(column[y == k].astype(int), minlength=c) for k in range(3)] for column, c in zip(x.T, (858, 3, 1))
    ]
    assert all(np.array_equal(a, b) for a, b in zip(whole.category_count_, expected, strict=True))
    for n_threads in (1, 4):
        chunks = ((x[i : i + 50], y[i : i + 50]) for i in range(0, 6000, 50))
        assert outcome(snb.CategoricalNB().fit(chunks, n_threads=n_threads)) == outcome(whole)


# ---------------------------------------------------------------------------------------------------- refused


@every_way
def test_labels_that_were_not_listed(model):
    rows = example("str")
    first, second = rows.split((20, 21))
    fitted = clone(model).partial_fit(first.x, first.y, classes=LABELS["str"])
    before = outcome(fitted)
    stranger = second.y.astype("U10")
    stranger[4] = "elm"
    refuses(
        ValueError,
        r"do not exist in the initial classes.*'elm' at row 4.*classes",
        lambda: fitted.partial_fit(second.x, stranger),
    )
    refuses(ValueError, "not the same as on last call", fitted.partial_fit, second.x, second.y, classes=["ash", "b"])
    assert outcome(fitted) == before
    fitted.partial_fit(second.x, second.y, classes=LABELS["str"])
    assert outcome(fitted) == outcome(clone(model).fit(rows.x, rows.y))


@every_way
def test_an_open_set_of_labels_grows_until_it_is_closed(model):
    rows = example("int")
    known = rows.y != 7
    fitted = clone(model).fit(rows.x[known], rows.y[known])
    fitted.partial_fit(rows.x[~known], rows.y[~known])
    assert fitted.classes_.tolist() == [-1, 0, 7]
    fitted.partial_fit(rows.x, rows.y, classes=[-1, 0, 7, 9])
    assert fitted.classes_.tolist() == [-1, 0, 7, 9]
    refuses(ValueError, "classes", lambda: fitted.partial_fit(rows.x, np.full(len(rows), 11)))


@pytest.mark.parametrize("model", [snb.MultinomialNB(), snb.CategoricalNB()], ids=str)
@pytest.mark.parametrize("name", ["numpy f8", "csr_array", "dask", "generator, chunks of X, y, w"])
def test_negative_values(model, name, tmp_path):
    rows = example("int")
    rows.x[17, 5] = -1
    with pytest.raises(
        ValueError, match=rf"Negative values in data passed to {type(model).__name__}.*row 17, column 5"
    ):
        clone(model).fit(**build(name, rows, tmp_path))


def test_negative_and_enormous_categories_to_predict():
    rows = example("int")
    fitted = snb.CategoricalNB(unseen="ignore").fit(rows.x, rows.y)
    for value in (-1.0, 1e12):
        new = rows.x.copy()
        new[3, 2] = value
        refuses(ValueError, r"row 3, column 2|at row 3", fitted.predict, new)


WRONG = {
    "alpha below 0": (snb.MultinomialNB, {"alpha": -0.1}, "alpha"),
    "alpha infinite": (snb.PoissonNB, {"alpha": np.inf}, "alpha"),
    "alpha a word": (snb.ComplementNB, {"alpha": "much"}, "alpha"),
    "an alpha below 0": (snb.BernoulliNB, {"alpha": [1.0] * 8 + [-1.0]}, "alpha"),
    "alphas of another number": (snb.MultinomialNB, {"alpha": [1.0] * 4}, "n_features.*4 elements instead of 9"),
    "alphas of categories": (snb.CategoricalNB, {"alpha": [1.0] * 9}, "alpha"),
    "presence of counts": (snb.BernoulliNB, {"binarize": None}, "binarize=None"),
    "fit_prior": (snb.BernoulliNB, {"fit_prior": 1}, "fit_prior=1 should be True or False"),
    "prior of another length": (snb.MultinomialNB, {"class_prior": [0.5, 0.5]}, "Number of priors must match"),
    "prior below 0": (snb.BernoulliNB, {"class_prior": [1.5, -0.5, 0.0]}, "class_prior"),
    "prior of nothing": (snb.PoissonNB, {"class_prior": [0.0, 0.0, 0.0]}, "class_prior"),
    "priors of another length": (snb.GaussianNB, {"priors": [0.5, 0.5]}, "Number of priors must match"),
    "priors that sum to 2": (snb.GaussianNB, {"priors": [1.0, 0.5, 0.5]}, "sum of the priors should be 1"),
    "priors below 0": (snb.GaussianNB, {"priors": [1.5, -0.5, 0.0]}, "must be non-negative"),
    "var_smoothing below 0": (snb.GaussianNB, {"var_smoothing": -1.0}, r"var_smoothing=-1\.0 should be finite"),
    "priors by a wrong name": (snb.GaussianNB, {"priors": "flat"}, "priors"),
    "unseen": (snb.CategoricalNB, {"unseen": "guess"}, "unseen.*'error', 'ignore', 'smooth'"),
    "min_categories of reals": (snb.CategoricalNB, {"min_categories": [2.5] * 9}, "integral type"),
    "min_categories of none": (snb.CategoricalNB, {"min_categories": 0}, "min_categories"),
    "min_categories of another number": (snb.CategoricalNB, {"min_categories": [2, 3]}, r"shape \(9,\)"),
}


@pytest.mark.parametrize(("model", "options", "message"), WRONG.values(), ids=WRONG)
def test_parameters_that_are_wrong(model, options, message):
    rows = example("int")
    for fit in (model(**options).fit, model(**options).partial_fit):
        refuses((TypeError, ValueError), message, fit, rows.x, rows.y, classes=[-1, 0, 7])


@every_way
def test_a_failed_partial_fit_leaves_the_model_as_it_was(model):
    rows = example("int")
    fitted = clone(model).fit(rows.x, rows.y)
    before = outcome(fitted)
    for chunks in ([(rows.x, rows.y), (rows.x[:, :4], rows.y)], [(rows.x, rows.y), (rows.x * np.nan, rows.y)]):
        with pytest.raises(ValueError):
            fitted.partial_fit(iter(chunks))
    refuses(ValueError, "features", lambda: fitted.partial_fit(rows.x[:, :4], rows.y))
    refuses(ValueError, "features", lambda: fitted.predict(rows.x[:, :4]))
    assert outcome(fitted) == before


def test_counts_of_category_zero_are_rounded_once_however_rows_are_cut():
    rng = np.random.default_rng(0)
    for _ in range(15):
        n_rows = int(rng.integers(3, 9))
        X, y = rng.integers(0, 3, (n_rows, 2)), np.arange(n_rows) % 2
        weight = rng.integers(1, 9, n_rows) * (np.pi / 4)  # sums lie half-way between floats again and again
        cut = int(rng.integers(1, n_rows))
        whole = snb.CategoricalNB(min_categories=5).fit(X, y, sample_weight=weight)
        parts = snb.CategoricalNB(min_categories=5).partial_fit(X[:cut], y[:cut], [0, 1], sample_weight=weight[:cut])
        parts.partial_fit(X[cut:], y[cut:], sample_weight=weight[cut:])
        for a, b in zip(whole.category_count_, parts.category_count_):
            assert (a == b).all()


@pytest.mark.parametrize("heaviest", [1e9, 1e16])
def test_complements_of_a_class_that_outweighs_the_others_keep_their_digits(heaviest):
    x, y = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 5.0], [4.0, 3.0]]), np.array([0, 0, 1, 2])
    model = snb.ComplementNB().fit(x, y, np.array([heaviest, heaviest, 1.0, 1.0]))
    alone = snb.ComplementNB().fit(x, y, np.array([1.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(model.feature_log_prob_[0], alone.feature_log_prob_[0], rtol=1e-14)


def test_a_certain_class_has_probability_one():
    X = np.array([[3.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.0, 2.0, 1.0], [1.0, 0.0, 3.0]])
    model = snb.ComplementNB(alpha=0.0).fit(X, ["a", "a", "b", "c"])  # only "b" has the second feature
    assert model.predict_proba([[9.0, 0.1, 5.0]]).tolist() == [[0.0, 1.0, 0.0]]
    assert model.predict_log_proba([[0.0, 1.0, 0.0]]).tolist() == [[-np.inf, 0.0, -np.inf]]
    assert np.isfinite(model.evaluate(X, ["a", "a", "b", "c"]).log_loss())


X, y = np.array([[1, 0, 2], [1, 1, 0], [0, 3, 1], [2, 1, 1]]), np.array([0, 1, 1, 0])


def both(name):
    return getattr(snb, name), getattr(naive_bayes, name)


@pytest.mark.parametrize("closed", [True, False])
def test_repeats_are_refused_as_such(closed):
    fitted = snb.MultinomialNB().partial_fit(X, y, classes=[0, 1] if closed else None)
    message = (
        r"classes=\[0, 1, 1\] is not the same as on last call to partial_fit, was: \[0, 1\]; a label is listed twice"
    )
    refuses(ValueError, message, lambda: fitted.partial_fit(X, y, classes=[0, 1, 1]))
    with pytest.raises(ValueError, match="classes lists a label twice; list each once"):
        snb.MultinomialNB().partial_fit(X, y, classes=[0, 1, 1])
    refuses(ValueError, "classes is", lambda: fitted.partial_fit(X, y, classes=[]))
    assert fitted.partial_fit(X, y, classes=[1, 0]).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("given", [[1.0, -0.1, 1.0], [-1.0, -2.0, 0.0]])
@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
def test_pseudo_counts_below_0(name, given):
    for model in both(name):
        with pytest.raises(ValueError, match=re.escape("All values in alpha must be greater than 0.")):
            model(alpha=np.array(given)).fit(X, y)
    at = int(np.argmax(np.array(given) < 0))
    with pytest.raises(ValueError, match=re.escape(f"alpha[{at}]={given[at]}") + ".* finite .* at least 0"):
        getattr(snb, name)(alpha=given).fit(X, y)
    assert getattr(snb, name)(alpha=np.array([0.0, 1.0, 1.0])).fit(X, y).predict(X).shape == (4,)


# ---- dtypes ----------------------------------------------------------------------------------------------------------

HALF = (X + 0.1).astype(np.float32)
KINDS = {"NumPy": lambda x: x, "SciPy": sp.csr_array, "pandas": pd.DataFrame, "Fortran": np.asfortranarray}
SHOWN = "class_prior_", "theta_", "var_"


@pytest.mark.parametrize("kind", KINDS)
def test_a_gaussian_model_of_float32_shows_float32(kind, tmp_path):
    theirs = naive_bayes.GaussianNB().fit(HALF, y)
    fitted = [snb.GaussianNB().fit(KINDS[kind](HALF), y), snb.GaussianNB().partial_fit(KINDS[kind](HALF), y, [0, 1])]
    fitted[0].save(tmp_path / "m.snb")
    exact = snb.GaussianNB().fit(HALF.astype(np.float64), y)
    for model in (*fitted, snb.load(tmp_path / "m.snb")):
        for name in SHOWN:
            assert getattr(model, name).dtype == getattr(theirs, name).dtype == np.float32, name
            np.testing.assert_allclose(getattr(model, name), getattr(theirs, name), rtol=1e-5)
        assert (model.predict_log_proba(X) == exact.predict_log_proba(X)).all()  # nothing is rounded on the way
    assert all(getattr(exact, name).dtype == np.float64 for name in SHOWN)
