"""calibration=: probabilities that fit rows not seen, the same for any chunks; reads that are shared and counted."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss

import streamnb as snb

rng = np.random.default_rng(8)
X = rng.normal(size=(900, 6))
Y = np.array(["ash", "birch", "cedar"])[(X[:, :2] + 0.7 * rng.normal(size=(900, 2)) > [0.0, 0.4]).sum(axis=1)]
SETS = (X[:, :2] + rng.normal(size=(900, 2)) > 0.5).astype(int)
FIT, NEW = slice(0, 500), slice(500, 900)


@pytest.mark.parametrize(
    ("kind", "method"), [(snb.MarginClassifier, "isotonic"), (snb.LeastSquaresClassifier, "sigmoid")]
)
def test_probabilities_fit_rows_that_were_not_seen(kind, method):
    model = kind(tol=1e-3, calibration=method).fit(X[FIT], Y[FIT])
    plain = kind(tol=1e-3).fit(X[FIT], Y[FIT])
    assert not hasattr(plain, "predict_proba") and (model.predict(X) == plain.predict(X)).mean() > 0.9
    best = log_loss(Y[NEW], snb.SoftmaxRegression(tol=1e-3).fit(X[FIT], Y[FIT]).predict_proba(X[NEW]))
    assert log_loss(Y[NEW], model.predict_proba(X[NEW])) < best + 0.08


@pytest.mark.parametrize("kind", [snb.MarginClassifier, snb.LeastSquaresClassifier])
def test_models_of_folds_share_reads_and_a_folder(kind, tmp_path):
    model = kind(tol=1e-2, calibration="sigmoid", idf=True, normalize="l2")
    x = np.abs(X)
    model.fit(sp.csr_array(x), SETS, checkpoint=tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"idf.snb", "scan.snb", "sample.snb", "folds-read-001.snb"} <= names
    n_shared = sum(name.startswith("folds") for name in names)
    assert model.report_.rows == 900 * (3 + model.n_passes_ + n_shared)  # idf, scan and sample; the models share reads


def test_a_plan_counts_the_models_of_the_folds():
    plain, calibrated = (snb.plan(X, Y, model=snb.MarginClassifier(calibration=how)) for how in (None, "sigmoid"))
    assert (plain.n_models, calibrated.n_models) == (1, 5) and calibrated.model_bytes == 5 * plain.model_bytes
    assert calibrated.most_reads == plain.most_reads + 51


def test_what_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as caught:
        snb.MarginClassifier().fit(X, Y).predict_proba(X)
    assert "fit with calibration='sigmoid', or call calibrate" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match="one class only"):
        snb.MarginClassifier(calibration="sigmoid").fit(X[:6], ["a", "b", "b", "b", "b", "b"])
    with pytest.raises(MemoryError, match="memory_limit"):
        snb.LeastSquaresClassifier(calibration="sigmoid").fit(X, Y, memory_limit=2000)
