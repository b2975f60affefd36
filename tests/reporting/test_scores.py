"""Scores along a grid: of all classes or one, on held-out and on training rows, several families in one picture."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

import streamnb as snb
from streamnb.reporting.scores import curves_of

rng = np.random.default_rng(2)
Y = (rng.random((200, 2)) < 0.4).astype(int)
Y = np.column_stack([Y, Y.sum(axis=1) == 0]).astype(int)
X = rng.poisson(1.0, (200, 8)) + np.column_stack([Y, Y, Y])[:, :8] * rng.poisson(0.7, (200, 8))
ASKED = {"scheme": "reference", "reference": 2, "scoring": "roc_auc_reference", "folds": 3, "return_train_score": True}


@pytest.fixture(scope="module")
def models():
    return {f: snb.LinearNBCV(f, snb.TopK([1, 3, 8]), **ASKED).fit(X, Y) for f in ("poisson", "bernoulli")}


def at_ends(display):
    return [text.get_text() for text in display.ax_.texts]


def test_scores_of_a_grid_by_hand():
    given = dict(lines=np.array([0, 0, 1, 1]), line_names=["l2 = 0", "l2 = 1"], chosen=2, chosen_name="the one")
    named = dict(least=0.75, x_name="tau", score_name="accuracy", rule="best")
    x, mean, std = np.array([2.0, 1.0, 1.0, 2.0]), np.array([0.5, 0.6, 0.8, 0.7]), np.array([0.1, 0.1, 0.2, 0.1])
    display = snb.ScoreDisplay(x, mean, std, **given, **named).plot()
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
    assert at_ends(display) == ["l2 = 0", "l2 = 1", "good enough"]
    assert [text.xy[1] for text in ax.texts] == pytest.approx([0.5, 0.7, 0.75], abs=0.05)  # where the lines end
    assert ax.get_ylabel() == "accuracy,\nmean ± standard deviation over splits"
    assert at_ends(display.plot(n_named=1)) == ["l2 = 1", "good enough"]
    with pytest.raises(ValueError, match="n_named=-1"):
        display.plot(n_named=-1)


@pytest.mark.parametrize("against", ["n_features", "top_k"])
def test_the_scores_of_one_class_are_drawn(models, against):
    model = models["poisson"]
    display = snb.ScoreDisplay.from_estimator(model, against, class_=1, train=True)
    results = model.cv_results_
    (held_out,), (training,) = display.lines_, display.train_lines_
    assert held_out.get_xdata().tolist() == training.get_xdata().tolist() == [1, 3, 8]  # of its own row of weights
    assert np.array_equal(held_out.get_ydata(), results["class_test_score_1"])
    assert np.array_equal(training.get_ydata(), results["class_train_score_1"])
    assert training.get_linestyle() == "--" and training.get_color() == held_out.get_color()
    best = results["class_test_score_1"].argmax()
    assert display.chosen_.get_xydata().tolist() == [[[1, 3, 8][best], results["class_test_score_1"].max()]]
    assert display.ax_.get_ylabel().startswith("area under the ROC curve against the reference of class 1,\nmean")
    assert at_ends(display) == ["held-out rows", "training rows"]
    assert not snb.ScoreDisplay.from_estimator(model, against).train_lines_


def test_several_families_in_one_picture(models):
    first = snb.ScoreDisplay.from_estimator(models["poisson"], "n_features", class_=0, train=True, label="Poisson")
    second = snb.ScoreDisplay.from_estimator(models["bernoulli"], "n_features", class_=0, train=True, ax=first.ax_)
    assert second.ax_ is first.ax_ and not first.figure_.legends
    assert at_ends(second) == ["Poisson", "Poisson, training rows", "bernoulli", "bernoulli, training rows"]
    assert first.lines_[0].get_color() != second.lines_[0].get_color()
    said = second.ax_.get_title("left").split("\n")
    assert said[0].startswith("Poisson: top_k = ") and said[-1].startswith("bernoulli: top_k = ")


def test_numbers_of_each_class():
    model = snb.LinearNBCV("poisson", snb.TopK([1, 3, 8]), rule="per_split", **ASKED).fit(X, Y)
    k = model.best_params_["top_k"][0]
    curves = curves_of(model, None, 0, False)
    assert curves["chosen_name"] == f"top_k = {k}, {k} features" and curves["train"] is None
    assert curves["chosen"] == np.abs(np.array([1, 3, 8]) - k).argmin()
    assert "a number for each class" in snb.ScoreDisplay.from_estimator(model).ax_.get_title("left")


def test_scores_of_several_reads_are_drawn_after_each_and_against_penalties():
    X, y = load_iris(return_X_y=True)
    model = snb.SoftmaxRegressionCV([0.1, 10.0], scoring="roc_auc", rule="parsimonious", folds=3, tol=1e-3).fit(X, y)
    table, mark = model.cv_results_, (model.best_params_["max_passes"], model.best_score_)
    display = snb.ScoreDisplay.from_estimator(model)
    for line, l2 in zip(display.lines_, (10.0, 0.1), strict=True):
        own = table["param_l2"] == l2
        assert np.array_equal(line.get_xydata().T, [table["param_max_passes"][own], table["mean_test_score"][own]])
    assert display.chosen_.get_xydata().tolist() == [[*mark]]
    assert display.figure_.get_supxlabel() == "reads of the rows"
    assert [ax.get_title() for ax in display.figure_.axes] == ["l2 = 10", "l2 = 0.1"]
    best = [table["mean_test_score"][table["param_l2"] == l2].max() for l2 in (0.1, 10.0)]
    best[[0.1, 10.0].index(model.best_params_["l2"])] = model.best_score_  # of the chosen penalty, what was chosen
    display = snb.ScoreDisplay.from_estimator(model, "l2")
    assert display.lines_[0].get_xydata().tolist() == [[0.1, best[0]], [10.0, best[1]]]
    of_class = snb.ScoreDisplay.from_estimator(model, class_=2)
    assert np.array_equal(of_class.lines_[1].get_ydata(), table["class_test_score_2"][table["param_l2"] == 0.1])
    with pytest.raises(ValueError, match="train=True: SoftmaxRegressionCV does not judge"):
        snb.ScoreDisplay.from_estimator(model, train=True)


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_a_grid_that_is_not_judged_after_each_read_is_drawn_against_itself():
    X, y = load_iris(return_X_y=True)
    model = snb.CrammerSingerSVMCV([0.001, 0.01], folds=2, scoring="accuracy").fit(X, y)
    display = snb.ScoreDisplay.from_estimator(model)
    assert display.lines_[0].get_xydata().tolist() == [
        [C, s] for C, s in zip([0.001, 0.01], model.cv_results_["mean_test_score"], strict=True)
    ]
    spaces = snb.LabelSpaceCV([1, 2], [1.0], folds=2, scoring="accuracy").fit(X, np.eye(3, dtype=int)[y])
    assert snb.ScoreDisplay.from_estimator(spaces, "n_components").figure_.axes[0].get_xlabel() == "components"
