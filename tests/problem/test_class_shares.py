"""Pseudo-rows of each value that are divided as the classes are: by the formula, for every scheme, and by default."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from sklearn.metrics import log_loss, roc_auc_score

import streamnb as snb
from tests.support.click_logs import click_logs


def test_empirical_bayes_divides_pseudo_rows_of_each_value_as_the_classes():
    rng = np.random.default_rng(3)
    value, of_class = rng.zipf(1.3, 4000) % 900, rng.beta(3.0, 9.0, 900)  # shares of Beta, strength 12
    y = (rng.random(4000) < of_class[value]).astype(int)
    x = np.eye(900)[value]
    stats = snb.scan(x, y)
    family = snb.Categorical([900])
    model = snb.solve(stats, family, smoothing="empirical_bayes")[0]
    sums, weight = stats.sum, stats.weight

    def log_probability(a):  # of the classes of the rows of each value, in order
        counts = sums.sum(axis=0)
        rows = gammaln(sums + a * weight[:, None] / 4000) - gammaln(a * weight[:, None] / 4000)
        return float((rows.sum(axis=0) + gammaln(a) - gammaln(a + counts)).sum())

    a = float(np.exp(minimize_scalar(lambda log_a: -log_probability(np.exp(log_a)), bounds=(-4, 8)).x))
    assert 6.0 < a < 24.0
    shares = (sums[1] + a * weight[1] / 4000) / (sums.sum(axis=0) + a)  # target encoding
    expected = np.log(shares / (1 - shares))
    np.testing.assert_allclose(model.decision_function(np.eye(900)), expected, atol=1e-4)
    unseen = sums.sum(axis=0) == 0
    assert unseen.any()
    np.testing.assert_allclose(model.decision_function(np.eye(900)[unseen]), np.log(weight[1] / weight[0]))


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo", "reference"])
def test_under_empirical_bayes_a_value_without_rows_tells_nothing(scheme):
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 6, (500, 2)).astype(float), rng.choice(4, 500, p=[0.6, 0.3, 0.08, 0.02])
    stats = snb.scan(np.hstack([np.eye(8)[x[:, 0].astype(int)], np.eye(6)[x[:, 1].astype(int)]]), y)
    asked = {"reference": 1} if scheme == "reference" else {}
    model = snb.solve(stats, snb.Categorical([8, 6]), scheme=scheme, smoothing="empirical_bayes", **asked)[0]
    np.testing.assert_allclose(model.coef_[:, [6, 7]], 0.0, atol=1e-9)
    assert np.abs(model.coef_[:, :6]).max() > 1e-4


def test_family_auto_takes_empirical_bayes_unless_another_smoothing_is_given(tmp_path):
    frame = pd.DataFrame({"a": list("xyzxyzxxyz") * 9, "y": [0, 0, 1, 1, 0, 1, 0, 0, 0] * 10})
    model = snb.LinearNB("auto").fit(frame[["a"]], frame["y"])
    assert model.smoothing_ == "empirical_bayes"
    by_hand = snb.LinearNB("auto", smoothing=1.0).fit(frame[["a"]], frame["y"])
    assert by_hand.smoothing_ == 1.0 and not np.array_equal(model.coef_, by_hand.coef_)
    model.save(tmp_path / "model")
    loaded = snb.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.refit(smoothing=1.0).coef_, by_hand.coef_)
    assert snb.LinearNB("multinomial").fit([[1, 0], [0, 2]], [0, 1]).smoothing_ == 1.0


@pytest.mark.filterwarnings("ignore:.*were not seen in fit")
@pytest.mark.parametrize("hash_features", [1 << 15, 1 << 11])
def test_rare_values_of_many_columns_do_not_outweigh_the_shares_of_the_classes(tmp_path, hash_features):
    table = click_logs(14_000)
    pq.write_table(table.slice(0, 12_000), tmp_path / "train.parquet", row_group_size=4_000)
    test = table.slice(12_000)
    y = test["click"].to_numpy()
    found = {}
    for smoothing in ("auto", 1.0):
        rows = snb.table(tmp_path / "train.parquet", "click", hash_features=hash_features)
        model = snb.LinearNB("auto", smoothing=smoothing).fit(rows)
        p = model.predict_proba(test)[:, 1]
        found[smoothing] = log_loss(y, p), roc_auc_score(y, p)
    of_shares = log_loss(y, np.full(len(y), y.mean()))
    assert found["auto"][0] < 0.97 * of_shares < of_shares < found[1.0][0]
    assert found["auto"][1] > found[1.0][1]
