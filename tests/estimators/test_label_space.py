"""Label space transformation beside its formula, written down for rows in memory."""

import numpy as np
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb

rng = np.random.default_rng(0)
N, L = 150, 6
X = rng.integers(-3, 4, (N, 5)).astype(float)
X[:, 2] = 0.0  # which no row has
SETS = (X @ rng.normal(size=(5, L)) + 2.0 * rng.normal(size=(N, L)) > 1.0).astype(int)
W = rng.choice([0.25, 1.0, 3.0], N)
L2 = [0.5, 20.0]


def weights_by_hand(x, y, w, n_components, l2):
    total, own, s = w.sum(), w @ y, w @ x
    axes = np.linalg.eigh((y.T * w) @ y - np.outer(own, own) / total)[1][:, ::-1][:, :n_components]
    gram, products = (x.T * w) @ x - np.outer(s, s) / total, (x.T * w) @ y - np.outer(s, own) / total
    weights = np.linalg.solve(gram + l2 * np.eye(x.shape[1]), products) @ axes @ axes.T
    return weights, (own - s @ weights) / total


@pytest.mark.parametrize(("solver", "n_components"), [("products", 1), ("products", None), ("conjugate_gradients", 4)])
def test_weights_are_those_of_the_formula(solver, n_components):
    model = snb.LabelSpace(n_components, 2.0, solver=solver, tol=1e-12).fit(sp.csr_array(X), SETS, W)
    weights, intercepts = weights_by_hand(X, SETS, W, n_components or L, 2.0)
    np.testing.assert_allclose(model.coef_.T, 2.0 * weights, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, 2.0 * intercepts - 1.0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), X @ weights + intercepts > 0.5)
    assert (model.n_passes_ == 0) == (solver == "products") and model.converged_


@pytest.mark.filterwarnings("ignore:max_passes")  # reads that end early are what is chosen
@pytest.mark.parametrize("solver", ["products", "conjugate_gradients"])
def test_each_fold_is_judged_by_the_formula_of_the_others(solver):
    asked = {"folds": 3, "scoring": "f1_micro", "solver": solver, "tol": 1e-12}
    model, number = snb.LabelSpaceCV([2, L], L2, **asked).fit(X, SETS, W), snb.fold_numbers(N, 3)
    table = model.cv_results_
    for l2 in L2:
        for n_components in (2, L):
            points = (table["param_l2"] == l2) & (table["param_n_components"] == n_components)
            for fold in range(3):
                rest, own = number != fold, number == fold
                weights, intercepts = weights_by_hand(X[rest], SETS[rest], W[rest], n_components, l2)
                said, hits = X[own] @ weights + intercepts > 0.5, SETS[own] == 1
                wrong = W[own] @ (said != hits)
                both = 2.0 * (W[own] @ (said & hits)).sum()
                assert table[f"split{fold}_test_score"][points][-1] == pytest.approx(both / (both + wrong.sum()))
    options = {"n_components": model.best_params_["n_components"], "max_passes": model.best_params_["max_passes"]}
    alone = snb.LabelSpace(l2=model.best_params_["l2"], solver=solver, tol=1e-12, **options).fit(X, SETS, W)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    if solver == "products":
        assert model.report_.rows == 2 * N  # a scan, and a read that judges


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_by_default_there_are_five_numbers_of_components_and_the_rule_takes_few():
    few = snb.LabelSpaceCV(l2=1.0, rule="one_se", folds=3, calibration=None).fit(X, SETS)
    assert sorted(set(few.cv_results_["param_n_components"])) == [1, 3, L]
    scores = few.cv_results_["mean_test_score"]
    error = few.cv_results_["std_test_score"] / np.sqrt(2.0)  # of the mean of three folds
    best = scores.argmax()
    enough = few.cv_results_["param_n_components"][scores >= scores[best] - error[best]]
    assert few.best_params_["n_components"] == enough.min()
    calibrated = snb.LabelSpaceCV([2, 3], 1.0, calibration="sigmoid", transform=snb.Bins(3)).fit(X, SETS)
    assert calibrated.predict_proba(X).shape == (N, L)
    axes = snb.ScoreDisplay.from_estimator(calibrated).ax_
    assert axes.get_xlabel() == "components"
    assert {2.0, 3.0} <= {x for line in axes.get_lines() for x in line.get_xdata()}


def unread(n_features):
    """Rows in a store that has no values."""
    stored = {"shape": (N, n_features), "chunks": (10, n_features), "attributes": {"write_empty_chunks": False}}
    return zarr.create_array({}, dtype="f4", **stored)


def test_lists_to_choose_from_are_checked_and_folds_without_a_label_say_so():
    with pytest.raises(ValueError, match=r"n_components\[1\]=0 should be at least 1"):
        snb.plan(X, SETS, model=snb.LabelSpaceCV([2, 0]))
    with pytest.raises(MemoryError, match=r"products of 200 features by 200.*solver='conjugate_gradients'"):
        snb.LabelSpaceCV(2).fit(np.tile(X, 40), SETS, memory_limit="100kB")
    many = sp.random_array((N, 400), density=0.05, rng=rng, format="csr")
    many.data[:] = 1.0
    asked = {"solver": "conjugate_gradients", "max_passes": 1, "tol": 0.0}
    with pytest.raises(MemoryError, match=r"^3 components of 400 labels, .* 2,000 features, would take 25.6 MB"):
        snb.LabelSpace(3, **asked).fit(unread(2000), many, memory_limit="20MB")
    with pytest.raises(MemoryError, match=r"the main components of 400 labels, from all pairs .* 5.1 MB"):
        snb.LabelSpace(40, **asked).fit(unread(5), many, memory_limit="5MB")
    wide = np.tile(X, 40)
    with pytest.raises(MemoryError, match=r"^300 components of 400 labels, and weights .* would take 6.3 MB"):
        snb.LabelSpace(300, **asked).fit(wide, many, memory_limit="6MB")
    with pytest.warns(snb.StreamnbWarning, match="max_passes=1"):
        snb.LabelSpace(100, **asked).fit(wide, many, memory_limit="6MB")
    rare = SETS.copy()
    rare[:, 1] = np.arange(N) == 7
    with pytest.warns(snb.StreamnbWarning, match="lack rows of a class: no score there"):
        model = snb.LabelSpaceCV(2, 1.0).fit(X, rare)
    assert np.isfinite(model.coef_).all()
