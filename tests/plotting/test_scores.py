"""Pictures of how well models do: what is drawn is what was given."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import streamnb as snb
from streamnb.plotting import scores
from streamnb.plotting.roc import RocDisplay
from streamnb.plotting.scores import ConfusionMatrixDisplay, ScoreDisplay

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 60)
X = rng.poisson(rng.gamma(1.0, 1.0, (3, 6))[Y]).astype(float)


def names_of(ax):
    """Texts at the ends of lines."""
    return [text.get_text() for text in ax.texts]


def test_scores_of_a_grid_by_hand():
    given = dict(lines=np.array([0, 0, 1, 1]), line_names=["l2 = 0", "l2 = 1"], chosen=2, chosen_name="the one")
    named = dict(least=0.75, x_name="tau", score_name="accuracy", rule="best")
    x, mean, std = np.array([2.0, 1.0, 1.0, 2.0]), np.array([0.5, 0.6, 0.8, 0.7]), np.array([0.1, 0.1, 0.2, 0.1])
    display = ScoreDisplay(x, mean, std, **given, **named).plot()
    assert [line.get_xydata().tolist() for line in display.lines_] == [[[1, 0.6], [2, 0.5]], [[1, 0.8], [2, 0.7]]]
    assert display.chosen_.get_xydata().tolist() == [[1.0, 0.8]] and len(display.bands_) == 2
    low, high = display.bands_[1].get_paths()[0].get_extents().intervaly
    assert (low, high) == pytest.approx((0.6, 1.0))
    first, second = display.figure_.axes  # a panel each, the other line grey behind it
    assert [first.get_title(), second.get_title()] == ["l2 = 0", "l2 = 1"] and display.ax_ is second
    assert [len(ax.lines) for ax in (first, second)] == [3, 4]  # both, what is good enough, and what was chosen
    assert first.get_xlim() == second.get_xlim() and first.get_ylim() == second.get_ylim()
    said = "Chosen by 'best': the one; 0.800 held out\n(shaded: ± standard deviation over splits, dotted: good enough)"
    assert display.figure_.get_suptitle() == said
    ax = display.plot(plt.figure().add_subplot()).ax_
    assert names_of(ax) == ["l2 = 0", "l2 = 1", "good enough"]
    assert [text.xy[1] for text in ax.texts] == pytest.approx([0.5, 0.7, 0.75], abs=0.05)  # where the lines end
    assert ax.get_ylabel() == "accuracy,\nmean ± standard deviation over splits"
    assert names_of(display.plot(n_named=1).ax_) == ["l2 = 1", "good enough"]
    with pytest.raises(ValueError, match="n_named=-1"):
        display.plot(n_named=-1)


@pytest.mark.parametrize(("normalize", "axis"), [("true", 1), ("pred", 0), ("all", None)])
def test_tables_are_weights_or_shares(normalize, axis):
    evaluation = snb.evaluate(["a", "a", "b"], ["a", "b", "b"], classes=["a", "b", "none"])
    table = evaluation.confusion_matrix()
    counted = ConfusionMatrixDisplay.from_evaluation(evaluation, normalize=None)
    weights = counted.confusion_matrix
    assert counted.ax_.get_title("left").replace("\n", " ") == "The most common mistake: a taken for b (1)"
    assert counted.text_[0, 2].get_color() == "0.8" != counted.text_[0, 0].get_color()  # nothing there
    assert weights.dtype == np.int64 and (weights == table).all()
    shares = ConfusionMatrixDisplay.from_evaluation(evaluation, normalize=normalize).confusion_matrix
    total = table.sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(shares, table / np.where(total > 0, total, 1.0))  # a class without rows has none
    unasked = ConfusionMatrixDisplay.from_evaluation(evaluation)
    assert unasked.confusion_matrix[0].tolist() == [0.5, 0.5, 0.0]
    assert unasked.ax_.get_title("left").replace("\n", " ") == "The most common mistake: a taken for b (50%)"
    with pytest.raises(ValueError, match="normalize='rows' is unknown"):
        ConfusionMatrixDisplay.from_evaluation(evaluation, normalize="rows")


def test_only_evaluations_are_drawn():
    for display in (RocDisplay, ConfusionMatrixDisplay):
        with pytest.raises(TypeError, match=r"evaluation is of type list; it should be what snb\.evaluate"):
            display.from_evaluation([1, 2])
    with pytest.raises(TypeError, match=r"estimator=.* should be a fitted snb\.LinearNBCV"):
        ScoreDisplay.from_estimator(snb.LinearNB())


def test_rows_are_judged_by_whatever_ends_in_a_classifier():
    fitted = snb.LinearNB("poisson").fit(X, Y)
    for estimator in (fitted, fitted._model, make_pipeline(snb.LinearNB("poisson")).fit(X, Y)):
        assert scores.evaluation(estimator, X, Y, None, "confusion").accuracy() == fitted.score(X, Y)
    scaled = make_pipeline(MaxAbsScaler(), snb.LinearNB("gaussian")).fit(X, Y)
    assert scores.evaluation(scaled, X, Y, None, "confusion").accuracy() == scaled.score(X, Y)
    with pytest.raises(TypeError, match="should be a fitted classifier of streamnb, or a pipeline that ends in one"):
        scores.evaluation(LogisticRegression(), X, Y, None, "ranking")
