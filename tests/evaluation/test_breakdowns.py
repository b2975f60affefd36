"""Data frames of classes and of confused pairs: those of scikit-learn, and of evaluations one by one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import classification_report, confusion_matrix

import streamnb as snb

RNG = np.random.default_rng(0)


def classified(n_rows=300, n_classes=5):
    truth = RNG.integers(0, n_classes, n_rows)
    return truth, np.where(RNG.random(n_rows) < 0.7, truth, RNG.integers(0, n_classes, n_rows))


def of_sklearn(*given, **options):
    return pd.DataFrame(classification_report(*given, output_dict=True, zero_division=0, **options)).T


@pytest.mark.parametrize("weighted", [False, True])
def test_report_equals_sklearn(weighted):
    truth, found = classified()
    found[found == 3] = 2  # one class that is never predicted
    names = np.array(["ash", "birch", "cedar", "elm", "fir"])
    weight = RNG.integers(0, 3, 300) if weighted else None
    report = snb.evaluate(names[truth], names[found], sample_weight=weight).report()
    theirs = of_sklearn(names[truth], names[found], sample_weight=weight)
    theirs.loc["accuracy", "support"] = theirs.loc["macro avg", "support"]  # which their text has, too
    pd.testing.assert_frame_equal(report, theirs, check_dtype=False)


def test_report_of_labels_equals_sklearn():
    truth, found = RNG.integers(0, 2, (2, 40, 4))
    theirs = of_sklearn(truth, found).rename(index=lambda name: int(name) if name.isdigit() else name)
    pd.testing.assert_frame_equal(
        snb.evaluate(truth, found).report(), theirs, check_dtype=False, check_index_type=False
    )


def test_report_of_classes_that_occur():
    judged = snb.evaluate(["a", "b"], ["a", "a"], classes=["a", "b", "c"])
    assert judged.report().index.tolist() == ["a", "b", "accuracy", "macro avg", "weighted avg"]


def test_worst_classes_come_first():
    truth, found = classified(2000, 30)
    judged = snb.evaluate(truth, found)
    whole, worst = judged.report(), judged.report(worst=4)
    assert worst.index[:4].tolist() == whole["f1-score"][:30].sort_values(kind="stable").index[:4].tolist()
    pd.testing.assert_frame_equal(worst[4:], whole[-3:])
    with pytest.raises(ValueError, match="worst"):
        judged.report(worst=0)


def test_confused_pairs_of_few_and_of_many_classes():
    truth, found = classified(4000, 12)
    spread = 97 * np.arange(12)  # the same classes among 1,100
    few = snb.evaluate(truth, found).confused_pairs(200)
    many = snb.evaluate(spread[truth], spread[found], classes=np.arange(1100))
    with pytest.raises(ValueError, match="at most 1000 classes"):
        many.confusion_matrix()
    table = confusion_matrix(truth, found)
    np.testing.assert_array_equal(few["count"], table[few["true"], few["predicted"]])
    np.testing.assert_array_equal(few["share"], few["count"] / table.sum(axis=1)[few["true"]])
    assert len(few) == np.count_nonzero(table) - 12 and (np.diff(few["count"]) <= 0).all()
    named = few.assign(true=spread[few["true"]], predicted=spread[few["predicted"]])
    pd.testing.assert_frame_equal(many.confused_pairs(200), named)
    pd.testing.assert_frame_equal(many.confused_pairs(3), named[:3])


def test_confused_pairs_merge_and_are_saved(tmp_path):
    truth, found = classified(3000, 40)
    classes = np.arange(1001)
    whole = snb.evaluate(truth, found, classes=classes)
    parts = [snb.evaluate(truth[i::3], found[i::3], classes=classes) for i in range(3)]
    parts[0].save(tmp_path / "e.snb")
    merged = snb.load(tmp_path / "e.snb") + parts[2] + parts[1]
    pd.testing.assert_frame_equal(merged.confused_pairs(1000), whole.confused_pairs(1000))


def test_wrong_arguments():
    judged = snb.evaluate([0, 1], [1, 1])
    with pytest.raises(ValueError, match="n=0"):
        judged.confused_pairs(0)
    with pytest.raises(ValueError, match="one label each"):
        snb.evaluate([[0, 1]], [[1, 1]]).confused_pairs()
    with pytest.raises(ValueError, match=r"give snb\.evaluate y_pred="):
        snb.evaluate([0, 1], scores=[0.1, 0.2]).report()


def test_report_has_the_intervals_of_its_values():
    truth, found = classified()
    judged = snb.evaluate(truth, found, interval=0.9)
    report = judged.report()
    for name, metric in (("precision", "precision"), ("recall", "recall"), ("f1-score", "f_score")):
        for average, rows in ((None, slice(0, 5)), ("macro", "macro avg"), ("weighted", "weighted avg")):
            for end, column in zip(judged.interval(metric, average=average), ("low", "high"), strict=True):
                np.testing.assert_array_equal(
                    report[f"{name} {column}"].loc[rows] if average else report[f"{name} {column}"][rows], end
                )
        assert (report.loc["accuracy", f"{name} low"], report.loc["accuracy", f"{name} high"]) == judged.interval(
            "accuracy"
        )
    pd.testing.assert_frame_equal(
        report[["precision", "support"]], snb.evaluate(truth, found).report()[["precision", "support"]]
    )
