"""Pictures show what the models and evaluations hold, and nothing in them hides anything else."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn import metrics
from sklearn.datasets import load_digits

import streamnb as snb
from tests.reporting.displays import names_of

X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]
X_test, y_test = load_digits(return_X_y=True)[0][500:900], load_digits(return_X_y=True)[1][500:900]
two = y < 2
PIXELS = [f"pixel {j}" for j in range(64)]


@pytest.fixture(scope="module")
def stats():
    return snb.scan(X, y)


@pytest.fixture(scope="module")
def model():
    penalty = snb.L1([0.0, 8.0, 12.0, 16.0, 20.0, 25.0], scale="score")
    return snb.LinearNBCV("poisson", penalty, folds=4, rule="parsimonious").fit(X, y)


# ---- regularisation path ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "class_", "row"), [("joint", 3, 3), ("ovr", 9, 9), ("ovo", (0, 2), 1), ("reference", 2, 1)]
)
def test_lines_are_rows_of_coef(stats, scheme, class_, row):
    reference = 1 if scheme == "reference" else None
    path = snb.solve(stats, "multinomial", snb.L1([0.0, 0.5, 5.0, 50.0]), scheme=scheme, reference=reference)
    display = snb.RegularizationPathDisplay.from_path(path, class_, feature_names=PIXELS)
    coef = np.array([path[i].coef_[row] for i in range(4)])
    shown = [int(name.split()[1]) for name in display.feature_names]
    assert sorted(shown) == np.flatnonzero(coef.any(axis=0)).tolist()
    for line, feature in zip(display.lines_, shown):
        np.testing.assert_array_equal(line.get_xdata(), [0.0, 0.5, 5.0, 50.0])
        np.testing.assert_allclose(line.get_ydata(), coef[:, feature], rtol=1e-12)


@pytest.mark.parametrize("penalty", [snb.L1(), snb.L1(scale="score") + snb.L2(30.0)], ids=repr)
def test_marks_are_where_weights_become_zero(stats, penalty):
    display = snb.RegularizationPathDisplay.from_stats(stats, "poisson", penalty, 4)
    assert len(display.breakpoints_.get_xdata()) > 20
    for line, leaves in zip(display.lines_, display.breakpoints):
        tau, weight = line.get_data()
        assert (weight[tau > leaves * (1 + 1e-9)] == 0.0).all()
        assert (weight[tau < leaves * (1 - 1e-9)] != 0.0).all()
    named = [text.get_text() for text in display.ax_.texts]  # where lines begin, each in its colour
    assert [text.get_color() for text in display.ax_.texts] == [line.get_color() for line in display.lines_[:8]]
    assert named == [str(name) for name in display.feature_names[:8]]
    assert (np.diff(display.breakpoints) <= 0).all()  # named are those that stay longest


def test_no_marks_where_weights_do_not_end_there(stats):
    decorrelated = snb.L1([0.0, 5.0, 50.0]) + snb.Decorrelation(0.1, scale="curvature")
    for family, penalty in (("multinomial", snb.L1()), ("poisson", snb.L2([1.0, 9.0])), ("poisson", decorrelated)):
        path = snb.solve(stats, family, penalty)
        assert snb.RegularizationPathDisplay.from_path(path, 4).breakpoints_ is None


@pytest.mark.parametrize("penalty", [None, snb.L1(4.0, scale="score") + snb.L2(20.0), snb.L1(0.0)])
def test_the_path_of_an_estimator_leads_through_it(penalty):
    frame = pd.DataFrame(X, columns=PIXELS)
    model = snb.LinearNB("poisson", penalty, transform="sqrt", smoothing=0.5).fit(frame, y)
    display = snb.RegularizationPathDisplay.from_estimator(model, 6)
    tau = display.chosen or 0.0
    at = np.flatnonzero(display.tau == tau)[0]
    coef = dict(zip(PIXELS, model.coef_[6]))
    for line, name in zip(display.lines_, display.feature_names):
        np.testing.assert_allclose(line.get_ydata()[at], coef[name], rtol=1e-12)
    assert (display.chosen is None) == (penalty is None)


def test_two_classes_and_indicators_have_paths():
    binary = snb.LinearNB("bernoulli").fit(X[two], y[two])
    assert "class 1" in snb.RegularizationPathDisplay.from_estimator(binary).ax_.get_ylabel()
    labels = np.stack([y == 0, y > 4], axis=1).astype(int)
    multilabel = snb.LinearNB("bernoulli").fit(X, labels)
    display = snb.RegularizationPathDisplay.from_estimator(multilabel, 1)
    np.testing.assert_allclose(display.weights[0], multilabel.coef_[1][[int(n[1:]) for n in display.feature_names]])


# ---- scores of a grid ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", ["l1", "n_features"])
def test_scores_are_those_of_the_cross_validation(model, against):
    display = snb.ScoreDisplay.from_estimator(model, against)
    table = pd.DataFrame(model.cv_results_)
    x = table["n_features" if against == "n_features" else "param_l1"]
    order = np.lexsort((table["mean_test_score"], x))
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), x[order])
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), table["mean_test_score"][order])
    corners = display.bands_[0].get_paths()[0].vertices
    for at in range(len(table)):
        edges = np.unique(corners[corners[:, 0] == x[at], 1])
        mean, std = table["mean_test_score"][at], table["std_test_score"][at]
        np.testing.assert_allclose(edges[[0, -1]], [mean - std, mean + std])
    chosen = list(table["params"]).index(model.best_params_)
    assert display.chosen_.get_xdata() == [x[chosen]] and display.chosen_.get_ydata() == [model.best_score_]


def test_the_level_of_the_rule_is_shown(model):
    display = snb.ScoreDisplay.from_estimator(model)
    (level,) = [line for line in display.ax_.lines if line.get_label() == "within 1 % of the best"]
    np.testing.assert_allclose(level.get_ydata()[0], 0.99 * model.cv_results_["mean_test_score"].max())


# ---- ROC curves ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["joint", "ovr"])
def test_roc_curves_are_those_of_scikit_learn(scheme):
    model = snb.LinearNB("poisson", scheme=scheme).fit(X, y)
    display = snb.RocDisplay.from_estimator(model, X_test, y_test, n_named=10)
    scores = model.predict_log_proba(X_test) if scheme == "joint" else model.decision_function(X_test)
    areas = []
    for k in range(10):
        odds = scores[:, k]
        if scheme == "joint":
            odds = odds - np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1)
        false, true, _ = metrics.roc_curve(y_test == k, odds)
        x, height = display.lines_[k].get_data()
        np.testing.assert_allclose(np.interp(false[1:], x, height), np.interp(false[1:], false, true), atol=1e-12)
        areas.append(metrics.auc(false, true))
        assert f"{k} ({areas[-1]:.3f})" in names_of(display)
    assert f"mean ({np.mean(areas):.3f})" in names_of(display)
    np.testing.assert_allclose(metrics.auc(*display.mean_.get_data()), np.mean(areas), atol=2e-3)
    assert list(display.roc_auc) == sorted(display.roc_auc, key=display.roc_auc.get, reverse=True)


def test_of_many_classes_the_best_and_the_worst_are_named():
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(130), 6)
    scores = rng.normal(size=(780, 130)) + 3.0 * rng.random(130) * (labels[:, None] == np.arange(130))
    display = snb.RocDisplay.from_evaluation(snb.evaluate(labels, scores=scores), n_named=4)
    areas = metrics.roc_auc_score(labels[:, None] == np.arange(130), scores, average=None)
    order = np.argsort(-areas, kind="stable")
    shown = [name.split(" ")[0] for name in names_of(display)]
    assert shown == [*map(str, order[:2]), "126", *map(str, order[-2:]), "mean", "chance"]
    assert len(display.lines_) == 100 and len(display.roc_auc) == 130


# ---- confusion matrix ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_confusion_matrix_is_that_of_scikit_learn(model, normalize):
    display = snb.ConfusionMatrixDisplay.from_estimator(model, X_test, y_test, normalize=normalize)
    expected = metrics.confusion_matrix(y_test, model.predict(X_test), normalize=normalize)
    np.testing.assert_allclose(display.confusion_matrix, expected)
    texts = {text.get_text() for text in display.text_.ravel()}
    assert texts == {f"{number:.2f}" if normalize else str(number) for number in expected.ravel()}
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [str(k) for k in range(10)]


def test_confusion_matrix_of_many_classes_has_no_numbers():
    labels = np.repeat(np.arange(50), 2)
    display = snb.ConfusionMatrixDisplay.from_evaluation(snb.evaluate(labels, labels))
    assert display.text_ is None
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == [str(k) for k in range(0, 50, 2)]


# ---- what all pictures keep to ---------------------------------------------------------------------------------------


def pictures(model):
    wide = snb.LinearNB("poisson", scheme="ovr").fit(X, np.array([f"the class of {k} with a long name" for k in y]))
    names = [f"a feature whose name is long as well, {j}" for j in range(64)]
    path = snb.solve(model.stats_, "poisson", snb.L2(np.append(0.0, np.geomspace(1e-6, 1e7, 40))))
    yield lambda **on: snb.RegularizationPathDisplay.from_estimator(model, 3, **on)
    yield lambda **on: snb.RegularizationPathDisplay.from_path(path, 3, feature_names=names, n_named=20, **on)
    yield lambda **on: snb.ScoreDisplay.from_estimator(model, **on)
    yield lambda **on: snb.ScoreDisplay.from_estimator(model, "n_features", **on)
    yield lambda **on: snb.RocDisplay.from_estimator(model, X_test, y_test, **on)
    yield lambda **on: snb.RocDisplay.from_estimator(wide, X, wide.predict(X), n_named=10, **on)
    yield lambda **on: snb.ConfusionMatrixDisplay.from_estimator(wide, X, wide.predict(X), **on)
    yield lambda **on: snb.TellingFeaturesDisplay.from_estimator(model, 3, feature_names=names, **on)
    yield lambda **on: snb.TellingFeaturesDisplay.from_estimator(model, feature_names=names, **on)


@pytest.fixture(scope="module")
def drawn(model):
    return list(pictures(model))


@pytest.mark.parametrize("number", range(9))
def test_nothing_hides_anything(drawn, number):
    display = drawn[number]()
    display.figure_.canvas.draw()
    ax = display.ax_
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        boxes = [text.get_window_extent() for text in labels if text.get_text() and text.get_visible()]
        boxes = [box for box in boxes if ax.bbox.expanded(1.5, 1.5).overlaps(box)]
        boxes.sort(key=lambda box: (box.x0, box.y0))
        assert not any(one.overlaps(other) for one, other in pairwise(boxes))
    for legend in display.figure_.legends:
        assert not legend.get_window_extent().overlaps(ax.get_window_extent())
    page = display.figure_.bbox.padded(1.0)
    everything = ax.get_tightbbox()
    assert page.x0 <= everything.x0 and everything.x1 <= page.x1 and page.y0 <= everything.y0
    assert ax.get_xlabel() and (ax.get_ylabel() or len(ax.get_yticklabels()))


@pytest.mark.parametrize("number", [0, 2, 4, 6, 7])  # one of each display
def test_given_axes_are_drawn_on_and_plot_draws_again(drawn, number):
    _, (first, second) = plt.subplots(1, 2)
    display = drawn[number](ax=first)
    assert display.ax_ is first and display.figure_ is first.figure and first.has_data() and not second.has_data()
    again = display.plot(ax=second)
    assert again is display and display.ax_ is second
    for one, other in zip(first.lines, second.lines):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())


PATH, PICTURE = snb.RegularizationPathDisplay, snb.ScoreDisplay
FEW, TABLE = (np.eye(3), [0, 1, 2]), pd.DataFrame({"a": np.arange(40) % 7, "b": np.arange(40) % 3 // 2})
SUMS = snb.scan(*FEW)
REGRESSION = snb.ElasticNetCV(1.0, n_alphas=4, folds=3).fit(X[:90], X[:90, 20])
ADDITIVE = snb.AdditiveClassifier(0, l2=1.0, folds=2).fit(TABLE, TABLE["b"])
REFERENCE = {"scheme": "reference", "reference": 0, "scoring": "roc_auc_reference"}


def of_class(class_=None, train=False, **options):
    asked = {"folds": 2, "scoring": "neg_log_loss", **options}
    model = snb.LinearNBCV("poisson", snb.TopK([1]), **asked).fit(X, y)
    return PICTURE.from_estimator(model, class_=class_, train=train)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda m: PATH.from_estimator(m), r"class_=None .* should be one of 0, 1, 2"),
        (lambda m: PATH.from_estimator(m, 11), "class_=11"),
        (lambda m: PATH.from_estimator(snb.GaussianNB()), "LinearNB"),
        (lambda m: PATH.from_estimator(snb.LinearNB(), 1), "not fitted"),
        (lambda m: PATH.from_estimator(m, 1, n_named=-1), "n_named=-1"),
        (lambda m: PATH.from_stats(m.stats_, "poisson", "l1", 1), "penalty='l1'"),
        (lambda m: PATH.from_path(snb.solve(SUMS), 1), "the path has one point"),
        (lambda m: PATH.from_path(snb.solve(SUMS, "poisson", snb.L1(np.arange(14.0)) + snb.L2(np.arange(13.0))), 1),
         "the path has 13 combinations of l2, each of which has a panel; give it 12"),
        (lambda m: PATH.from_path(SUMS, 1), "should be a WeightPath"),
        (lambda m: PICTURE.from_estimator(snb.LinearNB()), r"estimator=.* should be a fitted snb\.LinearNBCV"),
        (lambda m: PICTURE.from_estimator(m, "l2"), "against='l2' .* 'l1', 'n_features'"),
        (lambda m: PICTURE.from_estimator(m, class_=77), "class_=77 is not a class; it should be one of 0, 1, 2"),
        (lambda m: of_class(0, **REFERENCE), "class_=0 has no score in any split"),
        (lambda m: of_class(0), "class_=0: there is no score of each class"),
        (lambda m: of_class(train=True), "train=True needs scores of training rows; fit with return_train_score=True"),
        (lambda m: snb.RocDisplay.from_estimator(m, X, y.astype(str)), "give all labels one kind"),
        (lambda m: snb.RocDisplay.from_estimator(m, X, np.eye(10, dtype=int)[y]), "fitted with one label a row"),
        (lambda m: snb.RocDisplay.from_estimator(m, X[:, 1:], y), "63 features"),
        (lambda m: snb.RocDisplay.from_evaluation(snb.evaluate(y, y)), "needs 'ranking'"),
        (lambda m: snb.RocDisplay.from_evaluation([1, 2]), r"evaluation is of type list; .* what snb\.evaluate"),
        (lambda m: snb.ConfusionMatrixDisplay.from_evaluation([1, 2]), "evaluation is of type list"),
        (lambda m: snb.ReliabilityDisplay.from_evaluation(0.5), "it should be what"),
        (lambda m: snb.ReliabilityDisplay.from_evaluation(snb.evaluate([0, 1], [0, 1])), "needs 'reliability'"),
        (lambda m: snb.ReliabilityDisplay.from_estimator(snb.LinearNB(scheme="ovo").fit(*FEW), *FEW),
         "'ovo' has no probabilities"),
        (lambda m: snb.SlicesDisplay.from_evaluation(snb.evaluate([0, 1], [0, 1])), "made without slices; give by="),
        (lambda m: snb.SlicesDisplay.from_evaluation(TABLE), "evaluation is of type DataFrame"),
        (lambda m: snb.TellingFeaturesDisplay.from_estimator(m, [3, 77]), "class_=77"),
        (lambda m: snb.TellingFeaturesDisplay.from_estimator(m, 3, feature_names=["a"]), r"feature_names .* \(64,\)"),
        (lambda m: snb.TellingFeaturesDisplay.from_estimator(snb.MultinomialNB().fit(X, y)), "one with coef_"),
        (lambda m: snb.DecileDisplay.from_evaluation(snb.evaluate([0, 1], [0, 1])), "for a regression"),
        (lambda m: snb.PredictionErrorDisplay.from_estimator(REGRESSION, X, X[:, 20], kind="x"), "kind='x'"),
        (lambda m: snb.DecileDisplay.from_estimator(REGRESSION, X, X[:, 20], colr="k"), "colr"),
        (lambda m: snb.DecileDisplay.from_estimator(snb.Ridge().fit(X, X[:, 20:22]), X, X[:, 20:22]), "one target"),
        (lambda m: snb.RegressionPathDisplay.from_estimator(snb.Ridge()), r"should be a fitted snb\.ElasticNetCV"),
        (lambda m: snb.RegressionPathDisplay.from_estimator(REGRESSION, 1),
         "target=1 should be below 1, the number of targets"),
        (lambda m: snb.RegressionPathDisplay.from_estimator(REGRESSION, ax=plt.figure().add_subplot()),
         "ax should be two axes of matplotlib"),
        (lambda m: snb.RegressionPathDisplay.from_estimator(REGRESSION, colour="red"), "colour= is no argument"),
        (lambda m: snb.AdditiveDisplay.from_estimator(ADDITIVE, ["height"]), "'height'"),
        (lambda m: snb.AdditiveDisplay.from_estimator(ADDITIVE, "a"), "terms='a'"),
        (lambda m: snb.AdditiveDisplay.from_estimator(m), "of type LinearNBCV; it should be an AdditiveClassifier"),
        (lambda m: snb.TreeDisplay.from_estimator(snb.LinearNB()), r"should be a fitted snb\.TreeNB"),
        (lambda m: snb.TreeDisplay.from_estimator(snb.TreeNB().fit(TABLE, TABLE["b"]), feature_names=["a"]),
         r"feature_names has shape \(1,\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(model, wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wrong(model)


def test_rows_that_are_rejected_have_no_place(model):
    rejecting = snb.LinearNB("poisson", threshold=0.999, reject_label=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"rejects rows.*threshold=None"):
        snb.ConfusionMatrixDisplay.from_estimator(rejecting, X_test, y_test)
