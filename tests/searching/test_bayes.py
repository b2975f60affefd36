"""Sums of all settings: those that can share a scan do."""

import numpy as np

import streamnb as snb
from streamnb.evaluation.scorers import as_scorer
from streamnb.passes.options import RunOptions
from streamnb.rows.opening import opened
from streamnb.searching import bayes
from streamnb.searching.axes import DEFAULTS, settings_of

X = np.random.default_rng(0).poisson(1.0, (40, 3)) + 1.0
Y = np.arange(40) % 2
OPTIONS = RunOptions(progress=False)


def found(**asked):
    settings, left_out = settings_of({**dict.fromkeys(DEFAULTS), **asked}, None, 4, 0, "accuracy")
    return bayes.summed(settings, opened(X, Y), (4, None, 0), OPTIONS, left_out), left_out


def test_settings_of_rows_prepared_alike_share_statistics_but_for_moments_of_their_own():
    sums, _ = found(
        families=["poisson", "gaussian", snb.Gamma(dispersion="ml")], smoothing=[1.0, 2.0], penalties=[None]
    )
    assert sums.report.rows == 40 and len({id(stats) for stats in sums.stats}) == 2
    assert sums.stats[0] is sums.stats[3] and "log_sum" not in sums.stats[0].moments


def test_a_setting_that_solving_refuses_is_left_out_and_the_best_point_is_fitted():
    own = snb.Decorrelation(0.1)
    sums, left_out = found(families=["poisson"], penalties=[snb.TopK([1, 2]), own])
    judged, report = bayes.judged(sums, as_scorer("accuracy"), OPTIONS, left_out)
    assert len(judged) == 1 and report.rows == 40 and len(left_out) == 1
    (best, setting, stats), *_ = judged
    model = bayes.fitted(setting, best.point, stats, sums.report, (X, Y, None))
    alone = snb.LinearNB("poisson", snb.TopK(best.point["top_k"])).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    assert model.stats_.folding is None and model.n_features_in_ == 3
