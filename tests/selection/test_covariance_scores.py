"""Decisions in single precision are those of double precision, or left to it."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.selection.covariance_models import CovarianceModels
from streamnb.selection.covariance_scores import ScreenedRows, columns_of, inward
from streamnb.solving.weight_paths import weight_path

POINTS = [(a, g) for a in (0.0, 0.3, 1.0) for g in (0.0, 1e-6, 0.1)]
rng = np.random.default_rng(0)


def models(X, y, decide=True, points=POINTS):
    stats = snb.scan(X, y, moments=["sum", "gram"])
    return CovarianceModels(weight_path(stats, snb.Gaussian(covariance="full", shrinkage=points), None), decide)


def both_ways(found, X):
    """Decisions, those by margins, and how many rows were left open in single precision."""
    chunk, rows = as_chunk(X)[0], np.arange(len(X) if not sp.issparse(X) else X.shape[0])
    decided = found.decide(chunk, rows, True)[:, : found.shape[0]]
    margins = found.margins(chunk, rows, found.room(len(rows)))[:, :, : found.shape[0]]
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
    points = POINTS if scales[0] == 1.0 else [(0.0, 0.0), (0.3, 0.0)]
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
    path = weight_path(stats, snb.Gaussian(covariance="full", shrinkage=POINTS), None)
    decided = CovarianceModels(path, True).decide(as_chunk(X)[0], np.arange(50), True)[:, : len(POINTS)]
    assert set(np.unique(decided)) <= {0, 1}
    X[::2, 1] *= 1e-10  # a class that hardly varies beside the others
    steep = models(X, y, points=[(0.0, 0.0)])
    assert steep._parts[0].screen is None
    chunk, rows = as_chunk(X)[0], np.arange(50)
    margins = steep.margins(chunk, rows, steep.room(50))[:, 0, 0]
    np.testing.assert_array_equal(steep.decide(chunk, rows, True)[:, 0], margins > 0.0)


def test_rows_are_turned_in_and_out_again():
    scales = np.array([1e-6, 1.0, 1e6, 0.0])
    there, back = inward(np.cov((rng.normal(size=(100, 4)) * scales).T))
    sizes = np.append(np.where(scales, scales, 1.0), 1.0)
    np.testing.assert_allclose(there @ back * sizes[:, None] / sizes, np.eye(5), atol=1e-9)
    assert columns_of([2, 3, 4]) == slice(2, 5) and columns_of([0, 2]).tolist() == [0, 2]
