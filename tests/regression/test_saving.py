"""Files of regressions: what is in them is checked, and they keep the fit whatever parameters were set after it."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.regression.saving import from_state, to_state
from tests.regression.test_regressor import X, Y

WIDE = snb.Ridge(0.5, solver="conjugate_gradients").fit(X, Y)


def test_parameters_that_were_set_after_the_fit_change_no_model(tmp_path):
    model = snb.Ridge(1.0).fit(X, Y)
    before = model.summary()
    model.set_params(alpha=1000.0, fit_intercept=False)
    assert model.summary().equals(before)
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    assert (loaded.alpha, loaded.alpha_) == (1.0, 1.0)
    assert loaded.coef_.tolist() == model.coef_.tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"coef_": np.full(5, np.nan)},
        {"coef_": ["a"] * 5},
        {"intercept_": "b"},
        {"intercept_": np.zeros((2, 1))},
        {"alpha_": "x"},
        {"n_passes_": -1.5},
        {"converged_": "yes"},
    ],
)
def test_weights_without_sums_are_checked(wrong):
    state = to_state(WIDE)
    assert from_state(snb.Ridge, state).coef_.tolist() == WIDE.coef_.tolist()
    with pytest.raises((ValueError, TypeError)):
        from_state(snb.Ridge, {**state, "fitted": {**state["fitted"], **wrong}})
