"""Grids of shrinkages are judged as models fitted fold by fold would be; single precision decides as double does."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, roc_auc_score

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.selection.covariance_models import CovarianceModels, ScreenedRows
from streamnb.solving.weight_paths import weight_path

rng = np.random.default_rng(0)
N = 300
POINTS = [(a, g) for a in (0.0, 0.4, 1.0) for g in (0.0, 0.01)]
SHRINKAGES = [(a, g) for a in (0.0, 0.3, 1.0) for g in (0.0, 1e-6, 0.1)]


def data(n_classes):
    y = rng.integers(0, n_classes, N)
    spread = rng.normal(size=(n_classes, 5, 5))
    return np.einsum("ij,ijk->ik", rng.normal(size=(N, 5)), spread[y]) + rng.normal(size=(n_classes, 5))[y], y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_models_fitted_without_the_fold(n_classes):
    X, y = data(n_classes)
    family = snb.Gaussian(covariance="full", shrinkage=POINTS)
    cv = snb.LinearNBCV(family, folds=3, scoring="roc_auc").fit(X, y)
    by_accuracy = snb.LinearNBCV(family, folds=3, scoring="accuracy").fit(sp.csr_array(X), y)
    number = snb.fold_numbers(N, 3)
    for i, point in enumerate(POINTS):
        for fold in range(3):
            own, train = number == fold, number != fold
            model = snb.LinearNB(snb.Gaussian(covariance="full", shrinkage=point)).fit(X[train], y[train])
            proba = model.predict_proba(X[own])
            auc = roc_auc_score(y[own], proba[:, 1] if n_classes == 2 else proba, multi_class="ovr")
            if n_classes == 2:
                assert cv.cv_results_[f"split{fold}_test_score"][i] == pytest.approx(auc, abs=1e-12)
            hits = accuracy_score(y[own], model.predict(X[own]))
            assert by_accuracy.cv_results_[f"split{fold}_test_score"][i] == pytest.approx(hits, abs=1e-12)
    best = by_accuracy.best_params_
    alone = snb.LinearNB(snb.Gaussian(covariance="full", shrinkage=(best["a"], best["g"]))).fit(X, y)
    np.testing.assert_allclose(by_accuracy.predict_proba(X), alone.predict_proba(X), atol=1e-12)
    assert (
        by_accuracy.cv_results_["param_a"][3] == 0.4
        and best == cv.cv_results_["params"][POINTS.index((best["a"], best["g"]))]
    )


def test_points_without_inverse_have_no_score():
    X, y = data(3)
    X = np.c_[X, X[:, 0]]
    cv = snb.LinearNBCV(snb.Gaussian(covariance="full", shrinkage=[(0, 0), (1, 0), (0.5, 0.1)]), folds=3).fit(X, y)
    assert np.isnan(cv.cv_results_["mean_test_score"]).tolist() == [True, True, False]
    assert cv.best_params_ == {"a": 0.5, "g": 0.1} and cv.cv_results_["rank_test_score"].tolist() == [2, 2, 1]
    with pytest.raises(ValueError, match=r"no inverse at any point of the grid: .* shrinkage='auto'"):
        snb.LinearNBCV(snb.Gaussian(covariance="pooled"), folds=3).fit(X, y)
    auto = snb.LinearNBCV(snb.Gaussian(covariance="pooled", shrinkage="auto"), folds=3).fit(X, y)
    assert auto.best_params_["a"] == 1.0 and auto.coef_.shape == (3, 6)
    still = snb.LinearNBCV(snb.Gaussian(covariance="full", shrinkage=POINTS), folds=3, scoring="accuracy")
    assert still.fit(np.ones((N, 2)), y).best_score_ < 0.5  # columns that are constant are left out
    with pytest.raises(ValueError, match="calibration='sigmoid' is not for covariances"):
        snb.LinearNBCV(snb.Gaussian(covariance="pooled"), calibration="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="takes no penalty"):
        snb.LinearNBCV(snb.Gaussian(covariance="full"), snb.L1([0.1, 1.0])).fit(X, y)


def test_compare_shows_them_beside_naive_bayes():
    X, y = data(3)
    full = snb.Gaussian(covariance="full", shrinkage=[(0.0, 0.1), (0.5, 0.0)])
    table = snb.compare(
        X, y, families=["gaussian", full], penalties=["plain", "TopK"], scheme="joint", folds=3, show=False
    )
    assert table.scores.shape == (2, 2, 4) and table.scores[1, 0, -1] > table.scores[0, 0, -1]
    assert "takes no penalty" in table.left_out[str(full), "TopK"] or "takes no penalty" in next(
        iter(table.left_out.values())
    )
    assert table.points[1, 0, -1] in ({"a": 0.0, "g": 0.1}, {"a": 0.5, "g": 0.0})


def test_points_may_come_in_any_order():
    X, y = data(3)
    turned = [POINTS[i] for i in (4, 1, 5, 0, 3, 2)]
    found = {}
    for points in (POINTS, turned):
        family = snb.Gaussian(covariance="full", shrinkage=points)
        scores = snb.LinearNBCV(family, folds=3, scoring="accuracy").fit(X, y).cv_results_["mean_test_score"]
        found[points is POINTS] = dict(zip(points, scores, strict=True))
    assert found[True] == found[False]


def models(X, y, decide=True, points=SHRINKAGES):
    stats = snb.scan(X, y, moments=["sum", "gram"])
    return CovarianceModels(weight_path(stats, snb.Gaussian(covariance="full", shrinkage=points), None), decide)


def both_ways(found, X):
    """Decisions, those by margins, and how many rows were left open in single precision."""
    chunk, rows = as_chunk(X)[0], np.arange(len(X) if not sp.issparse(X) else X.shape[0])
    decided = found.decide(chunk, rows, True)[:, : found.shape[0]]
    margins = found.margins(chunk, rows, found.buffer(len(rows)))[:, :, : found.shape[0]]
    by_margins = margins.argmax(axis=1) if found.shape[1] > 1 else (margins[:, 0] > 0.0).astype(int)
    y = (X - found._centre) @ found._inward[:-1, :-1]
    parts = [part.screen.decided(ScreenedRows.of(np.c_[y, np.ones(len(y))]))[1] for part in found._parts if part.screen]
    return decided, by_margins, 1.0 - np.mean(parts)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("scales", [np.ones(6), np.geomspace(1e-9, 1e9, 6)])
def test_decisions_are_those_by_margins_whatever_the_scales(n_classes, scales):
    y = np.arange(600) % n_classes
    spread = rng.normal(size=(n_classes, 6, 6))
    X = np.einsum("ij,ijk->ik", rng.normal(size=(600, 6)), spread[y]) + 0.5 * rng.normal(size=(n_classes, 6))[y]
    X = X * scales + 100.0 * scales  # far from zero
    points = SHRINKAGES if scales[0] == 1.0 else [(0.0, 0.0), (0.3, 0.0)]
    decided, by_margins, left_open = both_ways(models(X, y, points=points), X)
    np.testing.assert_array_equal(decided, by_margins)
    assert left_open < 0.05


def test_what_is_nearly_equal_is_left_to_double_precision():
    x = rng.normal(size=(400, 3))
    X, y = np.vstack([x, x + 1e-9]), np.repeat([0, 1], 400)  # two classes that differ in the ninth digit
    decided, by_margins, left_open = both_ways(models(X, y), X)
    np.testing.assert_array_equal(decided, by_margins)
    assert left_open > 0.9
    same = models(np.vstack([x, x]), y)
    decided, _, left_open = both_ways(same, x)
    assert left_open == 1.0 and (decided[:, 3:] == 0).all()  # the first of equal classes
    far = np.vstack([x[:2], [[1e30, 0.0, 0.0]]])
    decided, by_margins, _ = both_ways(models(X, y), far)
    np.testing.assert_array_equal(decided, by_margins)


def test_classes_without_rows_and_what_cannot_be_held():
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 2
    stats = snb.scan(X, y, classes=[0, 1, 2], moments=["sum", "gram"])
    path = weight_path(stats, snb.Gaussian(covariance="full", shrinkage=SHRINKAGES), None)
    decided = CovarianceModels(path, True).decide(as_chunk(X)[0], np.arange(50), True)[:, : len(SHRINKAGES)]
    assert set(np.unique(decided)) <= {0, 1}
    X[::2, 1] *= 1e-10  # a class that hardly varies beside the others
    steep = models(X, y, points=[(0.0, 0.0)])
    assert steep._parts[0].screen is None
    chunk, rows = as_chunk(X)[0], np.arange(50)
    margins = steep.margins(chunk, rows, steep.buffer(50))[:, 0, 0]
    np.testing.assert_array_equal(steep.decide(chunk, rows, True)[:, 0], margins > 0.0)
