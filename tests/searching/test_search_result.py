"""What a search returns: a table, its order, a picture, a file."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import streamnb as snb
from streamnb.passes.contract import Report
from streamnb.searching.search_result import Judged, best_of
from tests.support.refusals import refuses

mpl.use("Agg")
X = np.random.default_rng(0).poisson(1.0, (40, 3)).astype(float)
Y = np.arange(40) % 2


def judged(name, accuracy, auc=0.5, n_features=3):
    return Judged(name, {}, {}, {"accuracy": np.array(accuracy), "roc_auc": np.array([auc])}, n_features, 2, 0.1)


def test_the_first_scoring_chooses_then_the_next_then_fewer_features():
    scorings = ["accuracy", "roc_auc"]
    candidates = [
        judged("a", [0.5, 0.7]),
        judged("b", [0.6, np.nan], 0.6),
        judged("c", [np.nan]),
        judged("d", [0.6], 0.6, 2),
    ]
    found = snb.Search(candidates, {}, scorings, None, Report())
    assert [one.name for one in found.ranked] == ["d", "b", "a", "c"]
    assert "<tr><th>d</th><td>0.6000</td>" in found._repr_html_()
    assert str(found).splitlines()[-2].split() == ["c", "-", "-", "0.5000", "3", "1", "2", "0.1"]
    assert "approximate: training sets overlap" in str(found).splitlines()[-1]


def test_candidates_that_were_left_on_the_way_come_last(tmp_path):
    about = {"words": {}, "point": {}, "n_features": 3, "reads": 2, "seconds": 0.1}
    early = Judged.on([1], 3, {"accuracy": [0.9]}, name="early", **about)
    found = snb.Search([early, Judged.on(range(3), 3, {"accuracy": [0.5, 0.6, 0.7]}, name="all", **about)], {},
                       ["accuracy"], snb.LinearNB().fit(X, Y), Report())  # fmt: skip
    assert [one.name for one in found.ranked] == ["all", "early"] and early.mean("accuracy") == 0.9
    assert found.results_["folds"].tolist() == [3, 1]
    found.save(tmp_path / "found.snb")
    again = snb.load(tmp_path / "found.snb")
    assert str(again) == str(found) and again.candidates[0].folds == [1]
    np.testing.assert_array_equal(again.plot().means_.get_xdata(), [0.6, 0.9])


def test_the_table_the_picture_and_the_file_say_the_same(tmp_path):
    with pytest.warns(snb.StreamnbWarning, match="left out"):
        found = snb.search(
            X, Y, families=["poisson"], schemes=["joint", "ovo"], scoring="neg_log_loss", folds=2, show=False
        )
    frame = found.results_
    assert frame["neg_log_loss"].is_monotonic_decreasing and frame["candidate"][0] == found.ranked[0].name
    assert {"std_neg_log_loss", "n_features", "reads", "seconds", "point", "family", "smoothing"} <= {*frame.columns}
    picture = found.plot(n_best=1)
    np.testing.assert_array_equal(picture.means_.get_xdata(), frame["neg_log_loss"][:1])
    found.save(tmp_path / "found.snb")
    again = snb.load(tmp_path / "found.snb")
    assert str(again) == str(found) and "Left out: 2 candidates, such as poisson, scheme=ovo:" in str(again)
    np.testing.assert_array_equal(again.best_.predict_proba(X), found.best_.predict_proba(X))
    for judge, given in ((snb.evaluate, found), (snb.compare_models, {"found": found, "other": found.best_})):
        refuses(TypeError, "a Search is of several models; give one, such as its best_", judge, given, X, Y)
    assert repr(again).startswith("<Search: 2 candidates by neg_log_loss, best poisson")


def test_a_model_of_others_is_kept_in_no_file(tmp_path):
    found = snb.search(X, Y, families=[], others={"logistic": LogisticRegression()}, folds=2, show=False)
    refuses(TypeError, "is not a model of streamnb", lambda: found.save(tmp_path / "found.snb"))
    assert found.best_.predict(X).shape == (40,)


def test_quadratic_scores_need_a_clear_gain_over_the_best_of_the_others():
    plain, weak = judged("plain", [0.90, 0.92, 0.91]), judged("weak", [0.80, 0.82, 0.81])
    for scores, wins in (([0.95, 0.97, 0.96], True), ([0.85, 0.99, 0.95], False), ([0.80, 0.92, 0.90], False)):
        bold = replace(judged("bold", scores), quadratic=True)
        found = snb.Search([bold, weak, plain], {}, ["accuracy"], None, Report())
        assert [one.name for one in found.ranked] == (["bold", "plain", "weak"] if wins else ["plain", "bold", "weak"])
        assert best_of([weak, bold], ["accuracy"]) is (weak if np.mean(scores) < 0.81 else bold)
    assert best_of([bold], ["accuracy"]) is bold


def test_a_single_fold_shows_no_deviation():
    row = snb.Search([judged("a", [np.nan, 0.5, np.nan])], {}, ["accuracy"], None, Report()).results_.iloc[0]
    assert row["accuracy"] == 0.5
    assert np.isnan(row["std_accuracy"])
