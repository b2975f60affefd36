"""Facts of evaluations: each is what the evaluation, or scikit-learn, says of the same rows."""

import numpy as np
import pytest
from sklearn import metrics

import streamnb as snb
from streamnb.reporting.judging import MOST_CLASSES, judged, judged_numbers
from tests.reporting.conftest import several


def test_metrics_are_those_of_the_evaluation(two):
    model, rows = two
    found = model.evaluate(rows, "late")
    facts = {one.key: one for one in judged(found).metrics}
    assert facts["accuracy"].value == found.accuracy() and facts["roc_auc"].value == found.roc_auc()
    assert facts["recall"].value == found.recall() and "“yes”" in facts["recall"].meaning
    share = rows["late"].value_counts(normalize=True)
    assert facts["accuracy"].guess == pytest.approx(share.max())
    assert facts["log_loss"].guess == pytest.approx(
        metrics.log_loss(rows["late"], np.tile(share[["no", "yes"]], (400, 1)))
    )
    assert facts["brier"].guess == pytest.approx(share["no"] * share["yes"])


def test_the_fingerprint_of_the_rows_depends_on_no_cut_or_order(two):
    model, rows = two
    parts = [model.evaluate(some, "late", interval=0.95) for some in (rows[:99], rows[99:])]
    merged = [parts[0] + parts[1], parts[1] + parts[0], model.evaluate(rows, "late", interval=0.95)]
    assert len({judged(one).fingerprint for one in merged}) == 1
    assert judged(parts[0]).fingerprint != judged(merged[0]).fingerprint


def test_the_own_decision_among_thresholds_is_that_of_the_evaluation(two):
    model, rows = two
    found = model.evaluate(rows, "late")
    (one,) = judged(found).thresholds
    own = one.points[one.own]
    assert (own.score, own.probability) == (0.0, 0.5) and (own.precision, own.recall) == pytest.approx(
        (found.precision(), found.recall())
    )
    assert own.kept == pytest.approx((model.predict(rows.drop(columns="late")) == "yes").mean())
    kept = [point.kept for point in one.points]
    assert kept == sorted(kept)


@pytest.mark.parametrize("at", [5, 40, -2])
def test_thresholds_are_those_of_the_rows(two, at):
    model, rows = two
    (one,) = judged(model.evaluate(rows, "late")).thresholds
    point, yes = one.points[at], rows["late"].to_numpy() == "yes"
    proba = model.predict_proba(rows.drop(columns="late"))[:, 1]
    taken = proba >= point.probability - 1e-9
    assert point.kept == pytest.approx(taken.mean())
    assert point.precision == pytest.approx(yes[taken].mean()) and point.recall == pytest.approx(taken[yes].mean())
    assert (point.false_alarms, point.misses) == pytest.approx(((taken & ~yes).mean(), (~taken & yes).mean()))


def test_scores_that_are_no_log_odds_have_no_probabilities():
    X, y = several(n_classes=2)
    found = judged(snb.MarginClassifier().fit(X, y).evaluate(X, y))
    assert {point.probability for point in found.thresholds[0].points} == {None}
    assert found.reliability is None and not found.curves[0].of_probabilities


def test_curves_are_those_of_scikit_learn(two):
    model, rows = two
    (one,) = judged(model.evaluate(rows, "late")).curves
    yes, proba = rows["late"] == "yes", model.predict_proba(rows.drop(columns="late"))[:, 1]
    assert one.average_precision == pytest.approx(metrics.average_precision_score(yes, proba))
    false, true, _ = metrics.roc_curve(yes, proba, drop_intermediate=False)
    assert {*map(tuple, np.round([one.others, one.found], 9).T)} <= {*map(tuple, np.round([false, true], 9).T)}
    np.testing.assert_allclose(one.own, np.histogram(proba[yes], one.ends)[0] / yes.sum())


def test_mistakes_and_classes_begin_with_the_worst():
    y = np.repeat(["a", "b", "c"], [5, 4, 3])
    predicted = np.array(list("aaabb" + "bbbc" + "aaa"))
    facts = judged(snb.evaluate(y, predicted))
    assert [row[:3] for row in facts.mistakes.rows] == [("c", "a", 3), ("a", "b", 2), ("b", "c", 1)]
    assert facts.mistakes.rows[0][3] == 1.0
    assert [row[0] for row in facts.classes.rows] == ["c", "a", "b"]
    assert facts.confusion == ((3, 2, 0), (0, 3, 1), (3, 0, 0))


def test_many_classes_have_the_worst_in_place_of_the_matrix():
    rng = np.random.default_rng(0)
    y, predicted = rng.integers(0, 1200, (2, 5000))
    facts = judged(snb.evaluate(y, np.where(rng.random(5000) < 0.7, y, predicted)))
    assert facts.confusion is None and len(facts.classes.rows) == MOST_CLASSES
    scores = [row[-1] for row in facts.classes.rows]
    assert scores == sorted(scores)


def test_one_class_in_y_has_no_curves():
    X, y = several(n_classes=2)
    facts = judged(snb.LinearNB("gaussian").fit(X, y).evaluate(X[y == 1], y[y == 1]))
    assert facts.curves == facts.thresholds == () and "roc_auc" not in {one.key for one in facts.metrics}
    assert facts.metrics[0].guess == 1.0


def test_labels_of_rows_with_several_have_thresholds():
    X, y = several()
    sets = np.column_stack([y == 0, y != 1]).astype(int)
    facts = judged(snb.LinearNB("gaussian").fit(X, sets).evaluate(X, sets))
    assert {"hamming_loss", "jaccard"} <= {one.key for one in facts.metrics} and len(facts.thresholds) == 2


def test_errors_of_regressions():
    X, _ = several()
    found = snb.Ridge(1.0).fit(X[:, :4], X[:, 4]).evaluate(X[:, :4], X[:, 4])
    facts = judged_numbers(found)
    assert {one.key: one.value for one in facts.metrics}["rmse"] == found.rmse and facts.n_rows == 400
