"""Pictures of additive models."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.reporting.drawing import shortened

RNG = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame({"age": RNG.uniform(20, 80, N), "city": np.array(["Ulm", "Rome", None])[RNG.integers(0, 3, N)]})
FRAME.loc[::10, "age"] = np.nan
Y = np.where((FRAME["age"] > 50) == (FRAME["city"] == "Rome"), "yes", "no")
FAST = {"l2": 1.0, "pair_factor": 1.0, "resolutions": (4, 16)}


@pytest.fixture(scope="module")
def model():
    return snb.AdditiveClassifier([("age", "city")], **FAST).fit(FRAME, Y)


def test_the_most_important_terms_by_default(model):
    shown = snb.AdditiveDisplay.from_estimator(model)
    assert len(shown.axes_) == 3
    assert shown.tables[0][0] == ("age", "city")
    assert shown.figure_ is shown.axes_[0].figure


def test_a_curve_has_steps_a_band_rows_below_and_missing_values(model):
    ax = snb.AdditiveDisplay.from_estimator(model, ["age"]).axes_[0]
    curve, rows = ax.patches[0].get_data(), ax.patches[1].get_data()
    term = model.term("age")[:-1]
    np.testing.assert_allclose(curve.values, term["score"])
    np.testing.assert_allclose(curve.edges[1:-1], term["upper"][:-1])
    assert rows.values.max() < term["score"].min()
    assert [label.get_text() for label in ax.get_xticklabels()][-1] == "missing"
    assert (ax.get_title(), ax.get_ylabel()) == ("age", "log-odds of yes (probability)")


def test_logs_of_factors_have_the_change_beside_them():
    counts = np.where(FRAME["age"] > 50, 2.0, 1.0)
    gamma = snb.AdditiveRegressor("gamma", interactions=0, l2=1.0, resolutions=(4, 16)).fit(FRAME, counts)
    axis = snb.AdditiveDisplay.from_estimator(gamma, ["age"]).axes_[0].yaxis
    assert axis.get_label_text() == "log of a factor (change)"
    assert axis.get_major_formatter()(0.5, 0) == "0.5 (+65%)" and axis.get_major_formatter()(-0.5, 0) == "-0.5 (-39%)"


def test_bars_are_in_the_order_of_scores(model):
    ax = snb.AdditiveDisplay.from_estimator(model, ["city"]).axes_[0]
    widths = (
        [bar.get_width() for bar in ax.containers[0]] if not ax.patches else [bar.get_width() for bar in ax.patches]
    )
    assert widths == sorted(widths)
    assert {label.get_text().split(" (")[0] for label in ax.get_yticklabels()} == {"Ulm", "Rome", "missing"}


def test_a_heat_map_of_a_pair_in_any_order(model):
    for pair in (("age", "city"), ("city", "age")):
        ax = snb.AdditiveDisplay.from_estimator(model, [pair]).axes_[0]
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "city")
        mesh = ax.collections[0]
        cells = model.term("age", "city").set_index(["age upper", "city level"])["score"]
        shown = mesh.get_array()  # the levels, missing ones last, and steps with an empty one before missing values
        assert shown.shape == (3, 18)
        np.testing.assert_allclose(shown[:2, :16].T.ravel(), cells.iloc[:48].to_numpy().reshape(16, 3)[:, :2].ravel())
        assert np.ma.getmaskarray(shown)[:, 16].all() and not np.ma.getmaskarray(shown)[:, 17].all()
        assert mesh.get_clim()[0] == -mesh.get_clim()[1]
        assert [label.get_text() for label in ax.get_xticklabels()][-1] == "missing"
        assert [label.get_text() for label in ax.get_yticklabels()] == ["Ulm", "Rome", "missing"]  # frequent first


def test_curves_and_bars_have_one_scale(model):
    curve, bars = snb.AdditiveDisplay.from_estimator(model, ["age", "city"]).axes_
    assert curve.get_ylim()[1] == bars.get_xlim()[1]
    for name, ends in (("age", curve.get_ylim()), ("city", bars.get_xlim())):
        term = model.term(name)
        assert (term["score"] - 2.0 * term["std"]).min() > ends[0]
        assert (term["score"] + 2.0 * term["std"]).max() < ends[1]


def test_the_class_whose_scores_are_shown():
    y = np.where(FRAME["city"] == "Ulm", "north", Y)
    found = snb.AdditiveClassifier(0, **FAST).fit(FRAME[["age"]], y)
    assert snb.AdditiveDisplay.from_estimator(found, ["age"], class_="yes").axes_[0].get_ylabel() == "score of yes"
    with pytest.raises(ValueError, match="class_='south'"):
        snb.AdditiveDisplay.from_estimator(found, ["age"], class_="south")


def test_axes_are_of_values_as_people_write_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.lognormal(9.0, 1.0, 600), "level": rng.integers(1, 5, 600)})
    y = np.where(frame["income"] * frame["level"] + rng.normal(0, 9_000, 600) > 20_000, "yes", "no")
    model = snb.AdditiveClassifier(interactions=[("income", "level")], resolutions=(4, 16)).fit(frame, y)
    display = snb.AdditiveDisplay.from_estimator(model, ["income", "level", ("income", "level")])
    income, level, pair = display.axes_
    assert income.get_xscale() == "log" and "10,000" in [label.get_text() for label in income.get_xticklabels()]
    assert [label.get_text() for label in level.get_xticklabels()] == ["1", "2", "3", "4"]
    assert level.get_xscale() == "linear" and pair.get_title() == "income and level"
    share = 1.0 / (1.0 + np.exp(-model.intercept_[0]))
    income.figure.canvas.draw()
    assert f"0 ({share:.0%})" in [label.get_text() for label in income.get_yticklabels()]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("JobLevel in (1.5, 2.5]", "JobLevel 2"),
        ("JobLevel in (2.5, 5.5]", "JobLevel 3 to 5"),
        ("JobLevel in (-inf, 1.5]", "JobLevel up to 1"),
        ("JobLevel in (4.5, inf)", "JobLevel from 5"),
        ("income in (9114, 1.081e+04]", "income 9,114 to 10,810"),
        ("income in (2.25, inf)", "income above 2.25"),
        ("age = (18, 35]", "age = (18, 35]"),
    ],
)
def test_bins_are_named_in_words(name, words):
    assert shortened(name) == words
