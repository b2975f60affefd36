"""What a model cannot say of itself, or is asked wrongly."""

import numpy as np

import streamnb as snb
from tests.support.refusals import refused

RNG = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[np.arange(60) % 3]
X = RNG.poisson(1.5, (60, 5)).astype(float) + 3.0 * (np.arange(5) == np.arange(60)[:, None] % 3)


def test_what_cannot_be_explained_is_refused():
    model = snb.LinearNB().fit(X, Y)
    with refused(ValueError, "X has 60 rows; explain is of one"):
        model.explain(X)
    with refused(ValueError, "class_='q' is not a class"):
        model.explain(X[[0]], "q")
    with refused(ValueError, "against='q' is not a class"):
        model.contrast("a", "q")
    with refused(ValueError, "n_features=0"):
        model.top_features(0)
    with refused(ValueError, "scheme='ovo' has weights of pairs"):
        snb.LinearNB(scheme="ovo").fit(X, Y).top_features()
    with refused(ValueError, "isotonic"):
        snb.LinearNB().fit(X, Y).calibrate(X, Y, method="isotonic").explain(X[[0]])
    with refused(ValueError, "isotonic"):
        own = snb.LinearNB(snb.Gaussian(covariance="own")).fit(X, Y)
        own.calibrate(X, Y, method="isotonic").explain(X[[0]])
