"""Terms as data frames; what they hold is checked with the estimator, in tests/estimators/test_additive.py."""

import numpy as np
import pandas as pd

import streamnb as snb
from streamnb.additive.tables import steps_of
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.terms import CodedFeatures, TermColumns


def columns(n_codes=5, ordered=True, missing=True):
    base = BinEdges([np.array([1.0, 2.0, 3.0])], np.array([missing]))
    coded = CodedFeatures(np.array([0, n_codes]), np.ones(n_codes), np.array([ordered]), np.array([missing]))
    return TermColumns.of(base, coded, [((0,), 2)])


def test_bins_that_share_a_step_have_common_ends():
    made = columns()
    steps = steps_of(None, made, 0, made.sides[0][0])
    np.testing.assert_array_equal(steps["lower"], [-np.inf, 2.0, np.nan])
    np.testing.assert_array_equal(steps["upper"], [2.0, np.inf, np.nan])


def test_levels_that_share_a_step_are_others():
    rng = np.random.default_rng(0)
    levels = np.array([f"l{i:02}" for i in range(40)])[np.minimum(rng.geometric(0.1, 900), 40) - 1]
    frame = pd.DataFrame({"level": levels, "x": rng.normal(size=900)})
    y = (frame["x"] > 0) == (frame["level"] < "l07")
    rows = snb.table(frame, y.to_numpy(), min_count=1)
    model = snb.AdditiveClassifier([("level", "x")], l2=1.0, pair_factor=1.0, resolutions=(4,)).fit(rows)
    names = model.term("level", "x")["level level"].unique().tolist()
    assert names.count("others") == 1
    assert len(names) == 32
    assert len(model.term("level")) == frame["level"].nunique()
