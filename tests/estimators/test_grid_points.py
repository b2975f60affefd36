"""Points of a grid as they are given out: taus are floats, numbers of features whole, everywhere."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd

import streamnb as snb

rng = np.random.default_rng(0)
y = np.arange(60) % 3
X = rng.poisson(1.0 + 2.0 * (np.arange(8) % 3 == y[:, None]))
PENALTY = snb.L1([0.0, 0.5]) + snb.TopK([2, 4])
POINTS = [{"l1": tau, "top_k": k} for tau in (0.0, 0.5) for k in (2, 4)]


def same(found, expected):
    """Equal, of the same types of Python."""
    return json.dumps(found) == json.dumps(expected) and all(
        {kind: type(tau) for kind, tau in point.items()} == {"l1": float, "top_k": int} for point in found
    )


def test_points_of_a_choice_and_of_its_file(tmp_path):
    model = snb.LinearNBCV("poisson", PENALTY, folds=2).fit(X, y)
    model.save(tmp_path / "now.snb")
    model._scores = replace(model._scores, grid=[{k: float(tau) for k, tau in point.items()} for point in POINTS])
    model.save(tmp_path / "before.snb")  # where points had floats
    for one in (snb.load(tmp_path / "now.snb"), snb.load(tmp_path / "before.snb")):
        results = one.cv_results_
        assert same([one.best_params_], [model.best_params_]) and same(list(results["params"]), POINTS)
        assert results["param_top_k"].dtype == np.int64 and results["param_l1"].dtype == np.float64
        frame = pd.DataFrame(results)
        assert frame["param_top_k"].tolist() == [2, 4, 2, 4] and frame["param_top_k"].dtype == np.int64
        assert one.refit(rule="parsimonious").best_params_["top_k"] in (2, 4)


def test_points_of_a_comparison_and_of_its_file(tmp_path):
    table = snb.compare(X, y, families="poisson", penalties={"both": PENALTY}, folds=2, show=False)
    shown = table.to_frame()["point"].tolist()
    assert same(shown, [{"l1": point["l1"], "top_k": int(point["top_k"])} for point in shown])
    points = np.empty_like(table.points)
    for at, point in np.ndenumerate(table.points):
        points[at] = {kind: float(tau) for kind, tau in point.items()}
    replace(table, points=points).save(tmp_path / "before.snb")
    assert same(snb.load(tmp_path / "before.snb").to_frame()["point"].tolist(), shown)
