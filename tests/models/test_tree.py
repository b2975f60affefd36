"""Trees of presence, of rows dense and sparse."""

import numpy as np
import scipy.sparse as sp

import streamnb as snb

rng = np.random.default_rng(3)
PRESENT = (rng.random((20, 4)) < 0.5).astype(np.uint8)


def test_what_is_not_stored_may_be_present():
    X, y = PRESENT - 1.0, np.arange(20) % 2
    model = snb.TreeNB(binarize=-0.5).fit(sp.csr_array(X), y)
    dense = snb.TreeNB().fit(PRESENT, y)
    assert (model.predict_proba(sp.csr_array(X)) == dense.predict_proba(PRESENT)).all()
    assert (model.predict_proba(X) == dense.predict_proba(PRESENT)).all()
