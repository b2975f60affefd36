"""Pictures of evaluations: what is drawn is what was given, or what the evaluation says."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import streamnb as snb
from tests.reporting.displays import counts, names_of, title

rng = np.random.default_rng(0)
X, Y = counts()


def test_curves_of_classes_by_hand():
    curve = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    display = snb.RocDisplay({"a": curve, "b": curve}, {"a": 1.0, "b": 0.9}, mean=curve, error=0.01).plot(n_named=1)
    np.testing.assert_array_equal(display.lines_["b"].get_data(), curve)
    assert names_of(display) == ["a (1.000)", "1 other classes between", "mean (0.950)"]
    assert display.figure_.legends[0].get_title().get_text() == "class (area)\nareas within 0.01"
    assert snb.RocDisplay({"a": curve}, {"a": 1.0}).plot().mean_ is None


def test_areas_of_an_evaluation_come_the_best_first():
    evaluation = snb.evaluate(Y, scores=rng.normal(size=(60, 3)) + np.array([0.0, 3.0, 1.0]) * (np.eye(3)[Y]))
    display = snb.RocDisplay.from_evaluation(evaluation)
    assert list(display.roc_auc) == [1, 2, 0] == list(display.lines_)
    np.testing.assert_allclose([display.roc_auc[k] for k in range(3)], evaluation.roc_auc(average=None))
    with pytest.raises(ValueError, match="no class has both rows of its own and others"):
        snb.RocDisplay.from_evaluation(snb.evaluate([1, 1], scores=[0.1, 0.2], classes=[0, 1]))


def test_the_corner_in_which_curves_differ_is_magnified():
    steep = np.array([0.0, 0.0, 0.1, 1.0]), np.array([0.0, 0.8, 1.0, 1.0])
    display = snb.RocDisplay({"a": steep}, {"a": 0.99}).plot()
    assert display.ax_.get_xlim() == pytest.approx((-0.00125, 0.12625)) and display.ax_.get_ylim()[0] > 0.6
    assert title(display) == "a is separated from the others with area 0.990 (magnified)"
    assert display.plot(zoom=False).ax_.get_xlim() == (-0.01, 1.01)
    flat = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    display = snb.RocDisplay({"a": steep, "b": flat}, {"a": 0.99, "b": 0.5}).plot()
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == (-0.01, 1.01)
    assert title(display) == "a is separated best (area 0.990), b worst (0.500)"


def test_bands_hold_both_rates_at_each_threshold():
    evaluation = snb.evaluate(Y > 0, scores=Y + rng.normal(size=60))
    display = snb.RocDisplay.from_evaluation(evaluation, zoom=False)
    (band,) = display.bands_.values()
    assert list(display.lines_) == [True] and display.mean_ is None  # of two classes
    low, high = band.get_paths()[0].vertices.min(axis=0), band.get_paths()[0].vertices.max(axis=0)
    assert (low >= -1e-9).all() and (high <= 1.0 + 1e-9).all()
    false, true = display.curves[True]
    assert all(band.get_paths()[0].contains_point(point, radius=1e-6) for point in zip(false[1:-1], true[1:-1]))
    assert "shaded: 95 % for both rates" in display.figure_.legends[0].get_title().get_text()
    assert not display.plot(interval=None).bands_
    with pytest.raises(ValueError, match="interval=2 should be"):
        display.plot(interval=2)


@pytest.mark.parametrize("multilabel", [False, True])
def test_what_is_drawn_is_the_curve_of_the_evaluation(multilabel):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 80)
    X = rng.poisson(rng.gamma(1.0, 1.0, (3, 6))[y]).astype(float)
    y = (y[:, None] == np.arange(3)).astype(int) if multilabel else y
    model = snb.LinearNB("poisson").fit(X, y)
    display = snb.ReliabilityDisplay.from_estimator(model, X, y, color="k")
    judged = snb.evaluate(y, proba=model.predict_proba(X))
    proba, right, _ = judged.reliability_curve()
    np.testing.assert_allclose(display.line_.get_xdata(), proba)
    np.testing.assert_allclose(display.line_.get_ydata(), right)
    assert display.line_.get_color() == "k"
    assert f"{judged.expected_calibration_error():.3f}" in display.line_.get_label()
    sizes = display.points_.get_sizes()
    assert np.argmax(sizes) == np.argmax(display.share) and display.ax_.get_legend() is None
    assert snb.ReliabilityDisplay.from_evaluation(judged, ax=display.ax_).figure_ is display.figure_


@pytest.mark.parametrize(("right", "way"), [(0.5, "overconfident"), (0.79, "underconfident"), (0.704, "calibrated")])
def test_the_title_says_whether_the_model_is_overconfident(right, way):
    half = np.array([0.5, 0.5])
    display = snb.ReliabilityDisplay(np.array([0.6, 0.8]), np.array([right, right]), half, 0.1).plot()
    assert title(display).startswith(f"The model is {way}: it predicts 70.0 %")


def test_whiskers_are_wilsons():
    curve = np.array([0.5, 0.9]), np.array([0.4, 1.0]), np.array([0.5, 0.5])
    display = snb.ReliabilityDisplay(*curve, 0.1, n_rows=40).plot()
    ends = [tuple(segment[:, 1]) for segment in display.whiskers_.get_segments()]
    known = [binomtest(k, 20).proportion_ci(method="wilson") for k in (8, 20)]
    np.testing.assert_allclose(ends, [(one.low, one.high) for one in known], atol=1e-12)
    assert "whiskers: 95 %" in title(display)
    assert display.plot(interval=None).whiskers_ is None


def test_whiskers_of_fractional_weights_are_of_as_many_equal_rows():
    y, proba = np.arange(200) % 2, np.linspace(0.05, 0.95, 200)

    def drawn(**options):
        return snb.ReliabilityDisplay.from_evaluation(snb.evaluate(y, proba=proba, **options)).n_rows

    assert drawn() == 200.0
    assert drawn(interval=0.9, sample_weight=np.full(200, 0.25)) == pytest.approx(200.0)
    assert drawn(sample_weight=np.full(200, 0.25)) is None and drawn(interval=0.9, groups=np.arange(200)) is None


def test_tables_are_weights_or_shares():
    evaluation = snb.evaluate(["a", "a", "b"], ["a", "b", "b"], classes=["a", "b", "none"])
    table = evaluation.confusion_matrix()
    counted = snb.ConfusionMatrixDisplay.from_evaluation(evaluation, normalize=None)
    weights = counted.confusion_matrix
    assert counted.ax_.get_title("left").replace("\n", " ") == "The most common mistake: a taken for b (1)"
    assert counted.text_[0, 2].get_color() == "0.8" != counted.text_[0, 0].get_color()  # nothing there
    assert weights.dtype == np.int64 and (weights == table).all()
    for normalize, axis in (("true", 1), ("pred", 0), ("all", None)):
        shares = snb.ConfusionMatrixDisplay.from_evaluation(evaluation, normalize=normalize).confusion_matrix
        total = table.sum(axis=axis, keepdims=True)
        np.testing.assert_allclose(shares, table / np.where(total > 0, total, 1.0))  # a class without rows has none
    unasked = snb.ConfusionMatrixDisplay.from_evaluation(evaluation)
    assert unasked.confusion_matrix[0].tolist() == [0.5, 0.5, 0.0]
    assert unasked.ax_.get_title("left").replace("\n", " ") == "The most common mistake: a taken for b (50%)"
    with pytest.raises(ValueError, match="normalize='rows' is unknown"):
        snb.ConfusionMatrixDisplay.from_evaluation(evaluation, normalize="rows")


def test_rows_are_judged_by_whatever_ends_in_a_classifier():
    def accuracy(estimator):
        return snb.ConfusionMatrixDisplay.from_estimator(estimator, X, Y, normalize=None).confusion_matrix.trace() / 60

    fitted = snb.LinearNB("poisson").fit(X, Y)
    for estimator in (fitted, fitted._model, make_pipeline(snb.LinearNB("poisson")).fit(X, Y)):
        assert accuracy(estimator) == fitted.score(X, Y)
    scaled = make_pipeline(MaxAbsScaler(), snb.LinearNB("gaussian")).fit(X, Y)
    assert accuracy(scaled) == scaled.score(X, Y)
    with pytest.raises(TypeError, match="should be a fitted classifier of streamnb, or a pipeline that ends in one"):
        snb.RocDisplay.from_estimator(LogisticRegression(), X, Y)
