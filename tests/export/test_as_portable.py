"""The form that all exports are made of: a column of weights for each class, whatever the scheme."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.export.as_portable import portable
from tests.support.exported import MODELS, fitted


@pytest.mark.parametrize("name", ["two", "reference", "label reference", "few", "idf"])
def test_scores_are_those_of_the_classes(name):
    model, rows = fitted(name)
    form = portable(model._model, None, None, True)
    assert form.weights.shape == (5, len(model.classes_)) and len(form.intercept_) == len(model.classes_)
    assert form.classes_.tolist() == model.classes_.tolist() and form.multilabel == (np.ndim(MODELS[name][1]) == 2)
    if name == "idf":
        return
    scores = np.asarray(sp.csr_array(rows) @ sp.csr_array(form.weights).toarray()) + form.intercept_
    given = model.decision_function(rows)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0] if given.ndim == 1 else scores, given, atol=1e-9)
