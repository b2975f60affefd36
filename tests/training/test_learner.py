"""A learner: the same weights by statistics of any rows that go together, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.passes.checkpoint import checkpoint_folder
from streamnb.passes.contract import Report
from streamnb.rows.opening import opened
from streamnb.training.data import TrainingRows
from streamnb.training.fitting import DescentMethod
from streamnb.training.learner import Learner, check_rows
from streamnb.training.objectives import softmax_of, squared_hinge_of
from tests.support.training import OPTIONS

rng = np.random.default_rng(9)
X, Y = rng.poisson(1.0, (60, 5)).astype(float), np.arange(60) % 3
X[:, 3] = 0.0
POINT = {"l2": 0.5, "l1": 0.0}


def fitted(learner, x=X, y=Y):
    stats = snb.scan(x, y, moments=learner.moments)
    rows = TrainingRows.of(stats, opened(x, y), OPTIONS, None, learner.method.narrows)
    return learner.fit(stats, rows, POINT, learner.max_passes, OPTIONS, Report())


@pytest.mark.parametrize("objective_of", [softmax_of, squared_hinge_of])
def test_it_finds_the_weights_of_its_estimator(objective_of):
    learner = Learner("me", DescentMethod(objective_of), idf=True, class_weight="balanced")
    kind = snb.SoftmaxRegression if objective_of is softmax_of else snb.MarginClassifier
    found = fitted(learner, sp.csr_array(X))
    model = kind(0.5, idf=True, class_weight="balanced").fit(X, Y)
    np.testing.assert_array_equal(found.model.coef_, model.coef_)
    np.testing.assert_array_equal(found.history["objective"], model.history_["objective"])
    assert found.converged and not found.warning and found.report.rows == 60 * model.n_passes_
    twice = fitted(replace(learner, factor=2.0), sp.csr_array(X))
    np.testing.assert_array_equal(twice.model.coef_, 2.0 * found.model.coef_)


def test_what_is_wrong_is_said(tmp_path):
    learner = Learner("Mine", DescentMethod(softmax_of))
    with pytest.raises(ValueError, match=r"y holds one class only \(\[1\]\); Mine needs at least 2 classes"):
        fitted(learner, y=np.ones(60, int))
    assert "max_passes=1 reads were spent" in fitted(replace(learner, max_passes=1)).warning
    with pytest.raises(ValueError, match="X gave 3 rows in read 2 and 4 in the scan"):
        check_rows(2, 3, 4)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file; several reads keep a folder"):
        checkpoint_folder(tmp_path / "file")
