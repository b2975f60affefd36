import numpy as np
import pytest

import streamnb as snb

RNG = np.random.default_rng(0)
N = 1200
TRUTH = RNG.integers(0, 2, N)
X = np.column_stack([RNG.normal(size=N) + TRUTH, RNG.normal(size=N)])
NAMED = np.array(["A", "B", "C", "none"])[RNG.integers(0, 4, N)]
MODEL = snb.LinearNB("gaussian").fit(X, TRUTH)


def expected(by="ward", column=NAMED, **options):
    return snb.evaluate(MODEL, X, TRUTH, by={by: column}, **options)


def test_table_of_slices():
    judged = expected(interval=0.9)
    table = judged.slices
    assert table.columns.tolist() == ["column", "slice", "n_rows", "metric", "value", "low", "high", "whole", "gap"]
    assert (np.diff(table["gap"]) >= 0.0).all() and set(table["slice"]) == {"A", "B", "C", "none"}
    for row in table.itertuples():
        one = judged.slice("ward", row.slice)
        assert row.value == getattr(one, row.metric)() and row.whole == getattr(judged, row.metric)()
        assert (row.low, row.high) == one.interval(row.metric)
        worse = row.value > row.whole if row.metric in ("log_loss", "brier") else row.value < row.whole
        assert row.gap == pytest.approx(
            (-1) ** worse * abs(row.value - row.whole) / (row.high - row.low) * 2 * 1.644853
        )


def test_small_slices_are_put_together():
    column = np.where(np.arange(N) < 30, "rare", np.where(np.arange(N) < 70, "few", "usual"))
    judged = expected("kind", column, min_rows=50)
    table = judged.slices.query("metric == 'accuracy'").set_index("slice")
    assert table["n_rows"].to_dict() == {"other": 70, "usual": N - 70}
    assert table.loc["other", "value"] == snb.evaluate(MODEL, X[:70], TRUTH[:70]).accuracy()
    assert judged.slice("kind", "few").n_rows == 40


def test_a_slice_of_one_class_has_nan_and_no_warning(recwarn):
    judged = snb.evaluate(MODEL, X, TRUTH, by={"late": TRUTH == 1})
    table = judged.slices.set_index(["slice", "metric"])
    assert table.loc[(True, "roc_auc"), ["value", "low", "high", "gap"]].isna().all()
    assert table.loc[(True, "accuracy"), "value"] == judged.recall() and not recwarn.list


def test_many_classes_and_labels():
    truth = RNG.integers(0, 30, N)
    proba = RNG.dirichlet(np.ones(30), N)
    proba[np.arange(N), truth] += 0.3
    proba /= proba.sum(axis=1, keepdims=True)
    judged = snb.evaluate(truth, proba.argmax(axis=1), proba=proba, by={"ward": NAMED})
    one, some = judged.slice("ward", "A"), NAMED == "A"
    alone = snb.evaluate(truth[some], proba[some].argmax(axis=1), proba=proba[some], classes=np.arange(30))
    assert one.f_score("macro") == alone.f_score("macro") and one.roc_auc() == pytest.approx(alone.roc_auc(), abs=1e-12)
    labels = RNG.integers(0, 2, (N, 3))
    sets = snb.evaluate(labels, labels[::-1], by={"ward": NAMED})
    assert {"hamming_loss", "f_score_macro"} <= set(sets.slices["metric"])


def test_wrong_arguments():
    with pytest.raises(ValueError, match="made without slices; give by="):
        _ = snb.evaluate(TRUTH, TRUTH).slices
    judged = expected()
    with pytest.raises(ValueError, match=r"column='wing' is none of those sliced by: 'ward'"):
        judged.slice("wing", "A")
    with pytest.raises(ValueError, match=r"value='Z' is no slice of 'ward'; it should be one of"):
        judged.slice("ward", "Z")
