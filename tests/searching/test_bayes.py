"""Sums of all settings: those that can share a scan do."""

from inspect import getgeneratorlocals

import numpy as np
import pytest

import streamnb as snb
from streamnb.evaluation.scorers import as_scorer
from streamnb.passes.contract import RunOptions
from streamnb.rows.opening import opened
from streamnb.searching.axes import checked, settings_of
from streamnb.searching.bayes import settings_together
from streamnb.searching.encodings import Encoded
from streamnb.searching.judging import Judging, ToJudge

X = np.random.default_rng(0).poisson(1.0, (40, 3)) + 1.0
Y = np.arange(40) % 2


def begun(**lists):
    judging = Judging(4, 4, None, 0, "accuracy", as_scorer("accuracy"))
    settings, _ = settings_of(checked(lists)[0], judging, {})
    by_name = {setting.name: setting for setting in settings}
    found = settings_together(by_name, Encoded(opened(X, Y), (X, Y, None)), judging, RunOptions(progress=False))
    found.advance()
    return found


def test_settings_of_rows_prepared_alike_share_statistics_but_for_moments_of_their_own():
    found = begun(families=["poisson", "gaussian", snb.Gamma(dispersion="ml")], smoothing=[1.0, 2.0], penalties=[None])
    stats = [one.stats for one in getgeneratorlocals(found._steps)["candidates"].values()]
    assert found.report.rows == 40 and len(stats) == 6 and len({id(one) for one in stats}) == 2
    assert stats[0] is stats[3] and "log_sum" not in stats[0].moments


def test_a_setting_that_solving_refuses_is_left_out_and_the_best_point_is_fitted():
    found = begun(families=["poisson"], penalties=[snb.TopK([1, 2]), snb.Decorrelation(0.1)])
    (best,) = found.advance(ToJudge(found.names, range(4)))
    assert found.report.rows == 80 and len(found.left_out) == 1
    model = found.fitted(best)
    alone = snb.LinearNB("poisson", snb.TopK(best.point["top_k"])).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    assert model.stats_.folding is None and model.n_features_in_ == 3


def test_folds_judged_one_after_the_other_have_the_scores_of_all_at_once():
    at_once, in_turn = begun(), begun()
    (whole, *_), folds = at_once.advance(ToJudge(at_once.names, range(4))), [2, 0, 3, 1]
    for number, fold in enumerate(folds):
        judged, *_ = in_turn.advance(ToJudge(in_turn.names[:1], [fold]))
        assert judged.n_folds == number + 1 and judged.reads == number + 2
        some = sorted(folds[: number + 1])
        np.testing.assert_array_equal(np.flatnonzero(~np.isnan(judged.scores["accuracy"])), some)
    np.testing.assert_array_equal(judged.scores["accuracy"], whole.scores["accuracy"])
    assert judged.folds is None and judged.point == whole.point


def test_a_fold_without_a_class_has_no_score_where_columns_are_learned_of_the_other_rows():
    folds = np.where(Y == 1, 1 + np.arange(40) // 2 % 2, np.arange(40) // 2 % 3)
    asked = {"families": ["gaussian"], "penalties": [None], "transforms": [None, "quantile_normal"], "models": []}
    with pytest.warns(snb.StreamnbWarning, match=r"1 of 3 folds lack rows of \[1\]"):
        found = snb.search(X, Y, folds=folds, scoring="roc_auc", show=False, **asked)
    assert len(found.candidates) == 2 and not found.left_out
    for judged in found.candidates:
        np.testing.assert_array_equal(np.isnan(judged.scores["roc_auc"]), [True, False, False])
