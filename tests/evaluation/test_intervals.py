"""`Evaluation.interval`, as users meet it: of models, of columns, in words, and what is refused."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.evaluation import intervals

X = np.random.default_rng(0).poisson(1.0, (200, 6)).astype(float)
Y = (X[:, 0] + X[:, 1] > X[:, 2] + 1.5).astype(int)


def test_models_and_columns_have_the_same_intervals(tmp_path):
    model = snb.LinearNB("multinomial").fit(X, Y)
    patients = np.arange(200) // 5
    for groups in (None, patients):
        found = model.evaluate(X, Y, interval=0.9, groups=groups)
        proba, scores = model.predict_proba(X), model.decision_function(X)
        same = snb.evaluate(Y, model.predict(X), scores=scores, proba=proba, interval=0.9, groups=groups)
        assert found.summary() == pytest.approx(same.summary())
        assert snb.evaluate(model, X, Y, interval=0.9, groups=groups).summary() == found.summary()
        assert found.summary()["accuracy low"] == found.interval("accuracy")[0]
    store = str(tmp_path / "rows.zarr")
    snb.write_csr(store, [(X, Y, None, patients)], n_features=6)
    assert model.evaluate(store, "y", interval=0.9, groups="groups").summary() == found.summary()
    with pytest.raises(ValueError, match="groups has one group"):
        model.evaluate(X, Y, interval=0.9, groups=np.ones(200, int))
    with pytest.raises(TypeError, match="positive=1 is of two classes, and Ridge predicts numbers"):
        snb.evaluate(snb.Ridge().fit(X, 0.37 * X[:, 0]), X, X[:, 0], positive=1)


def test_of_columns_groups_are_checked():
    said = {"y_true": Y, "y_pred": Y[::-1]}
    with pytest.raises(ValueError, match="groups should have one entry"):
        snb.evaluate(**said, interval=0.9, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="groups has one group"):
        snb.evaluate(**said, interval=0.9, groups=["a"] * 200)
    with pytest.raises(ValueError, match="groups= needs intervals"):
        snb.evaluate(**said, groups=Y)


def test_without_intervals_nothing_is_kept():
    judged = snb.evaluate(Y, Y[::-1])
    assert "weights" not in judged._tallies and "[" not in str(judged)
    assert judged.summary().keys() == {"accuracy", "f_score (macro)"}
    with pytest.raises(ValueError, match="made without intervals"):
        judged.interval("accuracy")


def test_names_are_those_of_metrics():
    judged = snb.evaluate(Y, Y[::-1], interval=0.95)
    with pytest.raises(ValueError, match="no interval of 'auc'; it should be one of 'accuracy', 'average_precision'"):
        judged.interval("auc")
    with pytest.raises(ValueError, match=r"needs 'ranking'.*scores= or proba="):
        judged.interval("roc_auc")
    with pytest.raises(ValueError, match="average='mean' is unknown"):
        judged.interval("f_score", average="mean")
    with pytest.raises(ValueError, match="jaccard is for multi-label rows"):
        judged.interval("jaccard")
    assert all(hasattr(snb.Evaluation, name) for name in intervals.ESTIMATES)


def test_printed_form_says_what_intervals_are_of():
    def said(**options):
        return str(snb.evaluate(Y, Y[::-1], interval=0.95, **options)).splitlines()

    title, accuracy, *_ = said()
    assert title.endswith(", 95 % intervals of independent rows")
    judged = snb.evaluate(Y, Y[::-1], interval=0.95)
    low, high = judged.interval("accuracy")
    assert accuracy == f"  accuracy             {judged.accuracy():.6f}  [{low:.6f}, {high:.6f}]"
    assert f"[{low:.6f}, {high:.6f}]" in judged._repr_html_()
    assert said(groups=np.arange(200) // 20)[0].endswith("95 % intervals of 10 groups")
    assert said(groups=np.arange(200))[0].endswith(" buckets")
    fractional = np.tile([0.5, 1.5], 100)
    assert said(sample_weight=fractional)[0].endswith("rows with fractional weights, as many as 160 of equal weight")


def test_nothing_judged_has_no_interval(recwarn):
    for grouped in (False, True):
        nothing = snb.Evaluation(
            3, ("confusion", "ranking", "probabilities", "reliability"), interval=0.9, grouped=grouped
        )
        assert "nan" in str(nothing)
        for name in intervals.ESTIMATES.keys() - {"hamming_loss", "jaccard", "ranking_loss", "subset_accuracy"}:
            if name not in ("roc_auc_margin",):
                options = {"average": "macro"} if name in ("precision", "recall", "specificity", "f_score") else {}
                assert np.isnan(nothing.interval(name, **options)).all(), name
    assert not recwarn.list
