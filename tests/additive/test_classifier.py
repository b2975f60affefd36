"""AdditiveClassifier: terms, choices, rows of all kinds, files and errors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import streamnb as snb
from streamnb.encoding.bins import TermColumns
from tests.support.refusals import refuses

RNG = np.random.default_rng(0)
N = 600
AGE, INCOME = RNG.uniform(20, 80, N).round(1), RNG.lognormal(3, 1, N).round(2)
CITY = np.array(["Ulm", "Rome", "Oslo", "Bonn"])[RNG.integers(0, 4, N)]
ODDS = np.sin(AGE / 8) * 2 + (INCOME > 20) - (CITY == "Rome") + 1.5 * ((AGE > 50) == (INCOME > 25)) - 1
Y = np.where(RNG.random(N) < 1 / (1 + np.exp(-ODDS)), "yes", "no")
INCOME[::17] = np.nan
FRAME = pd.DataFrame({"age": AGE, "income": INCOME, "city": CITY})
X = np.column_stack([AGE, INCOME, RNG.normal(size=N)])
FAST = {"l2": 1.0, "pair_factor": 3.0, "resolutions": (4, 16)}


@pytest.fixture(scope="module")
def model():
    return snb.AdditiveClassifier(1, **FAST).fit(FRAME, Y)


# ---- terms -----------------------------------------------------------------------------------------------------------


def test_terms_are_those_that_matter(model):
    terms = model.terms_
    assert terms.columns.tolist() == ["name", "kind", "importance", "degrees of freedom"]
    assert set(terms["name"]) == {"age", ("age", "income"), "city", "income"}
    assert terms["kind"].tolist().count("pair") == 1
    assert (terms["importance"].diff().dropna() <= 0).all()
    assert (terms["degrees of freedom"] > 0).all()


def test_a_term_of_a_number(model):
    term = model.term("income")
    known, missing = term[:-1], term.iloc[-1]
    assert known["lower"].iloc[0] == -np.inf
    assert known["upper"].iloc[-1] == np.inf
    np.testing.assert_array_equal(known["upper"][:-1], known["lower"][1:])
    assert np.isnan(missing["lower"])
    assert missing["count"] == np.isnan(INCOME).sum()
    assert term["count"].sum() == N
    np.testing.assert_allclose((term["score"] * term["count"]).sum(), 0.0, atol=1e-8)
    assert (term["std"] > 0.0).all()


def test_a_term_of_a_category(model):
    term = model.term("city")
    assert term["level"].tolist() == ["Bonn", "Oslo", "Rome", "Ulm"]
    assert term["score"].idxmin() == 2


def test_a_term_of_a_pair_in_any_order(model):
    term = model.term("age", "income")
    assert term.columns[:4].tolist() == ["age lower", "age upper", "income lower", "income upper"]
    assert model.term("income", "age").equals(term)
    assert term["count"].sum() == N
    for side in ("age lower", "income lower"):
        means = (term["score"] * term["count"]).groupby(term[side], dropna=False).sum()
        np.testing.assert_allclose(means, 0.0, atol=1e-6)


def test_several_classes_have_scores_of_mean_0():
    y = np.where(CITY == "Oslo", "north", Y)
    found = snb.AdditiveClassifier(1, **FAST).fit(FRAME, y)
    term = found.term("age")
    scores = [column for column in term if column.startswith("score")]
    assert scores == ["score no", "score north", "score yes"]
    np.testing.assert_allclose(term[scores].sum(axis=1), 0.0, atol=1e-9)
    assert found.score(FRAME, y) > 0.75


def test_without_pairs_at_one_resolution_it_is_logistic_regression_on_bins():
    base = {"l2": 0.5, "resolutions": (8,), "tol": 1e-9, "max_passes": 300}
    found = snb.AdditiveClassifier(0, **base).fit(X[:, [0, 2]], Y)
    bins = snb.Bins(8).fit(X[:, [0, 2]])
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000).fit(bins.transform(X[:, [0, 2]]), Y)
    np.testing.assert_allclose(
        found.predict_proba(X[:, [0, 2]]), theirs.predict_proba(bins.transform(X[:, [0, 2]])), atol=1e-5
    )


def test_monotone_curves_rise():
    found = snb.AdditiveClassifier(0, monotone={"income": 1, "age": -1}, **FAST).fit(FRAME, Y)
    rises, falls = found.term("income")[:-1]["score"], found.term("age")["score"]
    assert (rises.diff().dropna() >= -1e-12).all()
    assert (falls.diff().dropna() <= 1e-12).all()
    assert rises.iloc[-1] > rises.iloc[0]


# ---- choices ---------------------------------------------------------------------------------------------------------


def test_pairs_given_by_name_or_number():
    found = snb.AdditiveClassifier([("city", "age")], **FAST).fit(FRAME, Y)
    assert [name for name in found.terms_["name"] if isinstance(name, tuple)] == [("city", "age")]
    assert found.best_params_["interactions"] == 1
    by_number = snb.AdditiveClassifier([(np.int64(0), 2)], **FAST).fit(X, Y)
    assert ("x0", "x2") in by_number.term_scores_
    assert snb.AdditiveClassifier(np.int64(1), **FAST).fit(X, Y).best_params_["interactions"] == 1


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_groups_stay_together():
    groups = np.arange(N) // 2
    twice = np.repeat(X[::2], 2, axis=0), np.repeat(Y[::2], 2)
    apart = snb.AdditiveClassifier(0, l2=[100.0, 0.01]).fit(*twice, groups=groups)
    together = snb.AdditiveClassifier(0, l2=[100.0, 0.01]).fit(*twice)
    assert apart.best_params_["l2"] == 100.0  # the copy of a row in another fold rewards a small penalty
    assert apart.best_score_ < together.best_score_


# ---- rows ------------------------------------------------------------------------------------------------------------


def test_new_levels_and_missing_values_at_prediction(model):
    rows = FRAME.iloc[:2].copy()
    rows["city"] = ["Paris", None]
    rows["age"] = np.nan
    with pytest.warns(snb.StreamnbWarning, match="1 of 1 values of 'city'"), pytest.warns(match="2 of 'age', in 2"):
        proba = model.predict_proba(rows)
    assert np.isfinite(proba).all()


def test_fewer_rows_than_bins():
    found = snb.AdditiveClassifier(0, folds=2).fit(X[:12], Y[:12])
    assert found.predict(X).shape == (N,)


def test_a_constant_column_and_one_without_values():
    rows = np.column_stack([X[:, 0], np.ones(N), np.full(N, np.nan)])
    found = snb.AdditiveClassifier("auto", **FAST).fit(rows, Y)
    assert found.term("x1")["score"].abs().max() == 0.0
    assert len(found.term("x2")) == 2


def test_an_interrupted_fit_on_a_sample_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("streamnb.additive.fit.SAMPLE", 300)
    folder = tmp_path / "c"
    expected = snb.AdditiveClassifier(1, **FAST).fit(X, Y, checkpoint=folder)
    assert {"codes.snb", "choice.snb", "read-001.snb"} <= {path.name for path in folder.iterdir()}
    sorted(folder.glob("read-*"))[-1].unlink()
    again = snb.AdditiveClassifier(1, **FAST).fit(X, Y, checkpoint=folder)
    np.testing.assert_array_equal(again.coef_, expected.coef_)


# ---- files -----------------------------------------------------------------------------------------------------------


def test_an_edit_is_kept_in_the_file(tmp_path):
    found = snb.AdditiveClassifier(1, **FAST).fit(FRAME, Y)
    found.term_scores_["city"] = 0.0 * found.term_scores_["city"]
    assert found.term("city")["score"].abs().max() == 0.0
    found.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    assert loaded.term("city")["score"].abs().max() == 0.0
    np.testing.assert_array_equal(loaded.decision_function(FRAME), found.decision_function(FRAME))


def test_a_file_of_something_else_is_refused(model, tmp_path):
    state = model._to_state()
    refuses(ValueError, "tables of its terms", lambda: snb.AdditiveClassifier._from_state({**state, "terms": None}))
    tables = state["terms"]
    for wrong, words in (({"std": tables.std[:1]}, "deviations"), ({"features": ["age"]}, "names of 3 features")):
        refuses(ValueError, words, snb.AdditiveClassifier._from_state, {**state, "terms": replace(tables, **wrong)})
    state = snb.AdditiveClassifier(0, **FAST).fit(X, Y)._to_state()
    fitted = {name: part for name, part in state["fitted"].items() if name != "step"}
    refuses(ValueError, "columns of its terms", lambda: snb.AdditiveClassifier._from_state({**state, "fitted": fitted}))
    assert isinstance(model._step, TermColumns)


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"interactions": "all"}, "interactions='all'"),
        ({"interactions": -1}, "interactions=-1"),
        ({"interactions": {"age": "city"}}, "interactions={'age': 'city'} should be 'auto', a number"),
        ({"interactions": [("age", "age")]}, "with itself"),
        ({"interactions": [("age", "height")]}, "'height', which is not a feature"),
        ({"interactions": ["age"]}, "pair of features"),
        ({"interactions": [("age", "city"), ("city", "age")]}, "twice"),
        ({"interactions": [("age", 0)]}, "with itself"),
        ({"monotone": {"city": 1}}, "'city', whose values are categories"),
        ({"interactions": [("age", "city")], "monotone": {"age": 1}}, "'age', which is monotone"),
        ({"l2": 0.0}, "l2=0.0"),
        ({"l2": []}, "l2=\\[\\]"),
        ({"resolutions": ()}, "resolutions=\\(\\)"),
        ({"resolutions": (1, 4)}, "resolutions=1"),
        ({"monotone": {"age": 2}}, "monotone has 2"),
        ({"monotone": ["age"]}, "should be a dict"),
        ({"monotone": {"height": 1}}, "'height', which is not a feature"),
        ({"folds": 1}, "folds=1"),
        ({"scoring": "shine"}, "scoring='shine'"),
        ({"seed": "a"}, "seed='a'"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.AdditiveClassifier(**{"interactions": 0, **FAST, **params}).fit(FRAME, Y)


def test_wrong_rows_are_refused_and_change_nothing(model):
    before = model.predict_proba(FRAME)
    for rows, y, message in (
        (np.where(np.arange(3 * N).reshape(N, 3) == 10, np.inf, X), Y, "row 3"),
        (snb.table(FRAME, Y, text=["city"]), None, "text"),
        (snb.table(FRAME, Y, hashed=["city"]), None, "hashed"),
        (snb.table(FRAME, Y, bins=None), None, "number as"),
        ([f"{city} road" for city in CITY], Y, "texts"),
        (X, np.column_stack([Y == "yes", CITY == "Ulm"]), "one label a row"),
        (X, np.zeros(N), "one class"),
    ):
        refuses(ValueError, message, model.fit, rows, y)
        np.testing.assert_array_equal(model.predict_proba(FRAME), before)
    refuses(ValueError, "once", lambda: model.fit(iter([(X, Y)]), keep="no"))
    with pytest.raises(ValueError, match=r"monotone.*two classes"):
        snb.AdditiveClassifier(0, monotone={"age": 1}, **FAST).fit(FRAME[["age", "income"]], CITY)
