import numpy as np
import pytest
from sklearn import metrics

import streamnb as snb

RNG = np.random.default_rng(3)
X = RNG.poisson(2.0, (300, 4)) + 2 * (np.arange(300)[:, None] % 3 // 2)
Y = np.where(np.arange(300) % 3 == 2, "no", "yes")  # the rarer class is the first
MODEL = snb.LinearNB("poisson").fit(X[:150], Y[:150])
TRUE, PREDICTED, SCORES = Y[150:], MODEL.predict(X[150:]), MODEL.decision_function(X[150:])


@pytest.mark.parametrize("options", [{}, {"interval": 0.9}, {"interval": 0.9, "groups": np.arange(150) % 40}])
def test_metrics_are_of_the_positive_class(options):
    proba = MODEL.predict_proba(X[150:])
    judged = snb.evaluate(MODEL, X[150:], TRUE, positive="no", **options)
    again = snb.evaluate(TRUE, PREDICTED, scores=SCORES, proba=proba, positive="no", **options)
    other = MODEL.evaluate(X[150:], TRUE, **options)
    for name, function in (("precision", "precision"), ("recall", "recall"), ("f_score", "f1")):
        expected = getattr(metrics, f"{function}_score")(TRUE, PREDICTED, pos_label="no")
        assert getattr(judged, name)() == getattr(again, name)() == pytest.approx(expected)
        if options:
            np.testing.assert_allclose(
                judged.interval(name), [end[0] for end in other.interval(name, average=None)], atol=5e-3
            )
    expected = metrics.average_precision_score(TRUE == "no", -SCORES)
    assert judged.average_precision() == pytest.approx(expected)
    assert judged.roc_auc() == pytest.approx(other.roc_auc())
    if options:
        for name in ("average_precision", "roc_auc"):
            ends = [end[0] for end in other.interval(name, average=None)]
            np.testing.assert_allclose(judged.interval(name), ends)
    assert judged.threshold(recall=0.8).class_ == "no" and other.threshold(recall=0.8).class_ == "yes"
    assert "(positive: 'no')" in str(judged)


def test_it_stays_when_merged_sliced_saved_and_of_histograms(tmp_path):
    judged = snb.evaluate(MODEL, X[150:], TRUE, positive="no", by={"half": np.arange(150) // 75})
    judged.save(tmp_path / "judged.snb")
    assert snb.load(tmp_path / "judged.snb").recall() == (judged + judged).recall() == judged.recall()
    assert judged.slice("half", 0).recall() == metrics.recall_score(TRUE[:75], PREDICTED[:75], pos_label="no")
    assert judged.slices.query("metric == 'recall'")["whole"].tolist() == [judged.recall()] * 2
    few = snb.Evaluation(2, ["ranking"], classes=["no", "yes"], exact_rows=0).with_positive("no")
    few.add((TRUE == "yes").astype(int), ranking=SCORES)
    assert few.average_precision() == pytest.approx(judged.average_precision(), abs=0.01)


def test_guesses_know_how_frequent_classes_are():
    guesses = snb.evaluate(MODEL, X[150:], TRUE, positive="no").guesses()
    share = np.mean(TRUE == "yes")
    assert guesses.accuracy() == pytest.approx(share) and guesses.recall() == 0.0 and guesses.roc_auc() == 0.5
    assert guesses.average_precision() == pytest.approx(1.0 - share)
    assert guesses.log_loss() == pytest.approx(metrics.log_loss(TRUE, np.tile([1.0 - share, share], (len(TRUE), 1))))
    assert f"by guessing          accuracy {share:.3f}" in str(snb.evaluate(MODEL, X[150:], TRUE))
    many = snb.evaluate(np.arange(2_000), np.zeros(2_000, int)).guesses()
    assert many.accuracy() == 1 / 2_000


def test_other_labels_are_refused():
    with pytest.raises(ValueError, match=r"positive='maybe' should be one of \['no', 'yes'\]"):
        MODEL.evaluate(X, Y, positive="maybe")
    with pytest.raises(ValueError, match=r"one of two classes, and these are 3; .*threshold\(label, "):
        snb.evaluate([0, 1, 2], [0, 1, 2], positive=2)


def test_only_evaluations_of_one_positive_class_merge():
    no, yes = (MODEL.evaluate(X, Y, positive=label) for label in ("no", "yes"))
    assert (no + no).recall() == no.recall()
    with pytest.raises(ValueError, match="these differ in positive: no and yes"):
        no + yes


def test_a_search_is_by_the_positive_class(tmp_path):
    options = {"families": ["poisson", "bernoulli"], "penalties": [None], "folds": 3, "show": False, "budget": None}
    found = snb.search(X, Y, scoring=["recall", "accuracy"], positive="no", **options)
    folds = snb.fold_numbers(len(Y), 3)
    model = snb.LinearNB("poisson")
    recalls = [model.fit(X[folds != k], Y[folds != k]).evaluate(X[folds == k], Y[folds == k]) for k in range(3)]
    mean = np.mean([judged.recall(average=None)[0] for judged in recalls])
    assert found.results_.set_index("candidate")["recall of no"].filter(like="poisson").iloc[0] == pytest.approx(mean)
    lines = str(found).splitlines()
    assert lines[-2].split() == ["guesses", "by", "frequency", "0.0000", f"{2 / 3:.4f}"]
    found.save(tmp_path / "found.snb")
    assert snb.load(tmp_path / "found.snb").positive == "no"
    with pytest.raises(ValueError, match=r"positive='maybe' should be one of \['no', 'yes'\]"):
        snb.search(X, Y, scoring="recall", positive="maybe", **options)
